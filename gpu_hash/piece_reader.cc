// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/piece_reader.h"

#include <algorithm>

#include "gpu_hash/source_file.h"

namespace assay::gpu_hash {

Result<ByteView> PieceReader::view(const Region& region, std::uint64_t offset, std::size_t size,
                                   std::span<std::uint8_t> buffer) {
  std::uint64_t begin = offset;
  for (const Piece& piece : region.pieces) {
    const std::uint64_t length = piece_size(piece);
    if (begin >= length) {
      begin -= length;
      continue;
    }
    const auto* host = std::get_if<HostPiece>(&piece);
    if (host != nullptr && size <= length - begin) {
      return host->bytes.subspan(begin, size);
    }
    break;
  }
  const std::span<std::uint8_t> out = buffer.first(size);
  ASSAY_TRY(read(region, offset, out));
  return out;
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
  if (source_ != part->file) {
    file_.reset();
    ASSAY_ASSIGN(file_, part->file->open());
    source_ = part->file;
  }
  return file_->read(part->offset + offset, out);
}

}  // namespace assay::gpu_hash
