// SPDX-License-Identifier: Apache-2.0
// Compiled kernels on disk, so that a program is built once for each device, driver and source. The
// cache is only an aid: when a cached program is unusable, the program is built again.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "schemas/core/bytes.h"

namespace assay::gpu_hash {

class KernelCache {
 public:
  // Returns the cache in $XDG_CACHE_HOME/assay/kernels, or else in $HOME/.cache/assay/kernels. When
  // neither variable is set, the cache stores nothing.
  [[nodiscard]] static KernelCache of_user();
  // Makes a cache in `directory`. With an empty path the cache stores nothing.
  explicit KernelCache(std::filesystem::path directory) : directory_(std::move(directory)) {}

  // Returns the binary stored under `key`. Returns nullopt unless the file is complete, was stored
  // under the same key, and only this user could write it.
  [[nodiscard]] std::optional<Bytes> load(std::string_view key) const;
  // Stores `binary` in one step: a reader sees the old file or the complete new one. Failures are
  // ignored.
  void store(std::string_view key, ByteView binary) const;
  void drop(std::string_view key) const;

  // Returns the path of the file for `key`.
  [[nodiscard]] std::filesystem::path file(std::string_view key) const;

 private:
  std::filesystem::path directory_;
};

}  // namespace assay::gpu_hash
