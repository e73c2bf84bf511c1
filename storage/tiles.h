// SPDX-License-Identifier: Apache-2.0
// Addresses and encodings of log tiles. Spec: C2SP tlog-tiles, schemas/log.md section 4.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/bytes.h"
#include "schemas/core/error.h"
#include "schemas/core/ids.h"

namespace assay::storage {

// A full tile has 256 hashes: 8 levels of the tree.
inline constexpr unsigned kTileHeight = 8;
inline constexpr unsigned kTileWidth = 256;

// A hash tile, or (`level` absent) a bundle of entries.
struct TileAddress {
  std::optional<unsigned> level;
  std::uint64_t index;
  unsigned width = kTileWidth;  // 1 to 256; below 256 it is partial
  bool operator==(const TileAddress&) const = default;
};

// "tile/0/x001/234", "tile/entries/000.p/44": the path below the address of the log.
[[nodiscard]] std::string tile_path(const TileAddress& tile);
// The reverse; not-found for anything that tile_path would not write.
[[nodiscard]] Result<TileAddress> parse_tile_path(std::string_view path);

// All tiles and bundles of a log of `size` entries: what a mirror of it holds.
[[nodiscard]] std::vector<TileAddress> tiles_of(TreeSize size);

// Whether a log of `size` entries has the first `width` hashes of this tile: not-found when it does
// not, invalid-parameter for a width that no tile has.
[[nodiscard]] Status check_tile(TreeSize size, unsigned level, std::uint64_t index, unsigned width);

// Adds an entry (at most 65535 bytes) to a bundle: two bytes of length, then the bytes.
void append_bundle_entry(Bytes& bundle, ByteView entry);
// The entries of a bundle; invalid-encoding when it ends inside of one.
[[nodiscard]] Result<std::vector<Bytes>> parse_bundle(ByteView bundle);

}  // namespace assay::storage
