// SPDX-License-Identifier: Apache-2.0
// Optional white space (OWS) around values and members of lists: RFC 9110 section 5.6.3.
#pragma once

#include <string_view>

namespace assay::server {

// Returns the text without the spaces and tabs at both ends.
[[nodiscard]] constexpr std::string_view without_ows(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace assay::server
