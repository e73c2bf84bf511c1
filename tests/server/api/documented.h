// SPDX-License-Identifier: Apache-2.0
// Compares answers with schemas/openapi.yaml.
#pragma once

#include <string>

#include "tests/server/api/fixture.h"

namespace assay::server::test {

// Returns what the document does not say of `answer`: its status, its media type, or a part of its
// JSON. Empty: it is as documented, or the document has no such operation.
[[nodiscard]] std::string not_documented(Listener listener, Method method,
                                         const std::string& target, const ApiAnswer& answer);

// Returns how `value` differs from `schema`, which may refer to components of the document; empty
// when it does not. Objects to each keyword of the schema that knows_keyword() does not, whatever
// `value` is.
[[nodiscard]] std::string violation(const Json& schema, const Json& value);

// Returns whether violation() knows what a schema means by this keyword with this rule.
[[nodiscard]] bool knows_keyword(const std::string& key, const Json& rule);

}  // namespace assay::server::test
