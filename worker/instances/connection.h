// SPDX-License-Identifier: Apache-2.0
// Serves one connection of an owner (a process that registers its memory), from its identification
// to its end. Protocol: docs/instances.md.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/clock.h"
#include "schemas/core/random.h"
#include "schemas/posix/frames.h"
#include "worker/instances/budget.h"
#include "worker/instances/foreign.h"
#include "worker/instances/live_owner.h"
#include "worker/instances/peer.h"
#include "worker/instances/registry.h"

namespace assay::worker {

struct InstanceLimits {
  std::uint64_t connections = 64;
  std::uint64_t connections_of_one_pod = 16;
  // Bytes of all frames `register` that are longer than kMaxSmallFrame. A frame counts until its
  // registration ends.
  std::uint64_t frames = std::uint64_t{64} << 20;
  std::uint64_t frames_of_one_pod = kMaxOwnerFrame;
  // Descriptors that may be received at once.
  std::uint64_t descriptors = 4 * kMaxFrameDescriptors;
  std::chrono::milliseconds to_register{30'000};      // from the connection to `registered`
  std::chrono::milliseconds idle{5'000};              // longest wait for the next byte of a frame
  std::chrono::milliseconds with_descriptors{1'000};  // for a whole frame that has descriptors
  std::chrono::milliseconds answer{5'000};            // to a request
  std::chrono::milliseconds release{10'000};          // until all readers released the memory
  std::chrono::milliseconds replace{2'000};           // until what was there before is gone
};

// What all connections share. Must outlive the connections.
struct InstanceShared {
  InstanceShared(const Clock& own_clock, Random& own_random, Registry& own_registry,
                 PeerRules own_rules, InstanceLimits own_limits = {});

  const Clock& clock;
  Random& random;
  Registry& registry;
  const PeerRules rules;
  const InstanceLimits limits;
  Budget connections;
  Budget frames;
  Budget descriptors;
  std::mutex parsing;  // held while a large frame is parsed, which takes ten times its size
};

class Connection {
 public:
  Connection(Descriptor socket, InstanceShared& shared);

  // Serves the owner until the owner ends the connection or violates the protocol, or until stop()
  // is called.
  void serve();
  // Tells the owner why its connection ends, and ends it. Instead of serve(), for one too many.
  void refuse(const Error& error);
  // Ends the connection. May be called by any thread.
  void stop() { channel_->shut_down(); }

 private:
  // A registration under way.
  struct Pending {
    InstanceRegistration registration;
    Registry::Claim claim;
    Budget::Grant frame;
    Descriptor window{};
    std::shared_ptr<const HintsPage> hints{};
  };

  [[nodiscard]] Status run(Budget::Grant& counted);
  [[nodiscard]] Status serve_one();
  [[nodiscard]] Status greet();
  // Receives a frame whose descriptors, also those of one that fails, are in sent_.
  [[nodiscard]] Result<Frame> receive(const FrameLimits& limits,
                                      const std::function<Status(std::size_t length)>& begin = {});
  [[nodiscard]] Result<Frame> next_small(std::size_t descriptors, Steady::time_point begin);
  [[nodiscard]] Result<Frame> next_large(Budget::Grant& memory);
  [[nodiscard]] Result<OwnerMessage> parse(Bytes frame);
  [[nodiscard]] Result<Pending> read_register();
  [[nodiscard]] Status read_pieces(Pending& pending);
  [[nodiscard]] Status take_piece(Pending& pending, std::uint64_t number, Descriptor& descriptor,
                                  ForeignFiles& files);
  [[nodiscard]] Status announce(Pending& pending);
  // Serves a live registration until its owner asks to release it.
  [[nodiscard]] Result<OwnerRelease> attend();
  [[nodiscard]] Result<std::optional<OwnerRelease>> handle_next();
  [[nodiscard]] Status handle(const OwnerMessage& message);
  void forget();
  void tell_operator(std::string_view code, std::string detail);
  [[nodiscard]] Status send(const AgentMessage& message);
  [[nodiscard]] Steady::time_point soon() const;

  InstanceShared& shared_;
  const std::shared_ptr<FrameChannel> channel_;
  Steady::time_point deadline_;  // of the registration under way
  Peer peer_;
  std::string instance_;  // of the last frame `register` that could be read
  // What the owner sent and nobody took over. After an error these are closed last, when nothing is
  // held that others could wait for, because closing them can wait (foreign.h).
  std::vector<Descriptor> sent_;
  std::shared_ptr<LiveOwner> owner_;   // null: not registered
  std::shared_ptr<Owner> handed_out_;  // the pointer of hand_out()
  LiveOwner::Rest rest_{1, 0};         // of the previous registration
};

}  // namespace assay::worker
