// SPDX-License-Identifier: Apache-2.0
// The live registrations of memory (docs/instances.md), for code that reads the memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "worker/instances/owner.h"

namespace assay::worker {

// A registration that was not taken, or that ended because its owner broke the protocol.
struct Refusal {
  std::string pod;        // uid; empty: the process runs in none
  std::string container;  // id; empty: none
  std::int64_t pid = 0;   // 0: the process could not be identified
  std::string instance;   // empty: refused before its frame could be read
  std::string code;       // as in the frame `refused`
  std::string detail;
};

// Thread-safe.
class Instances {
 public:
  virtual ~Instances() = default;
  // Returns the processes that registered a part of this model instance, sorted by rank; empty when
  // there are none. `pod` is the uid of their pod; empty: processes outside of every pod.
  [[nodiscard]] virtual std::vector<std::shared_ptr<Owner>> find(std::string_view pod,
                                                                 std::string_view instance) = 0;
  // Returns why the last registration of this pod was refused; nullopt when none was, or the last
  // one was of another instance.
  [[nodiscard]] virtual std::optional<Refusal> refused(std::string_view pod,
                                                       std::string_view instance) = 0;
};

}  // namespace assay::worker
