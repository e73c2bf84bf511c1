// SPDX-License-Identifier: Apache-2.0
// Writes log lines to a file (often a pipe) in a separate thread. A thread that logs therefore
// never waits for the program that reads the log. When that program stalls, lines are dropped and
// counted.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "schemas/posix/descriptor.h"

namespace assay::server {

// Limits of the queue of lines that wait to be written: lines and bytes. When either limit would be
// exceeded, new lines are dropped until the queue is at most half full.
inline constexpr std::size_t kMaxQueuedLogLines = 16'384;
inline constexpr std::size_t kMaxQueuedLogBytes = 8U << 20;
// How long the destructor of a LineWriter waits for queued lines by default.
inline constexpr std::chrono::milliseconds kLogFlushTime{2'000};

// Thread-safe.
class LineWriter {
 public:
  // Returns a line, with its line feed, that says that `lost` lines were lost.
  using TellLoss = std::function<std::string(std::uint64_t lost)>;

  // Starts the thread, which writes to `file`. When `file` is empty, every line is lost.
  LineWriter(Descriptor file, TellLoss tell_loss,
             std::chrono::milliseconds flush_time = kLogFlushTime);
  // Writes the queued lines. Lines that are still queued after `flush_time` are lost.
  ~LineWriter();
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  // Queues one line, which ends with a line feed. Never waits for the file. The line is lost when
  // the queue is full, or when writing it fails.
  void write(std::string line);

  // Writes all further lines to `file`. A line that was written only partly to the former file is
  // written again, as a whole.
  void change(Descriptor file);

  // Waits, at most for `bound`, until all lines that were queued before this call are written or
  // lost. Returns false when this takes longer.
  [[nodiscard]] bool flush(std::chrono::milliseconds bound);

  // Returns how many lines were lost since the start.
  [[nodiscard]] std::uint64_t lost() const;

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with the thread, which may outlive this object
  const std::chrono::milliseconds flush_time_;
  std::thread thread_;
};

}  // namespace assay::server
