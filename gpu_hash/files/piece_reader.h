// SPDX-License-Identifier: Apache-2.0
// Brings bytes of an object (Region, gpu_hash/region.h) into host memory. Each thread needs a
// reader of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "gpu_hash/engine.h"
#include "gpu_hash/read_sink.h"
#include "gpu_hash/source_file.h"

namespace assay::gpu_hash {

class PieceReader {
 public:
  PieceReader() = default;
  // `sink` gets the bytes that are read from files; null: nobody does. It must outlive the reader.
  explicit PieceReader(ReadSink* sink) : sink_(sink) {}

  // Returns bytes [offset, offset + size) of `region`, which must lie inside `region`. Bytes that
  // lie in one piece of host memory are borrowed from it. Other bytes are read into `buffer`, which
  // must have room for at least `size` bytes. The view is valid until `buffer` is used again.
  // Errors: those of SourceFile and OpenFile; invalid-parameter for device memory.
  [[nodiscard]] Result<ByteView> view(const Region& region, std::uint64_t offset, std::size_t size,
                                      std::span<std::uint8_t> buffer);

  // Returns a view of bytes [offset, offset + size) without copying them. Empty unless these bytes
  // lie in one piece of host memory.
  [[nodiscard]] static ByteView borrow(const Region& region, std::uint64_t offset,
                                       std::size_t size);

  // Copies the bytes from `offset` into `parts`, one part after the other. Reads from a file with a
  // single system call. Errors: as view().
  [[nodiscard]] Status read(const Region& region, std::uint64_t offset,
                            std::span<const std::span<std::uint8_t>> parts);

  // Copies the bytes from `offset` into `out`. Errors: as view().
  [[nodiscard]] Status read(const Region& region, std::uint64_t offset,
                            std::span<std::uint8_t> out);

 private:
  [[nodiscard]] Status read_piece(const Piece& piece, std::uint64_t offset,
                                  std::span<std::uint8_t> out);
  [[nodiscard]] Status open(const FilePiece& piece);
  // Reads from the open file, and gives the sink what was read.
  [[nodiscard]] Status read_file(const FilePiece& piece, std::uint64_t offset,
                                 std::span<const std::span<std::uint8_t>> parts);

  ReadSink* sink_ = nullptr;
  // The file that was read last stays open, because the next bytes usually come from it.
  std::shared_ptr<const SourceFile> source_;
  std::shared_ptr<const OpenFile> file_;
  NearDirectory near_;
  DirectBuffer buffer_;
};

}  // namespace assay::gpu_hash
