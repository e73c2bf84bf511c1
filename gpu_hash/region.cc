// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/region.h"

#include <algorithm>
#include <utility>

#include "gpu_hash/source_file.h"
#include "schemas/core/json.h"

namespace assay::gpu_hash {
namespace {

constexpr std::uint64_t kMaxObjectSize = static_cast<std::uint64_t>(kMaxSafeInteger);

Piece sub_piece(const Piece& piece, std::uint64_t offset, std::uint64_t size) {
  if (const auto* host = std::get_if<HostPiece>(&piece)) {
    return HostPiece{host->bytes.subspan(offset, size)};
  }
  if (const auto* file = std::get_if<FilePiece>(&piece)) {
    return FilePiece{file->file, file->offset + offset, size};
  }
  const auto& device = std::get<DevicePiece>(piece);
  return DevicePiece{device.memory, device.offset + offset, size};
}

}  // namespace

std::uint64_t piece_size(const Piece& piece) {
  if (const auto* device = std::get_if<DevicePiece>(&piece)) {
    return device->size;
  }
  if (const auto* file = std::get_if<FilePiece>(&piece)) {
    return file->size;
  }
  return std::get<HostPiece>(piece).bytes.size();
}

Region host_region(ByteView bytes) {
  Region region;
  region.pieces.emplace_back(HostPiece{bytes});
  return region;
}

Region file_region(std::shared_ptr<const SourceFile> file) {
  const std::uint64_t size = file->size();
  return file_region(std::move(file), 0, size);
}

Region file_region(std::shared_ptr<const SourceFile> file, std::uint64_t offset,
                   std::uint64_t size) {
  Region region;
  region.pieces.emplace_back(FilePiece{std::move(file), offset, size});
  return region;
}

Result<std::uint64_t> region_size(const Region& region) {
  std::uint64_t total = 0;
  for (const Piece& piece : region.pieces) {
    const std::uint64_t size = piece_size(piece);
    if (size > kMaxObjectSize - total) {
      return fail(ErrorCode::kLimitExceeded, "an object must stay below 2^53 bytes");
    }
    total += size;
  }
  return total;
}

Result<std::vector<std::uint64_t>> region_sizes(std::span<const Region> regions) {
  std::vector<std::uint64_t> sizes;
  sizes.reserve(regions.size());
  for (const Region& region : regions) {
    if (region.pieces.size() == 1 && piece_size(region.pieces.front()) <= kMaxObjectSize) {
      sizes.push_back(piece_size(region.pieces.front()));
      continue;
    }
    ASSAY_ASSIGN(const std::uint64_t size, region_size(region));
    sizes.push_back(size);
  }
  return sizes;
}

Region sub_region(const Region& region, std::uint64_t offset, std::uint64_t size) {
  Region result;
  for (const Piece& piece : region.pieces) {
    const std::uint64_t length = piece_size(piece);
    if (offset >= length) {
      offset -= length;
      continue;
    }
    const std::uint64_t take = std::min(size, length - offset);
    if (take == 0) {
      break;
    }
    result.pieces.push_back(sub_piece(piece, offset, take));
    size -= take;
    offset = 0;
  }
  return result;
}

}  // namespace assay::gpu_hash
