// SPDX-License-Identifier: Apache-2.0
// Limits what each of many callers may add to the database in an hour.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "schemas/core/clock.h"
#include "schemas/core/error.h"

namespace assay::server {

// Counts an amount (bytes or items) for each name and hour. The hour of a name begins with the
// first addition for this name after the name's previous hour ended. Counts are kept in memory
// only, so a restart clears them. Thread-safe.
class HourlyQuota {
 public:
  struct Limits {
    std::size_t uncounted;     // additions up to this amount are not counted
    std::size_t per_hour;      // largest count of one name in its hour
    std::size_t names;         // with a count of their own; all further names share one count
    std::string_view refusal;  // detail of the error; must outlive the quota
  };

  // A reservation. After keep(), the amount stays counted until the end of the hour. Without
  // keep(), the destructor subtracts it from the count. The quota must outlive the reservation.
  class Room {
   public:
    Room(HourlyQuota& quota, std::string counted, Timestamp since, std::size_t amount)
        : quota_(quota), counted_(std::move(counted)), since_(since), amount_(amount) {}
    ~Room() { quota_.give_back(counted_, since_, amount_); }
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    void keep() { amount_ = 0; }

   private:
    HourlyQuota& quota_;
    std::string counted_;
    Timestamp since_;
    std::size_t amount_;
  };

  explicit HourlyQuota(const Limits& limits) : limits_(limits) {}

  // Reserves `amount` for `name`. Returns null for an amount that is not counted. Errors:
  // limit-exceeded when the count of the name would exceed Limits::per_hour; the count is then
  // unchanged.
  [[nodiscard]] Result<std::unique_ptr<Room>> reserve(const std::string& name, std::size_t amount,
                                                      Timestamp now);

 private:
  struct Hour {
    Timestamp since;
    std::size_t amount = 0;
  };

  void give_back(const std::string& counted, Timestamp since, std::size_t amount);

  const Limits limits_;
  std::mutex mutex_;
  std::map<std::string, Hour> hours_;
};

}  // namespace assay::server
