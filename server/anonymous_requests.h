// SPDX-License-Identifier: Apache-2.0
// Requests of callers that were not identified. Anybody can send them in any number, and a line in
// the log for each would fill the disk. They are counted, and each kind has a line once a minute.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "schemas/core/clock.h"
#include "schemas/core/json.h"
#include "server/api/dispatch.h"

namespace assay::server {

// Counts requests by kind: listener, status and error code. Thread-safe. The number of kinds is
// bounded by that of the error codes, whatever callers send.
class AnonymousRequests {
 public:
  // The first line of a kind is due this long after the first request, so that an operator who
  // tries something sees it soon.
  static constexpr std::chrono::seconds kFirstLine{1};
  // Then a line is due once in this time. A kind without requests for that long starts anew.
  static constexpr std::chrono::seconds kInterval{60};

  // Counts a request, whose `principal` is empty.
  void add(const RequestRecord& record, Timestamp now);

  // Returns the fields of the lines that are due at `now`, and forgets what they count: "listener",
  // "status", "code" (of errors), "requests" (how many), and of the first of these "method",
  // "address" and "path" (the route's template where one matched). With `all`, every request that
  // was counted is in a line, due or not.
  [[nodiscard]] std::vector<Json> take(Timestamp now, bool all = false);

 private:
  struct Kind {
    std::uint64_t requests = 0;
    std::string method;
    std::string address;
    std::string path;
    Timestamp due;
  };

  std::mutex mutex_;
  std::map<std::tuple<Listener, int, std::string>, Kind> kinds_;
};

}  // namespace assay::server
