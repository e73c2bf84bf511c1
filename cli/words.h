// SPDX-License-Identifier: Apache-2.0
// JSON values in words, for people.
#pragma once

#include <string>

#include "schemas/core/json.h"

namespace assay::cli {

// Returns "at_least 1, names a and b" for {"at_least":1,"names":["a","b"]}: members by name, lists
// joined, inner objects in brackets. Not printable yet.
[[nodiscard]] std::string in_words(const Json& value);

}  // namespace assay::cli
