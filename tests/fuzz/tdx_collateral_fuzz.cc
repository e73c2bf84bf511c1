// SPDX-License-Identifier: Apache-2.0
// Any bytes as each part of TDX collateral: nothing is read out of bounds, nothing that is parsed
// lacks what later steps rely on, and nothing becomes authentic.

#include <cstdlib>

#include "attestation/simulate/pki.h"
#include "attestation/simulate/simulation.h"
#include "attestation/tdx/crl.h"
#include "attestation/tdx/pck_extension.h"
#include "attestation/tdx/verify.h"

namespace {

using namespace assay;
using namespace assay::attestation::tdx;

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView input(data, size);
  if (const auto info = parse_tcb_info(as_text(input))) {
    require(!info->levels.empty());
    for (const ModuleIdentity& module : info->identities) {
      require(!module.levels.empty());
    }
  }
  if (const auto identity = parse_qe_identity(as_text(input))) {
    require(!identity->levels.empty());
  }
  if (const auto platform = parse_pck_extension(input)) {
    require(parse_pck_extension(make_sgx_extension(*platform)) == platform);
  }
  static_cast<void>(parse_crl(input, kPckCrlErrors));
  if (const auto chain = split_pem_chain(as_text(input))) {
    for (const Bytes& der : *chain) {
      static_cast<void>(parse_certificate(der));
    }
  }
  static_cast<void>(parse_certificate(input));
  if (const auto collateral = parse_collateral(input)) {
    std::vector<Check> checks;
    require(!authenticate_collateral(*collateral, intel_root(), checks));
  }
  return 0;
}
