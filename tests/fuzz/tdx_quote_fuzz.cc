// SPDX-License-Identifier: Apache-2.0
// Any bytes as a TDX quote, against simulated collateral: accepted is only what the simulated
// platform signed. Nothing that its signatures cover can differ from one of the two samples.

#include <algorithm>
#include <cstdlib>

#include "attestation/simulate/simulation.h"
#include "attestation/tdx/verify.h"

namespace {

using namespace assay;
using namespace assay::attestation::tdx;

struct World {
  Timestamp now = parse_rfc3339("2026-03-01T12:00:00Z").value();
  Simulation v4 = simulate(valid_simulation(as_bytes("fuzz"), now));
  Simulation v5 = simulate(valid_simulation_v5(as_bytes("fuzz"), now));
  std::vector<Check> checks;
  AuthenticatedCollateral collateral =
      authenticate_collateral(v4.collateral, TrustAnchor::from_der(v4.root).value(), checks)
          .value();
};

bool same_signed_bytes(ByteView input, const Bytes& sample) {
  const QuoteView a = parse_quote(input).value();
  const QuoteView b = parse_quote(sample).value();
  return std::ranges::equal(a.signed_part, b.signed_part) &&
         std::ranges::equal(a.attestation_key, b.attestation_key) &&
         std::ranges::equal(a.qe_auth_data, b.qe_auth_data) &&
         std::ranges::equal(a.qe_report_bytes, b.qe_report_bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const World world;
  static const AppraisalPolicy policy;
  const ByteView input(data, size);
  const VerifyContext context{world.now, ReportDataExpectation::not_requested(), policy};
  const AppraisalResult result = verify(input, world.collateral, context);
  if (result.accepted == result.failure.has_value() ||
      (result.accepted && !same_signed_bytes(input, world.v4.quote) &&
       !same_signed_bytes(input, world.v5.quote))) {
    std::abort();
  }
  static_cast<void>(to_json(result).dump());
  return 0;
}
