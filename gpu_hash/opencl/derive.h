// SPDX-License-Identifier: Apache-2.0
// Derivation (gpu_hash/derive.h) on an OpenCL device. While one load is hashed and moved, the next
// one is on its way to the device.
#pragma once

#include <array>
#include <memory>

#include "gpu_hash/engine.h"
#include "gpu_hash/opencl/device.h"
#include "gpu_hash/opencl/kernels.h"
#include "gpu_hash/opencl/memory.h"
#include "gpu_hash/opencl/scratch.h"
#include "gpu_hash/opencl/staging.h"

namespace assay::gpu_hash {

// The parts of an engine that a derivation uses.
struct DeriveParts {
  const ClSession& session;
  ClKernels& kernels;  // that hash device memory
  ResidentScratch& scratch;
  ClStaging& staging;
  const KernelCache& cache;
  unsigned threads;  // that read sources
  std::uint64_t batch_bytes;
};

// Keeps its device memory, at most two loads and the results, for the next call. Not thread-safe.
class ClDerivation {
 public:
  // Takes kDeviceDeriveRoom at once. Errors: as Engine::derive(); device-self-test-failed when the
  // kernel of moves, at its first use, gives other bytes than move_elements().
  [[nodiscard]] Result<Derived> run(const DeriveParts& parts, const DeriveRequest& derivation,
                                    const HashRequest& request);

 private:
  [[nodiscard]] Status prepare(const DeriveParts& parts);
  [[nodiscard]] Status test(const DeriveParts& parts);
  [[nodiscard]] Status reserve(const ClSession& session, std::shared_ptr<ClMemory>& memory,
                               std::uint64_t size) const;
  // Sets the first bytes of the results to zeros.
  [[nodiscard]] Status clear(const ClSession& session, std::uint64_t size, ClEvents& events);
  // Enqueues the moves from `sources` to the results.
  [[nodiscard]] Status move(const DeriveParts& parts, std::span<const Move> moves,
                            const ClMemory& sources, ClEvents& events);

  std::array<std::shared_ptr<ClMemory>, 2> sources_;  // of loads in turn
  std::shared_ptr<ClMemory> results_;
  std::shared_ptr<ClMemory> rows_;
  std::vector<std::uint64_t> words_;  // on their way to rows_
  ClProgram program_{};
  ClKernel kernel_{};
  ClQueue copies_{};
  ClQueue moves_{};
};

}  // namespace assay::gpu_hash
