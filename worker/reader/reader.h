// SPDX-License-Identifier: Apache-2.0
// The node agent's end of one process that reads memory: starts it, hands messages to the checks
// that it makes, and ends it when it fails, hangs or says what makes no sense.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "gpu_hash/engine.h"
#include "worker/instances/owner.h"
#include "worker/reader/link.h"
#include "worker/reader/process.h"
#include "worker/reader/wire.h"

namespace assay::worker {

// How long the process may take before it is killed.
struct ReaderTimes {
  std::chrono::milliseconds start{120'000};  // from its start to its first message
  // Without any message, while something is asked of it.
  std::chrono::milliseconds silent{30'000};
  // Without a message about the check that asks, whatever it says of others.
  std::chrono::milliseconds stalled{300'000};
  std::chrono::milliseconds end{5'000};      // to let go of the memory of one check
  std::chrono::milliseconds linger{60'000};  // without a check, until it is ended
};

// Something that people should know of a process.
struct ReaderNews {
  std::string device;
  std::int64_t pid;
  std::optional<Error> error;  // why it ended; absent: it has begun
};

struct ReaderSetup {
  std::string program = "/proc/self/exe";
  std::vector<std::string> arguments{};
  std::string build{};            // that it must say; so must it what follows
  gpu_hash::EngineInfo engine{};  // of the device that it reads
  ReaderTimes times{};
  std::function<void(const ReaderNews&)> tell = [](const ReaderNews&) {};
};

// Thread-safe. Errors of all functions: device-failed when the process has ended, for whatever
// reason.
class Reader {
 public:
  explicit Reader(ReaderSetup setup);
  // Ends the process, and waits for its end.
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // False when it has ended or is about to: the next check needs another one.
  [[nodiscard]] bool is_usable();

  // Begins a check and returns its number; close() ends it. Waits until the process is ready.
  // Errors: cancelled when `stop` is requested; unavailable when the process is about to end.
  [[nodiscard]] Result<std::uint64_t> open(const std::stop_token& stop);
  // Sends a message about a check. Descriptors stay the caller's.
  [[nodiscard]] Status send(std::uint64_t check, const wire::ToReader& message,
                            std::span<const int> descriptors = {});
  // The next message about this check but Progress. Errors: cancelled when `stop` is requested.
  [[nodiscard]] Result<wire::FromReader> next(std::uint64_t check, const std::stop_token& stop);
  // Ends a check. The process has let go of its memory, or is gone, when this returns; if it is not
  // gone although it was killed, `owner` is held until it is.
  void close(std::uint64_t check, std::shared_ptr<Owner> owner);
  // Ends the process, and with it all its checks.
  void fail(const std::string& why);

 private:
  using Lock = std::unique_lock<std::mutex>;
  // What came for one check.
  struct Box {
    std::deque<wire::FromReader> messages{};
    Steady::time_point heard{};  // the last message, to it or from it
    bool ending = false;
    bool ended = false;
  };

  void run();
  [[nodiscard]] Status begin();
  [[nodiscard]] Status greet();
  [[nodiscard]] Status attend();
  [[nodiscard]] Status take(wire::FromReader message);
  void finish(const Error& why);
  void fail_locked(const std::string& why);
  // With mutex_ held.
  [[nodiscard]] bool is_idle() const;
  [[nodiscard]] Error gone() const;
  [[nodiscard]] Steady::time_point patience(const Box& box) const;

  const ReaderSetup setup_;
  std::optional<ChildProcess> child_;  // of thread_
  std::unique_ptr<Link> link_;         // from the constructor on
  Descriptor other_end_;               // until it is started
  std::mutex mutex_;                   // guards what follows
  std::condition_variable_any changed_;
  bool ready_ = false;
  bool failing_ = false;  // fail() was called
  bool closing_ = false;  // nobody needs it any more
  bool gone_ = false;     // its end was seen
  std::string why_;       // of failing_ and gone_
  Steady::time_point heard_{};
  std::map<std::uint64_t, Box> boxes_;
  std::uint64_t next_ = 1;
  std::vector<std::shared_ptr<Owner>> held_;  // until it is gone
  std::jthread thread_;                       // last: it uses the others
};

}  // namespace assay::worker
