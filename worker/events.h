// SPDX-License-Identifier: Apache-2.0
// What the node agent tells whoever runs it: one event for each thing that happened.
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

// "TIME EVENT name=value ...": values with blanks or quotes are written as JSON strings; members in
// alphabetical order, "time" and "event" first.
[[nodiscard]] std::string event_text(const Json& event);

// Thread-safe; an event is written before tell() returns.
class Events {
 public:
  // `write` is called with one event at a time.
  Events(Clock& clock, std::function<void(const Json& event)> write)
      : clock_(clock), write_(std::move(write)) {}

  // `members` is an object without "event" and "time", which are added.
  void tell(std::string_view event, Json members = Json::object());

 private:
  Clock& clock_;
  std::function<void(const Json& event)> write_;
  std::mutex mutex_;
};

}  // namespace assay::worker
