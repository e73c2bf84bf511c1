// SPDX-License-Identifier: Apache-2.0
// One process that drives devices (serve.cc), as the process that started it sees it.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "gpu_hash/driver_process.h"
#include "gpu_hash/driver_process/wire.h"
#include "schemas/posix/child_process.h"
#include "schemas/posix/link.h"

namespace assay::gpu_hash {

// What a process writes to standard error. Only the end is kept.
class LastWords {
 public:
  // `pipe` is the reading end, which does not block.
  explicit LastWords(Descriptor pipe) : pipe_(std::move(pipe)) {}
  // Reads what is there.
  void drain();
  // Returns the last line that is not empty: printable, at most 300 bytes.
  [[nodiscard]] std::string line() const;

 private:
  Descriptor pipe_;
  std::string end_;
};

// Only abandon() may be called by any thread. After an error of send(), receive() or ask() the
// process has ended, and all following calls fail. Errors: device-failed.
class DriverProcess {
 public:
  // Starts a process, and waits for its first message. `vendors` is that of serve_driver(), `what`
  // is the subject of errors: "the OpenCL drivers".
  [[nodiscard]] static Result<std::unique_ptr<DriverProcess>> start(const DriverProgram& program,
                                                                    const std::string& vendors,
                                                                    std::string what);
  // Ends the process, and waits until it has ended.
  ~DriverProcess();
  DriverProcess(const DriverProcess&) = delete;
  DriverProcess& operator=(const DriverProcess&) = delete;

  void rename(std::string what) { what_ = std::move(what); }
  // Returns whether the process lives and says nothing unasked.
  [[nodiscard]] bool is_idle() const;
  // The caller keeps the descriptors.
  [[nodiscard]] Status send(const driver::ToProcess& message,
                            std::span<const int> descriptors = {});
  // Waits for the next message, at most `patience`.
  [[nodiscard]] Result<driver::FromProcess> receive(std::chrono::seconds patience);
  // Sends `question`, and returns the answer. Errors also: those that the process answers.
  template <typename Answer>
  [[nodiscard]] Result<Answer> ask(const driver::ToProcess& question,
                                   std::chrono::seconds patience) {
    ASSAY_TRY(send(question));
    ASSAY_ASSIGN(driver::FromProcess message, receive(patience));
    if (auto* const answer = std::get_if<Answer>(&message)) {
      return std::move(*answer);
    }
    if (const auto* const failed = std::get_if<driver::Failed>(&message)) {
      return std::unexpected(error_of(*failed));
    }
    return nonsense("it answers what it was not asked");
  }
  // Kills the process, because what it said makes no sense.
  std::unexpected<Error> nonsense(const std::string& why);
  // Returns the error that the process answered. Codes that no engine returns are device-failed.
  [[nodiscard]] static Error error_of(const driver::Failed& failed);
  // Ends the connection: receive() returns with an error.
  void abandon() const { link_.shut_down(); }
  [[nodiscard]] std::string last_words();

 private:
  DriverProcess(ChildProcess child, Descriptor socket, Descriptor errors, std::string what,
                std::chrono::seconds patience);
  [[nodiscard]] std::unexpected<Error> failed(const std::string& why, bool wait);

  ChildProcess child_;
  Link link_;
  LastWords words_;
  std::string what_;
  const std::chrono::seconds patience_;  // of send()
  std::optional<Error> over_;            // why the process has ended
};

}  // namespace assay::gpu_hash
