// SPDX-License-Identifier: Apache-2.0
// The registrations that are alive, as those find them who read memory.
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
  // The processes that registered a part of this instance, by rank; empty when there is none. `pod`
  // is its uid, empty for processes outside of every pod.
  [[nodiscard]] virtual std::vector<std::shared_ptr<Owner>> find(std::string_view pod,
                                                                 std::string_view instance) = 0;
};

}  // namespace assay::worker
