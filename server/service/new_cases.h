// SPDX-License-Identifier: Apache-2.0
// How much of what was not known before is kept for each namespace: cases that no decision rested
// on, and large workloads of pods. Whoever may create pods can make each unlike all others, and
// both are kept for ever: this bounds what that adds to the database.
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

// A case that adds no more than this is always kept: those of ordinary pods.
inline constexpr std::size_t kMaxSmallCase = 16U << 10;
// Of larger ones, all that one namespace may add in an hour.
inline constexpr std::size_t kMaxNewCaseBytes = 16U << 20;
// Namespaces that are counted apart; further ones are counted together.
inline constexpr std::size_t kMaxCountedNamespaces = 4096;

// Thread-safe; in memory only.
class NewCases {
 public:
  // Bytes that are counted: kept for the hour when they were written, else given back.
  class Room {
   public:
    Room(NewCases& cases, std::string counted, Timestamp since, std::size_t bytes)
        : cases_(cases), counted_(std::move(counted)), since_(since), bytes_(bytes) {}
    ~Room() { cases_.give_back(counted_, since_, bytes_); }
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    void keep() { bytes_ = 0; }

   private:
    NewCases& cases_;
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
