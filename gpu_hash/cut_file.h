// SPDX-License-Identifier: Apache-2.0
// Files that are cut into segments: which they are, and where their segments lie. Spec:
// schemas/tree.md sections 2.2 and 4.4.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu_hash/safetensors.h"
#include "gpu_hash/source_file.h"
#include "schemas/core/artifact.h"
#include "schemas/core/cut.h"
#include "schemas/core/error.h"

namespace assay::gpu_hash {

// Returns the format by which whoever makes an artifact cuts a file of this path, by the end of the
// path; nullopt: the file is one segment.
[[nodiscard]] std::optional<CutFormat> cut_format_of(std::string_view path);

// Says by which format the file of a path in the artifact is cut.
using CutRule = std::function<std::optional<CutFormat>(const std::string& path)>;
// The rule of whoever makes an artifact: cut_format_of(), except for the paths in `whole`.
[[nodiscard]] CutRule cut_by_name(std::vector<std::string> whole);
// The rule of whoever verifies files against `expected`: what their entries say, whatever their
// names are. For an artifact of tensors alone, which has no cuts: cut_format_of(), of the path in
// the tensor's entry. Borrows nothing.
[[nodiscard]] CutRule cut_as_in(const Artifact& expected);

// What the header of a file says that is cut.
struct CutHeader {
  std::uint64_t size;           // bytes of the header
  std::vector<Tensor> tensors;  // ordered by name as bytes; they share no bytes
};
// Reads and checks the header. Errors: malformed_code(format) when the bytes are not of this
// format; those of SourceFile::open() and OpenFile::read().
[[nodiscard]] Result<CutHeader> read_cut(const SourceFile& file, CutFormat format);
[[nodiscard]] ErrorCode malformed_code(CutFormat format);

// A part of a file that is hashed as a tree of its own.
struct FileSegment {
  enum class Kind : std::uint8_t { kFile, kHeader, kTensor, kPadding };
  Kind kind;
  std::uint64_t offset;    // bytes from the start of the file
  std::uint64_t size;      // bytes
  std::size_t tensor = 0;  // for kTensor: index into CutHeader::tensors
};
// Returns the segments of a file of `file_size` bytes in the order of the file, and among them the
// tensors without bytes, which are no segments of the file.
[[nodiscard]] std::vector<FileSegment> segments_of(const CutHeader& header,
                                                   std::uint64_t file_size);

}  // namespace assay::gpu_hash
