// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/cl_resident.h"

#include <algorithm>
#include <set>
#include <utility>

#include "gpu_hash/cl_lane.h"
#include "gpu_hash/cl_memory.h"
#include "gpu_hash/fold.h"
#include "gpu_hash/resident_plan.h"

namespace assay::gpu_hash {
namespace {

constexpr std::uint32_t kMaxSlots = 1U << 23;
constexpr std::uint64_t kTagBytes = 16;
// Chunks of the tree over tags: the smallest, because there are few.
constexpr std::uint32_t kTagChunk = kMinChunkSize;
// Buffers up to this size are kept for the next call.
constexpr std::uint64_t kKeptBytes = std::uint64_t{64} << 20;

// External memory, acquired while this object lives.
class Acquired {
 public:
  Acquired(const ClSession& session, cl_command_queue queue, std::span<const Region> regions)
      : session_(session), queue_(queue) {
    std::set<cl_mem> memory;
    for (const Region& region : regions) {
      for (const Piece& piece : region.pieces) {
        const auto& cl = static_cast<const ClMemory&>(*std::get<DevicePiece>(piece).memory);
        if (cl.external()) {
          memory.insert(cl.get());
        }
      }
    }
    memory_.assign(memory.begin(), memory.end());
  }
  ~Acquired() {
    // What is in flight may use buffers that are about to go.
    clFinish(queue_);
    if (acquired_) {
      ClEvents events;
      (void)hand_over(session_, queue_, Handover::kRelease, memory_, events);
      clFinish(queue_);
    }
  }
  Acquired(const Acquired&) = delete;
  Acquired& operator=(const Acquired&) = delete;

  Status acquire() {
    ClEvents events;
    ASSAY_TRY(hand_over(session_, queue_, Handover::kAcquire, memory_, events));
    acquired_ = !memory_.empty();
    return events.wait(session_);
  }

 private:
  const ClSession& session_;
  cl_command_queue queue_;
  std::vector<cl_mem> memory_;
  bool acquired_ = false;
};

// One batch on the device.
class BatchRun {
 public:
  BatchRun(const ClSession& session, ClKernels& kernels, ResidentScratch& scratch,
           cl_command_queue queue, const ResidentBatch& batch, std::uint32_t chunk_size, bool tags)
      : session_(session),
        kernels_(kernels),
        scratch_(scratch),
        queue_(queue),
        batch_(batch),
        chunk_size_(chunk_size),
        tags_(tags) {}

  Status prepare() {
    using Role = ResidentScratch::Role;
    plan_tables();
    const std::uint64_t width = kernels_.digest_bytes();
    ASSAY_ASSIGN(tables_buffer_, scratch_.get(session_, Role::kTables, tables_.bytes()));
    ASSAY_ASSIGN(digests_, scratch_.get(session_, Role::kDigests, slots() * width));
    ASSAY_ASSIGN(roots_, scratch_.get(session_, Role::kRoots, batch_.segments.size() * width));
    ASSAY_ASSIGN(
        side_, scratch_.get(session_, Role::kSide, std::max<std::uint64_t>(batch_.side_bytes, 1)));
    cl_event event = nullptr;
    ASSAY_TRY(
        session_.check("clEnqueueWriteBuffer",
                       clEnqueueWriteBuffer(queue_, tables_buffer_, CL_FALSE, 0, tables_.bytes(),
                                            tables_.words().data(), 0, nullptr, &event)));
    events_.add(event);
    std::uint32_t at = 0;
    for (const PlannedCopies& copies : batch_.copies) {
      const std::vector<cl_mem> buffers = handles(copies.memory);
      ASSAY_TRY(kernels_.gather_bytes(session_, queue_, buffers, tables_buffer_, at_copies_[at++],
                                      static_cast<std::uint32_t>(copies.copies.size()), side_,
                                      events_));
    }
    return {};
  }

  // Leaves into digests, with tags when there is a buffer for them.
  Status leaves(cl_mem key, cl_mem tags, bool only_tags) {
    for (std::size_t i = 0; i < batch_.launches.size(); ++i) {
      const PlannedLaunch& planned = batch_.launches[i];
      const std::vector<cl_mem> buffers = handles(planned.memory);
      LeafLaunch launch;
      launch.buffers = buffers;
      launch.tables = tables_buffer_;
      launch.runs = runs_[i];
      launch.chunk_size = chunk_size_;
      launch.aligned = planned.aligned;
      launch.digests = digests_;
      launch.first_digest = planned.first_slot;
      launch.key = key;
      launch.tags = tags;
      if (tags != nullptr && !planned.aligned) {
        return fail(ErrorCode::kInvalidParameter,
                    "tags need device memory that begins at a multiple of 16 bytes");
      }
      ASSAY_TRY(only_tags ? kernels_.tag_blocks(session_, queue_, launch, events_)
                          : kernels_.leaves(session_, queue_, launch, events_));
    }
    return {};
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

  // Joins the digests of segments to roots, and waits for them.
  Result<std::vector<Digest>> roots(HashAlgorithm algorithm, bool of_tags) {
    const SegmentTables& segments = of_tags ? tag_segments_ : segments_;
    const NodeLaunch nodes{digests_, tables_buffer_, 0};
    for (const LevelTable& level : segments.levels) {
      ASSAY_TRY(kernels_.nodes(session_, queue_, nodes, segments, level, events_));
    }
    ASSAY_TRY(kernels_.gather_roots(session_, queue_, nodes, segments, roots_, 0, events_));
    Bytes host(segments.segments * kernels_.digest_bytes());
    cl_event event = nullptr;
    ASSAY_TRY(session_.check("clEnqueueReadBuffer",
                             clEnqueueReadBuffer(queue_, roots_, CL_FALSE, 0, host.size(),
                                                 host.data(), 0, nullptr, &event)));
    events_.add(event);
    const Status status = events_.wait(session_);
    if (!status) {
      clFinish(queue_);  // the read must not come after its target is gone
      return std::unexpected(status.error());
    }
    std::vector<Digest> result;
    result.reserve(segments.segments);
    const std::size_t width = kernels_.digest_bytes();
    for (std::size_t at = 0; at < host.size(); at += width) {
      result.push_back(device_digest(algorithm, ByteView(host).subspan(at, width)));
    }
    return result;
  }

  [[nodiscard]] std::uint32_t slots() const { return batch_.first_slot.back(); }
  [[nodiscard]] std::uint64_t tag_bytes() const {
    return std::uint64_t{slots()} * (chunk_size_ / kTagBlock) * kTagBytes;
  }

 private:
  void plan_tables() {
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
    if (!tags_) {
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
  ResidentScratch& scratch_;
  cl_command_queue queue_;
  const ResidentBatch& batch_;
  std::uint32_t chunk_size_;
  bool tags_;
  LaunchTables tables_;
  std::vector<RunTables> runs_;
  std::vector<std::uint32_t> at_copies_;
  SegmentTables segments_;
  RunTables tag_runs_;
  SegmentTables tag_segments_;
  cl_mem tables_buffer_ = nullptr;
  cl_mem digests_ = nullptr;
  cl_mem roots_ = nullptr;
  cl_mem side_ = nullptr;
  ClEvents events_;
};

// The key, on the device for the time of a call, and overwritten after it.
class DeviceKey {
 public:
  static Result<DeviceKey> create(const ClSession& session, cl_command_queue queue,
                                  const TagKey& key) {
    DeviceKey result(queue);
    ASSAY_ASSIGN(result.buffer_, session.make_buffer(CL_MEM_READ_WRITE, key.words().size_bytes()));
    ASSAY_TRY(session.check(
        "clEnqueueWriteBuffer",
        clEnqueueWriteBuffer(queue, result.buffer_.get(), CL_TRUE, 0, key.words().size_bytes(),
                             key.words().data(), 0, nullptr, nullptr)));
    return result;
  }
  ~DeviceKey() {
    if (buffer_ != nullptr) {
      const std::uint32_t zero = 0;
      clEnqueueFillBuffer(queue_, buffer_.get(), &zero, sizeof(zero), 0,
                          kTagKeyWords * sizeof(zero), 0, nullptr, nullptr);
      clFinish(queue_);
    }
  }
  DeviceKey(DeviceKey&&) noexcept = default;
  DeviceKey& operator=(DeviceKey&&) = delete;
  [[nodiscard]] cl_mem get() const { return buffer_.get(); }

 private:
  explicit DeviceKey(cl_command_queue queue) : queue_(queue) {}
  cl_command_queue queue_;
  ClBuffer buffer_;
};

// Digests on their way to results. Most objects are one segment, whose digest is all there is to
// say about them; only the others need to be folded.
class Results {
 public:
  Results(std::span<const std::uint64_t> sizes, const HashRequest& request, std::uint64_t segment)
      : sizes_(sizes),
        outline_(request.outline_span != 0),
        folded_(fold_sizes(sizes, segment)),
        table_(folded_, request, segment),
        whole_(sizes.size()) {}

  void add(const Segment& segment, const Digest& digest) {
    bytes_done_ += segment.size;
    if (segment.size == sizes_[segment.region]) {
      whole_[segment.region] = digest;
    } else {
      table_.add(segment, {digest});
    }
  }
  [[nodiscard]] std::uint64_t bytes_done() const { return bytes_done_; }

  [[nodiscard]] Result<std::vector<ObjectDigests>> take() {
    ASSAY_ASSIGN(std::vector<ObjectDigests> results, table_.take());
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (folded_[i] != sizes_[i]) {
        if (!whole_[i]) {
          return fail(ErrorCode::kInternal, "a segment is missing");
        }
        results[i].root = *whole_[i];
        results[i].outline.assign(outline_ ? 1 : 0, *whole_[i]);
      }
    }
    return results;
  }

 private:
  // Objects of one segment count as empty in the table.
  static std::vector<std::uint64_t> fold_sizes(std::span<const std::uint64_t> sizes,
                                               std::uint64_t segment) {
    std::vector<std::uint64_t> result(sizes.begin(), sizes.end());
    std::ranges::replace_if(result, [&](std::uint64_t size) { return size <= segment; }, 0U);
    return result;
  }

  std::span<const std::uint64_t> sizes_;
  bool outline_;
  std::vector<std::uint64_t> folded_;
  ResultTable table_;
  std::vector<std::optional<Digest>> whole_;
  std::uint64_t bytes_done_ = 0;
};

class Resident {
 public:
  Resident(const ClSession& session, ClKernels& kernels, ResidentScratch& scratch,
           cl_command_queue queue, const HashRequest& request, ResidentWork work, const TagKey* key)
      : session_(session),
        kernels_(kernels),
        scratch_(scratch),
        queue_(queue),
        request_(request),
        work_(work),
        key_(key) {}

  Status run(const ResidentBatch& batch, Results& table,
             std::vector<std::vector<Digest>>& tag_roots) {
    BatchRun device(session_, kernels_, scratch_, queue_, batch, request_.parameters.chunk_size,
                    work_ != ResidentWork::kHash);
    const Status status = run_batch(device, batch, table, tag_roots);
    if (!status) {
      clFinish(queue_);  // nothing of this batch may be in flight when its buffers go
    }
    return status;
  }

 private:
  Status run_batch(BatchRun& device, const ResidentBatch& batch, Results& table,
                   std::vector<std::vector<Digest>>& tag_roots) {
    ASSAY_TRY(device.prepare());
    if (work_ == ResidentWork::kHash) {
      ASSAY_TRY(device.leaves(nullptr, nullptr, false));
      return add_digests(device, batch, table);
    }
    ASSAY_ASSIGN(const DeviceKey key, DeviceKey::create(session_, queue_, *key_));
    ASSAY_ASSIGN(const cl_mem tags,
                 scratch_.get(session_, ResidentScratch::kTagSums, device.tag_bytes()));
    ASSAY_TRY(device.leaves(key.get(), tags, work_ == ResidentWork::kTags));
    if (work_ == ResidentWork::kHashAndTags) {
      ASSAY_TRY(add_digests(device, batch, table));
    }
    ASSAY_TRY(device.leaves_of_tags(tags));
    ASSAY_ASSIGN(const std::vector<Digest> roots, device.roots(request_.parameters.hash, true));
    for (std::size_t i = 0; i < batch.segments.size(); ++i) {
      tag_roots[batch.segments[i].region].push_back(roots[i]);
    }
    return {};
  }

  Status add_digests(BatchRun& device, const ResidentBatch& batch, Results& table) {
    ASSAY_ASSIGN(const std::vector<Digest> roots, device.roots(request_.parameters.hash, false));
    for (std::size_t i = 0; i < batch.segments.size(); ++i) {
      table.add(batch.segments[i], roots[i]);
    }
    if (request_.progress) {
      request_.progress(table.bytes_done());
    }
    return {};
  }

  const ClSession& session_;
  ClKernels& kernels_;
  ResidentScratch& scratch_;
  cl_command_queue queue_;
  const HashRequest& request_;
  ResidentWork work_;
  const TagKey* key_;
};

}  // namespace

Result<bool> is_resident(const ClSession& session, std::span<const Region> regions) {
  bool device = false;
  bool other = false;
  for (const Region& region : regions) {
    for (const Piece& piece : region.pieces) {
      const auto* part = std::get_if<DevicePiece>(&piece);
      device = device || part != nullptr;
      other = other || part == nullptr;
      if (part == nullptr) {
        continue;
      }
      const auto* memory = dynamic_cast<const ClMemory*>(part->memory.get());
      if (memory == nullptr || memory->context() != session.context()) {
        return fail(ErrorCode::kInvalidParameter,
                    "device memory can only be hashed by the engine of its device");
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

Result<cl_mem> ResidentScratch::get(const ClSession& session, Role role, std::uint64_t size) {
  Slot& slot = slots_[role];
  if (slot.size < size) {
    slot = {};
    ASSAY_ASSIGN(slot.buffer, session.make_buffer(CL_MEM_READ_WRITE, size));
    slot.size = size;
  }
  return slot.buffer.get();
}

Result<cl_command_queue> ResidentScratch::queue(const ClSession& session) {
  if (queue_ == nullptr) {
    ASSAY_ASSIGN(queue_, session.make_queue());
  }
  return queue_.get();
}

void ResidentScratch::trim() {
  for (Slot& slot : slots_) {
    if (slot.size > kKeptBytes) {
      slot = {};
    }
  }
}

Result<ResidentResult> hash_resident(const ClSession& session, ClKernels& kernels,
                                     ResidentScratch& scratch, std::span<const Region> regions,
                                     const HashRequest& request, ResidentWork work,
                                     const TagKey* key) {
  ASSAY_ASSIGN(const std::vector<std::uint64_t> sizes, region_sizes(regions));
  ASSAY_ASSIGN(const cl_command_queue queue, scratch.queue(session));
  ResidentPlan plan(regions, sizes, request, {kMaxSlots, ClKernels::max_buffers(session)});
  Results results(sizes, request, plan.segment_size());
  ResidentResult result;
  result.tag_roots.resize(work == ResidentWork::kHash ? 0 : regions.size());
  Acquired memory(session, queue, regions);
  ASSAY_TRY(memory.acquire());
  Resident resident(session, kernels, scratch, queue, request, work, key);
  while (const auto batch = plan.next()) {
    if (request.stop.stop_requested()) {
      return fail(ErrorCode::kCancelled, "hashing was stopped on request");
    }
    ASSAY_TRY(resident.run(*batch, results, result.tag_roots));
  }
  if (work != ResidentWork::kTags) {
    ASSAY_ASSIGN(result.digests, results.take());
  }
  scratch.trim();
  return result;
}

}  // namespace assay::gpu_hash
