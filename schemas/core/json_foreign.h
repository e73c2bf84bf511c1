// SPDX-License-Identifier: Apache-2.0
// Parses JSON objects from other software, whose integers may be too large for some readers.
#pragma once

#include "schemas/core/json.h"

namespace assay {

// Parses as parse_json() does, but turns an integer outside +-(2^53 - 1) into a string of its
// digits. The integer stays exact this way, and the canonical form stays defined. Numbers beyond a
// double are still refused.
[[nodiscard]] Result<Json> parse_foreign_json(ByteView bytes, const JsonLimits& limits = {});

// Returns the memory that parsing `value` takes, estimated as for JsonLimits::max_memory.
[[nodiscard]] std::size_t json_memory(const Json& value);

}  // namespace assay
