// SPDX-License-Identifier: Apache-2.0
// Options of verbs that hash a model: path, device, parameters and the objects to hash.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/verbs/device_options.h"
#include "gpu_hash/artifact_hash.h"

namespace assay::cli {

struct HashFlags {
  std::string path;
  DeviceFlags device;
  std::string hash = "sha256";
  std::uint64_t chunk_size = kDefaultChunkSize;
  std::string objects = "both";
  std::vector<std::string> ignore;
  std::vector<std::string> presets;  // names of kIgnorePresets (schemas/core/artifact.h)
  std::vector<std::string> whole;    // paths of files that are not cut
  bool follow_symlinks = false;
};

// Adds PATH, and the options for device, parameters and the objects to hash.
void add_hash_options(const Command& verb, HashFlags& flags);
// Makes the options of hashing from the flags. Adds a pattern of kUsualIgnore
// (schemas/core/artifact.h) to the ignore patterns when a file or directory of that name exists.
// Such files often lie beside a model but are not a part of it. Prints each added pattern on
// stderr, because the user did not give the pattern. Also names records of download tools that are
// there and that no preset leaves out.
[[nodiscard]] Result<gpu_hash::ArtifactOptions> artifact_options(const Context& context,
                                                                 const HashFlags& flags);

}  // namespace assay::cli
