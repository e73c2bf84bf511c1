// SPDX-License-Identifier: Apache-2.0
// Indexes of safetensors shards, held against the shards. Internal to this folder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gpu_hash/walk.h"

namespace assay::gpu_hash {

// Largest index, in bytes.
inline constexpr std::size_t kMaxShardIndex = 33'554'432;
// Headers of shards that are read for all indexes of a model together, in bytes. The last one may
// go beyond it.
inline constexpr std::uint64_t kMaxShardHeaders = std::uint64_t{1} << 28;

// Whether the file is an index by its name: model.safetensors.index.json, or
// model.safetensors.index.fp16.json of a variant.
[[nodiscard]] bool is_shard_index(std::string_view path);

class ShardIndexes {
 public:
  // `files` are ordered by path and must outlive this object.
  explicit ShardIndexes(const std::vector<WalkedFile>& files,
                        std::uint64_t max_headers = kMaxShardHeaders)
      : files_(files), max_headers_(max_headers) {}

  // Returns why `index` does not fit the shards, for people; empty when it does. Shards may be
  // missing, and tensors may stand in no shard, in another shard than the index says, or in two
  // shards. An index or a shard that cannot be read does not fit.
  [[nodiscard]] std::string lack_of(const WalkedFile& index);

 private:
  const std::vector<WalkedFile>& files_;
  std::uint64_t max_headers_;
  std::uint64_t header_bytes_ = 0;  // that were read
};

}  // namespace assay::gpu_hash
