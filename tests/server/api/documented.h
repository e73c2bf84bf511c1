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
// when it does not. Knows the keywords of JSON Schema that the document uses, and objects to
// others.
[[nodiscard]] std::string violation(const Json& schema, const Json& value);

}  // namespace assay::server::test
