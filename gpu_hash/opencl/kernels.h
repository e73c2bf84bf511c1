// SPDX-License-Identifier: Apache-2.0
// The programs of kernels/*.cl for one hash algorithm on one device, in one variant.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "gpu_hash/opencl/program.h"
#include "gpu_hash/opencl/variants.h"
#include "gpu_hash/tree/launch_tables.h"

namespace assay::gpu_hash {

// What a launch of the leaf kernel works on.
struct LeafLaunch {
  std::span<const cl_mem> buffers;  // data, by the numbers in the runs
  cl_mem tables = nullptr;
  std::uint32_t tables_begin = 0;  // word at which the image of tables begins
  RunTables runs{};
  std::uint32_t chunk_size = 0;  // bytes
  bool aligned = false;          // all runs begin at multiples of 16 bytes
  cl_mem digests = nullptr;
  std::uint32_t first_digest = 0;
  // Tags as well: buffers of the key and of the tags. Only aligned runs.
  cl_mem key = nullptr;
  cl_mem tags = nullptr;
};

// A launch over the nodes of a level, and the gathering of roots.
struct NodeLaunch {
  cl_mem digests = nullptr;
  cl_mem tables = nullptr;
  std::uint32_t tables_begin = 0;
};

// Not thread-safe.
class ClKernels {
 public:
  // Takes programs from the cache or builds them. device-failed with the compiler's log.
  [[nodiscard]] static Result<ClKernels> load(const ClSession& session, HashAlgorithm algorithm,
                                              const KernelVariant& variant,
                                              const KernelCache& cache);
  // Builds from source and replaces what the cache has.
  [[nodiscard]] static Result<ClKernels> build(const ClSession& session, HashAlgorithm algorithm,
                                               const KernelVariant& variant,
                                               const KernelCache& cache);

  [[nodiscard]] bool from_cache() const { return from_cache_; }
  [[nodiscard]] const KernelVariant& variant() const { return variant_; }
  // Bytes of a digest on the device.
  [[nodiscard]] std::uint64_t digest_bytes() const { return digest_size(algorithm_); }
  // The most buffers that one launch can read.
  [[nodiscard]] static std::uint32_t max_buffers(const ClSession& session);

  // Each enqueues one kernel; buffers must live until it has run. Errors: device-failed.
  [[nodiscard]] Status leaves(const ClSession& session, cl_command_queue queue,
                              const LeafLaunch& launch, ClEvents& events);
  [[nodiscard]] Status nodes(const ClSession& session, cl_command_queue queue,
                             const NodeLaunch& launch, const SegmentTables& segments,
                             const LevelTable& level, ClEvents& events) const;
  [[nodiscard]] Status gather_roots(const ClSession& session, cl_command_queue queue,
                                    const NodeLaunch& launch, const SegmentTables& segments,
                                    cl_mem roots, std::uint64_t roots_begin,
                                    ClEvents& events) const;
  // Copies pieces of chunks together (kernels/tree.cl).
  [[nodiscard]] Status gather_bytes(const ClSession& session, cl_command_queue queue,
                                    std::span<const cl_mem> buffers, cl_mem tables,
                                    std::uint32_t at_copies, std::uint32_t copies, cl_mem out,
                                    ClEvents& events);
  // Tags alone.
  [[nodiscard]] Status tag_blocks(const ClSession& session, cl_command_queue queue,
                                  const LeafLaunch& launch, ClEvents& events);

 private:
  // Kernels of a program for a number of buffers, with or without tags.
  struct Leaves {
    std::uint32_t buffers = 1;
    ClProgram program{};
    ClKernel aligned{};
    ClKernel anywhere{};  // not with tags
    ClKernel gather{};    // not with tags
  };

  ClKernels(HashAlgorithm algorithm, KernelVariant variant, const KernelCache& cache)
      : algorithm_(algorithm), variant_(variant), cache_(cache) {}
  [[nodiscard]] static Result<ClKernels> create(const ClSession& session, HashAlgorithm algorithm,
                                                const KernelVariant& variant,
                                                const KernelCache& cache, LoadedProgram program);
  [[nodiscard]] ProgramSource source(std::uint32_t buffers, bool tags) const;
  // Built when it is first asked for.
  [[nodiscard]] Result<Leaves*> program_for(const ClSession& session, std::size_t buffers,
                                            bool tags);
  [[nodiscard]] Result<cl_kernel> tag_pass_for(const ClSession& session, std::size_t buffers,
                                               std::uint32_t& padded);

  HashAlgorithm algorithm_;
  KernelVariant variant_;
  KernelCache cache_;
  bool from_cache_ = false;
  std::array<std::array<std::optional<Leaves>, 2>, 2> leaves_{};  // by many buffers, tags
  struct TagPass {
    ClProgram program{};
    ClKernel kernel{};
  };
  std::array<std::optional<TagPass>, 2> tag_pass_{};  // by many buffers
  ClKernel nodes_{};
  ClKernel gather_roots_{};
};

// Key of the main program in the cache.
[[nodiscard]] std::string kernel_cache_key(const ClSession& session, HashAlgorithm algorithm,
                                           const KernelVariant& variant);

}  // namespace assay::gpu_hash
