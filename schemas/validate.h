// SPDX-License-Identifier: Apache-2.0
// Checks documents against the JSON Schemas (draft-07) in schemas/json, which are compiled into the
// program. The shape of a document is described only by its schema. Codecs run after validate() and
// rely on the checked shape.
#pragma once

#include <string_view>

#include "schemas/core/error.h"
#include "schemas/core/json.h"

namespace assay {

// Checks `document` against schemas/json/<schema>.schema.json. Errors: unknown-member for a member
// that the schema does not define; schema-violation for any other violation; internal when the
// schema does not exist. `where` is the JSON pointer to the violation. Thread-safe.
[[nodiscard]] Status validate(std::string_view schema, const Json& document);

}  // namespace assay
