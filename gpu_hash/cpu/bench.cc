// SPDX-License-Identifier: Apache-2.0
// Figures of the CPU engine, and the limits beside them.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <utility>

#include "gpu_hash/bench_clock.h"
#include "gpu_hash/cpu/engine.h"
#include "gpu_hash/cpu/leaf_hasher.h"
#include "gpu_hash/workers.h"
#include "schemas/core/sha.h"

namespace assay::gpu_hash {
namespace {

constexpr int kRepeats = 3;
constexpr std::uint64_t kMinCached = std::uint64_t{256} << 20;  // bytes
constexpr std::uint64_t kBlock = std::uint64_t{1} << 20;        // bytes

// Reads all of `memory` with all threads.
Status read_all(std::span<const std::uint8_t> memory, unsigned threads) {
  std::atomic<std::size_t> next = 0;
  std::atomic<std::uint64_t> sum = 0;  // keeps the compiler from leaving reads out
  run_on_threads(threads, [&] {
    std::array<std::uint64_t, 8> sums{};
    for (std::size_t at = next.fetch_add(kBlock); at < memory.size(); at = next.fetch_add(kBlock)) {
      const std::size_t end = std::min<std::size_t>(at + kBlock, memory.size());
      for (std::size_t i = at; i + sizeof(sums) <= end; i += sizeof(sums)) {
        std::array<std::uint64_t, 8> words{};
        std::memcpy(words.data(), memory.data() + i, sizeof(words));
        for (std::size_t k = 0; k < words.size(); ++k) {
          sums[k] ^= words[k];
        }
      }
    }
    for (const std::uint64_t one : sums) {
      sum ^= one;
    }
  });
  return sum == 1 ? fail(ErrorCode::kInternal, "the sum of what was read") : Status{};
}

// Hashes `bytes` with all threads: each hashes the same few chunks in its cache over and over.
Status hash_cached(HashAlgorithm hash, std::uint64_t bytes, unsigned threads) {
  std::atomic<std::uint64_t> done = 0;
  std::atomic<bool> failed = false;
  run_on_threads(threads, [&] {
    const std::unique_ptr<LeafHasher> hasher = make_leaf_hasher(best_leaf_variant(hash), hash);
    if (hasher == nullptr) {
      failed = true;
      return;
    }
    constexpr std::size_t kLine = 64;  // bytes
    constexpr std::size_t kStride = kDefaultChunkSize + 2 * kLine;
    Bytes arena(hasher->lanes() * kStride + kLine);
    Bytes digests(hasher->lanes() * Digest::kMaxSize);
    while (!failed && done.fetch_add(hasher->lanes() * kDefaultChunkSize) < bytes) {
      std::vector<Message> messages;
      messages.reserve(hasher->lanes());
      for (std::size_t i = 0; i < hasher->lanes(); ++i) {  // with the prefix in front of each
        messages.push_back({0, arena.data() + kLine + i * kStride, kDefaultChunkSize,
                            digests.data() + i * Digest::kMaxSize});
      }
      if (!hasher->hash(messages)) {
        failed = true;
      }
    }
  });
  return failed ? fail(ErrorCode::kDeviceFailed, "the hasher refused") : Status{};
}

// One stream on each thread, over its own part of `memory`.
Status openssl_streams(HashAlgorithm hash, std::span<const std::uint8_t> memory, unsigned threads) {
  const std::size_t share = memory.size() / threads;
  std::atomic<std::size_t> next = 0;
  run_on_threads(threads, [&] {
    for (std::size_t i = next++; i < threads; i = next++) {
      (void)sha(hash, memory.subspan(i * share, share));
    }
  });
  return {};
}

Status limits_of_cpu(const Bytes& memory, HashAlgorithm hash, unsigned threads,
                     BenchLimits& limits) {
  const auto bytes = static_cast<double>(memory.size());
  ASSAY_ASSIGN(limits.memory_read,
               best_rate(bytes, kRepeats, [&] { return read_all(memory, threads); }));
  // Enough for the start of threads not to count, whatever the figures are measured on.
  const std::uint64_t cached = std::max<std::uint64_t>(memory.size(), kMinCached);
  ASSAY_ASSIGN(limits.cached_hash, best_rate(static_cast<double>(cached), kRepeats,
                                             [&] { return hash_cached(hash, cached, threads); }));
  const std::size_t in_streams = memory.size() / threads * threads;
  ASSAY_ASSIGN(limits.openssl_streams, best_rate(static_cast<double>(in_streams), kRepeats, [&] {
                 return openssl_streams(hash, memory, threads);
               }));
  return {};
}

}  // namespace

Result<BenchResult> bench_cpu(HashAlgorithm hash, std::uint64_t bytes,
                              const EngineOptions& options) {
  const std::unique_ptr<Engine> engine = make_cpu_engine(options.threads);
  const unsigned threads = options.threads == 0 ? usable_cores() : options.threads;
  Bytes memory(std::max<std::uint64_t>(bytes / kBlock, 1) * kBlock);
  for (std::size_t i = 0; i < memory.size(); ++i) {
    memory[i] = static_cast<std::uint8_t>((i * 0x9E3779B1U) >> 13);
  }
  BenchResult result{engine->info(), hash, memory.size()};
  ASSAY_TRY(limits_of_cpu(memory, hash, threads, result.limits));
  const Region region = host_region(memory);
  const HashRequest request{TreeParameters{hash, kDefaultChunkSize}, 0, {}, {}};
  BenchFigure figure{"resident"};
  ASSAY_ASSIGN(figure.rate,
               best_rate(static_cast<double>(memory.size()), kRepeats, [&]() -> Status {
                 ASSAY_TRY(engine->hash({&region, 1}, request));
                 return {};
               }));
  const std::string all = std::to_string(threads) + (threads == 1 ? " thread" : " threads");
  const bool computing = result.limits.cached_hash <= result.limits.memory_read;
  figure.limit = computing ? result.limits.cached_hash : result.limits.memory_read;
  figure.limit_is =
      computing ? "the same hashing of chunks in the cache, " + all : "reading memory, " + all;
  result.figures.push_back(figure);
  figure.name = "streamed";
  result.figures.push_back(std::move(figure));
  return result;
}

}  // namespace assay::gpu_hash
