// SPDX-License-Identifier: Apache-2.0
// Patterns of policies.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay::policy {

// A '*' in `pattern` stands for any characters, none included; everything else is compared as
// bytes, over the whole of `text`. Costs at most the product of the lengths.
[[nodiscard]] bool glob_matches(std::string_view pattern, std::string_view text);

// One of `patterns` does.
[[nodiscard]] bool any_glob_matches(const std::vector<std::string>& patterns,
                                    std::string_view text);

}  // namespace assay::policy
