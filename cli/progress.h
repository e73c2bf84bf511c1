// SPDX-License-Identifier: Apache-2.0
// Progress on stderr: a bar on a terminal, otherwise a plain line at most every two seconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "cli/context.h"

namespace assay::cli {

// Prints the progress of some work. Called by one thread at a time. Prints nothing with --quiet.
// Also prints nothing when the work ends before the first line is due.
class Progress {
 public:
  Progress(const Context& context, std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Shows bytes with their rate.
  void update(std::uint64_t done, std::uint64_t total);
  // Shows progress in items other than bytes; `noun` names them, such as "entries".
  void update_count(std::uint64_t done, std::uint64_t total, std::string_view noun);

 private:
  using Steady = std::chrono::steady_clock;

  // Returns true when a line or a redrawn bar is due.
  [[nodiscard]] bool is_due(Steady::time_point now);
  // Draws `what_`, the part that is done, and `rest`; on a terminal in one line of it.
  void draw(std::uint64_t done, std::uint64_t total, const std::string& rest);
  [[nodiscard]] std::string rest(std::uint64_t done, std::uint64_t total,
                                 Steady::time_point now) const;

  std::string what_;
  bool silent_;
  bool terminal_;
  bool drawn_ = false;
  Steady::time_point begin_;
  Steady::time_point next_;
};

}  // namespace assay::cli
