// SPDX-License-Identifier: Apache-2.0
#include "server/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace assay::server {
namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

Result<std::shared_ptr<spdlog::logger>> make_logger(LogLevel level, const std::string& file) {
  try {
    spdlog::sink_ptr sink;
    if (file.empty()) {
      sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    } else {
      sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(file);
    }
    auto logger = std::make_shared<spdlog::logger>("assayd", std::move(sink));
    logger->set_pattern("%v");
    logger->set_level(to_spdlog(level));
    logger->flush_on(spdlog::level::info);
    return logger;
  } catch (const spdlog::spdlog_ex&) {
    return fail(ErrorCode::kFileUnreadable, "the log file cannot be opened", file);
  }
}

}  // namespace

Log::Log(std::shared_ptr<spdlog::logger> logger, LogLevel level, std::string file,
         const Clock& clock)
    : logger_(std::move(logger)), level_(level), file_(std::move(file)), clock_(clock) {}

Log::~Log() { logger_->flush(); }

Result<std::unique_ptr<Log>> Log::open(LogLevel level, const std::string& file,
                                       const Clock& clock) {
  ASSAY_ASSIGN(auto logger, make_logger(level, file));
  return std::unique_ptr<Log>(new Log(std::move(logger), level, file, clock));
}

std::shared_ptr<spdlog::logger> Log::logger() const {
  const std::lock_guard lock(mutex_);
  return logger_;
}

Status Log::reopen() {
  if (file_.empty()) {
    return {};
  }
  ASSAY_ASSIGN(auto fresh, make_logger(level_, file_));
  const std::lock_guard lock(mutex_);
  logger_ = std::move(fresh);
  return {};
}

void Log::write(LogLevel level, std::string_view event, const Json& fields) {
  const auto sink = logger();
  if (!sink->should_log(to_spdlog(level))) {
    return;
  }
  nlohmann::ordered_json line = {
      {"time", to_rfc3339(clock_.now())}, {"level", name(level)}, {"event", event}};
  for (const auto& [key, value] : fields.items()) {
    line[key] = value;
  }
  sink->log(to_spdlog(level),
            spdlog::string_view_t(
                line.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace)));
}

}  // namespace assay::server
