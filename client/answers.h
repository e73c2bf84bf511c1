// SPDX-License-Identifier: Apache-2.0
// Reading the service's answers. They come over the network: a member may be missing or of another
// type, and then counts as an empty text, 0, or an empty list.
#pragma once

#include <cstdint>
#include <string>

#include "schemas/core/bytes.h"
#include "schemas/core/error.h"
#include "schemas/core/json.h"

namespace assay::client {

// The JSON of an answer's body. malformed-json.
[[nodiscard]] Result<Json> json_of(ByteView body);

[[nodiscard]] std::string text_at(const Json& json, const char* member);
[[nodiscard]] std::uint64_t number_at(const Json& json, const char* member);
[[nodiscard]] const Json& list_at(const Json& json, const char* member);
// Texts of a list, joined by ", ".
[[nodiscard]] std::string joined_at(const Json& json, const char* member);

}  // namespace assay::client
