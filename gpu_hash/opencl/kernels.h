// SPDX-License-Identifier: Apache-2.0
// The programs of kernels/*.cl for one hash algorithm on one device, in one variant.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gpu_hash/opencl/program.h"
#include "gpu_hash/opencl/variants.h"
#include "gpu_hash/tree/launch_tables.h"

namespace assay::gpu_hash {

// The work of one launch (one start of a kernel on the device) of the leaf kernel.
struct LeafLaunch {
  std::span<const cl_mem> buffers;  // data; Run::buffer is an index into this list
  cl_mem tables = nullptr;
  std::uint32_t tables_begin = 0;  // position of the image of LaunchTables in `tables`, in words
  RunTables runs{};
  std::uint32_t chunk_size = 0;  // bytes
  bool aligned = false;          // true: all runs begin at multiples of 16 bytes
  cl_mem digests = nullptr;
  std::uint32_t first_digest = 0;
  // Buffers of the key and of the tags when tags (tags.h) are computed too, otherwise null. With
  // tags, `aligned` must be true.
  cl_mem key = nullptr;
  cl_mem tags = nullptr;
};

// The buffers of a launch that joins the nodes of one tree level, or of a launch that gathers
// roots.
struct NodeLaunch {
  cl_mem digests = nullptr;
  cl_mem tables = nullptr;
  std::uint32_t tables_begin = 0;
};

// The kernels of one variant. Not thread-safe.
class ClKernels {
 public:
  // Takes programs from the cache or builds them. Errors: device-failed with the compiler's log.
  [[nodiscard]] static Result<ClKernels> load(const ClSession& session, HashAlgorithm algorithm,
                                              const KernelVariant& variant,
                                              const KernelCache& cache);
  // Builds programs from source and replaces the cached programs.
  [[nodiscard]] static Result<ClKernels> build(const ClSession& session, HashAlgorithm algorithm,
                                               const KernelVariant& variant,
                                               const KernelCache& cache);

  [[nodiscard]] bool from_cache() const { return from_cache_; }
  [[nodiscard]] const KernelVariant& variant() const { return variant_; }
  // Returns the size of a digest on the device, in bytes.
  [[nodiscard]] std::uint64_t digest_bytes() const { return digest_size(algorithm_); }
  // Returns the largest number of buffers that one launch can read.
  [[nodiscard]] static std::uint32_t max_buffers(const ClSession& session);

  // `tell` is called from then on before a program is loaded, and before a kernel that is not part
  // of the self-test of all devices runs for the first time: some drivers compile only then.
  void on_first_use(std::function<void()> tell) { on_first_use_ = std::move(tell); }

  // Each of the functions below enqueues one kernel. Buffers must live until the kernel has run.
  // Errors: device-failed.
  [[nodiscard]] Status leaves(const ClSession& session, cl_command_queue queue,
                              const LeafLaunch& launch, ClEvents& events);
  [[nodiscard]] Status nodes(const ClSession& session, cl_command_queue queue,
                             const NodeLaunch& launch, const SegmentTables& segments,
                             const LevelTable& level, ClEvents& events) const;
  [[nodiscard]] Status gather_roots(const ClSession& session, cl_command_queue queue,
                                    const NodeLaunch& launch, const SegmentTables& segments,
                                    cl_mem roots, std::uint64_t roots_begin,
                                    ClEvents& events) const;
  // Copies pieces of chunks so that each chunk lies in one piece (kernels/tree.cl).
  [[nodiscard]] Status gather_bytes(const ClSession& session, cl_command_queue queue,
                                    std::span<const cl_mem> buffers, cl_mem tables,
                                    std::uint32_t at_copies, std::uint32_t copies, cl_mem out,
                                    ClEvents& events);
  // Computes tags without hashing.
  [[nodiscard]] Status tag_blocks(const ClSession& session, cl_command_queue queue,
                                  const LeafLaunch& launch, ClEvents& events);

 private:
  // Kernels of one program, for one number of buffers, with or without tags.
  struct Leaves {
    std::uint32_t buffers = 1;
    ClProgram program{};
    ClKernel aligned{};
    ClKernel anywhere{};  // null with tags
    ClKernel gather{};    // null with tags
  };

  ClKernels(HashAlgorithm algorithm, KernelVariant variant, const KernelCache& cache)
      : algorithm_(algorithm), variant_(variant), cache_(cache) {}
  [[nodiscard]] static Result<ClKernels> create(const ClSession& session, HashAlgorithm algorithm,
                                                const KernelVariant& variant,
                                                const KernelCache& cache, LoadedProgram program);
  [[nodiscard]] ProgramSource source(std::uint32_t buffers, bool tags) const;
  // Returns the program for this number of buffers. Builds it on first use.
  [[nodiscard]] Result<Leaves*> program_for(const ClSession& session, std::size_t buffers,
                                            bool tags);
  [[nodiscard]] Result<cl_kernel> tag_pass_for(const ClSession& session, std::size_t buffers,
                                               std::uint32_t& padded);

  // Calls on_first_use_ when `kernel` did not run before; null: a program is about to be loaded.
  void note_use(cl_kernel kernel);

  HashAlgorithm algorithm_;
  KernelVariant variant_;
  KernelCache cache_;
  bool from_cache_ = false;
  std::function<void()> on_first_use_;
  std::vector<cl_kernel> used_;
  std::array<std::array<std::optional<Leaves>, 2>, 2> leaves_{};  // index: many buffers, with tags
  struct TagPass {
    ClProgram program{};
    ClKernel kernel{};
  };
  std::array<std::optional<TagPass>, 2> tag_pass_{};  // index: many buffers
  ClKernel nodes_{};
  ClKernel gather_roots_{};
};

// Returns the cache key of the main program.
[[nodiscard]] std::string kernel_cache_key(const ClSession& session, HashAlgorithm algorithm,
                                           const KernelVariant& variant);

}  // namespace assay::gpu_hash
