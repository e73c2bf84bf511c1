// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/files/hub_cache.h"

#include <algorithm>
#include <fcntl.h>
#include <utility>

#include "schemas/core/hub_name.h"
#include "schemas/posix/files.h"

namespace assay::gpu_hash {
namespace {

constexpr std::string_view kSnapshots = "snapshots";
constexpr std::string_view kBlobs = "blobs";

// Whether `text` begins with `start`, which is taken off.
bool take(std::string_view& text, std::string_view start) {
  if (!text.starts_with(start)) {
    return false;
  }
  text.remove_prefix(start.size());
  return true;
}

bool is_name(std::string_view text) {
  return !text.empty() && text != "." && text != ".." && text.find('/') == std::string_view::npos;
}

// XX/HASH
bool is_in_store(std::string_view text) {
  constexpr std::size_t kPrefix = 2;
  return text.size() > kPrefix && text[kPrefix] == '/' &&
         text.substr(kPrefix + 1).starts_with(text.substr(0, kPrefix)) &&
         std::ranges::all_of(text.substr(kPrefix + 1), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace

std::optional<HubSnapshot> hub_snapshot(const std::filesystem::path& path) {
  const std::filesystem::path snapshots = path.parent_path();
  const std::filesystem::path repository = snapshots.parent_path();
  const std::string name = repository.filename().string();
  if (snapshots.filename() != kSnapshots || !is_hub_repository(name)) {
    return std::nullopt;
  }
  Descriptor cache(::open(repository.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!cache || !open_below(cache.get(), name + "/" + std::string(kBlobs), O_PATH | O_DIRECTORY)) {
    return std::nullopt;
  }
  return HubSnapshot{std::make_shared<const Directory>(std::move(cache)),
                     name + "/" + std::string(kSnapshots) + "/" + path.filename().string()};
}

bool is_hub_link(std::string_view place, std::string_view text) {
  if (is_hub_repository(place.substr(0, place.find('/')))) {
    place.remove_prefix(std::min(place.size(), place.find('/') + 1));
  }
  if (place == kBlobs) {
    return take(text, "../../") && take(text, kBlobs) && take(text, "/") && is_in_store(text);
  }
  if (!place.starts_with(std::string(kSnapshots) + "/")) {
    return false;
  }
  for (auto up = std::ranges::count(place, '/'); up >= 0; --up) {
    if (!take(text, "../")) {
      return false;
    }
  }
  return take(text, kBlobs) && take(text, "/") && is_name(text);
}

}  // namespace assay::gpu_hash
