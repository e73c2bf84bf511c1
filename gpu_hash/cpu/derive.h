// SPDX-License-Identifier: Apache-2.0
// Derivation (gpu_hash/derive.h) in host memory.
#pragma once

#include <mutex>

#include "gpu_hash/engine.h"

namespace assay::gpu_hash {

// Derives with an engine that hashes host memory. Keeps its memory for the next call. Thread-safe;
// calls wait for each other.
class HostDerivation {
 public:
  // Takes kHostDeriveRoom at once. Errors: as Engine::derive().
  [[nodiscard]] Result<Derived> derive(Engine& engine, unsigned threads,
                                       const DeriveRequest& derivation, const HashRequest& request);

 private:
  [[nodiscard]] Status load(Engine& engine, unsigned threads, const DeriveLoad& load,
                            const HashRequest& request, std::vector<ObjectDigests>& digests);

  std::mutex mutex_;
  Bytes sources_;  // guarded by mutex_
  Bytes results_;  // guarded by mutex_
};

}  // namespace assay::gpu_hash
