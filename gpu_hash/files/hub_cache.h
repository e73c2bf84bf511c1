// SPDX-License-Identifier: Apache-2.0
// The cache of huggingface_hub. CACHE/models--ORG--NAME (or datasets--) is the repository of a
// model: blobs/ETAG is the content of a file, and snapshots/REVISION has a link to it under the
// file's name. Files that came by Xet are links in blobs/, too, to CACHE/blobs/XX/HASH, where XX
// begins HASH: the store of all repositories.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gpu_hash/source_file.h"

namespace assay::gpu_hash {

// A snapshot in a cache.
struct HubSnapshot {
  std::shared_ptr<const Directory> cache;
  std::string path;  // below `cache`
};

// Returns the snapshot at `path`, which is absolute and without links; nothing for any other
// directory. A snapshot lies in a directory `snapshots`, and this in a repository that has a
// directory `blobs`. (`refs` says nothing: a download by the hash of a commit makes none.)
[[nodiscard]] std::optional<HubSnapshot> hub_snapshot(const std::filesystem::path& path);

// Returns whether a link with the content `text`, in the directory `place` of a cache or of a
// repository, is one that huggingface_hub makes: from a file of a snapshot to a blob of the same
// repository, or from such a blob to the store. Such links have one spelling.
[[nodiscard]] bool is_hub_link(std::string_view place, std::string_view text);

}  // namespace assay::gpu_hash
