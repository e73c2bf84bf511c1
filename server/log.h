// SPDX-License-Identifier: Apache-2.0
// The operational log of the service: one JSON object per line. The log never contains bodies,
// keys, tokens or query values. Audit records are in the store, not here.
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

// An operational log. Levels: error: an operator must act; warn: the service is degraded; info:
// each request and each change of state has one line. Thread-safe.
class Log {
 public:
  // Opens a log that writes to `file`; to standard error when `file` is empty. `clock` must outlive
  // the log. Errors: file-unreadable when the file cannot be opened.
  [[nodiscard]] static Result<std::unique_ptr<Log>> open(LogLevel level, const std::string& file,
                                                         const Clock& clock);
  ~Log();

  // Closes the file and opens it again by its name, so that programs can rotate log files. Does
  // nothing for standard error. Errors: file-unreadable; the log then goes on writing to the old
  // file.
  [[nodiscard]] Status reopen();

  // Writes one line. `event` is a stable snake_case name; `fields` is an object.
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
