// SPDX-License-Identifier: Apache-2.0
// Limits the bytes that each namespace may add to the database in an hour. Cases of decisions and
// large workloads of pods are kept for ever, each distinct one once. Anybody who may create pods
// can make each pod different from all others; this quota bounds what such pods add.
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

// Additions up to this size are not counted, so ordinary pods never reach the limit.
inline constexpr std::size_t kMaxUncountedBytes = 16U << 10;
// Limit on the bytes that one namespace may add in an hour by larger additions.
inline constexpr std::size_t kMaxNewBytesAnHour = 16U << 20;
// Limit on the namespaces that are counted separately. Further namespaces are counted together.
inline constexpr std::size_t kMaxCountedNamespaces = 4096;

// Counts added bytes by namespace. Thread-safe; in memory only.
class NamespaceQuota {
 public:
  // A reservation of bytes. keep() makes the bytes count for the rest of the hour; otherwise the
  // destructor gives them back. The quota must outlive the reservation.
  class Room {
   public:
    Room(NamespaceQuota& quota, std::string counted, Timestamp since, std::size_t bytes)
        : quota_(quota), counted_(std::move(counted)), since_(since), bytes_(bytes) {}
    ~Room() { quota_.give_back(counted_, since_, bytes_); }
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    void keep() { bytes_ = 0; }

   private:
    NamespaceQuota& quota_;
    std::string counted_;
    Timestamp since_;
    std::size_t bytes_;
  };

  // Reserves `bytes` that are to be added for the namespace. `name_space` identifies namespace and
  // cluster. Returns null when the bytes are too few to count. Errors: limit-exceeded when they are
  // too many for this hour; nothing is counted then.
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
