// SPDX-License-Identifier: Apache-2.0
#include "worker/events.h"

#include <utility>

#include "schemas/core/clock.h"
#include "schemas/core/printable.h"

namespace assay::worker {

namespace {

std::string dump(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string value_text(const Json& value) {
  if (!value.is_string()) {
    return dump(value);
  }
  const auto& text = value.get_ref<const std::string&>();
  return text.empty() || text.find_first_of(" \"=\\\n") != std::string::npos ? dump(value) : text;
}

}  // namespace

std::string event_text(const Json& event) {
  std::string line = event.value("time", "") + " " + event.value("event", "");
  for (const auto& [name, value] : event.items()) {
    if (name != "time" && name != "event") {
      line += " " + name + "=" + value_text(value);
    }
  }
  return printable(line);  // some words are those of strangers, such as owners of memory
}

void Events::tell(std::string_view event, Json members) {
  members["event"] = event;
  members["time"] = to_rfc3339(clock_.now());
  const std::lock_guard lock(mutex_);
  write_(members);
}

}  // namespace assay::worker
