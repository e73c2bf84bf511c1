// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/model/missing_files.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "gpu_hash/model/gguf_parts.h"
#include "gpu_hash/model/onnx.h"
#include "gpu_hash/model/shard_index.h"
#include "schemas/core/bytes.h"

namespace assay::gpu_hash {
namespace {

// A pointer is shorter than 1024 bytes and has a version, a digest and a size
// (docs/spec.md of git-lfs).
constexpr std::uint64_t kMinPointer = 100;   // bytes
constexpr std::uint64_t kMaxPointer = 1023;  // bytes
constexpr std::array<std::string_view, 2> kPointerStarts = {
    "version https://git-lfs.github.com/spec/", "version https://hawser.github.com/spec/"};

Result<Bytes> read_whole(const SourceFile& file) {
  ASSAY_ASSIGN(const std::shared_ptr<const OpenFile> opened, file.open());
  Bytes content(file.size());
  ASSAY_TRY(opened->read(0, content));
  return content;
}

}  // namespace

Result<bool> is_lfs_pointer(const SourceFile& file) {
  if (file.size() < kMinPointer || file.size() > kMaxPointer) {
    return false;
  }
  ASSAY_ASSIGN(const Bytes content, read_whole(file));
  const std::string_view text = as_text(content);
  return std::ranges::any_of(kPointerStarts,
                             [&](std::string_view start) { return text.starts_with(start); }) &&
         text.find("\noid sha256:") != std::string_view::npos;
}

std::vector<Lack> find_lacks(const std::vector<WalkedFile>& files) {
  std::vector<Lack> lacks;
  ShardIndexes indexes(files);
  const GgufParts parts(files);
  for (const WalkedFile& file : files) {
    std::string lack;
    if (is_lfs_pointer(*file.source).value_or(false)) {
      lack = kLfsPointer;
    } else if (is_shard_index(file.path)) {
      lack = indexes.lack_of(file);
    } else if (is_gguf_path(file.path)) {
      lack = parts.lack_of(file.path);
    } else if (is_onnx_path(file.path)) {
      lack = onnx_lack(file, files);
    }
    if (!lack.empty()) {
      lacks.push_back({file.path, std::move(lack)});
    }
  }
  return lacks;
}

}  // namespace assay::gpu_hash
