// SPDX-License-Identifier: Apache-2.0
#include "worker/events.h"

#include <cstdio>
#include <utility>

#include "cli/output.h"
#include "schemas/core/clock.h"

namespace assay::cli {

namespace {

std::string dump(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string value_text(const Json& value) {
  if (!value.is_string()) {
    return dump(value);
  }
  const auto& text = value.get_ref<const std::string&>();
  return text.empty() || text.find_first_of(" \"=\\") != std::string::npos ? dump(value) : text;
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
  members["time"] = to_rfc3339(context_.clock.now());
  const std::lock_guard lock(mutex_);
  if (context_.json()) {
    print_json_line(members);
  } else {
    print_line(event_text(members));
  }
  std::fflush(stdout);  // whoever watches does not wait for a buffer to fill
}

}  // namespace assay::cli
