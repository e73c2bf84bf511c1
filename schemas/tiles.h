// SPDX-License-Identifier: Apache-2.0
// Addresses and encodings of the tiles of a log. Spec: C2SP tlog-tiles, schemas/log.md section 4.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/bytes.h"
#include "schemas/core/error.h"
#include "schemas/core/ids.h"

namespace assay {

// A full tile has 256 hashes: 8 levels of the tree.
inline constexpr unsigned kTileHeight = 8;
inline constexpr unsigned kTileWidth = 256;
inline constexpr unsigned kMaxTileLevel = 63;
// Six groups of three digits. The tiles of every log, whose size is below 2^64, have smaller ones.
inline constexpr std::uint64_t kMaxTileIndex = 999'999'999'999'999'999;

// A tile of hashes, or (`level` absent) a bundle of entries.
struct TileAddress {
  std::optional<unsigned> level;
  std::uint64_t index = 0;
  unsigned width = kTileWidth;  // 1 to 256; below 256 it is partial
  bool operator==(const TileAddress&) const = default;
};

// "tile/0/x001/234", "tile/entries/000.p/44": the path below the address of the log.
[[nodiscard]] std::string tile_path(const TileAddress& tile);
// The reverse. not-found for anything that tile_path would not write, a level above kMaxTileLevel,
// or an index above kMaxTileIndex.
[[nodiscard]] Result<TileAddress> parse_tile_path(std::string_view path);

// Calls `visit` for each tile of a log of `size` entries, level by level, and after each tile of
// level 0 for the bundle with its entries, until one call fails. No list is made: `size` may come
// from a checkpoint that nobody has verified.
[[nodiscard]] Status for_each_tile(TreeSize size,
                                   const std::function<Status(const TileAddress&)>& visit);

// Whether a log of `size` entries has the first `width` hashes of this tile: not-found when it does
// not, invalid-parameter for a width that no tile has.
[[nodiscard]] Status check_tile(TreeSize size, unsigned level, std::uint64_t index, unsigned width);

// Adds an entry (at most 65535 bytes) to a bundle: two bytes of length, then the bytes.
void append_bundle_entry(Bytes& bundle, ByteView entry);
// The entries of a bundle, borrowed from it. log-inconsistent when it ends inside an entry or has
// more than 256.
[[nodiscard]] Result<std::vector<ByteView>> parse_bundle(ByteView bundle);

}  // namespace assay
