// SPDX-License-Identifier: Apache-2.0
// Divides something scarce among callers so that no caller shuts out the others: a caller may hold
// as much as is left free. One caller alone gets half of it, and whoever comes next half of the
// rest. Of several that go on taking, none gets more again until it has less than is free.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

namespace assay::server {

// Counts what callers hold of one thing. Not thread-safe.
class FairShares {
 public:
  explicit FairShares(std::size_t limit) : limit_(limit) {}

  // Returns true when `caller` may take `more` (at least 1): it then holds no more than was free.
  [[nodiscard]] bool fits(const std::string& caller, std::size_t more) const;
  // Counts `amount` for `caller`, whether it fits or not.
  void take(const std::string& caller, std::size_t amount);
  // Counts `amount` of what `caller` took no longer.
  void give_back(const std::string& caller, std::size_t amount);

 private:
  const std::size_t limit_;
  std::size_t used_ = 0;
  std::unordered_map<std::string, std::size_t> held_;  // without those who hold nothing
};

}  // namespace assay::server
