// SPDX-License-Identifier: Apache-2.0
// Brings runs of an object's bytes into host memory. One reader per thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "gpu_hash/engine.h"
#include "gpu_hash/source_file.h"

namespace assay::gpu_hash {

class PieceReader {
 public:
  // Bytes [offset, offset + size) of `region`, which lie inside it: borrowed from host memory where
  // they are in one piece of it, else read into `buffer` (at least `size` bytes). The view is good
  // until the buffer is used again. Errors of SourceFile and OpenFile; invalid-parameter for device
  // memory.
  [[nodiscard]] Result<ByteView> view(const Region& region, std::uint64_t offset, std::size_t size,
                                      std::span<std::uint8_t> buffer);

  // Bytes [offset, offset + size) where they lie: empty unless that is in one piece of host memory.
  [[nodiscard]] static ByteView borrow(const Region& region, std::uint64_t offset,
                                       std::size_t size);

  // Copies the bytes from `offset` into `parts`, one after the other, out of a file with a single
  // system call. Same errors.
  [[nodiscard]] Status read(const Region& region, std::uint64_t offset,
                            std::span<const std::span<std::uint8_t>> parts);

  // Copies the bytes from `offset` into `out`. Same errors.
  [[nodiscard]] Status read(const Region& region, std::uint64_t offset,
                            std::span<std::uint8_t> out);

 private:
  [[nodiscard]] Status read_piece(const Piece& piece, std::uint64_t offset,
                                  std::span<std::uint8_t> out);
  [[nodiscard]] Status open(const FilePiece& piece);

  // The file read last stays open: the next run usually comes from it.
  std::shared_ptr<const SourceFile> source_;
  std::shared_ptr<const OpenFile> file_;
  DirectBuffer buffer_;
};

}  // namespace assay::gpu_hash
