// SPDX-License-Identifier: Apache-2.0
// Follows symbolic links below a directory, and never out of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <vector>

#include "gpu_hash/source_file.h"
#include "schemas/core/error.h"
#include "schemas/posix/descriptor.h"

namespace assay::gpu_hash {

enum class Links : std::uint8_t {
  kRefused,
  kBelow,  // those that stay below the directory on their way
  kHub,    // those of a Hugging Face cache (gpu_hash/files/hub_cache.h)
};

// Where a path leads.
struct LinkTarget {
  std::string path;    // below the directory, without links; empty for the directory itself
  Descriptor fd;       // opened with O_PATH; empty for the directory itself
  struct stat status;  // of the target
  std::vector<SeenLink> links;  // on the way
};

// Follows `path` below the open directory `base`, part by part: each part is opened relative to the
// one before and without following a link, so what is replaced meanwhile leads nowhere else. Needs
// no system call that a sandbox may refuse. `links` is not kRefused. Errors, with `label` in
// `where`: invalid-path when a link is absolute, leads out of `base` (even when it leads in again),
// leads nowhere or in a circle, or is none of those that `links` allows; limit-exceeded for more
// than kMaxWalkDepth directories; file-unreadable.
[[nodiscard]] Result<LinkTarget> follow_below(int base, std::string_view path, Links links,
                                              const std::string& label);

}  // namespace assay::gpu_hash
