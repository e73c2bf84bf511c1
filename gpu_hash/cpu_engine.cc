// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/cpu_engine.h"

#include <algorithm>
#include <fstream>
#include <mutex>

#include <openssl/crypto.h>

#include "gpu_hash/cpu_leaves.h"
#include "gpu_hash/fold.h"
#include "gpu_hash/piece_reader.h"
#include "gpu_hash/workers.h"

namespace assay::gpu_hash {
namespace {

// What one thread reads and hashes at a time: large enough for the disk, small enough for its
// cache. Not below the largest chunk.
constexpr std::uint64_t kSegmentSize = std::uint64_t{1} << 20;
static_assert(kSegmentSize >= kMaxChunkSize);

// One hash() call, shared by its threads. A single large object is spread over them just as many
// small ones are.
class Job {
 public:
  Job(std::span<const Region> regions, std::span<const std::uint64_t> sizes,
      const HashRequest& request)
      : regions_(regions),
        request_(request),
        grain_(request.outline_span == 0 ? kSegmentSize
                                         : std::min(request.outline_span, kSegmentSize)),
        cursor_(sizes, kSegmentSize),
        table_(sizes, request, grain_) {}

  // Works until nothing is left or something failed. Run by each thread.
  void work() {
    std::vector<std::uint8_t> buffer;
    PieceReader reader;
    while (const auto segment = next()) {
      if (buffer.size() < segment->size) {
        buffer.resize(segment->size);
      }
      const auto bytes =
          reader.view(regions_[segment->region], segment->offset, segment->size, buffer);
      if (!bytes) {
        fail_with(bytes.error());
        return;
      }
      deliver(*segment, hash_grains(request_.parameters, *bytes, grain_));
    }
  }

  [[nodiscard]] Result<std::vector<ObjectDigests>> take() {
    if (error_) {
      return std::unexpected(std::move(*error_));
    }
    return table_.take();
  }

 private:
  std::optional<Segment> next() {
    const std::scoped_lock lock(mutex_);
    if (!error_ && request_.stop.stop_requested()) {
      error_ = Error{ErrorCode::kCancelled, "hashing was stopped on request", {}};
    }
    return error_ ? std::nullopt : cursor_.next();
  }

  void deliver(const Segment& segment, std::vector<Digest> digests) {
    const std::scoped_lock lock(mutex_);
    table_.add(segment, std::move(digests));
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
  std::uint64_t grain_;
  std::mutex mutex_;
  SegmentCursor cursor_;        // guarded by mutex_
  ResultTable table_;           // guarded by mutex_
  std::optional<Error> error_;  // guarded by mutex_
};

class CpuEngine final : public Engine {
 public:
  explicit CpuEngine(unsigned threads)
      : threads_(threads == 0 ? usable_cores() : threads),
        info_{"cpu", cpu_name(), cpu_driver(), std::nullopt} {}

  [[nodiscard]] const EngineInfo& info() const override { return info_; }

  [[nodiscard]] Result<std::vector<ObjectDigests>> hash(std::span<const Region> regions,
                                                        const HashRequest& request) override {
    ASSAY_TRY(check(request));
    ASSAY_ASSIGN(const std::vector<std::uint64_t> sizes, region_sizes(regions));
    Job job(regions, sizes, request);
    run_on_threads(useful_threads(sizes), [&job] { job.work(); });
    return job.take();
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
  EngineInfo info_;
};

}  // namespace

std::unique_ptr<Engine> make_cpu_engine(unsigned threads) {
  return std::make_unique<CpuEngine>(threads);
}

std::string cpu_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "cpu";
}

std::string cpu_driver() { return OpenSSL_version(OPENSSL_VERSION); }

}  // namespace assay::gpu_hash
