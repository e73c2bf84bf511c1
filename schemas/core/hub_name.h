// SPDX-License-Identifier: Apache-2.0
// Names in the cache of huggingface_hub.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace assay {

// Returns whether the last part of `path`, a path or a location (schemas/location.h), is what
// huggingface_hub calls the directory of a repository: models--ORG--NAME, datasets--NAME. Its
// snapshots have links to its blobs, which lead out of any part of it that is mounted alone.
[[nodiscard]] inline bool is_hub_repository(std::string_view path) {
  constexpr std::array<std::string_view, 2> kTypes = {"models--", "datasets--"};
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return std::ranges::any_of(kTypes, [name](std::string_view type) {
    return name.starts_with(type) && name.size() > type.size();
  });
}

}  // namespace assay
