// SPDX-License-Identifier: Apache-2.0
#include "worker/instances/connection.h"

#include <algorithm>
#include <utility>

#include <malloc.h>

#include "schemas/core/printable.h"

namespace assay::worker {
namespace {

std::unexpected<Error> unexpected_frame() {
  return fail(ErrorCode::kConflict, "a frame of this type does not belong here");
}
std::unexpected<Error> overloaded(std::string detail) {
  return fail(ErrorCode::kOverloaded, std::move(detail));
}

// The number under which the descriptor of the page of hints comes: behind the window.
std::uint64_t hints_number(const InstanceRegistration& registration) {
  return registration.pieces.size() + (registration.window != 0 ? 1 : 0);
}

// Pieces whose descriptors come, in their order; then the window, and the page of hints.
std::vector<std::uint64_t> pieces_to_come(const InstanceRegistration& registration) {
  std::vector<std::uint64_t> pieces;
  for (std::uint64_t i = 0; i < registration.pieces.size(); ++i) {
    if (registration.pieces[i].kind != PieceKind::kStaged) {
      pieces.push_back(i);
    }
  }
  if (registration.window != 0) {
    pieces.push_back(registration.pieces.size());
  }
  if (registration.hints != 0) {
    pieces.push_back(hints_number(registration));
  }
  return pieces;
}

// Whoever sends a frame chooses its members, of which an error names one, so there is an end.
std::string text_of(const Error& error) {
  constexpr std::size_t kMaxTold = 512;  // bytes
  const std::string text = error.detail + (error.where.empty() ? "" : " (at " + error.where + ")");
  return text.size() <= kMaxTold ? text : std::string(utf8_prefix(text, kMaxTold)) + "...";
}

std::uint64_t request_of(const OwnerMessage& message) {
  if (const auto* const pieces = std::get_if<OwnerPieces>(&message)) {
    return pieces->request;
  }
  if (const auto* const copied = std::get_if<OwnerCopied>(&message)) {
    return copied->request;
  }
  const auto* const failed = std::get_if<OwnerFailed>(&message);
  return failed == nullptr ? 0 : failed->request;
}

}  // namespace

InstanceShared::InstanceShared(const Clock& own_clock, Random& own_random, Registry& own_registry,
                               PeerRules own_rules, InstanceLimits own_limits)
    : clock(own_clock),
      random(own_random),
      registry(own_registry),
      rules(std::move(own_rules)),
      limits(own_limits),
      connections(limits.connections, limits.connections_of_one_pod),
      frames(limits.frames, limits.frames_of_one_pod),
      descriptors(limits.descriptors, kMaxFrameDescriptors) {}

Connection::Connection(Descriptor socket, InstanceShared& shared)
    : shared_(shared),
      channel_(std::make_shared<FrameChannel>(std::move(socket))),
      deadline_(Steady::now() + shared.limits.to_register) {}

Steady::time_point Connection::soon() const {
  return std::min(deadline_, Steady::now() + shared_.limits.idle);
}

Status Connection::send(const AgentMessage& message) {
  return channel_->send(as_bytes(write_agent_message(message)));
}

void Connection::refuse(const Error& error) {
  if (error.code != ErrorCode::kCancelled) {
    (void)send(AgentRefused{std::string(info(error.code).code), text_of(error)});
  }
  channel_->drain();
  close_foreign(sent_);
}

void Connection::serve() {
  Budget::Grant counted;  // also while closing waits
  const Status status = run(counted);
  if (!status && status.error().code != ErrorCode::kCancelled) {
    tell_operator(info(status.error().code).code, text_of(status.error()));
  }
  refuse(status ? Error{ErrorCode::kCancelled, {}, {}} : status.error());
}

void Connection::tell_operator(std::string_view code, std::string detail) {
  shared_.registry.refuse(
      {peer_.pod, peer_.container, peer_.pid, instance_, std::string(code), std::move(detail)});
}

Status Connection::run(Budget::Grant& counted) {
  ASSAY_ASSIGN(IdentifiedPeer identified, identify_peer(channel_->socket(), shared_.rules));
  peer_ = std::move(identified.peer);
  channel_->end_with(std::move(identified.process));
  auto grant = shared_.connections.take(peer_.pod, 1);
  if (!grant) {
    return overloaded("this pod has too many connections, or all pods have");
  }
  counted = *std::move(grant);
  ASSAY_TRY(greet());
  while (true) {
    ASSAY_TRY(serve_one());
    // The owner may take its time before it registers another set of weights.
    (void)channel_->wait(Steady::time_point::max());
    deadline_ = Steady::now() + shared_.limits.to_register;
  }
}

Status Connection::serve_one() {
  ASSAY_ASSIGN(Pending pending, read_register());
  ASSAY_TRY(read_pieces(pending));
  const Status announced = announce(pending);
  Result<OwnerRelease> release =
      announced ? attend() : Result<OwnerRelease>(std::unexpected(announced.error()));
  forget();  // while the claim is held
  if (!release) {
    return std::unexpected(std::move(release).error());
  }
  if (!owner_->wait_for_others(Steady::now() + shared_.limits.release)) {
    return fail(ErrorCode::kUnavailable, "the memory is still read");
  }
  owner_.reset();
  return send(AgentReleased{release->request});
}

Status Connection::greet() {
  ASSAY_ASSIGN(const Frame frame, next_small(0, soon()));
  ASSAY_ASSIGN(const OwnerMessage message, parse_owner_message(frame.body));
  if (!std::holds_alternative<OwnerHello>(message)) {
    return unexpected_frame();
  }
  return send(AgentWelcome{peer_.pod, peer_.container});
}

Result<Frame> Connection::receive(const FrameLimits& limits,
                                  const std::function<Status(std::size_t length)>& begin) {
  Result<Frame> frame = channel_->receive(limits, begin, &sent_);
  if (frame) {
    sent_ = std::move(frame->descriptors);
  }
  return frame;
}

// A frame that is no `register`. With descriptors it comes whole, or not at all: so no owner keeps
// others from sending theirs.
Result<Frame> Connection::next_small(std::size_t descriptors, Steady::time_point begin) {
  if (!channel_->wait(begin)) {
    return fail(ErrorCode::kRequestTimeout, "the other side took too long");
  }
  const InstanceLimits& limits = shared_.limits;
  if (descriptors == 0) {
    return receive(
        {.bytes = kMaxSmallFrame, .end = Steady::now() + limits.to_register, .idle = limits.idle});
  }
  const auto grant = shared_.descriptors.take(peer_.pod, descriptors, Steady::now() + limits.idle);
  if (!grant) {
    return overloaded("too many descriptors come at once");
  }
  return receive({.bytes = kMaxSmallFrame,
                  .descriptors = descriptors,
                  .end = Steady::now() + limits.with_descriptors});
}

// An answer that crossed the owner's own `release` may come first, with its descriptors.
Result<Frame> Connection::next_large(Budget::Grant& memory) {
  Steady::time_point patience;
  const auto set_aside = [&](std::size_t length) -> Status {
    if (length > kMaxSmallFrame) {
      // A registration that ends gives its memory back in a moment.
      auto taken = shared_.frames.take(peer_.pod, length, patience);
      if (!taken) {
        return overloaded("registrations take too much memory");
      }
      memory = *std::move(taken);
    }
    return {};
  };
  const InstanceLimits& limits = shared_.limits;
  if (!channel_->wait(soon())) {
    return fail(ErrorCode::kRequestTimeout, "the other side took too long");
  }
  patience = Steady::now() + limits.replace;
  if (rest_.unanswered == 0) {
    return receive({.bytes = kMaxOwnerFrame, .end = deadline_, .idle = limits.idle}, set_aside);
  }
  // As in next_small(): whoever may send descriptors keeps others from sending theirs.
  const auto grant = shared_.descriptors.take(peer_.pod, kMaxFrameDescriptors, soon());
  if (!grant) {
    return overloaded("too many descriptors come at once");
  }
  patience = std::min(deadline_, Steady::now() + limits.with_descriptors);
  return receive({.bytes = kMaxOwnerFrame, .descriptors = kMaxFrameDescriptors, .end = patience},
                 set_aside);
}

// The memory that a large frame took is given back before the next one is parsed: the threads of
// connections have heaps of their own, and each would keep what its largest frame took.
Result<OwnerMessage> Connection::parse(Bytes frame) {
  if (frame.size() <= kMaxSmallFrame) {
    return parse_owner_message(frame);
  }
  const std::lock_guard lock(shared_.parsing);
  auto message = parse_owner_message(frame);
  frame = Bytes();
  (void)::malloc_trim(0);
  return message;
}

Result<Connection::Pending> Connection::read_register() {
  instance_.clear();
  while (true) {
    Budget::Grant grant;
    ASSAY_ASSIGN(Frame frame, next_large(grant));
    ASSAY_ASSIGN(OwnerMessage message, parse(std::move(frame.body)));
    auto* const registration = std::get_if<InstanceRegistration>(&message);
    if (registration == nullptr) {
      if (rest_.unanswered != 0 && request_of(message) == rest_.unanswered) {
        close_foreign(sent_);
        continue;
      }
      return unexpected_frame();
    }
    instance_ = registration->instance;
    if (!sent_.empty()) {
      return fail(ErrorCode::kInvalidParameter, "a frame has other descriptors than it says");
    }
    auto claim = shared_.registry.claim(peer_.pod, registration->instance, registration->rank,
                                        Steady::now() + shared_.limits.replace);
    if (!claim) {
      const std::string why = "another process is this rank of this instance";
      tell_operator(kAlreadyRegistered, why);
      (void)send(AgentRefused{std::string(kAlreadyRegistered), why});
      return fail(ErrorCode::kCancelled, "the registration is not taken");
    }
    return Pending{std::move(*registration), *std::move(claim), std::move(grant), {}};
  }
}

Status Connection::take_piece(Pending& pending, std::uint64_t number, Descriptor& descriptor,
                              ForeignFiles& files) {
  const InstanceRegistration& registration = pending.registration;
  if (registration.hints != 0 && number == hints_number(registration)) {
    ASSAY_TRY(files.check(descriptor, {registration.hints, PieceKind::kHost, {}}));
    ASSAY_ASSIGN(pending.hints, HintsPage::map(descriptor));
    return {};
  }
  if (number == registration.pieces.size()) {
    // Its bytes are copied with pread(), which makes no pages of holes.
    ASSAY_TRY(check_memory_file(descriptor, registration.window));
    pending.window = std::move(descriptor);
    return {};
  }
  return files.check(descriptor, registration.pieces[number]);
}

Status Connection::read_pieces(Pending& pending) {
  const std::vector<std::uint64_t> expected = pieces_to_come(pending.registration);
  for (std::size_t seen = 0; seen < expected.size();) {
    ASSAY_ASSIGN(const Frame frame, next_small(kMaxFrameDescriptors, soon()));
    ASSAY_ASSIGN(const OwnerMessage message, parse_owner_message(frame.body));
    const auto* const pieces = std::get_if<OwnerPieces>(&message);
    if (pieces == nullptr || pieces->request != 0) {
      return unexpected_frame();
    }
    if (pieces->count != sent_.size()) {
      return fail(ErrorCode::kInvalidParameter, "a frame has other descriptors than it says");
    }
    ForeignFiles files;
    for (std::uint64_t i = 0; i < pieces->count; ++i, ++seen) {
      if (seen == expected.size() || expected[seen] != pieces->first + i) {
        return fail(ErrorCode::kInvalidParameter, "the descriptors come in another order");
      }
      ASSAY_TRY(take_piece(pending, expected[seen], sent_[i], files));
    }
    close_foreign(sent_);
  }
  return {};
}

Status Connection::announce(Pending& pending) {
  ASSAY_ASSIGN(std::string id, make_uuid_v7(shared_.random, shared_.clock.now()));
  owner_ = std::make_shared<LiveOwner>(
      LiveOwner::Setup{
          std::move(id), peer_,
          std::make_shared<const InstanceRegistration>(std::move(pending.registration)),
          std::move(pending.window), std::move(pending.hints), rest_.next_request,
          shared_.limits.answer},
      channel_, shared_.clock);
  handed_out_ = LiveOwner::hand_out(owner_);
  Status sent;
  {
    // Whoever knows the registration when its owner does finds it, and asks for nothing before.
    const auto first = owner_->hold();
    shared_.registry.add(handed_out_);
    sent = send(AgentRegistered{owner_->id()});
  }
  shared_.registry.announce(handed_out_);
  return sent;
}

// Others may still hold the owner; each of its calls fails from here on.
void Connection::forget() {
  if (handed_out_ != nullptr) {
    rest_ = owner_->end();
    shared_.registry.remove(*handed_out_);
    handed_out_.reset();
  }
}

Result<OwnerRelease> Connection::attend() {
  while (true) {
    ASSAY_ASSIGN(const std::optional<OwnerRelease> release, handle_next());
    if (release) {
      return *release;
    }
  }
}

Result<std::optional<OwnerRelease>> Connection::handle_next() {
  (void)channel_->wait(Steady::time_point::max());
  const std::size_t descriptors = owner_->expects_descriptors() ? kMaxFrameDescriptors : 0;
  ASSAY_ASSIGN(const Frame frame, next_small(descriptors, Steady::time_point::max()));
  ASSAY_ASSIGN(const OwnerMessage message, parse_owner_message(frame.body));
  const auto* const pieces = std::get_if<OwnerPieces>(&message);
  if (sent_.size() != (pieces == nullptr ? 0 : pieces->count)) {
    return fail(ErrorCode::kInvalidParameter, "a frame has other descriptors than it says");
  }
  if (const auto* const release = std::get_if<OwnerRelease>(&message)) {
    return std::optional(*release);
  }
  ASSAY_TRY(handle(message));
  close_foreign(sent_);
  return std::optional<OwnerRelease>();
}

Status Connection::handle(const OwnerMessage& message) {
  Status status = unexpected_frame();
  if (const auto* const pieces = std::get_if<OwnerPieces>(&message)) {
    status = owner_->take(*pieces, sent_);
  } else if (const auto* const copied = std::get_if<OwnerCopied>(&message)) {
    status = owner_->take(*copied);
  } else if (const auto* const failed = std::get_if<OwnerFailed>(&message)) {
    status = owner_->take(*failed);
  } else if (const auto* const verify = std::get_if<OwnerVerify>(&message)) {
    status = owner_->take(*verify);
    if (status) {
      shared_.registry.ask(handed_out_);
    }
  } else if (const auto* const yield = std::get_if<OwnerYield>(&message)) {
    status = owner_->take(*yield);
    if (status) {
      shared_.registry.yield(handed_out_, yield->max);
    }
  } else if (const auto* const changed = std::get_if<OwnerChanged>(&message)) {
    // Told once: the registration is violated until it ends, and no owner fills logs.
    if (!owner_->note_changed()) {
      shared_.registry.change(handed_out_, changed->tensors);
    }
    status = Status();
  }
  return status;
}

}  // namespace assay::worker
