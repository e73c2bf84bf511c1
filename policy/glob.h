// SPDX-License-Identifier: Apache-2.0
// Matches the patterns of policies.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay::policy {

// Returns true when `pattern` matches all of `text`. A '*' stands for any characters, or for none.
// All other characters are compared as bytes. The cost is at most the product of the two lengths.
[[nodiscard]] bool glob_matches(std::string_view pattern, std::string_view text);

// Returns true when at least one of `patterns` matches `text`.
[[nodiscard]] bool any_glob_matches(const std::vector<std::string>& patterns,
                                    std::string_view text);

}  // namespace assay::policy
