// SPDX-License-Identifier: Apache-2.0
// Lines that a thread of their own writes to a file, so that nobody who logs waits for whoever
// reads the log. When the reader stalls, lines are dropped and counted.
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

// Bounds of the lines that wait to be written. Beyond either bound, lines are dropped until the
// queue is half empty.
inline constexpr std::size_t kMaxQueuedLogLines = 16'384;
inline constexpr std::size_t kMaxQueuedLogBytes = 8U << 20;
// How long the destructor of a LineWriter waits for queued lines by default.
inline constexpr std::chrono::milliseconds kLogFlushTime{2'000};

// Thread-safe.
class LineWriter {
 public:
  // Returns the line, with its line feed, that tells that `lost` lines were lost.
  using TellLoss = std::function<std::string(std::uint64_t lost)>;

  // Starts the thread, which writes to `file`. Every line of an empty descriptor is lost. After
  // `flush_time` the destructor gives up what is still queued.
  LineWriter(Descriptor file, TellLoss tell_loss,
             std::chrono::milliseconds flush_time = kLogFlushTime);
  // Writes what is queued; what is left after the time to flush is lost.
  ~LineWriter();
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  // Queues one line, which ends with a line feed. Never waits for the file. The line is lost when
  // the queue is full, or when writing it fails.
  void write(std::string line);

  // Writes to `file` from now on. A line that the former file did not take whole is written again.
  void change(Descriptor file);

  // Waits until everything that was queued before is written or lost. Returns false when that took
  // longer than `bound`.
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
