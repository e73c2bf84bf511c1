// SPDX-License-Identifier: Apache-2.0
// What engines without device memory answer.
#include "gpu_hash/engine.h"

#include "gpu_hash/unique_fd.h"

namespace assay::gpu_hash {
namespace {

std::unexpected<Error> no_memory(const Engine& engine) {
  return fail(ErrorCode::kInvalidParameter,
              engine.info().device + ": this engine has no device memory");
}

}  // namespace

Result<std::shared_ptr<const DeviceMemory>> Engine::import_memory(UniqueFd, std::uint64_t) {
  return no_memory(*this);
}

Result<std::vector<ObjectDigests>> Engine::hash_tagged(std::span<const Region>, const HashRequest&,
                                                       const TagKey&,
                                                       std::vector<std::vector<Digest>>&) {
  return no_memory(*this);
}

Result<std::vector<std::vector<Digest>>> Engine::tags(std::span<const Region>, const HashRequest&,
                                                      const TagKey&) {
  return no_memory(*this);
}

}  // namespace assay::gpu_hash
