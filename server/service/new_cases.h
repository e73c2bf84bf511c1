// SPDX-License-Identifier: Apache-2.0
// How much of what no decision rested on before is kept for each namespace. Whoever may create pods
// can make each unlike all others, and every case is kept for ever: this bounds what that adds to
// the database.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "schemas/core/clock.h"

namespace assay::server {

// A case that adds no more than this is always kept: those of ordinary pods.
inline constexpr std::size_t kMaxSmallCase = 16U << 10;
// Of larger ones, all that one namespace may add in an hour.
inline constexpr std::size_t kMaxNewCaseBytes = 16U << 20;
// Namespaces that are counted apart; further ones are counted together.
inline constexpr std::size_t kMaxCountedNamespaces = 4096;

// Thread-safe; in memory only.
class NewCases {
 public:
  // Counts `bytes` that a case in the namespace (of a cluster) adds. limit-exceeded when that is
  // too much for this hour: then nothing is counted.
  [[nodiscard]] Status add(const std::string& name_space, std::size_t bytes, Timestamp now);

 private:
  struct Hour {
    Timestamp since;
    std::size_t bytes = 0;
  };

  std::mutex mutex_;
  std::map<std::string, Hour> hours_;
};

}  // namespace assay::server
