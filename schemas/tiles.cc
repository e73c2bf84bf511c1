// SPDX-License-Identifier: Apache-2.0
// Paths in groups of three digits, and bundles of entries.
#include "schemas/tiles.h"

#include <charconv>

namespace assay {
namespace {

constexpr std::string_view kPrefix = "tile/";
constexpr std::string_view kEntries = "entries";
constexpr std::string_view kPartial = ".p/";

std::unexpected<Error> no_tile() { return fail(ErrorCode::kNotFound, "The log has no such tile"); }

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
  std::uint64_t value = 0;
  for (bool first = true;; first = false) {
    const bool more = text.starts_with('x');
    text.remove_prefix(more ? 1 : 0);
    if (text.size() < 3 || value > kMaxTileIndex / 1000) {
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
    const auto level = plain_number(path.substr(0, slash), kMaxTileLevel);
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

Status for_each_tile(TreeSize size, const std::function<Status(const TileAddress&)>& visit) {
  unsigned level = 0;
  for (std::uint64_t hashes = size; hashes > 0; hashes /= kTileWidth, ++level) {
    const auto rest = static_cast<unsigned>(hashes % kTileWidth);
    const std::uint64_t full = hashes / kTileWidth;
    for (std::uint64_t index = 0; index < full + (rest > 0 ? 1 : 0); ++index) {
      const unsigned width = index < full ? kTileWidth : rest;
      ASSAY_TRY(visit({level, index, width}));
      if (level == 0) {
        ASSAY_TRY(visit({std::nullopt, index, width}));
      }
    }
  }
  return {};
}

Status check_tile(TreeSize size, unsigned level, std::uint64_t index, unsigned width) {
  if (width == 0 || width > kTileWidth) {
    return fail(ErrorCode::kInvalidParameter, "A tile has 1 to 256 hashes");
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

Result<std::vector<ByteView>> parse_bundle(ByteView bundle) {
  std::vector<ByteView> entries;
  while (!bundle.empty()) {
    if (bundle.size() < 2) {
      return fail(ErrorCode::kLogInconsistent, "The bundle ends inside the length of an entry");
    }
    if (entries.size() == kTileWidth) {
      return fail(ErrorCode::kLogInconsistent, "The bundle has more than 256 entries");
    }
    const std::size_t length = (std::size_t{bundle[0]} << 8U) | bundle[1];
    bundle = bundle.subspan(2);
    if (bundle.size() < length) {
      return fail(ErrorCode::kLogInconsistent, "The bundle ends inside an entry");
    }
    entries.push_back(bundle.first(length));
    bundle = bundle.subspan(length);
  }
  return entries;
}

}  // namespace assay
