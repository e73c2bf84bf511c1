// SPDX-License-Identifier: Apache-2.0
// Verifies the source while the engine hands what it reads to the copy.
#include "gpu_hash/artifact_copy.h"

#include <memory>
#include <utility>

#include "gpu_hash/copy/copy_target.h"
#include "gpu_hash/cpu_engine.h"

namespace assay::gpu_hash {

Result<Copied> copy_artifact(const std::filesystem::path& source, const Artifact& expected,
                             const std::filesystem::path& destination, unsigned threads,
                             const Progress& progress, const std::stop_token& stop) {
  ASSAY_TRY(check(expected));
  ASSAY_ASSIGN(const std::unique_ptr<CopyTarget> target,
               CopyTarget::open(source, destination, expected));
  ASSAY_ASSIGN(const bool occupied, target->occupied());
  if (occupied) {
    const std::unique_ptr<Engine> engine = make_cpu_engine(threads);
    ASSAY_ASSIGN(Verified there,
                 verify_artifact(destination, expected, {}, *engine, progress, stop));
    return Copied{std::move(there), true};
  }
  ASSAY_TRY(target->prepare());
  const std::unique_ptr<Engine> engine = make_cpu_engine(threads, *target);
  ASSAY_ASSIGN(Verified verified, verify_artifact(source, expected, {}, *engine, progress, stop));
  if (verified.differences.empty()) {
    ASSAY_TRY(target->publish());
  }
  return Copied{std::move(verified), false};
}

}  // namespace assay::gpu_hash
