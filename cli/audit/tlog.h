// SPDX-License-Identifier: Apache-2.0
// Layout of a tiled log (C2SP tlog-tiles): names of files, and what bundles hold. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/bytes.h"
#include "schemas/core/error.h"
#include "schemas/core/ids.h"

namespace assay::cli {

inline constexpr std::uint64_t kTileWidth = 256;

// Path below the log's address; `level` is a number or "entries". A width below 256 is partial.
[[nodiscard]] std::string tile_path(std::string_view level, std::uint64_t index,
                                    std::uint64_t width = kTileWidth);

// A tile of hashes at a level.
struct Tile {
  unsigned level;
  std::uint64_t index;
  std::uint64_t width;
  bool operator==(const Tile&) const = default;
};

// Calls `visit` for each hash tile of a log of `size` entries, level by level, until one call
// fails; the tiles of level 0 are those of the bundles, too. No list is made: `size` may come from
// a checkpoint that nobody has verified.
[[nodiscard]] Status for_each_tile(TreeSize size, const std::function<Status(const Tile&)>& visit);

// Entries of a bundle, borrowed from `bundle`. log-inconsistent when it is cut inside an entry or
// has more than 256 of them.
[[nodiscard]] Result<std::vector<ByteView>> parse_bundle(ByteView bundle);

}  // namespace assay::cli
