// SPDX-License-Identifier: Apache-2.0
// What the node agent tells whoever runs it: one line for each thing that happened, on stdout.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include "cli/context.h"
#include "schemas/core/json.h"

namespace assay::cli {

// "TIME EVENT name=value ...": values with blanks or quotes are written as JSON strings; members in
// alphabetical order, "time" and "event" first.
[[nodiscard]] std::string event_text(const Json& event);

// Thread-safe; a line is out before tell() returns.
class Events {
 public:
  explicit Events(const Context& context) : context_(context) {}

  // `members` is an object without "event" and "time", which are added.
  void tell(std::string_view event, Json members = Json::object());

 private:
  const Context& context_;
  std::mutex mutex_;
};

}  // namespace assay::cli
