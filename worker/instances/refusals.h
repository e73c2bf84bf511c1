// SPDX-License-Identifier: Apache-2.0
// Registrations that were refused, for the operator: their owner alone is told otherwise, and a job
// about such an instance would only say that nobody registered it.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "worker/instances/instances.h"
#include "worker/renewal_and_backoff.h"

namespace assay::worker {

// Thread-safe.
class Refusals {
 public:
  // Refusals of more pods than this: those of the pod that was refused longest ago are forgotten.
  static constexpr std::size_t kPods = 64;
  // Refusals of one pod that are told in a minute, so that no pod fills logs.
  static constexpr unsigned kToldAMinute = 10;

  // Keeps the refusal as the last one of its pod. Returns whether it should be told.
  [[nodiscard]] bool note(const Refusal& refusal, Steady::time_point now);
  // Returns the last refusal of this pod, unless it was about another instance.
  [[nodiscard]] std::optional<Refusal> last(std::string_view pod, std::string_view instance) const;
  // This instance is registered: last() returns nothing more for it.
  void forget(std::string_view pod, std::string_view instance);

 private:
  struct OfPod {
    std::optional<Refusal> last{};
    Steady::time_point at{};      // of the last refusal
    Steady::time_point minute{};  // start of the minute in which `told` counts
    unsigned told = 0;
  };

  mutable std::mutex mutex_;
  std::map<std::string, OfPod, std::less<>> pods_;
};

}  // namespace assay::worker
