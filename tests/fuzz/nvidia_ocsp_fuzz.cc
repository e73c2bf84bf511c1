// SPDX-License-Identifier: Apache-2.0
// OCSP answers: none verifies for NVIDIA's root, whose key nobody here has.
#include <cstdlib>

#include "attestation/nvidia/device_chain.h"
#include "attestation/nvidia/ocsp.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  namespace nvidia = attestation::nvidia;
  const auto response = nvidia::OcspResponse::parse(ByteView(data, size));
  if (!response) {
    return 0;
  }
  const auto& root = nvidia::device_root();
  const auto status = nvidia::status_of(*response, root, root);
  if (status && *status) {
    std::abort();
  }
  return 0;
}
