// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/cpu/engine.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <mutex>

#include "gpu_hash/cpu/cpuinfo.h"
#include "gpu_hash/cpu/derive.h"
#include "gpu_hash/cpu/leaves.h"
#include "gpu_hash/read_sink.h"
#include "gpu_hash/tree/fold.h"
#include "gpu_hash/workers.h"

namespace assay::gpu_hash {
namespace {

// What progress is counted in, and what threads share out. Not below the largest chunk.
constexpr std::uint64_t kSegmentSize = std::uint64_t{1} << 20;
static_assert(kSegmentSize >= kMaxChunkSize);
// A thread takes several small objects at once, so that their chunks are hashed side by side.
constexpr std::size_t kMaxBatch = 64;  // segments

// Leaf hashers with their buffers, kept from call to call.
class LeavesPool {
 public:
  // A variant that is not there is OpenSSL.
  explicit LeavesPool(std::optional<LeafVariant> variant, ReadSink* sink = nullptr)
      : variant_(variant), sink_(sink) {
    if (variant_ && std::ranges::count(leaf_variants(), *variant_) == 0) {
      variant_ = LeafVariant::kOpenSsl;
    }
  }

  [[nodiscard]] LeafVariant variant(HashAlgorithm algorithm) const {
    return variant_ ? *variant_ : best_leaf_variant(algorithm);
  }

  [[nodiscard]] std::unique_ptr<CpuLeaves> take(HashAlgorithm algorithm) {
    {
      const std::scoped_lock lock(mutex_);
      auto& idle = idle_[algorithm];
      if (!idle.empty()) {
        std::unique_ptr<CpuLeaves> leaves = std::move(idle.back());
        idle.pop_back();
        return leaves;
      }
    }
    std::unique_ptr<LeafHasher> hasher = make_leaf_hasher(variant(algorithm), algorithm);
    if (hasher == nullptr) {
      // The library's part of it is out of memory.
      hasher = make_leaf_hasher(LeafVariant::kOpenSsl, algorithm);
    }
    return std::make_unique<CpuLeaves>(std::move(hasher), algorithm, sink_);
  }

  void give_back(HashAlgorithm algorithm, std::unique_ptr<CpuLeaves> leaves) {
    leaves->close_files();
    const std::scoped_lock lock(mutex_);
    idle_[algorithm].push_back(std::move(leaves));
  }

 private:
  std::optional<LeafVariant> variant_;
  ReadSink* sink_;
  std::mutex mutex_;
  std::map<HashAlgorithm, std::vector<std::unique_ptr<CpuLeaves>>> idle_;  // guarded by mutex_
};

// One hash() call, shared by its threads. A single large object is spread over them just as many
// small ones are.
class Job {
 public:
  Job(std::span<const Region> regions, std::span<const std::uint64_t> sizes,
      const HashRequest& request, LeavesPool& pool, unsigned threads)
      : regions_(regions),
        request_(request),
        pool_(pool),
        grain_(request.outline_span == 0 ? kSegmentSize
                                         : std::min(request.outline_span, kSegmentSize)),
        batch_bytes_(batch_bytes(sizes, threads)),
        cursor_(sizes, kSegmentSize),
        table_(sizes, request, grain_) {}

  // Works until nothing is left or something failed. Run by each thread.
  void work() {
    const HashAlgorithm algorithm = request_.parameters.hash;
    std::unique_ptr<CpuLeaves> leaves = pool_.take(algorithm);
    std::vector<LeafRun> runs;
    for (auto batch = next(); !batch.empty(); batch = next()) {
      runs.clear();
      for (const Segment& segment : batch) {
        runs.push_back({&regions_[segment.region], segment.offset, segment.size});
      }
      auto digests = leaves->hash(runs, request_.parameters.chunk_size, grain_);
      if (!digests) {
        fail_with(digests.error());
        break;
      }
      for (std::size_t i = 0; i < batch.size(); ++i) {
        deliver(batch[i], std::move((*digests)[i]));
      }
    }
    pool_.give_back(algorithm, std::move(leaves));
  }

  [[nodiscard]] Result<std::vector<ObjectDigests>> take() {
    if (error_) {
      return std::unexpected(std::move(*error_));
    }
    return table_.take();
  }

 private:
  // A segment holds enough chunks for every lane of the widest hasher, up to the size that it takes
  // side by side. No more than a thread's share.
  static std::uint64_t batch_bytes(std::span<const std::uint64_t> sizes, unsigned threads) {
    std::uint64_t total = 0;
    for (const std::uint64_t size : sizes) {
      total += size;
    }
    return std::min(kSegmentSize, total / threads + 1);
  }

  // Empty when nothing is left.
  std::vector<Segment> next() {
    std::vector<Segment> batch;
    const std::scoped_lock lock(mutex_);
    if (!error_ && request_.stop.stop_requested()) {
      error_ = Error{ErrorCode::kCancelled, "hashing was stopped on request", {}};
    }
    std::uint64_t bytes = 0;
    while (!error_ && bytes < batch_bytes_ && batch.size() < kMaxBatch) {
      const std::optional<Segment> segment = cursor_.next();
      if (!segment) {
        break;
      }
      bytes += segment->size;
      batch.push_back(*segment);
    }
    return batch;
  }

  void deliver(const Segment& segment, std::vector<Digest> digests) {
    const std::scoped_lock lock(mutex_);
    table_.add(segment, digests);
    if (request_.progress) {
      request_.progress(table_.bytes_done());
    }
  }

  void fail_with(const Error& error) {
    const std::scoped_lock lock(mutex_);
    if (!error_) {
      error_ = error;
    }
  }

  std::span<const Region> regions_;
  const HashRequest& request_;
  LeavesPool& pool_;
  std::uint64_t grain_;
  std::uint64_t batch_bytes_;
  std::mutex mutex_;
  SegmentCursor cursor_;        // guarded by mutex_
  ResultTable table_;           // guarded by mutex_
  std::optional<Error> error_;  // guarded by mutex_
};

// Both algorithms, in one phrase when the same code computes them.
std::string driver_text(const LeavesPool& pool) {
  const LeafVariant sha256 = pool.variant(HashAlgorithm::kSha256);
  const LeafVariant sha384 = pool.variant(HashAlgorithm::kSha384);
  return sha256 == sha384 ? describe(sha256)
                          : describe(sha256) + " (sha384: " + describe(sha384) + ")";
}

class CpuEngine final : public Engine {
 public:
  CpuEngine(unsigned threads, std::optional<LeafVariant> variant, ReadSink* sink = nullptr)
      : threads_(threads == 0 ? usable_cores() : threads),
        pool_(variant, sink),
        info_{"cpu", cpu_name(), driver_text(pool_), std::nullopt} {}

  [[nodiscard]] const EngineInfo& info() const override { return info_; }

  [[nodiscard]] Result<std::vector<ObjectDigests>> hash(std::span<const Region> regions,
                                                        const HashRequest& request) override {
    ASSAY_TRY(check(request));
    ASSAY_ASSIGN(const std::vector<std::uint64_t> sizes, region_sizes(regions));
    const unsigned threads = useful_threads(sizes);
    Job job(regions, sizes, request, pool_, std::max(threads, 1U));
    run_on_threads(threads, [&job] { job.work(); });
    return job.take();
  }

  [[nodiscard]] DeriveRoom derive_room() const override { return kHostDeriveRoom; }
  [[nodiscard]] Result<Derived> derive(const DeriveRequest& derivation,
                                       const HashRequest& request) override {
    return derivation_.derive(*this, threads_, derivation, request);
  }

 private:
  // No more threads than there are segments.
  [[nodiscard]] unsigned useful_threads(std::span<const std::uint64_t> sizes) const {
    std::uint64_t segments = 0;
    for (const std::uint64_t size : sizes) {
      segments += (size + kSegmentSize - 1) / kSegmentSize;
      if (segments >= threads_) {
        return threads_;
      }
    }
    return static_cast<unsigned>(segments);
  }

  unsigned threads_;
  LeavesPool pool_;
  EngineInfo info_;
  HostDerivation derivation_;
};

}  // namespace

std::unique_ptr<Engine> make_cpu_engine(unsigned threads) {
  return std::make_unique<CpuEngine>(threads, std::nullopt);
}

std::unique_ptr<Engine> make_cpu_engine(unsigned threads, LeafVariant variant) {
  return std::make_unique<CpuEngine>(threads, variant);
}

std::unique_ptr<Engine> make_cpu_engine(unsigned threads, ReadSink& sink) {
  return std::make_unique<CpuEngine>(threads, std::nullopt, &sink);
}

std::string cpu_name() {
  std::ifstream in("/proc/cpuinfo");
  return processor_name(in);
}

std::string cpu_driver() { return driver_text(LeavesPool(std::nullopt)); }

}  // namespace assay::gpu_hash
