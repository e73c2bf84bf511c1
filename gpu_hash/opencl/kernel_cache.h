// SPDX-License-Identifier: Apache-2.0
// Compiled kernels on disk, so that a program is built once per device, driver and source. A cache
// is an advice: whatever is wrong with it, the program is built anew.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "schemas/core/bytes.h"

namespace assay::gpu_hash {

class KernelCache {
 public:
  // $XDG_CACHE_HOME/assay/kernels, else $HOME/.cache/assay/kernels; without either, a cache that
  // keeps nothing.
  [[nodiscard]] static KernelCache of_user();
  // An empty path keeps nothing.
  explicit KernelCache(std::filesystem::path directory) : directory_(std::move(directory)) {}

  // The binary stored under `key`; nothing unless the file is whole, was stored under this very
  // key, and only this user could write it.
  [[nodiscard]] std::optional<Bytes> load(std::string_view key) const;
  // Stores in one step: a reader sees the old file or the whole new one. Failures are ignored.
  void store(std::string_view key, ByteView binary) const;
  void drop(std::string_view key) const;

  // Where `key` is kept.
  [[nodiscard]] std::filesystem::path file(std::string_view key) const;

 private:
  std::filesystem::path directory_;
};

}  // namespace assay::gpu_hash
