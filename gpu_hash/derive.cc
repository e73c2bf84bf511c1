// SPDX-License-Identifier: Apache-2.0
// Places, checks, and moves in host memory.
#include "gpu_hash/derive.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <numeric>

#include "gpu_hash/cast.h"

namespace assay::gpu_hash {
namespace {

// Steps of a loop and bytes of a step: their product does not overflow.
constexpr std::uint64_t kMaxLoop = std::uint64_t{1} << 31;

// Whether `count` steps stay below `size`, from `begin` on, with elements of `width` bytes.
bool fits(std::uint64_t begin, const MoveLoop& outer, const MoveLoop& inner,
          std::uint64_t MoveLoop::* step, std::uint64_t width, std::uint64_t size) {
  std::uint64_t last = begin;  // the last element
  for (const MoveLoop& loop : {outer, inner}) {
    if (loop.count == 0 || loop.count > kMaxLoop || loop.*step > kMaxLoop ||
        loop.*step % width != 0) {
      return false;
    }
    const std::uint64_t way = (loop.count - 1) * (loop.*step);
    if (way > size || last > size - way) {
      return false;
    }
    last += way;
  }
  return begin % width == 0 && width <= size && last <= size - width;
}

template <std::size_t From, std::size_t To, typename One>
void each(const Move& move, ByteView sources, std::span<std::uint8_t> results, const One& one) {
  for (std::uint64_t i = 0; i < move.outer.count; ++i) {
    const std::uint8_t* in = sources.data() + move.from + i * move.outer.from;
    std::uint8_t* out = results.data() + move.to + i * move.outer.to;
    for (std::uint64_t j = 0; j < move.inner.count; ++j) {
      one(in, out);
      in += move.inner.from;
      out += move.inner.to;
    }
  }
}

// Rows become columns: tiles of both sides stay in the first cache, whatever the distance of rows.
template <std::size_t Width>
void turn(const Move& move, ByteView sources, std::span<std::uint8_t> results) {
  constexpr std::uint64_t kTile = 32;  // elements
  std::array<std::uint8_t, kTile * kTile * Width> tile{};
  for (std::uint64_t i = 0; i < move.outer.count; i += kTile) {
    const std::uint64_t rows = std::min(kTile, move.outer.count - i);
    for (std::uint64_t j = 0; j < move.inner.count; j += kTile) {
      const std::uint64_t columns = std::min(kTile, move.inner.count - j);
      for (std::uint64_t row = 0; row < rows; ++row) {
        const std::uint8_t* in =
            sources.data() + move.from + (i + row) * move.outer.from + j * Width;
        for (std::uint64_t column = 0; column < columns; ++column) {
          std::memcpy(tile.data() + (column * kTile + row) * Width, in + column * Width, Width);
        }
      }
      for (std::uint64_t column = 0; column < columns; ++column) {
        std::memcpy(results.data() + move.to + i * Width + (j + column) * move.inner.to,
                    tile.data() + column * kTile * Width, rows * Width);
      }
    }
  }
}

template <std::size_t Width>
void copy(const Move& move, ByteView sources, std::span<std::uint8_t> results) {
  if (move.inner.from == Width && move.inner.to == Width) {
    for (std::uint64_t i = 0; i < move.outer.count; ++i) {
      std::memcpy(results.data() + move.to + i * move.outer.to,
                  sources.data() + move.from + i * move.outer.from, move.inner.count * Width);
    }
    return;
  }
  if (move.inner.from == Width && move.outer.to == Width) {
    turn<Width>(move, sources, results);
    return;
  }
  each<Width, Width>(move, sources, results, [](const std::uint8_t* in, std::uint8_t* out) {
    std::memcpy(out, in, Width);
  });
}

void cast(const Move& move, ByteView sources, std::span<std::uint8_t> results, HalfType type) {
  if (move.inner.from == 4 && move.inner.to == 2) {
    for (std::uint64_t i = 0; i < move.outer.count; ++i) {
      cast_f32(sources.subspan(move.from + i * move.outer.from, 4 * move.inner.count), type,
               results.subspan(move.to + i * move.outer.to, 2 * move.inner.count));
    }
    return;
  }
  each<4, 2>(move, sources, results, [type](const std::uint8_t* in, std::uint8_t* out) {
    cast_f32({in, 4}, type, {out, 2});
  });
}

}  // namespace

std::uint64_t bytes_from(MoveKind kind) {
  constexpr std::array<std::uint64_t, 6> kBytes{1, 2, 4, 8, 4, 4};
  return kBytes.at(static_cast<std::size_t>(kind));
}

std::uint64_t bytes_to(MoveKind kind) {
  return kind == MoveKind::kF32ToBf16 || kind == MoveKind::kF32ToF16 ? 2 : bytes_from(kind);
}

std::vector<std::uint64_t> derive_places(std::span<const std::uint64_t> sizes) {
  std::vector<std::uint64_t> places{0};
  places.reserve(sizes.size() + 1);
  for (const std::uint64_t size : sizes) {
    places.push_back((places.back() + size + kDeriveAlignment - 1) / kDeriveAlignment *
                     kDeriveAlignment);
  }
  return places;
}

Status check(const DeriveRequest& request, const DeriveRoom& room) {
  const auto is_large = [](std::span<const std::uint64_t> sizes, std::uint64_t most) {
    return sizes.size() > most / kDeriveAlignment ||
           std::ranges::any_of(sizes, [most](std::uint64_t size) { return size > most; }) ||
           derive_places(sizes).back() > most;
  };
  const auto too_large = [] {
    return fail(ErrorCode::kLimitExceeded, "more is to be derived than the engine takes at once");
  };
  for (const DeriveRound& round : request.rounds) {
    if (is_large(round.results, room.results)) {
      return too_large();
    }
    const std::uint64_t results = derive_places(round.results).back();
    for (const DeriveLoad& load : round.loads) {
      ASSAY_ASSIGN(const std::vector<std::uint64_t> sizes, region_sizes(load.sources));
      if (is_large(sizes, room.load)) {
        return too_large();
      }
      const std::uint64_t sources = derive_places(sizes).back();
      for (const Move& move : load.moves) {
        if (!is_known(move.kind) ||
            !fits(move.from, move.outer, move.inner, &MoveLoop::from, bytes_from(move.kind),
                  sources) ||
            !fits(move.to, move.outer, move.inner, &MoveLoop::to, bytes_to(move.kind), results)) {
          return fail(ErrorCode::kInvalidParameter, "a move leaves its sources or results");
        }
      }
    }
  }
  return {};
}

std::vector<Region> sources_of(const DeriveRequest& request) {
  std::vector<Region> all;
  for (const DeriveRound& round : request.rounds) {
    for (const DeriveLoad& load : round.loads) {
      all.insert(all.end(), load.sources.begin(), load.sources.end());
    }
  }
  return all;
}

std::vector<std::uint64_t> results_of(const DeriveRequest& request) {
  std::vector<std::uint64_t> all;
  for (const DeriveRound& round : request.rounds) {
    all.insert(all.end(), round.results.begin(), round.results.end());
  }
  return all;
}

void move_elements(const Move& move, ByteView sources, std::span<std::uint8_t> results) {
  switch (move.kind) {
    case MoveKind::kCopy1:
      return copy<1>(move, sources, results);
    case MoveKind::kCopy2:
      return copy<2>(move, sources, results);
    case MoveKind::kCopy4:
      return copy<4>(move, sources, results);
    case MoveKind::kCopy8:
      return copy<8>(move, sources, results);
    case MoveKind::kF32ToBf16:
      return cast(move, sources, results, HalfType::kBf16);
    case MoveKind::kF32ToF16:
      return cast(move, sources, results, HalfType::kF16);
  }
}

}  // namespace assay::gpu_hash
