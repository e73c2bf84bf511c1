// SPDX-License-Identifier: Apache-2.0
// Paths of tiles. Spec: C2SP tlog-tiles, "Parameters" and "Partial Tiles".
#pragma once

#include <cstdint>
#include <string_view>

#include "schemas/core/error.h"

namespace assay::server {

inline constexpr unsigned kTileWidth = 256;

struct TileIndex {
  std::uint64_t index;
  unsigned width;  // 1 to 256; below 256 in a path that ends in ".p/<width>"
  bool operator==(const TileIndex&) const = default;
};

// "x001/x234/067" or "x001/x234/067.p/8". not-found for any other spelling: each tile has one.
[[nodiscard]] Result<TileIndex> parse_tile_index(std::string_view path);
// "0" to "63". not-found otherwise.
[[nodiscard]] Result<unsigned> parse_tile_level(std::string_view text);

}  // namespace assay::server
