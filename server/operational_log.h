// SPDX-License-Identifier: Apache-2.0
// The operational log of the service: one JSON object per line. The log never contains bodies,
// keys, tokens or query values. Audit records are in the store, not here.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "schemas/core/clock.h"
#include "schemas/core/error.h"
#include "schemas/core/json.h"
#include "server/config.h"
#include "server/line_writer.h"

namespace assay::server {

// Returns the fields of a line about `error`: "code", and "what" as printable().
[[nodiscard]] Json error_fields(const Error& error);

// An operational log. Levels: error: an operator must act; warn: the service is degraded; info:
// each request and each change of state has one line. Thread-safe. Nobody who writes a line waits
// for the file: a thread of the log writes it, and lines that find the queue full are lost and
// counted. A line `log_lines_lost` tells how many, once there is room. The destructor writes what
// is queued, for at most kLogFlushTime.
class Log {
 public:
  // Opens a log that writes to `file`; to standard error when `file` is empty. `clock` must outlive
  // the log. Errors: file-unreadable when the file cannot be opened; a named pipe that nobody reads
  // is such a file.
  [[nodiscard]] static Result<std::unique_ptr<Log>> open(LogLevel level, const std::string& file,
                                                         const Clock& clock);

  // Closes the file and opens it again by its name, so that programs can rotate log files. Does
  // nothing for standard error. Errors: file-unreadable; the log then goes on writing to the old
  // file.
  [[nodiscard]] Status reopen();

  // Waits until the lines so far are in the file or lost. Returns false when that took longer than
  // `bound`.
  [[nodiscard]] bool flush(std::chrono::milliseconds bound) { return writer_.flush(bound); }

  // Returns how many lines were lost since the log was opened.
  [[nodiscard]] std::uint64_t lost() const { return writer_.lost(); }

  // Queues one line. `event` is a stable snake_case name; `fields` is an object.
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
  Log(Descriptor descriptor, LogLevel level, std::string file, const Clock& clock);

  const LogLevel level_;
  const std::string file_;
  const Clock& clock_;
  LineWriter writer_;
};

}  // namespace assay::server
