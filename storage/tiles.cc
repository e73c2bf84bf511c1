// SPDX-License-Identifier: Apache-2.0
// Paths in groups of three digits, and bundles of entries.
#include "storage/tiles.h"

#include <charconv>
#include <limits>

namespace assay::storage {
namespace {

constexpr std::string_view kPrefix = "tile/";
constexpr std::string_view kEntries = "entries";
constexpr std::string_view kPartial = ".p/";
constexpr unsigned kMaxLevel = 63;

std::unexpected<Error> no_tile() { return fail(ErrorCode::kNotFound, "the log has no such tile"); }

std::string three_digits(std::uint64_t value) {
  std::string digits = std::to_string(value);
  digits.insert(0, 3 - digits.size(), '0');
  return digits;
}

// Decimal without sign or leading zeros, at most `max`.
std::optional<std::uint64_t> plain_number(std::string_view text, std::uint64_t max) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > max ||
      (text.size() > 1 && text.front() == '0')) {
    return std::nullopt;
  }
  return value;
}

// "x001/x234/067" from the front of `text` up to its end.
std::optional<std::uint64_t> grouped_number(std::string_view text) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max() / 1000 - 1;
  std::uint64_t value = 0;
  for (bool first = true;; first = false) {
    const bool more = text.starts_with('x');
    text.remove_prefix(more ? 1 : 0);
    if (text.size() < 3 || value > kMax) {
      return std::nullopt;
    }
    std::uint64_t group = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + 3, group);
    if (error != std::errc() || end != text.data() + 3 || (first && more && group == 0)) {
      return std::nullopt;
    }
    value = value * 1000 + group;
    text.remove_prefix(3);
    if (!more) {
      return text.empty() ? std::optional(value) : std::nullopt;
    }
    if (!text.starts_with('/')) {
      return std::nullopt;
    }
    text.remove_prefix(1);
  }
}

}  // namespace

std::string tile_path(const TileAddress& tile) {
  std::string number = three_digits(tile.index % 1000);
  for (std::uint64_t rest = tile.index / 1000; rest > 0; rest /= 1000) {
    number.insert(0, "x" + three_digits(rest % 1000) + "/");
  }
  std::string path(kPrefix);
  path += tile.level ? std::to_string(*tile.level) : std::string(kEntries);
  path += "/" + number;
  if (tile.width < kTileWidth) {
    path += std::string(kPartial) + std::to_string(tile.width);
  }
  return path;
}

Result<TileAddress> parse_tile_path(std::string_view path) {
  if (!path.starts_with(kPrefix)) {
    return no_tile();
  }
  path.remove_prefix(kPrefix.size());
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos) {
    return no_tile();
  }
  TileAddress tile{.level = std::nullopt, .index = 0, .width = kTileWidth};
  if (path.substr(0, slash) != kEntries) {
    const auto level = plain_number(path.substr(0, slash), kMaxLevel);
    if (!level) {
      return no_tile();
    }
    tile.level = static_cast<unsigned>(*level);
  }
  path.remove_prefix(slash + 1);
  if (const std::size_t mark = path.find(kPartial); mark != std::string_view::npos) {
    const auto width = plain_number(path.substr(mark + kPartial.size()), kTileWidth - 1);
    if (!width || *width == 0) {
      return no_tile();
    }
    tile.width = static_cast<unsigned>(*width);
    path = path.substr(0, mark);
  }
  const auto index = grouped_number(path);
  if (!index) {
    return no_tile();
  }
  tile.index = *index;
  return tile;
}

std::vector<TileAddress> tiles_of(TreeSize size) {
  std::vector<TileAddress> tiles;
  const auto add_level = [&](std::optional<unsigned> level, std::uint64_t hashes) {
    for (std::uint64_t index = 0; index < hashes / kTileWidth; ++index) {
      tiles.push_back({level, index, kTileWidth});
    }
    if (hashes % kTileWidth != 0) {
      tiles.push_back({level, hashes / kTileWidth, static_cast<unsigned>(hashes % kTileWidth)});
    }
  };
  add_level(std::nullopt, size);
  for (unsigned level = 0; size > 0; ++level, size /= kTileWidth) {
    add_level(level, size);
  }
  return tiles;
}

Status check_tile(TreeSize size, unsigned level, std::uint64_t index, unsigned width) {
  if (width == 0 || width > kTileWidth) {
    return fail(ErrorCode::kInvalidParameter, "a tile has 1 to 256 hashes");
  }
  if (level * kTileHeight >= 64) {
    return no_tile();
  }
  const std::uint64_t hashes = size >> (level * kTileHeight);
  if (index > hashes / kTileWidth || index * kTileWidth + width > hashes) {
    return no_tile();
  }
  return {};
}

void append_bundle_entry(Bytes& bundle, ByteView entry) {
  bundle.push_back(static_cast<std::uint8_t>(entry.size() >> 8));
  bundle.push_back(static_cast<std::uint8_t>(entry.size() & 0xff));
  bundle.insert(bundle.end(), entry.begin(), entry.end());
}

Result<std::vector<Bytes>> parse_bundle(ByteView bundle) {
  std::vector<Bytes> entries;
  while (!bundle.empty()) {
    if (bundle.size() < 2) {
      return fail(ErrorCode::kInvalidEncoding, "an entry bundle ends inside a length");
    }
    const std::size_t length = (std::size_t{bundle[0]} << 8) | bundle[1];
    bundle = bundle.subspan(2);
    if (bundle.size() < length) {
      return fail(ErrorCode::kInvalidEncoding, "an entry bundle ends inside an entry");
    }
    entries.emplace_back(bundle.begin(), bundle.begin() + static_cast<std::ptrdiff_t>(length));
    bundle = bundle.subspan(length);
  }
  return entries;
}

}  // namespace assay::storage
