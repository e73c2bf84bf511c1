// SPDX-License-Identifier: Apache-2.0
// Reads the header of a file of the model. Internal to this folder.
#pragma once

#include <memory>
#include <utility>

#include "gpu_hash/safetensors.h"
#include "gpu_hash/source_file.h"
#include "schemas/core/error.h"

namespace assay::gpu_hash {

// Calls `read_header(size, read_at)` with the bytes of `file`. The `where` of its errors with the
// code `malformed` starts with the file's label. Errors: those of `read_header`, SourceFile::open()
// and OpenFile::read().
template <typename Header>
[[nodiscard]] Result<Header> read_header_of(const SourceFile& file, ErrorCode malformed,
                                            Result<Header> (*read_header)(std::uint64_t,
                                                                          const ReadAt&)) {
  ASSAY_ASSIGN(const std::shared_ptr<const OpenFile> opened, file.open());
  auto result = read_header(file.size(), [&](std::uint64_t offset, std::span<std::uint8_t> out) {
    return opened->read(offset, out);
  });
  if (!result && result.error().code == malformed) {
    Error error = std::move(result).error();
    error.where = error.where.empty() ? file.label() : file.label() + "#" + error.where;
    return std::unexpected(std::move(error));
  }
  return result;
}

}  // namespace assay::gpu_hash
