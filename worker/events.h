// SPDX-License-Identifier: Apache-2.0
// Events of the node agent for its operator: one for each thing that happened.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "schemas/core/clock.h"
#include "schemas/core/error.h"
#include "schemas/core/json.h"

namespace assay::worker {

// Returns "TIME EVENT name=value ...". Values with blanks or quotes are written as JSON strings.
// "time" and "event" come first; the other members are in alphabetical order.
[[nodiscard]] std::string event_text(const Json& event);

// Writes events. Thread-safe. An event is written before tell() returns.
class Events {
 public:
  // `write` is called with one event at a time.
  Events(Clock& clock, std::function<void(const Json& event)> write)
      : clock_(clock), write_(std::move(write)) {}

  // Writes an event. `members` is an object without "event" and "time", which are added.
  void tell(std::string_view event, Json members = Json::object());

 private:
  Clock& clock_;
  std::function<void(const Json& event)> write_;
  std::mutex mutex_;
};

}  // namespace assay::worker
