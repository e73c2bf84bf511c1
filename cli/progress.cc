// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <unistd.h>
#include <utility>

#include "cli/output.h"

namespace assay::cli {

namespace {

constexpr std::chrono::milliseconds kRedraw{100};
constexpr std::chrono::milliseconds kNextLine{2000};
constexpr std::size_t kBarWidth = 30;

std::string bar(double part) {
  const auto full = static_cast<std::size_t>(part * static_cast<double>(kBarWidth));
  return "[" + std::string(full, '#') + std::string(kBarWidth - full, '.') + "]";
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
      terminal_(::isatty(STDERR_FILENO) == 1),
      begin_(Steady::now()),
      next_(begin_ + (terminal_ ? kRedraw : kNextLine)) {}

Progress::~Progress() {
  if (drawn_ && terminal_) {
    std::fputs("\r\x1b[K", stderr);
    std::fflush(stderr);
  }
}

std::string Progress::head(std::uint64_t done, std::uint64_t total) const {
  std::string text = what_ + " ";
  if (total == 0) {
    return text;
  }
  const double part = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  if (terminal_) {
    text += bar(part) + " ";
  }
  return text + std::to_string(static_cast<int>(part * 100)) + " %, ";
}

std::string Progress::line(std::uint64_t done, std::uint64_t total, Steady::time_point now) const {
  const double seconds = std::max(std::chrono::duration<double>(now - begin_).count(), 1e-9);
  const double rate = static_cast<double>(done) / seconds;
  std::string text = head(done, total) + human_bytes(static_cast<double>(done));
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

void Progress::draw(const std::string& text) {
  drawn_ = true;
  if (terminal_) {
    std::fprintf(stderr, "\r\x1b[K%s", text.c_str());
    std::fflush(stderr);
  } else {
    std::fprintf(stderr, "%s\n", text.c_str());
  }
}

void Progress::update(std::uint64_t done, std::uint64_t total) {
  if (const Steady::time_point now = Steady::now(); is_due(now)) {
    draw(line(done, total, now));
  }
}

void Progress::update_count(std::uint64_t done, std::uint64_t total, std::string_view noun) {
  if (is_due(Steady::now())) {
    draw(head(done, total) + std::to_string(done) + " of " + std::to_string(total) + " " +
         std::string(noun));
  }
}

}  // namespace assay::cli
