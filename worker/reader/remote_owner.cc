// SPDX-License-Identifier: Apache-2.0
#include "worker/reader/remote_owner.h"

#include <algorithm>
#include <utility>

#include "schemas/core/sha.h"
#include "worker/instances/match.h"

namespace assay::worker {
namespace {

std::unexpected<Error> over() {
  return fail(ErrorCode::kCancelled, "the node agent ended this check");
}

}  // namespace

Result<std::shared_ptr<RemoteOwner>> RemoteOwner::create(const wire::Start& start,
                                                         Descriptor window, Send send) {
  InstanceRegistration registration{.artifact = ArtifactId(sha256({})),
                                    .instance = {},
                                    .device = {},
                                    .pieces = {},
                                    .tensors = {}};
  for (const wire::Piece& piece : start.pieces) {
    registration.pieces.push_back({piece.size, piece.kind, {}});
    if (piece.kind == PieceKind::kStaged) {
      registration.window = kStagingWindow;
    }
  }
  for (const std::vector<wire::Part>& parts : start.tensors) {
    InstanceTensor& tensor = registration.tensors.emplace_back();
    for (const wire::Part& part : parts) {
      const bool inside = part.piece < start.pieces.size() &&
                          part.offset <= start.pieces[part.piece].size &&
                          part.size <= start.pieces[part.piece].size - part.offset;
      if (!inside) {
        return fail(ErrorCode::kInvalidParameter, "a part lies outside of its piece");
      }
      tensor.parts.push_back({part.piece, part.offset, part.size});
    }
    tensor.dtype = "U8";
    tensor.shape = {size_of(tensor)};
  }
  return std::shared_ptr<RemoteOwner>(
      new RemoteOwner(start.check, std::move(registration), std::move(window), std::move(send)));
}

Result<RemoteOwner::Answer> RemoteOwner::ask(const wire::FromReader& question) {
  {
    const std::scoped_lock lock(mutex_);
    if (ended_.stop_requested()) {
      return over();
    }
    waiting_ = true;
    answer_.reset();
  }
  send_(question);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return answer_ || ended_.stop_requested(); });
  waiting_ = false;
  if (!answer_) {
    return over();
  }
  Answer answer = *std::exchange(answer_, std::nullopt);
  if (std::optional<Error> error = wire::error_of(answer.problem)) {
    return std::unexpected(*std::move(error));
  }
  return answer;
}

Result<std::vector<Descriptor>> RemoteOwner::export_pieces(std::span<const std::uint64_t> pieces) {
  ASSAY_ASSIGN(Answer answer, ask(wire::Export{check_, {pieces.begin(), pieces.end()}}));
  return std::move(answer.descriptors);
}

Status RemoteOwner::stage(std::uint64_t piece, std::uint64_t offset, std::uint64_t size,
                          const std::function<Status()>& use) {
  ASSAY_TRY(ask(wire::Stage{check_, piece, offset, size}));
  const Status used = use();
  send_(wire::Taken{check_});
  return used;
}

void RemoteOwner::take(const wire::Problem& problem, std::vector<Descriptor> descriptors) {
  const std::scoped_lock lock(mutex_);
  if (waiting_) {
    answer_.emplace(problem, std::move(descriptors));
    changed_.notify_all();
  }
}

void RemoteOwner::end() {
  ended_.request_stop();
  const std::scoped_lock lock(mutex_);
  changed_.notify_all();
}

}  // namespace assay::worker
