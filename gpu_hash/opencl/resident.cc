// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/opencl/resident.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>
#include <utility>

#include "gpu_hash/opencl/acquired.h"
#include "gpu_hash/opencl/batches.h"
#include "gpu_hash/opencl/memory.h"
#include "gpu_hash/preparing.h"
#include "gpu_hash/resident/plan.h"
#include "gpu_hash/tree/fold.h"

namespace assay::gpu_hash {
namespace {

// One batch on the device: all its commands are in one in-order queue.
class BatchRun {
 public:
  BatchRun(const ClSession& session, ClKernels& kernels, BatchScratch& scratch, BatchPlace& place,
           cl_command_queue queue, const HashRequest& request, ResidentWork work, const TagKey* key)
      : session_(session),
        kernels_(kernels),
        scratch_(scratch),
        place_(place),
        queue_(queue),
        batch_(place.batch()),
        algorithm_(request.parameters.hash),
        chunk_size_(request.parameters.chunk_size),
        work_(work),
        key_(key),
        tables_(place.tables()) {}
  // Of a batch whose results nobody took: its buffers are about to be used again.
  ~BatchRun() {
    if (!finished_) {
      scratch_.finish();
      if (key_ != nullptr) {
        scratch_.wipe_key();
      }
    }
  }
  BatchRun(const BatchRun&) = delete;
  BatchRun& operator=(const BatchRun&) = delete;

  // Enqueues everything, up to the copies of the results to the host.
  Status start() {
    ASSAY_TRY(prepare());
    cl_mem tags = nullptr;
    cl_mem key = nullptr;
    if (work_ != ResidentWork::kHash) {
      ASSAY_ASSIGN(tags, scratch_.get(session_, BatchScratch::kTagSums, tag_bytes()));
      ASSAY_ASSIGN(key, write_key());
    }
    for (std::size_t i = 0; i < batch_.launches.size(); ++i) {
      ASSAY_TRY(launch_leaves(i, key, tags));
    }
    if (key != nullptr) {
      ASSAY_TRY(wipe(key));
    }
    if (work_ != ResidentWork::kTags) {
      ASSAY_TRY(start_roots(segments_, 0));
    }
    if (work_ != ResidentWork::kHash) {
      ASSAY_TRY(leaves_of_tags(tags));
      ASSAY_TRY(start_roots(tag_segments_, 1));
    }
    return session_.check("clFlush", clFlush(queue_));
  }

  // Waits for the results.
  Status finish() {
    ASSAY_TRY(events_.wait(session_));
    finished_ = true;
    return {};
  }
  [[nodiscard]] const std::vector<Segment>& segments() const { return batch_.segments; }
  // After finish(): the root of a segment's data, or of its tags.
  [[nodiscard]] Digest root(std::size_t segment) const { return result(segment, 0); }
  [[nodiscard]] Digest tag_root(std::size_t segment) const { return result(segment, 1); }

 private:
  Status prepare() {
    using Role = BatchScratch::Role;
    plan_tables();
    const std::uint64_t width = kernels_.digest_bytes();
    ASSAY_ASSIGN(tables_buffer_, scratch_.get(session_, Role::kTables, tables_.bytes()));
    const std::uint32_t slots = batch_.first_slot.back();
    const std::uint32_t digests =
        work_ == ResidentWork::kTags ? tag_runs_.items : std::max(slots, tag_runs_.items);
    ASSAY_ASSIGN(digests_, scratch_.get(session_, Role::kDigests, digests * width));
    const std::uint64_t roots = batch_.segments.size() * width;
    ASSAY_ASSIGN(roots_, scratch_.get(session_, Role::kRoots, roots));
    ASSAY_ASSIGN(host_roots_, place_.roots(session_, 2 * roots));
    ASSAY_ASSIGN(
        side_, scratch_.get(session_, Role::kSide, std::max<std::uint64_t>(batch_.side_bytes, 1)));
    ASSAY_TRY(write(tables_buffer_, tables_.words()));
    std::uint32_t at = 0;
    for (const PlannedCopies& copies : batch_.copies) {
      const std::vector<cl_mem> buffers = handles(copies.memory);
      ASSAY_TRY(kernels_.gather_bytes(session_, queue_, buffers, tables_buffer_, at_copies_[at++],
                                      static_cast<std::uint32_t>(copies.copies.size()), side_,
                                      events_));
    }
    return {};
  }

  // `words` must stay as they are until the batch has finished.
  Status write(cl_mem buffer, std::span<const std::uint32_t> words) {
    cl_event event = nullptr;
    ASSAY_TRY(session_.check("clEnqueueWriteBuffer",
                             clEnqueueWriteBuffer(queue_, buffer, CL_FALSE, 0, words.size_bytes(),
                                                  words.data(), 0, nullptr, &event)));
    events_.add(event);
    return {};
  }

  // The key is on the device only for the leaves of this batch.
  Result<cl_mem> write_key() {
    ASSAY_ASSIGN(const cl_mem key,
                 scratch_.get(session_, BatchScratch::kKey, key_->words().size_bytes()));
    ASSAY_TRY(write(key, key_->words()));
    return key;
  }
  Status wipe(cl_mem key) {
    const std::uint32_t zero = 0;
    cl_event event = nullptr;
    ASSAY_TRY(session_.check("clEnqueueFillBuffer",
                             clEnqueueFillBuffer(queue_, key, &zero, sizeof(zero), 0,
                                                 key_->words().size_bytes(), 0, nullptr, &event)));
    events_.add(event);
    return {};
  }

  // Leaves into digests, with tags when there is a buffer for them.
  Status launch_leaves(std::size_t number, cl_mem key, cl_mem tags) {
    const PlannedLaunch& planned = batch_.launches[number];
    if (tags != nullptr && !planned.aligned) {
      return fail(ErrorCode::kInvalidParameter,
                  "tags need device memory that begins at a multiple of 16 bytes");
    }
    const std::vector<cl_mem> buffers = handles(planned.memory);
    LeafLaunch launch;
    launch.buffers = buffers;
    launch.tables = tables_buffer_;
    launch.runs = runs_[number];
    launch.chunk_size = chunk_size_;
    launch.aligned = planned.aligned;
    launch.digests = digests_;
    launch.first_digest = planned.first_slot;
    launch.key = key;
    launch.tags = tags;
    return work_ == ResidentWork::kTags ? kernels_.tag_blocks(session_, queue_, launch, events_)
                                        : kernels_.leaves(session_, queue_, launch, events_);
  }

  // The tags of each segment as an object of its own, into digests.
  Status leaves_of_tags(cl_mem tags) {
    const cl_mem buffer = tags;
    LeafLaunch launch;
    launch.buffers = {&buffer, 1};
    launch.tables = tables_buffer_;
    launch.runs = tag_runs_;
    launch.chunk_size = kTagChunk;
    launch.aligned = true;
    launch.digests = digests_;
    return kernels_.leaves(session_, queue_, launch, events_);
  }

  // Joins the digests of segments to roots, and copies these to the host, as list `number`.
  Status start_roots(const SegmentTables& segments, std::size_t number) {
    const NodeLaunch nodes{digests_, tables_buffer_, 0};
    for (const LevelTable& level : segments.levels) {
      ASSAY_TRY(kernels_.nodes(session_, queue_, nodes, segments, level, events_));
    }
    ASSAY_TRY(kernels_.gather_roots(session_, queue_, nodes, segments, roots_, 0, events_));
    const std::uint64_t size = batch_.segments.size() * kernels_.digest_bytes();
    cl_event event = nullptr;
    ASSAY_TRY(session_.check("clEnqueueReadBuffer",
                             clEnqueueReadBuffer(queue_, roots_, CL_FALSE, 0, size,
                                                 host_roots_ + number * size, 0, nullptr, &event)));
    events_.add(event);
    return {};
  }

  [[nodiscard]] Digest result(std::size_t segment, std::size_t number) const {
    const std::size_t at = number * batch_.segments.size() + segment;
    return Digest::wrap(algorithm_, host_roots_ + at * kernels_.digest_bytes());
  }
  [[nodiscard]] std::uint64_t tag_bytes() const {
    return std::uint64_t{batch_.first_slot.back()} * (chunk_size_ / kTagBlock) * kTagBytes;
  }

  void plan_tables() {
    tables_.clear();
    std::size_t runs = 0;
    for (const PlannedLaunch& launch : batch_.launches) {
      runs += launch.runs.size();
    }
    tables_.reserve(runs, batch_.segments.size());
    for (const PlannedLaunch& launch : batch_.launches) {
      runs_.push_back(tables_.add_runs(launch.runs, chunk_size_));
    }
    for (const PlannedCopies& planned : batch_.copies) {
      std::vector<std::uint32_t> words;
      for (const ByteCopy& copy : planned.copies) {
        for (const std::uint64_t word :
             {std::uint64_t{copy.buffer}, std::uint64_t{copy.size}, copy.from & 0xFFFFFFFFU,
              copy.from >> 32, copy.to & 0xFFFFFFFFU, copy.to >> 32}) {
          words.push_back(static_cast<std::uint32_t>(word));
        }
      }
      at_copies_.push_back(tables_.add(words));
    }
    segments_ = tables_.add_segments(batch_.first_slot);
    if (work_ == ResidentWork::kHash) {
      return;
    }
    // Tags of a chunk are at most kTagChunk bytes, so digests of tags fit where digests of data
    // were.
    std::vector<Run> tag_runs;
    std::vector<std::uint32_t> first{0};
    const std::uint64_t per_chunk = chunk_size_ / kTagBlock * kTagBytes;
    for (std::size_t i = 0; i + 1 < batch_.first_slot.size(); ++i) {
      const std::uint64_t chunks = batch_.first_slot[i + 1] - batch_.first_slot[i];
      const std::uint64_t size = chunks * per_chunk;
      tag_runs.push_back({batch_.first_slot[i] * per_chunk, size, 0});
      first.push_back(first.back() +
                      static_cast<std::uint32_t>((size + kTagChunk - 1) / kTagChunk));
    }
    tag_runs_ = tables_.add_runs(tag_runs, kTagChunk);
    tag_segments_ = tables_.add_segments(first);
  }

  std::vector<cl_mem> handles(const std::vector<const DeviceMemory*>& memory) const {
    std::vector<cl_mem> result;
    result.reserve(memory.size());
    for (const DeviceMemory* one : memory) {
      result.push_back(one == nullptr ? side_ : static_cast<const ClMemory*>(one)->get());
    }
    return result;
  }

  const ClSession& session_;
  ClKernels& kernels_;
  BatchScratch& scratch_;
  BatchPlace& place_;
  cl_command_queue queue_;
  const ResidentBatch& batch_;
  HashAlgorithm algorithm_;
  std::uint32_t chunk_size_;
  ResidentWork work_;
  const TagKey* key_;
  LaunchTables& tables_;
  std::vector<RunTables> runs_;
  std::vector<std::uint32_t> at_copies_;
  SegmentTables segments_;
  RunTables tag_runs_;
  SegmentTables tag_segments_;
  cl_mem tables_buffer_ = nullptr;
  cl_mem digests_ = nullptr;
  cl_mem roots_ = nullptr;
  std::uint8_t* host_roots_ = nullptr;
  cl_mem side_ = nullptr;
  ClEvents events_;
  bool finished_ = false;
};

// The results of a call, made when the device has begun to work.
class LazyResults {
 public:
  LazyResults(std::span<const std::uint64_t> sizes, const HashRequest& request,
              std::uint64_t segment)
      : sizes_(sizes), request_(request), segment_(segment) {}
  ResultTable& get() { return table_ ? *table_ : table_.emplace(sizes_, request_, segment_); }

 private:
  std::span<const std::uint64_t> sizes_;
  const HashRequest& request_;
  std::uint64_t segment_;
  std::optional<ResultTable> table_;
};

// All batches of a call, a few of them on the device at a time.
class Resident {
 public:
  Resident(const ClSession& session, ClKernels& kernels, ResidentScratch& scratch,
           const HashRequest& request, ResidentWork work, const TagKey* key, std::size_t queues,
           const std::optional<Preparing>& preparing)
      : session_(session),
        kernels_(kernels),
        scratch_(scratch),
        request_(request),
        work_(work),
        key_(key),
        queues_(queues),
        preparing_(preparing) {}

  Status run(ResidentPlan& plan, Acquired& memory, LazyResults& results,
             std::vector<std::vector<Digest>>& tag_roots) {
    std::array<std::optional<BatchRun>, kBatchesAhead> runs;
    const std::size_t ahead = 2 * queues_;
    std::vector<cl_command_queue> queues;
    std::size_t next = 0;
    for (; plan.next(scratch_.places[next % ahead].batch()); ++next) {
      BatchScratch& scratch = scratch_.queues[next % queues_];
      ASSAY_ASSIGN(const cl_command_queue queue, scratch.queue(session_));
      if (next < queues_) {
        queues.push_back(queue);
      }
      if (next == 0) {
        ASSAY_TRY(memory.acquire(queue, scratch_.places[0].batch()));
      } else if (next == 1) {
        ASSAY_TRY(memory.acquire_rest(queue));
      } else if (next <= queues_) {  // the other queues, once
        ASSAY_TRY(memory.join(queue));
      }
      std::optional<BatchRun>& run = runs[next % ahead];
      run.emplace(session_, kernels_, scratch, scratch_.places[next % ahead], queue, request_,
                  work_, key_);
      ASSAY_TRY(run->start());
      // The next batch needs the place of the oldest one.
      ASSAY_TRY(take(runs[(next + 1) % ahead], results, tag_roots));
      if (request_.stop.stop_requested()) {
        return fail(ErrorCode::kCancelled, "hashing was stopped on request");
      }
    }
    ASSAY_TRY(memory.release(queues));
    for (std::size_t i = 0; i < ahead; ++i) {
      ASSAY_TRY(take(runs[(next + i) % ahead], results, tag_roots));
    }
    return memory.finish();
  }

 private:
  // The results of a batch, if there is one.
  Status take(std::optional<BatchRun>& run, LazyResults& results,
              std::vector<std::vector<Digest>>& tag_roots) {
    if (!run) {
      return {};
    }
    ResultTable* const table =
        work_ == ResidentWork::kTags ? nullptr : &results.get();  // while the device works
    ASSAY_TRY(run->finish());
    const std::vector<Segment>& segments = run->segments();
    for (std::size_t i = 0; i < segments.size(); ++i) {
      if (table != nullptr) {
        const Digest root = run->root(i);
        table->add(segments[i], {&root, 1});
      }
      if (work_ != ResidentWork::kHash) {
        tag_roots[segments[i].region].push_back(run->tag_root(i));
      }
    }
    if (table != nullptr && request_.progress && !preparing_) {  // one thread at a time says it
      request_.progress(table->bytes_done());
    }
    run.reset();
    return {};
  }

  const ClSession& session_;
  ClKernels& kernels_;
  ResidentScratch& scratch_;
  const HashRequest& request_;
  ResidentWork work_;
  const TagKey* key_;
  std::size_t queues_;
  const std::optional<Preparing>& preparing_;  // present: kernels of this call are compiled
};

// While this lives, `tell` is called when a kernel is used for the first time.
class FirstUse {
 public:
  FirstUse(ClKernels& kernels, std::function<void()> tell) : kernels_(kernels) {
    kernels_.on_first_use(std::move(tell));
  }
  ~FirstUse() { kernels_.on_first_use({}); }
  FirstUse(const FirstUse&) = delete;
  FirstUse& operator=(const FirstUse&) = delete;

 private:
  ClKernels& kernels_;
};

}  // namespace

Result<bool> is_resident(const ClSession& session, std::span<const Region> regions) {
  bool device = false;
  bool other = false;
  const DeviceMemory* known = nullptr;  // to be this engine's; pieces mostly share their memory
  for (const Region& region : regions) {
    for (const Piece& piece : region.pieces) {
      const auto* part = std::get_if<DevicePiece>(&piece);
      device = device || part != nullptr;
      other = other || part == nullptr;
      if (part == nullptr) {
        continue;
      }
      const DeviceMemory* memory = part->memory.get();
      if (memory != known || memory == nullptr) {
        const auto* own = dynamic_cast<const ClMemory*>(memory);
        if (own == nullptr || own->context() != session.context()) {
          return fail(ErrorCode::kInvalidParameter,
                      "device memory can only be hashed by the engine of its device");
        }
        known = memory;
      }
      if (part->offset > memory->size() || part->size > memory->size() - part->offset) {
        return fail(ErrorCode::kInvalidParameter, "a piece lies outside its device memory");
      }
    }
  }
  if (device && other) {
    return fail(ErrorCode::kInvalidParameter,
                "device memory and other pieces cannot be hashed in one call");
  }
  return device;
}

Result<ResidentResult> hash_resident(const ClSession& session, ClKernels& kernels,
                                     ResidentScratch& scratch, std::span<const Region> regions,
                                     const HashRequest& request, ResidentWork work,
                                     const TagKey* key, std::uint64_t batch_bytes) {
  ASSAY_ASSIGN(const std::vector<std::uint64_t> sizes, region_sizes(regions));
  const Batches batches = batches_of(work, sizes, request, batch_bytes);
  ResidentPlan plan(regions, sizes, request,
                    {batches.segment, batches.slots, ClKernels::max_buffers(session)});
  for (std::size_t i = 0; i < kBatchQueues; ++i) {  // of other batches before
    scratch.queues[i].trim(i < batches.queues ? batches.kept : 0);
  }
  std::optional<Preparing> preparing;
  const FirstUse first_use(kernels, [&] {
    if (!preparing) {
      preparing.emplace(request.progress);
    }
  });
  LazyResults results(sizes, request, plan.segment_size());
  ResidentResult result;
  result.tag_roots.resize(work == ResidentWork::kHash ? 0 : regions.size());
  {
    Acquired memory(session, scratch, regions);
    Resident resident(session, kernels, scratch, request, work, key, batches.queues, preparing);
    ASSAY_TRY(resident.run(plan, memory, results, result.tag_roots));
  }
  if (work != ResidentWork::kTags) {
    ASSAY_ASSIGN(result.digests, results.get().take());
  }
  scratch.trim(batches.kept);
  return result;
}

}  // namespace assay::gpu_hash
