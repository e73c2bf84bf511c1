// SPDX-License-Identifier: Apache-2.0
// The node agent's side of a live registration: asks the owner (the process that registered its
// memory) for descriptors and bytes, and tells it what was found.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "schemas/core/clock.h"
#include "schemas/instance_message.h"
#include "schemas/posix/frames.h"
#include "worker/instances/hints.h"
#include "worker/instances/owner.h"

namespace assay::worker {

// Any thread may call the functions of Owner (owner.h), which are for readers of memory. The other
// functions are for the connection (connection.h), whose only thread reads the frames.
class LiveOwner final : public Owner {
 public:
  struct Setup {
    std::string id;
    Peer peer;
    std::shared_ptr<const InstanceRegistration> registration;
    Descriptor window;                       // empty: no piece is staged
    std::shared_ptr<const HintsPage> hints;  // null: none
    std::uint64_t first_request;  // number of the first request: each number is used once
    std::chrono::milliseconds answer_within;
  };
  LiveOwner(Setup setup, std::shared_ptr<FrameChannel> channel, const Clock& clock);

  [[nodiscard]] const std::string& id() const override { return setup_.id; }
  [[nodiscard]] const Peer& peer() const override { return setup_.peer; }
  [[nodiscard]] const InstanceRegistration& registration() const override {
    return *setup_.registration;
  }
  [[nodiscard]] std::shared_ptr<const InstanceRegistration> keep_registration() const override {
    return setup_.registration;
  }
  [[nodiscard]] std::stop_token ended() const override { return ended_.get_token(); }
  [[nodiscard]] Result<std::vector<Descriptor>> export_pieces(
      std::span<const std::uint64_t> pieces) override;
  [[nodiscard]] Status stage(std::uint64_t piece, std::uint64_t offset, std::uint64_t size,
                             const std::function<Status()>& use) override;
  [[nodiscard]] int window() const override { return setup_.window.get(); }
  [[nodiscard]] bool storage_changed() const override { return storage_changed_; }
  void begin_check() override;
  void tell(InstanceState state, std::span<const Finding> findings) override;
  [[nodiscard]] std::shared_ptr<const HintsPage> hints() const override { return setup_.hints; }
  void yielded(std::uint64_t slices, std::chrono::milliseconds next) override;

  // --- for the connection

  // Returns a lock. While it is held, nobody else sends to the owner: other requests and tell()
  // wait.
  [[nodiscard]] std::unique_lock<std::mutex> hold() { return std::unique_lock(mutex_); }
  // Returns the pointer for readers of memory. wait_for_others() waits until this pointer and all
  // its copies are destroyed.
  [[nodiscard]] static std::shared_ptr<Owner> hand_out(const std::shared_ptr<LiveOwner>& owner);
  // Returns false when somebody still holds the pointer of hand_out() at `deadline`.
  [[nodiscard]] bool wait_for_others(Steady::time_point deadline);

  // Returns true while the owner has not completely answered a request for descriptors.
  [[nodiscard]] bool expects_descriptors();
  // Handle a frame in which the owner answers or asks something. After an error the caller must end
  // the connection. Errors: invalid-parameter for an answer that fits no open request, and for
  // descriptors that are not of the kind of their piece; conflict for
  // a `verify` while an earlier one is open, and for a `yield` while an earlier one is open and its
  // time is not over; limit-exceeded for more than kYieldsASecond frames `yield` in a second.
  // Takes over what is as asked for, and leaves the others where they are: closing them can wait
  // (foreign.h).
  [[nodiscard]] Status take(const OwnerPieces& pieces, std::vector<Descriptor>& descriptors);
  [[nodiscard]] Status take(const OwnerCopied& copied);
  [[nodiscard]] Status take(const OwnerFailed& failed);
  [[nodiscard]] Status take(const OwnerVerify& verify);
  [[nodiscard]] Status take(const OwnerYield& yield);
  static constexpr unsigned kYieldsASecond = 200;
  // From here on storage_changed() is true. Returns its value before.
  bool note_changed() { return storage_changed_.exchange(true); }
  // Ends all calls with cancelled. Returns the number of the next request, and the request whose
  // answer may still come (0: none).
  struct Rest {
    std::uint64_t next_request;
    std::uint64_t unanswered;
  };
  Rest end();

 private:
  // A request to the owner. Only one is open at a time.
  struct Request {
    bool is_export;
    std::vector<std::uint64_t> pieces;
    std::uint64_t number = 0;
    std::vector<Descriptor> descriptors{};
    std::optional<Error> error{};
    std::size_t seen = 0;    // pieces whose descriptors were received
    bool done = false;       // the caller may go on
    bool abandoned = false;  // the caller no longer waits
  };

  using Lock = std::unique_lock<std::mutex>;
  [[nodiscard]] bool is_over() const { return ended_.stop_requested(); }
  // Runs `use` with the answer to a request, while nobody else may ask. `message` makes the frame
  // from the request's number.
  template <typename Message, typename Use>
  [[nodiscard]] Status ask(Request request, const Message& message, const Use& use);
  [[nodiscard]] Result<Request> answer(Lock& lock);
  void complete(std::optional<Error> error);
  [[nodiscard]] bool awaits(std::uint64_t number, bool is_export) const;

  const Setup setup_;
  const std::shared_ptr<FrameChannel> channel_;
  const Clock& clock_;
  std::stop_source ended_;
  std::atomic<bool> storage_changed_ = false;
  std::mutex mutex_;  // guards the members below it
  std::condition_variable changed_;
  bool busy_ = false;  // somebody asks, or uses the answer
  std::optional<Request> request_;
  std::uint64_t next_request_;
  bool handed_out_ = false;
  std::optional<std::uint64_t> verify_;     // number of a `verify` since which no check has begun
  std::optional<std::uint64_t> answering_;  // number of the `verify` that the running check answers
  struct Yield {
    std::uint64_t request;
    Steady::time_point until;
  };
  std::optional<Yield> yield_;   // the `yield` that is not answered yet
  Steady::time_point second_{};  // start of the second in which yields_ are counted
  unsigned yields_ = 0;
  std::optional<Timestamp> checked_at_;
  std::optional<std::pair<InstanceState, std::vector<Finding>>> told_;
};

}  // namespace assay::worker
