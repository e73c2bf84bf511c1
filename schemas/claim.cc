// SPDX-License-Identifier: Apache-2.0
#include "schemas/claim.h"

#include <algorithm>

namespace assay {

std::optional<Claim> claim_in(std::string_view location) {
  constexpr std::string_view kScheme = "pvc://";
  if (!location.starts_with(kScheme)) {
    return std::nullopt;
  }
  const std::size_t slash = location.find('/', kScheme.size());
  if (slash == std::string_view::npos || slash == kScheme.size()) {
    return std::nullopt;
  }
  const std::size_t end = std::min(location.find('/', slash + 1), location.size());
  if (end == slash + 1) {
    return std::nullopt;
  }
  const std::string_view below = end == location.size() ? "" : location.substr(end + 1);
  return Claim{std::string(location.substr(0, end)),
               std::string(location.substr(kScheme.size(), slash - kScheme.size())),
               std::string(location.substr(slash + 1, end - slash - 1)), std::string(below)};
}

}  // namespace assay
