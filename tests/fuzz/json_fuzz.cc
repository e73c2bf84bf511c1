// SPDX-License-Identifier: Apache-2.0
// Strict JSON: what is read can be written canonically, and that reads back as the same value and
// writes the same bytes.
#include "schemas/core/json.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto value = assay::parse_json(assay::ByteView(data, size));
  if (!value) {
    return 0;
  }
  const auto canonical = assay::canonical_json(*value);
  if (!canonical) {
    std::abort();
  }
  const auto again = assay::parse_json(*canonical);
  if (!again || *again != *value || assay::canonical_json(*again).value() != *canonical) {
    std::abort();
  }
  return 0;
}
