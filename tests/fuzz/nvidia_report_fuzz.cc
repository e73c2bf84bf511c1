// SPDX-License-Identifier: Apache-2.0
// Reports of GPUs and switches: the fields of a report that is read are all of its bytes, and a
// shorter report is none.
#include <cstdlib>

#include "attestation/nvidia/spdm.h"

namespace {

using namespace assay;
namespace nvidia = attestation::nvidia;

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView input(data, size);
  const auto report = nvidia::parse_report(input);
  if (!report) {
    return 0;
  }
  require(report->signed_bytes.size() + report->signature.size() == size);
  std::size_t held = 0;
  for (const auto& [index, value] : report->measurements) {
    require(value.size() <= nvidia::kMaxMeasurementBytes && report->measurement(index).has_value());
    held += 7 + value.size();
  }
  for (const auto& [type, value] : report->opaque) {
    held += 4 + value.size();
  }
  // Headers, both nonces, slot, and three lengths.
  require(held + 4 + 32 + 1 + 4 + 1 + 3 + 32 + 2 + nvidia::kSignatureBytes == size);
  // A report without its last byte is none.
  require(!nvidia::parse_report(input.first(size - 1)));
  return 0;
}
