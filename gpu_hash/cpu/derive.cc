// SPDX-License-Identifier: Apache-2.0
// Reading, moving and hashing follow one another, each on all threads.
#include "gpu_hash/cpu/derive.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <optional>
#include <utility>

#include "gpu_hash/files/piece_reader.h"
#include "gpu_hash/workers.h"

namespace assay::gpu_hash {
namespace {

constexpr std::uint64_t kPart = std::uint64_t{256} << 10;  // bytes that a thread takes at a time

// A run of bytes of a source, and where it goes.
struct ReadPart {
  const Region* source;
  std::uint64_t offset;
  std::span<std::uint8_t> memory;
};

// Calls work(i) for each i below `count`, on several threads. Returns the first error.
Status share(unsigned threads, std::size_t count, const std::stop_token& stop,
             const std::function<Status(PieceReader&, std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::optional<Error> error;
  run_on_threads(static_cast<unsigned>(std::min<std::size_t>(threads, count)), [&] {
    PieceReader reader;
    for (std::size_t i = next++; i < count; i = next++) {
      Status status = stop.stop_requested()
                          ? fail(ErrorCode::kCancelled, "hashing was stopped on request")
                          : work(reader, i);
      if (!status) {
        const std::scoped_lock lock(mutex);
        error = error ? error : std::move(status).error();
        next = count;
      }
    }
  });
  return error ? Status(std::unexpected(*error)) : Status{};
}

// Large moves as several, so that threads can share them.
std::vector<Move> cut(std::span<const Move> moves) {
  std::vector<Move> parts;
  for (Move move : moves) {
    const bool rows = move.outer.count > 1;
    MoveLoop& loop = rows ? move.outer : move.inner;
    const std::uint64_t step = bytes_from(move.kind) * (rows ? move.inner.count : 1);
    const std::uint64_t count = std::max<std::uint64_t>(kPart / step, 1);
    for (std::uint64_t left = loop.count; left > 0; left -= loop.count) {
      loop.count = std::min(count, left);
      parts.push_back(move);
      move.from += loop.count * loop.from;
      move.to += loop.count * loop.to;
    }
  }
  return parts;
}

// The objects of these sizes in `memory`, as regions.
std::vector<Region> regions_in(ByteView memory, std::span<const std::uint64_t> sizes) {
  const std::vector<std::uint64_t> places = derive_places(sizes);
  std::vector<Region> regions;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    regions.push_back(host_region(memory.subspan(places[i], sizes[i])));
  }
  return regions;
}

}  // namespace

Status HostDerivation::load(Engine& engine, unsigned threads, const DeriveLoad& load,
                            const HashRequest& request, std::vector<ObjectDigests>& digests) {
  ASSAY_ASSIGN(const std::vector<std::uint64_t> sizes, region_sizes(load.sources));
  const std::vector<std::uint64_t> places = derive_places(sizes);
  sources_.resize(std::max<std::uint64_t>(sources_.size(), places.back()));
  std::vector<ReadPart> parts;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    for (std::uint64_t at = 0; at < sizes[i]; at += kPart) {
      parts.push_back(
          {&load.sources[i], at,
           std::span(sources_).subspan(places[i] + at, std::min(kPart, sizes[i] - at))});
    }
  }
  ASSAY_TRY(share(threads, parts.size(), request.stop, [&](PieceReader& reader, std::size_t i) {
    return reader.read(*parts[i].source, parts[i].offset, parts[i].memory);
  }));
  ASSAY_ASSIGN(std::vector<ObjectDigests> found, engine.hash(regions_in(sources_, sizes), request));
  std::ranges::move(found, std::back_inserter(digests));
  const std::vector<Move> moves = cut(load.moves);
  return share(threads, moves.size(), request.stop, [&](PieceReader&, std::size_t i) {
    move_elements(moves[i], sources_, results_);
    return Status();
  });
}

Result<Derived> HostDerivation::derive(Engine& engine, unsigned threads,
                                       const DeriveRequest& derivation,
                                       const HashRequest& request) {
  ASSAY_TRY(check(request));
  ASSAY_TRY(check(derivation, kHostDeriveRoom));
  const std::scoped_lock lock(mutex_);
  const HashRequest quiet{request.parameters, request.outline_span, {}, request.stop};
  Derived derived;
  std::uint64_t done = 0;
  for (const DeriveRound& round : derivation.rounds) {
    const std::uint64_t end = derive_places(round.results).back();
    results_.resize(std::max<std::uint64_t>(results_.size(), end));
    if (!round.filled) {
      std::fill_n(results_.begin(), end, std::uint8_t{0});
    }
    for (const DeriveLoad& one : round.loads) {
      ASSAY_TRY(load(engine, threads, one, quiet, derived.sources));
      ASSAY_ASSIGN(const std::vector<std::uint64_t> sizes, region_sizes(one.sources));
      done = std::accumulate(sizes.begin(), sizes.end(), done);
      if (request.progress) {
        request.progress(done);
      }
    }
    ASSAY_ASSIGN(std::vector<ObjectDigests> digests,
                 engine.hash(regions_in(results_, round.results), quiet));
    std::ranges::move(digests, std::back_inserter(derived.results));
  }
  return derived;
}

}  // namespace assay::gpu_hash
