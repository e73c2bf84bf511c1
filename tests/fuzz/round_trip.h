// SPDX-License-Identifier: Apache-2.0
// The property of a text that the service reads: what is read is written in one way, and reads back
// as the same.
#pragma once

#include <cstdlib>
#include <string>

#include "schemas/core/json.h"

namespace assay::fuzz {

// Aborts the program when the property does not hold. `parse` takes bytes and returns a Result,
// `write` makes JSON of its value.
template <typename Parse, typename Write>
void check_round_trip(const Parse& parse, const Write& write, ByteView bytes) {
  const auto document = parse(bytes);
  if (!document) {
    return;
  }
  const std::string written = canonical_json(write(*document)).value();
  const auto again = parse(as_bytes(written));
  if (!again || canonical_json(write(*again)).value() != written) {
    std::abort();
  }
}

}  // namespace assay::fuzz
