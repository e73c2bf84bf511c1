// SPDX-License-Identifier: Apache-2.0
#include "cli/audit/tlog.h"

#include <array>
#include <cstdio>

namespace assay::cli {

std::string tile_path(std::string_view level, std::uint64_t index, std::uint64_t width) {
  std::string groups;
  bool last = true;
  do {
    std::array<char, 16> group{};
    static_cast<void>(std::snprintf(group.data(), group.size(), last ? "%03u" : "x%03u/",
                                    static_cast<unsigned>(index % 1000)));
    groups.insert(0, group.data());
    last = false;
    index /= 1000;
  } while (index > 0);
  std::string path = "tile/";
  path += level;
  path += "/" + groups;
  return width < kTileWidth ? path + ".p/" + std::to_string(width) : path;
}

Status for_each_tile(TreeSize size, const std::function<Status(const Tile&)>& visit) {
  unsigned level = 0;
  for (std::uint64_t count = size; count > 0; count /= kTileWidth, ++level) {
    for (std::uint64_t index = 0; index < count / kTileWidth; ++index) {
      ASSAY_TRY(visit({level, index, kTileWidth}));
    }
    if (count % kTileWidth != 0) {
      ASSAY_TRY(visit({level, count / kTileWidth, count % kTileWidth}));
    }
  }
  return {};
}

Result<std::vector<ByteView>> parse_bundle(ByteView bundle) {
  std::vector<ByteView> entries;
  while (!bundle.empty()) {
    if (bundle.size() < 2) {
      return fail(ErrorCode::kLogInconsistent, "The bundle ends inside the length of an entry");
    }
    const std::size_t length = static_cast<std::size_t>(bundle[0]) << 8U | bundle[1];
    bundle = bundle.subspan(2);
    if (bundle.size() < length || entries.size() == kTileWidth) {
      return fail(ErrorCode::kLogInconsistent, bundle.size() < length
                                                   ? "The bundle ends inside an entry"
                                                   : "The bundle has more than 256 entries");
    }
    entries.push_back(bundle.first(length));
    bundle = bundle.subspan(length);
  }
  return entries;
}

}  // namespace assay::cli
