// SPDX-License-Identifier: Apache-2.0
// Checks documents against the JSON Schemas (draft-07) in schemas/json, which are compiled in. A
// schema is the one description of a document's shape; codecs run after it and may rely on it.
#pragma once

#include <string_view>

#include "schemas/core/error.h"
#include "schemas/core/json.h"

namespace assay {

// Checks `document` against schemas/json/<schema>.schema.json. unknown-member for a member that the
// schema does not define, schema-violation for anything else; `where` is the JSON pointer. Asking
// for a schema that does not exist is `internal`. Thread-safe.
[[nodiscard]] Status validate(std::string_view schema, const Json& document);

}  // namespace assay
