// SPDX-License-Identifier: Apache-2.0
#include "worker/events.h"

#include <algorithm>
#include <utility>

#include "schemas/core/clock.h"

namespace assay::worker {

namespace {

// In ASCII alone: some of the words are those of strangers, such as owners of memory, and must not
// steer a terminal or turn round what stands beside them.
std::string dump(const Json& value) {
  return value.dump(-1, ' ', true, Json::error_handler_t::replace);
}

bool is_plain(char c) { return c > ' ' && c <= '~' && c != '"' && c != '=' && c != '\\'; }

std::string value_text(const Json& value) {
  if (!value.is_string()) {
    return dump(value);
  }
  const auto& text = value.get_ref<const std::string&>();
  return text.empty() || !std::ranges::all_of(text, is_plain) ? dump(value) : text;
}

}  // namespace

std::string event_text(const Json& event) {
  std::string line = event.value("time", "") + " " + event.value("event", "");
  for (const auto& [name, value] : event.items()) {
    if (name != "time" && name != "event") {
      line += " " + name + "=" + value_text(value);
    }
  }
  return line;
}

void Events::tell(std::string_view event, Json members) {
  members["event"] = event;
  members["time"] = to_rfc3339(clock_.now());
  const std::lock_guard lock(mutex_);
  write_(members);
}

}  // namespace assay::worker
