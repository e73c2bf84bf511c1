// SPDX-License-Identifier: Apache-2.0
#include "worker/instances/live_owner.h"

#include <algorithm>
#include <utility>

#include "worker/instances/foreign.h"

namespace assay::worker {
namespace {

std::unexpected<Error> cancelled() {
  return fail(ErrorCode::kCancelled, "the registration has ended");
}
std::unexpected<Error> unreadable(std::string detail) {
  return fail(ErrorCode::kFileUnreadable, std::move(detail));
}
std::unexpected<Error> not_asked() {
  return fail(ErrorCode::kInvalidParameter, "this is not what was asked for");
}

Status check_export(const InstanceRegistration& registration,
                    std::span<const std::uint64_t> pieces) {
  const auto is_wrong = [&](std::uint64_t piece) {
    return piece >= registration.pieces.size() ||
           registration.pieces[piece].kind == PieceKind::kStaged;
  };
  const bool ascending =
      std::ranges::adjacent_find(pieces, std::ranges::greater_equal()) == pieces.end();
  return !pieces.empty() && pieces.size() <= kMaxFrameDescriptors && ascending &&
                 std::ranges::none_of(pieces, is_wrong)
             ? Status()
             : fail(ErrorCode::kInvalidParameter, "these pieces cannot be exported");
}

Status check_read(const InstanceRegistration& registration, std::uint64_t piece,
                  std::uint64_t offset, std::uint64_t size) {
  const bool staged =
      piece < registration.pieces.size() && registration.pieces[piece].kind == PieceKind::kStaged;
  return staged && size > 0 && size <= kStagingWindow &&
                 offset <= registration.pieces[piece].size &&
                 size <= registration.pieces[piece].size - offset
             ? Status()
             : fail(ErrorCode::kInvalidParameter, "these bytes cannot be read through the window");
}

// Pieces that there are not have no kind.
Status check_kinds(const InstanceRegistration& registration, const OwnerPieces& pieces,
                   std::span<const Descriptor> descriptors) {
  ForeignFiles files;
  for (std::size_t i = 0; i < descriptors.size(); ++i) {
    const std::uint64_t piece = pieces.first + i;
    if (piece < registration.pieces.size()) {
      ASSAY_TRY(files.check(descriptors[i], registration.pieces[piece]));
    }
  }
  return {};
}

}  // namespace

LiveOwner::LiveOwner(Setup setup, std::shared_ptr<FrameChannel> channel, const Clock& clock)
    : setup_(std::move(setup)),
      channel_(std::move(channel)),
      clock_(clock),
      next_request_(setup_.first_request) {}

// Waits for the answer to the request that was sent.
Result<LiveOwner::Request> LiveOwner::answer(Lock& lock) {
  const bool in_time = changed_.wait_until(lock, Steady::now() + setup_.answer_within,
                                           [this] { return request_->done || is_over(); });
  if (!request_->done) {
    request_->abandoned = true;
    request_->descriptors.clear();
    return in_time ? cancelled() : unreadable("the owner did not answer in time");
  }
  Request request = *std::move(request_);
  request_.reset();
  if (request.error) {
    return std::unexpected(*std::move(request.error));
  }
  return request;
}

template <typename Message, typename Use>
Status LiveOwner::ask(Request request, const Message& message, const Use& use) {
  Lock lock(mutex_);
  if (!changed_.wait_until(lock, Steady::now() + setup_.answer_within,
                           [this] { return (!busy_ && !request_) || is_over(); })) {
    return unreadable("the owner still owes the answer to an earlier request");
  }
  if (is_over()) {
    return cancelled();
  }
  request.number = next_request_++;
  const AgentMessage frame = message(request.number);
  request_ = std::move(request);
  if (!channel_->send(as_bytes(write_agent_message(frame)))) {
    request_.reset();
    return cancelled();
  }
  busy_ = true;
  Result<Request> answered = answer(lock);
  lock.unlock();
  Status status = answered ? use(*answered) : Status(std::unexpected(answered.error()));
  lock.lock();
  busy_ = false;
  changed_.notify_all();
  return status;
}

Result<std::vector<Descriptor>> LiveOwner::export_pieces(std::span<const std::uint64_t> pieces) {
  ASSAY_TRY(check_export(*setup_.registration, pieces));
  const std::vector<std::uint64_t> wanted(pieces.begin(), pieces.end());
  std::vector<Descriptor> descriptors;
  ASSAY_TRY(ask(
      {true, wanted}, [&wanted](std::uint64_t number) { return AgentExport{number, wanted}; },
      [&descriptors](Request& answered) {
        descriptors = std::move(answered.descriptors);
        return Status();
      }));
  return descriptors;
}

Status LiveOwner::stage(std::uint64_t piece, std::uint64_t offset, std::uint64_t size,
                        const std::function<Status()>& use) {
  ASSAY_TRY(check_read(*setup_.registration, piece, offset, size));
  return ask(
      {false, {piece}},
      [&](std::uint64_t number) { return AgentRead{number, piece, offset, size}; },
      [&use](const Request&) { return use(); });
}

void LiveOwner::begin_check() {
  const Lock lock(mutex_);
  if (verify_) {
    answering_ = std::exchange(verify_, std::nullopt);
  }
}

void LiveOwner::tell(InstanceState state, std::span<const Finding> findings) {
  std::vector<Finding> shown(
      findings.begin(),
      findings.begin() + static_cast<std::ptrdiff_t>(std::min(findings.size(), kMaxFrameFindings)));
  const Lock lock(mutex_);
  if (is_over()) {
    return;
  }
  if (state == InstanceState::kVerified || state == InstanceState::kViolated) {
    checked_at_ = clock_.now();
  }
  std::pair told{state, std::move(shown)};
  if (!answering_ && told_ == told) {
    return;
  }
  told_ = std::move(told);
  const std::uint64_t request = std::exchange(answering_, std::nullopt).value_or(0);
  // A failure ends the connection, which its own thread sees.
  (void)channel_->send(
      as_bytes(write_agent_message(AgentState{request, state, checked_at_, told_->second})));
}

std::shared_ptr<Owner> LiveOwner::hand_out(const std::shared_ptr<LiveOwner>& owner) {
  {
    const Lock lock(owner->mutex_);
    owner->handed_out_ = true;
  }
  return {owner.get(), [owner](Owner*) {
            {
              const Lock lock(owner->mutex_);
              owner->handed_out_ = false;
            }
            owner->changed_.notify_all();
          }};
}

bool LiveOwner::wait_for_others(Steady::time_point deadline) {
  Lock lock(mutex_);
  return changed_.wait_until(lock, deadline, [this] { return !handed_out_; });
}

bool LiveOwner::awaits(std::uint64_t number, bool is_export) const {
  return request_ && !request_->done && request_->number == number &&
         request_->is_export == is_export;
}

bool LiveOwner::expects_descriptors() {
  const Lock lock(mutex_);
  return request_ && request_->is_export && !request_->done;
}

// The request has its whole answer. One that nobody waits for any more makes room for the next.
void LiveOwner::complete(std::optional<Error> error) {
  request_->error = std::move(error);
  request_->done = true;
  if (request_->abandoned) {
    request_.reset();
  }
  changed_.notify_all();
}

Status LiveOwner::take(const OwnerPieces& pieces, std::vector<Descriptor>& descriptors) {
  const Status kinds = check_kinds(*setup_.registration, pieces, descriptors);
  const Lock lock(mutex_);
  if (!awaits(pieces.request, true)) {
    return not_asked();
  }
  for (std::uint64_t i = 0; i < pieces.count; ++i) {
    const std::size_t next = request_->seen;
    if (next >= request_->pieces.size() || request_->pieces[next] != pieces.first + i) {
      complete(Error{ErrorCode::kFileUnreadable, "the owner sent other pieces than asked for", {}});
      return not_asked();
    }
    if (!kinds) {
      complete(kinds.error());
      return kinds;
    }
    if (!request_->abandoned) {
      request_->descriptors.push_back(std::move(descriptors[i]));
    }
    ++request_->seen;
  }
  if (request_->seen == request_->pieces.size()) {
    complete({});
  }
  return {};
}

Status LiveOwner::take(const OwnerCopied& copied) {
  const Lock lock(mutex_);
  if (!awaits(copied.request, false)) {
    return not_asked();
  }
  complete({});
  return {};
}

Status LiveOwner::take(const OwnerFailed& failed) {
  const Lock lock(mutex_);
  if (!awaits(failed.request, true) && !awaits(failed.request, false)) {
    return not_asked();
  }
  complete(Error{ErrorCode::kFileUnreadable, "the owner says: " + failed.detail, {}});
  return {};
}

Status LiveOwner::take(const OwnerVerify& verify) {
  const Lock lock(mutex_);
  if (verify_ || answering_) {
    return fail(ErrorCode::kConflict, "the verify before is not answered yet");
  }
  verify_ = verify.request;
  return {};
}

// A yield that nobody answered in its time is over.
Status LiveOwner::take(const OwnerYield& yield) {
  const Steady::time_point now = Steady::now();
  const Lock lock(mutex_);
  if (yield_ && now < yield_->until) {
    return fail(ErrorCode::kConflict, "the yield before is not answered yet");
  }
  if (now - second_ >= std::chrono::seconds(1)) {
    second_ = now;
    yields_ = 0;
  }
  if (++yields_ > kYieldsASecond) {
    return fail(ErrorCode::kLimitExceeded, "there are more than 200 frames yield in a second");
  }
  yield_ = Yield{yield.request, now + yield.max};
  return {};
}

void LiveOwner::yielded(std::uint64_t slices, std::chrono::milliseconds next) {
  const Lock lock(mutex_);
  if (is_over() || !yield_) {
    return;
  }
  const std::uint64_t request = std::exchange(yield_, std::nullopt)->request;
  // A failure ends the connection, which its own thread sees.
  (void)channel_->send(as_bytes(write_agent_message(AgentYielded{request, slices, next})));
}

LiveOwner::Rest LiveOwner::end() {
  (void)ended_.request_stop();
  const Lock lock(mutex_);
  changed_.notify_all();
  return {next_request_, request_ && !request_->done ? request_->number : 0};
}

}  // namespace assay::worker
