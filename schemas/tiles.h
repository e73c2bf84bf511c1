// SPDX-License-Identifier: Apache-2.0
// Paths and encodings of the tiles of a log. Spec: C2SP tlog-tiles, schemas/log.md section 4.
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

// A full tile has 256 hashes, which cover 8 levels of the tree.
inline constexpr unsigned kTileHeight = 8;
inline constexpr unsigned kTileWidth = 256;
inline constexpr unsigned kMaxTileLevel = 63;
// Largest index that six groups of three digits can express. Logs have fewer than 2^64 entries, so
// every tile of a log has a smaller index.
inline constexpr std::uint64_t kMaxTileIndex = 999'999'999'999'999'999;

// The address of a tile of hashes or, when `level` is absent, of a bundle of entries.
struct TileAddress {
  std::optional<unsigned> level;
  std::uint64_t index = 0;
  unsigned width = kTileWidth;  // 1 to 256; a partial tile has fewer than 256
  bool operator==(const TileAddress&) const = default;
};

// Returns the path below the URL of the log: "tile/0/x001/234", "tile/entries/000.p/44".
[[nodiscard]] std::string tile_path(const TileAddress& tile);
// Parses a path that tile_path() writes. Errors: not-found for any other text, a level above
// kMaxTileLevel, or an index above kMaxTileIndex.
[[nodiscard]] Result<TileAddress> parse_tile_path(std::string_view path);

// Calls `visit` for each tile of a log of `size` entries, level by level. After each tile of level
// 0, calls `visit` for the bundle with the tile's entries. Stops at the first call that fails and
// returns its error. Builds no list in memory, because `size` may come from an unverified
// checkpoint.
[[nodiscard]] Status for_each_tile(TreeSize size,
                                   const std::function<Status(const TileAddress&)>& visit);

// Checks that in a log of `size` entries the tile `index` of `level` has at least `width` hashes.
// Errors: not-found when the tile has fewer; invalid-parameter for a width outside of 1 to 256.
[[nodiscard]] Status check_tile(TreeSize size, unsigned level, std::uint64_t index, unsigned width);

// Appends an entry (at most 65535 bytes) to a bundle: two bytes of length, then the entry's bytes.
void append_bundle_entry(Bytes& bundle, ByteView entry);
// Returns the entries of a bundle, borrowed from `bundle`. Errors: log-inconsistent when the bundle
// ends inside an entry or has more than 256 entries.
[[nodiscard]] Result<std::vector<ByteView>> parse_bundle(ByteView bundle);

}  // namespace assay
