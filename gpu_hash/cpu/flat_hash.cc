// SPDX-License-Identifier: Apache-2.0
// Flat digests of ranges of files, one core a range.
#include "gpu_hash/flat_hash.h"

#include <algorithm>
#include <atomic>
#include <set>

#include "gpu_hash/cpu/largest_first.h"
#include "gpu_hash/cpu/read_ahead.h"
#include "gpu_hash/workers.h"

namespace assay::gpu_hash {
namespace {

std::vector<std::uint64_t> sizes_of(std::span<const FlatRange> ranges) {
  std::vector<std::uint64_t> sizes;
  for (const FlatRange& range : ranges) {
    sizes.push_back(range.end - range.begin);
  }
  return sizes;
}

// The ranges of one call, shared by its threads.
class FlatJob {
 public:
  FlatJob(std::span<const FlatRange> ranges, const FlatOptions& options, unsigned threads,
          unsigned workers)
      : ranges_(ranges),
        options_(options),
        left_(sizes_of(ranges), options.progress, options.stop),
        digests_(ranges.size()),
        idle_(static_cast<int>(threads - workers)) {}

  // Works until nothing is left or something failed. Run by each thread.
  void work() {
    FlatStream stream(options_.hash);
    BlockMemory memory;
    while (const std::optional<std::size_t> index = left_.take()) {
      if (Status status = hash(ranges_[*index], stream, memory, digests_[*index]); !status) {
        left_.fail_with(std::move(status).error());
        break;
      }
    }
    ++idle_;
  }

  [[nodiscard]] Result<std::vector<Bytes>> take() {
    ASSAY_TRY(left_.outcome());
    return std::move(digests_);
  }

 private:
  Status hash(const FlatRange& range, FlatStream& stream, BlockMemory& memory, Bytes& digest) {
    BlockReader reader(*range.file, range.begin, range.end, memory);
    for (;;) {
      if (!reader.is_ahead() && take_idle()) {
        reader.start_ahead();
        if (!reader.is_ahead()) {
          ++idle_;
        }
      }
      const auto block = reader.next();
      if (!block || block->empty()) {
        idle_ += reader.is_ahead() ? 1 : 0;
        if (!block) {
          return std::unexpected(block.error());
        }
        digest = stream.finish();
        return {};
      }
      stream.update(*block);
      ASSAY_TRY(left_.count(block->size()));
    }
  }

  // Whether there was a core that does nothing.
  bool take_idle() {
    int idle = idle_;
    while (idle > 0 && !idle_.compare_exchange_weak(idle, idle - 1)) {
    }
    return idle > 0;
  }

  std::span<const FlatRange> ranges_;
  const FlatOptions& options_;
  LargestFirst left_;  // indexes of ranges
  std::vector<Bytes> digests_;
  std::atomic<int> idle_;  // cores without work
};

std::set<const SourceFile*> files_of(std::span<const FlatRange> ranges) {
  std::set<const SourceFile*> files;
  for (const FlatRange& range : ranges) {
    files.insert(range.file.get());
  }
  return files;
}

}  // namespace

Result<std::vector<Bytes>> hash_flat(std::span<const FlatRange> ranges,
                                     const FlatOptions& options) {
  const std::set<const SourceFile*> files = files_of(ranges);
  std::uint64_t total = 0;
  for (const FlatRange& range : ranges) {
    if (range.begin > range.end || range.end > range.file->size()) {
      return fail(ErrorCode::kInvalidParameter, "a range ends behind its file",
                  range.file->label());
    }
    total += range.end - range.begin;
  }
  const bool once = total > page_cache_room();
  for (const SourceFile* file : files) {
    if (once) {
      file->read_once();
    }
  }
  const unsigned threads = options.threads == 0 ? usable_cores() : options.threads;
  const auto workers = static_cast<unsigned>(std::clamp<std::size_t>(ranges.size(), 1, threads));
  FlatJob job(ranges, options, threads, workers);
  run_on_threads(workers, [&job] { job.work(); });
  ASSAY_ASSIGN(std::vector<Bytes> digests, job.take());
  // As in hash_plan(): the digests are those of one moment.
  NearDirectory near;
  for (const SourceFile* file : files) {
    ASSAY_TRY(file->check_unchanged(near));
  }
  return digests;
}

}  // namespace assay::gpu_hash
