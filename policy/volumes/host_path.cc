// SPDX-License-Identifier: Apache-2.0
// Directories of a node where the files of its pods can be reached.
#include "policy/host_path.h"

#include <algorithm>

#include "schemas/location.h"

namespace assay::policy {

bool lies_in(std::string_view path, std::string_view directory) {
  return directory == "/" || location_covers(directory, path);
}

bool touches_any(std::string_view path, std::span<const std::string_view> places) {
  return std::ranges::any_of(
      places, [&](std::string_view place) { return lies_in(path, place) || lies_in(place, path); });
}

}  // namespace assay::policy
