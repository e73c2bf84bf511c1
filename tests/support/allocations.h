// SPDX-License-Identifier: Apache-2.0
// What work costs, counted in memory that it asks for: the same on each run and on each machine,
// which processor time is not.
#pragma once

#include <cstddef>
#include <functional>

namespace assay::test {

struct Allocations {
  std::size_t count = 0;
  std::size_t bytes = 0;
};

// Returns what `work` allocates in this thread, freed or not.
[[nodiscard]] Allocations allocations_of(const std::function<void()>& work);

}  // namespace assay::test
