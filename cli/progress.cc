// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
#include <utility>

#include "cli/layout.h"
#include "cli/output.h"

namespace assay::cli {

namespace {

constexpr std::chrono::milliseconds kRedraw{100};
constexpr std::chrono::milliseconds kNextLine{2000};
constexpr std::size_t kMostBar = 30;
constexpr std::size_t kLeastBar = 8;

std::string bar(double part, std::size_t width) {
  const auto full = static_cast<std::size_t>(part * static_cast<double>(width));
  return "[" + std::string(full, '#') + std::string(width - full, '.') + "] ";
}

// A terminal that takes \r and the erasure of a line.
bool can_redraw() {
  const char* kind = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && (kind == nullptr || std::string_view(kind) != "dumb");
}

std::string remaining(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
  if (whole < 60) {
    return std::to_string(whole) + " s";
  }
  if (whole < 3600) {
    return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
  }
  return std::to_string(whole / 3600) + " h " + std::to_string(whole % 3600 / 60) + " min";
}

}  // namespace

Progress::Progress(const Context& context, std::string what)
    : what_(std::move(what)),
      silent_(context.quiet),
      terminal_(can_redraw()),
      begin_(Steady::now()),
      next_(begin_ + (terminal_ ? kRedraw : kNextLine)) {}

Progress::~Progress() {
  if (drawn_ && terminal_) {
    std::fputs("\r\x1b[K", stderr);
    std::fflush(stderr);
  }
}

std::string Progress::rest(std::uint64_t done, std::uint64_t total, Steady::time_point now) const {
  const double seconds = std::max(std::chrono::duration<double>(now - begin_).count(), 1e-9);
  const double rate = static_cast<double>(done) / seconds;
  std::string text = human_bytes(static_cast<double>(done));
  if (total > 0) {
    text += " of " + human_bytes(static_cast<double>(total));
  }
  text += ", " + human_bytes(rate) + "/s";
  if (total > done && done > 0) {
    text += ", " + remaining(static_cast<double>(total - done) / rate) + " left";
  }
  return text;
}

bool Progress::is_due(Steady::time_point now) {
  if (silent_ || now < next_) {
    return false;
  }
  next_ = now + (terminal_ ? kRedraw : kNextLine);
  return true;
}

void Progress::draw(std::uint64_t done, std::uint64_t total, const std::string& rest) {
  drawn_ = true;
  const double part =
      total == 0 ? 0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const std::string text =
      total == 0 ? rest : std::to_string(static_cast<int>(part * 100)) + " %, " + rest;
  if (!terminal_) {
    std::fprintf(stderr, "%s %s\n", what_.c_str(), text.c_str());
    return;
  }
  // The last column stays free: some terminals go on to the next line behind it.
  const std::size_t columns = terminal_columns(STDERR_FILENO) - 1;
  std::string line = what_ + " ";
  const std::size_t taken = columns_of(line) + columns_of(text) + 3;  // of the bar's own marks
  if (total > 0 && columns >= taken + kLeastBar) {
    line += bar(part, std::min(kMostBar, columns - taken));
  }
  std::fprintf(stderr, "\r\x1b[K%s", cut(line + text, columns).c_str());
  std::fflush(stderr);
}

void Progress::update(std::uint64_t done, std::uint64_t total) {
  if (const Steady::time_point now = Steady::now(); is_due(now)) {
    draw(done, total, rest(done, total, now));
  }
}

void Progress::update_count(std::uint64_t done, std::uint64_t total, std::string_view noun) {
  if (is_due(Steady::now())) {
    draw(done, total,
         std::to_string(done) + " of " + std::to_string(total) + " " + std::string(noun));
  }
}

}  // namespace assay::cli
