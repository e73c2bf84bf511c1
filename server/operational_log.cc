// SPDX-License-Identifier: Apache-2.0
#include "server/operational_log.h"

#include <fcntl.h>
#include <unistd.h>

#include "schemas/core/printable.h"

namespace assay::server {
namespace {

// Opening does not wait for a reader of a named pipe.
Result<Descriptor> open_file(const std::string& file) {
  if (file.empty()) {
    return Descriptor(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
  }
  Descriptor opened(
      ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666));
  if (!opened) {
    return fail(ErrorCode::kFileUnreadable, "the log file cannot be opened", file);
  }
  return opened;
}

std::string line_of(Timestamp now, LogLevel level, std::string_view event, const Json& fields) {
  nlohmann::ordered_json line = {
      {"time", to_rfc3339(now)}, {"level", name(level)}, {"event", event}};
  for (const auto& [key, value] : fields.items()) {
    line[key] = value;
  }
  return line.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace

Json error_fields(const Error& error) {
  return {{"code", info(error.code).code}, {"what", printable(to_string(error))}};
}

Log::Log(Descriptor descriptor, LogLevel level, std::string file, const Clock& clock)
    : level_(level),
      file_(std::move(file)),
      clock_(clock),
      writer_(std::move(descriptor), [&clock](std::uint64_t lost) {
        return line_of(clock.now(), LogLevel::kWarn, "log_lines_lost", {{"lines", lost}});
      }) {}

Result<std::unique_ptr<Log>> Log::open(LogLevel level, const std::string& file,
                                       const Clock& clock) {
  ASSAY_ASSIGN(Descriptor descriptor, open_file(file));
  return std::unique_ptr<Log>(new Log(std::move(descriptor), level, file, clock));
}

Status Log::reopen() {
  if (!file_.empty()) {
    ASSAY_ASSIGN(Descriptor fresh, open_file(file_));
    writer_.change(std::move(fresh));
  }
  return {};
}

void Log::write(LogLevel level, std::string_view event, const Json& fields) {
  if (level >= level_) {
    writer_.write(line_of(clock_.now(), level, event, fields));
  }
}

}  // namespace assay::server
