// SPDX-License-Identifier: Apache-2.0
#include "server/api/tile_path.h"

#include <charconv>

namespace assay::server {
namespace {

std::unexpected<Error> no_tile() { return fail(ErrorCode::kNotFound, "there is no such tile"); }

// Decimal without sign and leading zeros, at most `max`.
Result<unsigned> decimal(std::string_view text, unsigned max) {
  unsigned value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value > max || (text.size() > 1 && text[0] == '0')) {
    return no_tile();
  }
  return value;
}

bool is_group(std::string_view text) {
  return text.size() == 3 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

Result<unsigned> parse_tile_level(std::string_view text) { return decimal(text, 63); }

Result<TileIndex> parse_tile_index(std::string_view path) {
  TileIndex result{0, kTileWidth};
  if (const auto partial = path.find(".p/"); partial != std::string_view::npos) {
    ASSAY_ASSIGN(result.width, decimal(path.substr(partial + 3), kTileWidth - 1));
    if (result.width == 0) {
      return no_tile();
    }
    path = path.substr(0, partial);
  }
  constexpr std::size_t kMaxPath = 5 * 5 + 3;  // six groups: below 10^18
  if (path.size() > kMaxPath) {
    return no_tile();
  }
  bool first = true;
  for (;;) {
    const bool more = path.starts_with('x');
    const std::string_view group = path.substr(more ? 1 : 0, 3);
    // The first of several groups is not "x000": that would be a second spelling.
    if (!is_group(group) || (more && first && group == "000")) {
      return no_tile();
    }
    for (const char digit : group) {
      result.index = result.index * 10 + static_cast<std::uint64_t>(digit - '0');
    }
    path.remove_prefix(group.size() + (more ? 1 : 0));
    first = false;
    if (!more) {
      break;
    }
    if (!path.starts_with('/')) {
      return no_tile();
    }
    path.remove_prefix(1);
  }
  if (!path.empty()) {
    return no_tile();
  }
  return result;
}

}  // namespace assay::server
