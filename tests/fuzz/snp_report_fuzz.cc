// SPDX-License-Identifier: Apache-2.0
// Any bytes as SEV-SNP evidence, against simulated collateral: accepted is only what the simulated
// chip signed, with its own key or its provider's, whatever table of certificates is behind it.

#include <algorithm>
#include <cstdlib>

#include "attestation/simulate/snp_simulation.h"
#include "attestation/snp/verify.h"

namespace {

using namespace assay;
using namespace assay::attestation::snp;

struct World {
  Timestamp now = parse_rfc3339("2026-03-01T12:00:00Z").value();
  SnpSimulation made = simulate(valid_snp_simulation(as_bytes("fuzz"), now));
  SnpSimulation by_provider =
      simulate(valid_snp_simulation(as_bytes("fuzz"), now, Generation::kMilan, SigningKey::kVlek));
  AuthenticatedCollateral collateral =
      authenticate_collateral(made.collateral, TrustAnchor::from_bytes(made.root).value()).value();
};

bool is_signed_part_of(ByteView input, const Bytes& evidence) {
  return std::ranges::equal(input.first(kSignedBytes), ByteView(evidence).first(kSignedBytes));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const World world;
  static const AppraisalPolicy policy;
  const ByteView input(data, size);
  const VerifyContext context{world.now, ReportDataExpectation::not_requested(), policy};
  const AppraisalResult result = verify(input, world.collateral, context);
  if (result.accepted == result.failure.has_value() ||
      (result.accepted && !is_signed_part_of(input, world.made.evidence) &&
       !is_signed_part_of(input, world.by_provider.evidence))) {
    std::abort();
  }
  static_cast<void>(to_json(result).dump());
  static_cast<void>(claimed(input));
  return 0;
}
