// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/files/piece_reader.h"

#include <algorithm>

#include "gpu_hash/source_file.h"

namespace assay::gpu_hash {

namespace {

// The piece that holds byte `offset`, which becomes an offset in the piece; null at the end.
const Piece* find_piece(const Region& region, std::uint64_t& offset) {
  for (const Piece& piece : region.pieces) {
    const std::uint64_t length = piece_size(piece);
    if (offset < length) {
      return &piece;
    }
    offset -= length;
  }
  return nullptr;
}

}  // namespace

ByteView PieceReader::borrow(const Region& region, std::uint64_t offset, std::size_t size) {
  const Piece* piece = find_piece(region, offset);
  const auto* host = piece != nullptr ? std::get_if<HostPiece>(piece) : nullptr;
  return host != nullptr && size <= host->bytes.size() - offset ? host->bytes.subspan(offset, size)
                                                                : ByteView{};
}

Result<ByteView> PieceReader::view(const Region& region, std::uint64_t offset, std::size_t size,
                                   std::span<std::uint8_t> buffer) {
  if (const ByteView there = borrow(region, offset, size); !there.empty()) {
    return there;
  }
  const std::span<std::uint8_t> out = buffer.first(size);
  ASSAY_TRY(read(region, offset, out));
  return out;
}

Status PieceReader::read(const Region& region, std::uint64_t offset,
                         std::span<const std::span<std::uint8_t>> parts) {
  std::uint64_t size = 0;
  for (const std::span<std::uint8_t> part : parts) {
    size += part.size();
  }
  std::uint64_t begin = offset;
  const Piece* piece = find_piece(region, begin);
  const auto* file = piece != nullptr ? std::get_if<FilePiece>(piece) : nullptr;
  if (file != nullptr && size <= file->size - begin) {
    return read_file(*file, begin, parts);
  }
  for (const std::span<std::uint8_t> part : parts) {
    ASSAY_TRY(read(region, offset, part));
    offset += part.size();
  }
  return {};
}

Status PieceReader::read(const Region& region, std::uint64_t offset, std::span<std::uint8_t> out) {
  for (const Piece& piece : region.pieces) {
    const std::uint64_t length = piece_size(piece);
    if (offset >= length) {
      offset -= length;
      continue;
    }
    if (out.empty()) {
      break;
    }
    const auto take =
        static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), length - offset));
    ASSAY_TRY(read_piece(piece, offset, out.first(take)));
    out = out.subspan(take);
    offset = 0;
  }
  return out.empty() ? Status{} : fail(ErrorCode::kInternal, "a read beyond the end of an object");
}

Status PieceReader::read_piece(const Piece& piece, std::uint64_t offset,
                               std::span<std::uint8_t> out) {
  if (const auto* host = std::get_if<HostPiece>(&piece)) {
    std::copy_n(host->bytes.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
    return {};
  }
  const auto* part = std::get_if<FilePiece>(&piece);
  if (part == nullptr) {
    return fail(ErrorCode::kInvalidParameter,
                "device memory can only be hashed by the engine of its device");
  }
  return read_file(*part, offset, std::span<const std::span<std::uint8_t>>(&out, 1));
}

Status PieceReader::read_file(const FilePiece& piece, std::uint64_t offset,
                              std::span<const std::span<std::uint8_t>> parts) {
  ASSAY_TRY(open(piece));
  ASSAY_TRY(file_->read(piece.offset + offset, parts, &buffer_, piece.offset + piece.size));
  return sink_ == nullptr ? Status{} : sink_->take(*piece.file, piece.offset + offset, parts);
}

Status PieceReader::open(const FilePiece& piece) {
  if (source_ != piece.file) {
    file_.reset();
    source_.reset();
    ASSAY_ASSIGN(file_, piece.file->open(near_));
    source_ = piece.file;
  }
  return {};
}

}  // namespace assay::gpu_hash
