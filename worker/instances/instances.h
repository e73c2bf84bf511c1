// SPDX-License-Identifier: Apache-2.0
// The live registrations of memory (docs/instances.md), for code that reads the memory.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "worker/instances/owner.h"

namespace assay::worker {

// Thread-safe.
class Instances {
 public:
  virtual ~Instances() = default;
  // Returns the processes that registered a part of this model instance, sorted by rank; empty when
  // there are none. `pod` is the uid of their pod; empty: processes outside of every pod.
  [[nodiscard]] virtual std::vector<std::shared_ptr<Owner>> find(std::string_view pod,
                                                                 std::string_view instance) = 0;
};

}  // namespace assay::worker
