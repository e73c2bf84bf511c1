// SPDX-License-Identifier: Apache-2.0
// How many bytes each namespace may add to the database in an hour. Cases of decisions and large
// workloads of pods are kept for ever, each distinct one once. Whoever may create pods can make
// each pod unlike all others: this bounds what that adds.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "schemas/core/clock.h"
#include "schemas/core/error.h"

namespace assay::server {

// What adds no more than this at once is not counted: ordinary pods never reach the limit.
inline constexpr std::size_t kMaxUncountedBytes = 16U << 10;
// All that one namespace may add in an hour by larger ones.
inline constexpr std::size_t kMaxNewBytesAnHour = 16U << 20;
// Namespaces that are counted apart; further ones are counted together.
inline constexpr std::size_t kMaxCountedNamespaces = 4096;

// Thread-safe; in memory only.
class NamespaceQuota {
 public:
  // Bytes that are counted: kept for the hour when they were written, else given back.
  class Room {
   public:
    Room(NamespaceQuota& cases, std::string counted, Timestamp since, std::size_t bytes)
        : cases_(cases), counted_(std::move(counted)), since_(since), bytes_(bytes) {}
    ~Room() { cases_.give_back(counted_, since_, bytes_); }
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    void keep() { bytes_ = 0; }

   private:
    NamespaceQuota& cases_;
    std::string counted_;
    Timestamp since_;
    std::size_t bytes_;
  };

  // Counts `bytes` that are to be added for the namespace (of a cluster). Null when they are too
  // few to count. limit-exceeded when they are too many for this hour: then nothing is counted.
  [[nodiscard]] Result<std::unique_ptr<Room>> reserve(const std::string& name_space,
                                                      std::size_t bytes, Timestamp now);

 private:
  struct Hour {
    Timestamp since;
    std::size_t bytes = 0;
  };

  void give_back(const std::string& counted, Timestamp since, std::size_t bytes);

  std::mutex mutex_;
  std::map<std::string, Hour> hours_;
};

}  // namespace assay::server
