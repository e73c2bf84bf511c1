// SPDX-License-Identifier: Apache-2.0
// Limits the bytes that each namespace may add to the database in an hour. The database keeps every
// distinct case of a decision (decisions/case_file.h) and every distinct large workload for ever.
// Somebody who may create pods could make every pod different, and so add bytes with every pod.
// This quota limits how fast the database can grow in this way.
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
// Limit on the bytes that one namespace may add in an hour by all larger additions together.
inline constexpr std::size_t kMaxNewBytesAnHour = 16U << 20;
// Limit on the namespaces that have a count of their own. All further namespaces share one count.
inline constexpr std::size_t kMaxCountedNamespaces = 4096;

// Counts added bytes by namespace. Thread-safe; in memory only.
class NamespaceQuota {
 public:
  // A reservation of bytes. After keep(), the bytes stay counted until the end of the hour. Without
  // keep(), the destructor subtracts them from the count. The quota must outlive the reservation.
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
  // cluster. Returns null for at most kMaxUncountedBytes. Errors: limit-exceeded when the namespace
  // would exceed kMaxNewBytesAnHour; the count is then unchanged.
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
