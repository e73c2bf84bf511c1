// SPDX-License-Identifier: Apache-2.0
// Reads the service's answers. Answers come over the network, so a member may be missing or of
// another type. The functions below return an empty text, 0, or an empty list for such a member.
#pragma once

#include <string>

#include "schemas/core/bytes.h"
#include "schemas/core/error.h"
#include "schemas/core/json_at.h"

namespace assay::client {

// Parses the JSON of an answer's body. Errors: malformed-json.
[[nodiscard]] Result<Json> json_of(ByteView body);

using assay::number_at;
using assay::text_at;
[[nodiscard]] inline const Json& list_at(const Json& json, const char* member) {
  return array_at(json, member);
}
// Returns the texts of a list, joined by ", ".
[[nodiscard]] std::string joined_at(const Json& json, const char* member);

}  // namespace assay::client
