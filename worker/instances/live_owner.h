// SPDX-License-Identifier: Apache-2.0
// The owner of a live registration: asks it for descriptors and bytes, and tells it what was found.
#pragma once

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
#include "worker/instances/frames.h"
#include "worker/instances/owner.h"

namespace assay::worker {

// The first part is for whoever reads memory, from any thread; the second for the connection, whose
// one thread reads the frames.
class LiveOwner final : public Owner {
 public:
  struct Setup {
    std::string id;
    Peer peer;
    InstanceRegistration registration;
    Descriptor window;            // empty: no piece is staged
    std::uint64_t first_request;  // number of the first request: numbers are used once a connection
    std::chrono::milliseconds answer_within;
  };
  LiveOwner(Setup setup, std::shared_ptr<FrameChannel> channel, const Clock& clock);

  [[nodiscard]] const std::string& id() const override { return setup_.id; }
  [[nodiscard]] const Peer& peer() const override { return setup_.peer; }
  [[nodiscard]] const InstanceRegistration& registration() const override {
    return setup_.registration;
  }
  [[nodiscard]] std::stop_token ended() const override { return ended_.get_token(); }
  [[nodiscard]] Result<std::vector<Descriptor>> export_pieces(
      std::span<const std::uint64_t> pieces) override;
  [[nodiscard]] Status stage(std::uint64_t piece, std::uint64_t offset, std::uint64_t size,
                             const std::function<Status()>& use) override;
  [[nodiscard]] int window() const override { return setup_.window.get(); }
  void begin_check() override;
  void tell(InstanceState state, std::span<const Finding> findings) override;

  // --- for the connection

  // While the lock is held, nobody else sends to the owner: what others ask or tell waits.
  [[nodiscard]] std::unique_lock<std::mutex> hold() { return std::unique_lock(mutex_); }
  // The pointer for others. wait_for_others() returns when it and all its copies are gone.
  [[nodiscard]] static std::shared_ptr<Owner> hand_out(const std::shared_ptr<LiveOwner>& owner);
  // False when others still hold the pointer at `deadline`.
  [[nodiscard]] bool wait_for_others(Steady::time_point deadline);

  // True while descriptors are expected.
  [[nodiscard]] bool expects_descriptors();
  // What the owner answers or asks. An error ends the connection: invalid-parameter for an answer
  // to what was not asked, or another one; conflict for a second verify.
  [[nodiscard]] Status take(const OwnerPieces& pieces, std::vector<Descriptor> descriptors);
  [[nodiscard]] Status take(const OwnerCopied& copied);
  [[nodiscard]] Status take(const OwnerFailed& failed);
  [[nodiscard]] Status take(const OwnerVerify& verify);
  // Ends all calls with cancelled. Returns the number of the next request, and the request whose
  // answer may still come (0: none).
  struct Rest {
    std::uint64_t next_request;
    std::uint64_t unanswered;
  };
  Rest end();

 private:
  // What the owner was asked for; one at a time.
  struct Request {
    bool is_export;
    std::vector<std::uint64_t> pieces;
    std::uint64_t number = 0;
    std::vector<Descriptor> descriptors{};
    std::optional<Error> error{};
    std::size_t seen = 0;    // pieces whose descriptors came
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
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool busy_ = false;  // somebody asks, or uses the answer
  std::optional<Request> request_;
  std::uint64_t next_request_;
  bool handed_out_ = false;
  std::optional<std::uint64_t> verify_;     // asked for, no check has begun since
  std::optional<std::uint64_t> answering_;  // the check that answers it is under way
  std::optional<Timestamp> checked_at_;
  std::optional<std::pair<InstanceState, std::vector<Finding>>> told_;
};

}  // namespace assay::worker
