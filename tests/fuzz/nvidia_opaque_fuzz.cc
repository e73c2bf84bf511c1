// SPDX-License-Identifier: Apache-2.0
// Opaque fields: what is read is written, and is the same bytes; each type is there once.
#include <algorithm>
#include <cstdlib>
#include <set>

#include "attestation/nvidia/spdm.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  const ByteView input(data, std::min<std::size_t>(size, attestation::nvidia::kMaxReportBytes));
  const auto fields = attestation::nvidia::parse_opaque(input);
  if (!fields) {
    return 0;
  }
  Bytes written;
  std::set<std::uint16_t> types;
  for (const auto& [type, value] : *fields) {
    types.insert(type);
    for (const std::size_t number : {std::size_t{type}, value.size()}) {
      written.push_back(static_cast<std::uint8_t>(number));
      written.push_back(static_cast<std::uint8_t>(number >> 8));
    }
    written.insert(written.end(), value.begin(), value.end());
  }
  if (types.size() != fields->size() || !std::ranges::equal(written, input)) {
    std::abort();
  }
  return 0;
}
