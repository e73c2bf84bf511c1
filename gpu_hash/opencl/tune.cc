// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/opencl/tune.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "gpu_hash/tree/launch_tables.h"

namespace assay::gpu_hash {
namespace {

// Data for a measurement: enough chunks to fill the largest devices several times.
constexpr std::uint64_t kTuneBytes = std::uint64_t{4} << 30;
constexpr std::uint32_t kTuneChunk = 4096;  // many chunks in little memory
constexpr int kRuns = 3;

std::string choice_key(const ClSession& session, HashAlgorithm algorithm) {
  return session.device().identity + "variant\n" + std::string(name(algorithm)) + "\n" +
         kernel_digest().hex();
}

// Memory with something in it, and the tables of one run over all of it.
class Workload {
 public:
  static Result<Workload> create(const ClSession& session) {
    const DeviceInfo& info = session.device().info;
    const std::uint64_t bytes =
        std::min({kTuneBytes, info.max_allocation_bytes, info.memory_bytes / 4}) / kTuneChunk *
        kTuneChunk;
    Workload work;
    work.bytes_ = bytes;
    const Run run{0, bytes, 0};
    work.runs_ = work.tables_.add_runs({&run, 1}, kTuneChunk);
    ASSAY_ASSIGN(work.queue_, session.make_queue());
    ASSAY_ASSIGN(work.data_, session.make_buffer(CL_MEM_READ_WRITE, bytes));
    ASSAY_ASSIGN(work.device_tables_, session.make_buffer(CL_MEM_READ_ONLY, work.tables_.bytes()));
    ASSAY_ASSIGN(
        work.digests_,
        session.make_buffer(CL_MEM_READ_WRITE, std::uint64_t{work.runs_.items} * Digest::kMaxSize));
    ASSAY_TRY(work.fill(session));
    ASSAY_TRY(
        session.check("clEnqueueWriteBuffer",
                      clEnqueueWriteBuffer(work.queue_.get(), work.device_tables_.get(), CL_TRUE, 0,
                                           work.tables_.bytes(), work.tables_.words().data(), 0,
                                           nullptr, nullptr)));
    return work;
  }

  // Bytes per second; 0 when the variant does not work here.
  double rate(const ClSession& session, HashAlgorithm algorithm, const KernelVariant& variant,
              const KernelCache& cache) {
    auto kernels = ClKernels::load(session, algorithm, variant, cache);
    if (!kernels) {
      return 0;
    }
    double best = 0;
    for (int i = 0; i <= kRuns; ++i) {
      const auto start = std::chrono::steady_clock::now();
      if (!run(session, *kernels)) {
        return 0;
      }
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
      if (i > 0) {  // the first run loads the program
        best = std::max(best, static_cast<double>(bytes_) / elapsed.count());
      }
    }
    return best;
  }

 private:
  // Some bytes, doubled until they fill the memory. (clEnqueueFillBuffer of 8 GiB did not end on an
  // H200.)
  Status fill(const ClSession& session) const {
    Bytes block(std::min<std::uint64_t>(bytes_, 16U << 20));
    for (std::size_t i = 0; i < block.size(); ++i) {
      block[i] = static_cast<std::uint8_t>((i * 0x9E3779B1U) >> 13);
    }
    ASSAY_TRY(session.check("clEnqueueWriteBuffer",
                            clEnqueueWriteBuffer(queue_.get(), data_.get(), CL_TRUE, 0,
                                                 block.size(), block.data(), 0, nullptr, nullptr)));
    for (std::uint64_t done = block.size(); done < bytes_; done *= 2) {
      ASSAY_TRY(
          session.check("clEnqueueCopyBuffer",
                        clEnqueueCopyBuffer(queue_.get(), data_.get(), data_.get(), 0, done,
                                            std::min(done, bytes_ - done), 0, nullptr, nullptr)));
    }
    return {};
  }

  Status run(const ClSession& session, ClKernels& kernels) {
    const cl_mem data = data_.get();
    LeafLaunch launch;
    launch.buffers = {&data, 1};
    launch.tables = device_tables_.get();
    launch.runs = runs_;
    launch.chunk_size = kTuneChunk;
    launch.aligned = true;
    launch.digests = digests_.get();
    ClEvents events;
    ASSAY_TRY(kernels.leaves(session, queue_.get(), launch, events));
    return events.wait(session);
  }

  std::uint64_t bytes_ = 0;
  LaunchTables tables_;
  RunTables runs_;
  ClQueue queue_;
  ClBuffer data_;
  ClBuffer device_tables_;
  ClBuffer digests_;
};

}  // namespace

KernelVariant tuned_variant(const ClSession& session, HashAlgorithm algorithm,
                            const KernelCache& cache) {
  const std::span<const KernelVariant> variants =
      kernel_variants(algorithm, session.device().vendor, session.device().info.type);
  if (variants.size() == 1) {
    return variants.front();
  }
  const std::string key = choice_key(session, algorithm);
  if (const auto chosen = cache.load(key)) {
    for (const KernelVariant& variant : variants) {
      if (variant.name == as_text(*chosen)) {
        return variant;
      }
    }
  }
  auto work = Workload::create(session);
  if (!work) {
    return variants.front();
  }
  const KernelVariant* best = &variants.front();
  double best_rate = 0;
  for (const KernelVariant& variant : variants) {
    const double rate = work->rate(session, algorithm, variant, cache);
    if (rate > best_rate) {
      best = &variant;
      best_rate = rate;
    }
  }
  cache.store(key, as_bytes(best->name));
  return *best;
}

void distrust_variant(const ClSession& session, HashAlgorithm algorithm, const KernelCache& cache) {
  const std::span<const KernelVariant> variants =
      kernel_variants(algorithm, session.device().vendor, session.device().info.type);
  cache.store(choice_key(session, algorithm), as_bytes(variants.front().name));
}

}  // namespace assay::gpu_hash
