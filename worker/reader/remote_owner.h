// SPDX-License-Identifier: Apache-2.0
// The Owner (owner.h) in the process that reads memory. It sends every request to the node agent,
// because only the node agent has a connection to the real owner.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "worker/instances/owner.h"
#include "worker/reader/wire.h"

namespace assay::worker {

class RemoteOwner final : public Owner {
 public:
  // Sends a message to the node agent. Ends this process when sending fails.
  using Send = std::function<void(const wire::FromReader& message)>;

  // Makes an owner whose registration() contains only what `start` says: the pieces and the parts
  // of the tensors. Errors: invalid-parameter when a part lies outside of its piece.
  [[nodiscard]] static Result<std::shared_ptr<RemoteOwner>> create(const wire::Start& start,
                                                                   Descriptor window, Send send);

  [[nodiscard]] const std::string& id() const override { return id_; }
  [[nodiscard]] const Peer& peer() const override { return peer_; }
  [[nodiscard]] const InstanceRegistration& registration() const override { return registration_; }
  [[nodiscard]] std::stop_token ended() const override { return ended_.get_token(); }
  [[nodiscard]] Result<std::vector<Descriptor>> export_pieces(
      std::span<const std::uint64_t> pieces) override;
  [[nodiscard]] Status stage(std::uint64_t piece, std::uint64_t offset, std::uint64_t size,
                             const std::function<Status()>& use) override;
  [[nodiscard]] int window() const override { return window_.get(); }
  void begin_check() override {}
  void tell(InstanceState, std::span<const Finding>) override {}

  // --- for the thread of the check

  // Closes the descriptor of the window. Nothing can be staged after that.
  void close_window() { (void)window_.close(); }

  // --- for the thread that receives the messages of the node agent

  // Delivers the node agent's answer to the waiting request; dropped when no request waits.
  void take(const wire::Problem& problem, std::vector<Descriptor> descriptors);
  // Ends every call with cancelled, and requests the stop of ended(), so that hashing stops.
  void end();

 private:
  struct Answer {
    wire::Problem problem;
    std::vector<Descriptor> descriptors;
  };

  RemoteOwner(std::uint64_t check, InstanceRegistration registration, Descriptor window, Send send)
      : check_(check),
        registration_(std::move(registration)),
        window_(std::move(window)),
        send_(std::move(send)) {}
  [[nodiscard]] Result<Answer> ask(const wire::FromReader& question);

  const std::uint64_t check_;
  const std::string id_;
  const Peer peer_;
  const InstanceRegistration registration_;
  Descriptor window_;  // used by the thread of the check only
  const Send send_;
  std::stop_source ended_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool waiting_ = false;
  std::optional<Answer> answer_;
};

}  // namespace assay::worker
