// SPDX-License-Identifier: Apache-2.0
// Parses JSON objects from other software, whose integers may be too large for some readers.
#pragma once

#include <optional>
#include <string>

#include "schemas/core/json.h"

namespace assay {

// Parses as parse_json() does, but turns an integer outside +-(2^53 - 1) into a string of its
// digits. The integer stays exact this way, and the canonical form stays defined. Numbers beyond a
// double are still refused.
[[nodiscard]] Result<Json> parse_foreign_json(ByteView bytes, const JsonLimits& limits = {});

// Parses as parse_json() does, but keeps an integer outside +-(2^53 - 1) as a value of a kind of
// its own: neither a number nor a text. Nothing takes such a value for what it is not. A schema and
// canonical_json() refuse it, a policy's comparison with it is undecided, and it equals only the
// same digits of the same kind. Numbers beyond a double are still refused.
[[nodiscard]] Result<Json> parse_exact_json(ByteView bytes, const JsonLimits& limits = {});

// Returns the text of an integer that parse_exact_json() kept apart, as the document spells it.
// Returns nullopt for any other value.
[[nodiscard]] std::optional<std::string> large_integer(const Json& value);

// Returns `value`, for people to read, with each such integer as a string of its digits.
[[nodiscard]] Json large_integers_as_text(Json value);

// Returns the memory that parsing `value` takes, estimated as for JsonLimits::max_memory.
[[nodiscard]] std::size_t json_memory(const Json& value);

}  // namespace assay
