// SPDX-License-Identifier: Apache-2.0
// What engines without device memory answer, and the check that every engine shares.
#include "gpu_hash/engine.h"

#include "schemas/core/outline.h"

namespace assay::gpu_hash {
namespace {

std::unexpected<Error> no_memory(const Engine& engine) {
  return fail(ErrorCode::kInvalidParameter,
              engine.info().device + ": this engine has no device memory");
}

}  // namespace

Engine* Engine::of_device(std::string_view uuid) {
  return !uuid.empty() && uuid == info().uuid ? this : nullptr;
}

Result<Derived> Engine::derive(const DeriveRequest&, const HashRequest&) {
  return fail(ErrorCode::kInvalidParameter, info().device + ": this engine derives nothing");
}

Result<std::shared_ptr<const DeviceMemory>> Engine::import_memory(Descriptor, std::uint64_t) {
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

Status check(const HashRequest& request) {
  ASSAY_TRY(check(request.parameters));
  return request.outline_span == 0 ? Status{}
                                   : check_outline_span(request.parameters, request.outline_span);
}

}  // namespace assay::gpu_hash
