// SPDX-License-Identifier: Apache-2.0
// The service's own log: one JSON object a line. It says what happened, never what was in it: no
// bodies, keys, tokens or query values. Audit records are in the store.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "schemas/core/clock.h"
#include "schemas/core/json.h"
#include "server/config.h"

namespace spdlog {
class logger;  // NOLINT(readability-identifier-naming): not our name
}

namespace assay::server {

// error: an operator must act; warn: degraded; info: one line for each request and change of state.
// Thread-safe.
class Log {
 public:
  // To `file`, or to standard error when it is empty. file-unreadable when it cannot be opened.
  [[nodiscard]] static Result<std::unique_ptr<Log>> open(LogLevel level, const std::string& file,
                                                         const Clock& clock);
  ~Log();

  // Opens the file by its name again, for programs that move it away. file-unreadable: goes on
  // writing where it did. Nothing to do for standard error.
  [[nodiscard]] Status reopen();

  // `event` is a stable snake_case name; `fields` is an object.
  void write(LogLevel level, std::string_view event, const Json& fields = Json::object());
  void info(std::string_view event, const Json& fields = Json::object()) {
    write(LogLevel::kInfo, event, fields);
  }
  void warn(std::string_view event, const Json& fields = Json::object()) {
    write(LogLevel::kWarn, event, fields);
  }
  void error(std::string_view event, const Json& fields = Json::object()) {
    write(LogLevel::kError, event, fields);
  }

 private:
  Log(std::shared_ptr<spdlog::logger> logger, LogLevel level, std::string file, const Clock& clock);

  [[nodiscard]] std::shared_ptr<spdlog::logger> logger() const;

  mutable std::mutex mutex_;
  std::shared_ptr<spdlog::logger> logger_;  // guarded by mutex_
  const LogLevel level_;
  const std::string file_;
  const Clock& clock_;
};

}  // namespace assay::server
