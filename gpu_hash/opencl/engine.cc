// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/opencl/engine.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "gpu_hash/opencl/opencl.h"
#include "gpu_hash/opencl/stream.h"
#include "gpu_hash/opencl/tune.h"
#include "gpu_hash/preparing.h"
#include "gpu_hash/tree/known_answers.h"
#include "gpu_hash/workers.h"

namespace assay::gpu_hash {
namespace {

// Takes the whole memory of a GPU as one batch.
constexpr std::uint64_t kBatchBytes = std::uint64_t{768} << 20;
constexpr std::uint64_t kDefaultSlice = std::uint64_t{32} << 20;  // bytes
constexpr std::uint64_t kMaxBlock = std::uint64_t{8} << 20;       // bytes, of staging memory
constexpr std::uint64_t kBlocksPerSlice = 4;
// Not below the largest chunk: a slice holds whole segments, a segment whole chunks.
constexpr std::uint64_t kMinSlice = kMaxChunkSize;
// Where segments start in a slice; any byte is allowed, this one suits the memory.
constexpr std::uint32_t kAlignment = 64;
constexpr unsigned kMaxReaders = 12;  // on 16 cores, 12 to 14 were best

Result<std::uint64_t> choose_slice(const ClDevice& device, std::uint64_t wanted) {
  // Several slices are on the device at a time.
  const std::uint64_t limit =
      std::min(device.info.max_allocation_bytes, device.info.memory_bytes / 16);
  if (limit < kMinSlice) {
    return fail(ErrorCode::kDeviceFailed, device.info.name + ": the device has too little memory");
  }
  const std::uint64_t slice = std::max(wanted == 0 ? kDefaultSlice : wanted, kMinSlice);
  return std::bit_floor(std::min(slice, limit));
}

}  // namespace

ClEngine::ClEngine(ClSession session, const EngineOptions& options, KernelCache cache,
                   std::uint64_t slice_bytes)
    : session_(std::move(session)),
      cache_(std::move(cache)),
      threads_(options.threads != 0 ? options.threads : std::min(usable_cores(), kMaxReaders)),
      slice_bytes_(slice_bytes),
      batch_bytes_(options.batch_bytes != 0 ? options.batch_bytes : kBatchBytes) {
  const DeviceInfo& device = session_.device().info;
  info_ = {device.id,
           device.name,
           device.driver,
           kernel_digest(),
           session_.device().uuid,
           session_.device().pci};
}

Result<std::unique_ptr<ClEngine>> ClEngine::open(ClDevice device, const EngineOptions& options,
                                                 KernelCache cache) {
  ASSAY_ASSIGN(const std::uint64_t slice, choose_slice(device, options.slice_bytes));
  ASSAY_ASSIGN(ClSession session, ClSession::open(std::move(device)));
  return std::unique_ptr<ClEngine>(
      new ClEngine(std::move(session), options, std::move(cache), slice));
}

Status ClEngine::make_lanes() {
  while (lanes_.size() < kLanes) {
    ASSAY_ASSIGN(ClLane lane, ClLane::create(session_, slice_bytes_, slots_of_slice(slice_bytes_),
                                             levels_of_slice(slice_bytes_)));
    lanes_.push_back(std::move(lane));
  }
  return make_staging();
}

Status ClEngine::make_staging() {
  if (staging_.size() == 0) {
    const std::uint64_t block = std::min(kMaxBlock, slice_bytes_ / kBlocksPerSlice);
    ASSAY_ASSIGN(staging_, ClStaging::create(session_, block, kBlocks));
  }
  return {};
}

Status ClEngine::copy_alone(std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  ASSAY_TRY(make_lanes());
  Status status;
  for (std::uint64_t at = 0; status && at < bytes; at += staging_.block_bytes()) {
    const std::size_t block = at / staging_.block_bytes() % staging_.size();
    status = staging_.wait(session_, block);
    if (status) {
      status = lanes_[at / slice_bytes_ % lanes_.size()].receive(
          session_, staging_, block, staging_.block_bytes(), at % slice_bytes_);
    }
  }
  for (ClLane& lane : lanes_) {
    lane.drain();
  }
  staging_.clear();
  return status;
}

Status ClEngine::test(ClKernels& kernels, HashAlgorithm algorithm) {
  ASSAY_TRY(make_lanes());
  // Without gaps most segments start at an odd address, which one of the kernels is for; with gaps,
  // the other one hashes them.
  for (const std::uint32_t alignment : {1U, kAlignment}) {
    ASSAY_TRY(self_test(session_.name(), algorithm,
                        [&](std::span<const Region> regions, const HashRequest& request) {
                          return run_stream(kernels, regions, request, alignment);
                        }));
  }
  return {};
}

// The same objects in device memory, cut so that chunks lie in two buffers and between them; with
// tags as well, which must be equal from both passes.
Status ClEngine::test_resident(ClKernels& kernels, HashAlgorithm algorithm) {
  const auto hash = [&](std::span<const Region> regions,
                        const HashRequest& request) -> Result<std::vector<ObjectDigests>> {
    std::vector<Region> resident;
    for (const Region& region : regions) {
      const ByteView bytes = std::get<HostPiece>(region.pieces.at(0)).bytes;
      const std::uint64_t first = bytes.size() / 2 / 16 * 16;
      ASSAY_ASSIGN(const std::shared_ptr<ClMemory> left, allocate(first + 1));
      ASSAY_ASSIGN(const std::shared_ptr<ClMemory> right, allocate(bytes.size() - first));
      ASSAY_TRY(write(*left, 0, bytes.first(first)));
      ASSAY_TRY(write(*right, 0, bytes.subspan(first)));
      Region cut;
      cut.pieces.emplace_back(DevicePiece{left, 0, first});
      cut.pieces.emplace_back(DevicePiece{right, 0, bytes.size() - first});
      resident.push_back(std::move(cut));
    }
    SystemRandom random;
    ASSAY_ASSIGN(const TagKey key, TagKey::draw(random));
    ASSAY_ASSIGN(const ResidentResult full,
                 hash_resident(session_, kernels, scratch_, resident, request,
                               ResidentWork::kHashAndTags, &key, batch_bytes_));
    ASSAY_ASSIGN(const ResidentResult tags,
                 hash_resident(session_, kernels, scratch_, resident, request, ResidentWork::kTags,
                               &key, batch_bytes_));
    if (full.tag_roots != tags.tag_roots) {
      return fail(ErrorCode::kDeviceSelfTestFailed,
                  session_.name() + ": both passes gave different tags");
    }
    ASSAY_ASSIGN(ResidentResult plain, hash_resident(session_, kernels, scratch_, resident, request,
                                                     ResidentWork::kHash, nullptr, batch_bytes_));
    for (std::size_t i = 0; i < plain.digests.size(); ++i) {
      if (plain.digests[i].root != full.digests.at(i).root) {
        return full.digests;  // one of them is wrong; which, the known answers do not matter
      }
    }
    return plain.digests;
  };
  return self_test(session_.name(), algorithm, hash);
}

Result<ClKernels> ClEngine::load_tested(HashAlgorithm algorithm, const KernelVariant& variant) {
  ASSAY_ASSIGN(ClKernels kernels, ClKernels::load(session_, algorithm, variant, cache_));
  Status result = test(kernels, algorithm);
  if (!result && kernels.from_cache()) {
    // The cached binary may be to blame, so the source gets its chance.
    ASSAY_ASSIGN(kernels, ClKernels::build(session_, algorithm, variant, cache_));
    result = test(kernels, algorithm);
  }
  if (!result) {
    return std::unexpected(std::move(result).error());
  }
  return kernels;
}

Result<ClKernels> ClEngine::load_best(HashAlgorithm algorithm) {
  const KernelVariant plain =
      kernel_variants(algorithm, session_.device().vendor, session_.device().info.type).front();
  const KernelVariant chosen = tuned_variant(session_, algorithm, cache_);
  auto kernels = load_tested(algorithm, chosen);
  if (!kernels && chosen.name != plain.name) {
    distrust_variant(session_, algorithm, cache_);
    kernels = load_tested(algorithm, plain);
  }
  return kernels;
}

Result<ClKernels*> ClEngine::kernels(HashAlgorithm algorithm, const BytesDone& progress) {
  std::optional<ClKernels>& slot = tested_[algorithm == HashAlgorithm::kSha256 ? 0 : 1].kernels;
  if (!slot) {
    const Preparing preparing(progress);
    ASSAY_ASSIGN(ClKernels kernels, load_best(algorithm));
    slot = std::move(kernels);
  }
  return &*slot;
}

Result<ClKernels*> ClEngine::resident_kernels(HashAlgorithm algorithm, const BytesDone& progress) {
  ASSAY_ASSIGN(ClKernels* const kernels, this->kernels(algorithm, progress));
  bool& tested = tested_[algorithm == HashAlgorithm::kSha256 ? 0 : 1].resident;
  if (!tested) {
    const Preparing preparing(progress);
    ASSAY_TRY(test_resident(*kernels, algorithm));
    tested = true;
    // The self-test needed lanes, which hashing of device memory does not need. Where a model is
    // served, device memory is scarce.
    lanes_.clear();
    staging_ = {};
  }
  return kernels;
}

Result<ResidentResult> ClEngine::run_resident(std::span<const Region> regions,
                                              const HashRequest& request, ResidentWork work,
                                              const TagKey* key) {
  ASSAY_ASSIGN(ClKernels* const kernels,
               resident_kernels(request.parameters.hash, request.progress));
  last_path_ = {true, kernels->variant().name};
  return hash_resident(session_, *kernels, scratch_, regions, request, work, key, batch_bytes_);
}

Result<std::vector<ObjectDigests>> ClEngine::hash(std::span<const Region> regions,
                                                  const HashRequest& request) {
  ASSAY_TRY(check(request));
  const std::scoped_lock lock(mutex_);
  ASSAY_ASSIGN(const bool resident, is_resident(session_, regions));
  if (resident) {
    ASSAY_ASSIGN(ResidentResult result,
                 run_resident(regions, request, ResidentWork::kHash, nullptr));
    return std::move(result.digests);
  }
  ASSAY_ASSIGN(ClKernels* const tested, kernels(request.parameters.hash, request.progress));
  last_path_ = {false, tested->variant().name};
  return run_stream(*tested, regions, request, kAlignment);
}

Result<std::vector<ObjectDigests>> ClEngine::run_stream(ClKernels& kernels,
                                                        std::span<const Region> regions,
                                                        const HashRequest& request,
                                                        std::uint32_t alignment) {
  ASSAY_TRY(make_lanes());
  return stream(session_, kernels, lanes_, staging_, regions, request,
                {threads_, slice_bytes_, alignment});
}

Result<Derived> ClEngine::derive(const DeriveRequest& derivation, const HashRequest& request) {
  ASSAY_TRY(check(request));
  const std::scoped_lock lock(mutex_);
  ASSAY_ASSIGN(ClKernels* const kernels,
               resident_kernels(request.parameters.hash, request.progress));
  ASSAY_TRY(make_staging());
  return derivation_.run({session_, *kernels, scratch_, staging_, cache_, threads_, batch_bytes_},
                         derivation, request);
}

Imports ClEngine::imports() const {
  const ClDevice& device = session_.device();
  return device.imports_fds          ? Imports::kDriverDescriptors
         : device.info.type == "cpu" ? Imports::kMemoryFiles
                                     : Imports::kNothing;
}

Result<std::shared_ptr<const DeviceMemory>> ClEngine::import_memory(Descriptor fd,
                                                                    std::uint64_t size) {
  const std::scoped_lock lock(mutex_);
  ASSAY_ASSIGN(std::shared_ptr<const DeviceMemory> memory,
               ClMemory::import(session_, std::move(fd), size));
  return memory;
}

Result<std::vector<ObjectDigests>> ClEngine::hash_tagged(std::span<const Region> regions,
                                                         const HashRequest& request,
                                                         const TagKey& key,
                                                         std::vector<std::vector<Digest>>& tags) {
  ASSAY_TRY(check(request));
  const std::scoped_lock lock(mutex_);
  ASSAY_ASSIGN(const bool resident, is_resident(session_, regions));
  if (!resident) {
    return fail(ErrorCode::kInvalidParameter, "tags are for device memory");
  }
  ASSAY_ASSIGN(ResidentResult result,
               run_resident(regions, request, ResidentWork::kHashAndTags, &key));
  tags = std::move(result.tag_roots);
  return std::move(result.digests);
}

Result<std::vector<std::vector<Digest>>> ClEngine::tags(std::span<const Region> regions,
                                                        const HashRequest& request,
                                                        const TagKey& key) {
  ASSAY_TRY(check(request));
  const std::scoped_lock lock(mutex_);
  ASSAY_ASSIGN(const bool resident, is_resident(session_, regions));
  if (!resident) {
    return fail(ErrorCode::kInvalidParameter, "tags are for device memory");
  }
  ASSAY_ASSIGN(ResidentResult result, run_resident(regions, request, ResidentWork::kTags, &key));
  return std::move(result.tag_roots);
}

Result<std::shared_ptr<ClMemory>> ClEngine::allocate(std::uint64_t size) {
  return ClMemory::allocate(session_, size);
}

Status ClEngine::write(const ClMemory& memory, std::uint64_t offset, ByteView bytes) {
  if (bytes.empty()) {
    return {};
  }
  ASSAY_ASSIGN(const ClQueue queue, session_.make_queue());
  return session_.check("clEnqueueWriteBuffer",
                        clEnqueueWriteBuffer(queue.get(), memory.get(), CL_TRUE, offset,
                                             bytes.size(), bytes.data(), 0, nullptr, nullptr));
}

DeviceListing list_opencl_devices() {
  DeviceListing listing;
  for (ClDevice& device : find_cl_devices(&listing.failed)) {
    listing.devices.push_back(std::move(device.info));
  }
  return listing;
}

std::string opencl_absence() {
  return "no OpenCL device was found; is the driver's file in /etc/OpenCL/vendors?";
}

Result<std::unique_ptr<Engine>> make_opencl_engine(unsigned index, const EngineOptions& options) {
  std::vector<ClDevice> devices = find_cl_devices();
  if (index >= devices.size()) {
    return fail(ErrorCode::kDeviceNotFound, opencl_absence());
  }
  return ClEngine::open(std::move(devices[index]), options, KernelCache::of_user());
}

}  // namespace assay::gpu_hash
