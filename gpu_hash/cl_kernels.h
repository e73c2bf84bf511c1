// SPDX-License-Identifier: Apache-2.0
// The program of kernels/*.cl for one hash algorithm on one device.
#pragma once

#include <cstdint>
#include <string>

#include "gpu_hash/cl_device.h"
#include "gpu_hash/cl_handles.h"
#include "gpu_hash/kernel_cache.h"
#include "schemas/core/digest.h"

namespace assay::gpu_hash {

// SHA-256 over the source of both algorithms.
[[nodiscard]] Digest kernel_digest();

// Key of a program in the cache: device, driver, options, source.
[[nodiscard]] std::string kernel_cache_key(const ClSession& session, HashAlgorithm algorithm);

// What the kernels of one launch work on: the tables of SliceLayout in device memory.
struct ClLaunch {
  cl_mem data;
  cl_mem extents;
  cl_mem first_slot;
  cl_mem first_pair;  // tables of all levels, one after the other
  cl_mem digests;     // a digest per slot
  cl_mem roots;       // a digest per segment
  std::uint32_t segments;
  std::uint32_t slots;
  std::uint32_t chunk_size;
};

// Not thread-safe.
class ClKernels {
 public:
  // Takes the program from the cache or builds it. device-failed with the compiler's log.
  [[nodiscard]] static Result<ClKernels> load(const ClSession& session, HashAlgorithm algorithm,
                                              const KernelCache& cache);
  // Builds from source and replaces what the cache has.
  [[nodiscard]] static Result<ClKernels> build(const ClSession& session, HashAlgorithm algorithm,
                                               const KernelCache& cache);

  [[nodiscard]] bool from_cache() const { return from_cache_; }
  // Bytes of a digest on the device.
  [[nodiscard]] std::uint64_t digest_bytes() const { return digest_size(algorithm_); }

  // Each enqueues one kernel; the launch's buffers must live until it has run. Errors:
  // device-failed.
  [[nodiscard]] Status leaves(const ClSession& session, cl_command_queue queue,
                              const ClLaunch& launch, ClEvents& events) const;
  // `table_begin` is where the level's table starts in launch.first_pair.
  [[nodiscard]] Status nodes(const ClSession& session, cl_command_queue queue,
                             const ClLaunch& launch, std::uint32_t table_begin, std::uint32_t pairs,
                             std::uint32_t level, ClEvents& events) const;
  [[nodiscard]] Status gather(const ClSession& session, cl_command_queue queue,
                              const ClLaunch& launch, ClEvents& events) const;

 private:
  ClKernels(HashAlgorithm algorithm, ClProgram program, bool from_cache)
      : algorithm_(algorithm), from_cache_(from_cache), program_(std::move(program)) {}
  [[nodiscard]] static Result<ClKernels> create(const ClSession& session, HashAlgorithm algorithm,
                                                ClProgram program, bool from_cache);

  HashAlgorithm algorithm_;
  bool from_cache_;
  ClProgram program_;
  ClKernel leaves_;
  ClKernel nodes_;
  ClKernel gather_;
};

}  // namespace assay::gpu_hash
