// SPDX-License-Identifier: Apache-2.0
// The node agent's side of one process that reads memory: starts the process, passes its messages
// (wire.h) to the checks (reader_check.h), and kills it when it fails, hangs or violates the
// protocol.
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
#include "schemas/posix/child_process.h"
#include "schemas/posix/link.h"
#include "worker/instances/owner.h"
#include "worker/reader/wire.h"

namespace assay::worker {

// How long the process may take before it is killed.
struct ReaderTimes {
  std::chrono::milliseconds start{120'000};  // from its start to its first message
  // Without any message of the process, while a check waits for its answer.
  std::chrono::milliseconds silent{30'000};
  // Without a message about the check that waits, even if there are messages about other checks.
  std::chrono::milliseconds stalled{300'000};
  std::chrono::milliseconds end{5'000};      // to release the memory of one check when told to
  std::chrono::milliseconds linger{60'000};  // without a check, until the agent ends the process
};

// News about a process, for the operator: it has started, or it ended for a reason.
struct ReaderNews {
  std::string device;
  std::int64_t pid;
  std::optional<Error> error;  // why it ended; absent: it has started
};

struct ReaderSetup {
  std::string program = "/proc/self/exe";
  std::vector<std::string> arguments{};
  std::string build{};            // build and engine that the process must name in its Hello
  gpu_hash::EngineInfo engine{};  // of the device that the process reads
  ReaderTimes times{};
  std::function<void(const ReaderNews&)> tell = [](const ReaderNews&) {};
};

// Thread-safe. Errors of all functions: device-failed when the process has ended, for whatever
// reason.
class Reader {
 public:
  explicit Reader(ReaderSetup setup);
  // Ends the process, and waits until it has ended.
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Returns false when the process has ended or is about to end. The next check then needs another
  // Reader.
  [[nodiscard]] bool is_usable();

  // Begins a check and returns its number, which the caller must pass to close() at the end. Waits
  // until the process is ready.
  // Errors: cancelled when `stop` is requested; unavailable when the process is about to end.
  [[nodiscard]] Result<std::uint64_t> open(const std::stop_token& stop);
  // Returns the engine of the process, as the process itself names it. The caller must have an open
  // check.
  [[nodiscard]] const gpu_hash::EngineInfo& engine() const { return engine_; }
  // Sends a message about a check. The caller keeps the descriptors.
  [[nodiscard]] Status send(std::uint64_t check, const wire::ToReader& message,
                            std::span<const int> descriptors = {});
  // Waits for the next message about this check, and returns it. Messages of type Progress are
  // skipped. Errors: cancelled when `stop` is requested.
  [[nodiscard]] Result<wire::FromReader> next(std::uint64_t check, const std::stop_token& stop);
  // Ends a check. Waits until the process has released the memory of the check, or has ended. When
  // the process still has not ended a few seconds after it was killed, returns nevertheless;
  // `owner` is then kept until the process has ended.
  void close(std::uint64_t check, std::shared_ptr<Owner> owner);
  // Ends the process, and with it all its checks.
  void fail(const std::string& why);

 private:
  using Lock = std::unique_lock<std::mutex>;
  // The messages received for one check.
  struct Box {
    std::deque<wire::FromReader> messages{};
    Steady::time_point heard{};  // time of the last message about it, in either direction
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
  std::optional<ChildProcess> child_;  // used by thread_ only
  std::unique_ptr<Link> link_;         // from the constructor on
  Descriptor other_end_;               // until the process is started
  gpu_hash::EngineInfo engine_;        // set by thread_ before ready_
  std::mutex mutex_;                   // guards what follows
  std::condition_variable_any changed_;
  bool ready_ = false;
  bool failing_ = false;  // fail() was called
  bool closing_ = false;  // the process is no longer needed
  bool gone_ = false;     // the process has ended
  std::string why_;       // reason for failing_ and gone_
  Steady::time_point heard_{};
  std::map<std::uint64_t, Box> boxes_;
  std::uint64_t next_ = 1;
  std::vector<std::shared_ptr<Owner>> held_;  // until the process has ended
  std::jthread thread_;                       // last: it uses the others
};

}  // namespace assay::worker
