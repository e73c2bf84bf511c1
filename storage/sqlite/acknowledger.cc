// SPDX-License-Identifier: Apache-2.0
#include "storage/sqlite/acknowledger.h"

#include <utility>

namespace assay::storage::sqlite {

void deliver(const WriteGroup& group, const Status& status, const LogState& state) {
  for (const auto& job : group) {
    Result<LogState> result = state;
    if (!job->outcome) {
      result = std::unexpected(job->outcome.error());
    } else if (!status) {
      result = std::unexpected(status.error());
    }
    {
      const std::lock_guard lock(job->mutex);
      job->result = std::move(result);
    }
    job->done.notify_one();
  }
}

Acknowledger::Acknowledger(std::unique_ptr<Anchor> anchor, LogState state, Believed believed,
                           std::chrono::milliseconds retry)
    : anchor_(std::move(anchor)),
      retry_(retry),
      newest_(state),
      newest_believed_(believed),
      anchored_believed_(std::move(believed)),
      anchored_(
          std::make_shared<const Anchored>(Anchored{std::move(state), anchored_believed_.number})),
      thread_([this] { run(); }) {}

Acknowledger::~Acknowledger() { stop(); }

void Acknowledger::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Acknowledger::take(WriteGroup group, const LogState& state, Believed believed) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back({std::move(group), state, std::move(believed)});
  }
  wake_.notify_one();
}

std::shared_ptr<const Acknowledger::Anchored> Acknowledger::anchored() const {
  const std::lock_guard lock(mutex_);
  return anchored_;
}

// What is waiting; none when the store closes, or when a failed anchor is to be tried again.
std::vector<Acknowledger::Sealed> Acknowledger::next() {
  std::unique_lock lock(mutex_);
  const auto ready = [&] { return !queue_.empty() || stopping_; };
  if (failing_) {
    wake_.wait_for(lock, retry_, ready);
  } else {
    wake_.wait(lock, ready);
  }
  return std::exchange(queue_, {});
}

void Acknowledger::run() {
  for (;;) {
    const std::vector<Sealed> sealed = next();
    if (!sealed.empty()) {
      newest_ = sealed.back().state;
      newest_believed_ = sealed.back().believed;
    }
    const Status saved = anchor(newest_, newest_believed_);
    failing_ = !saved;
    for (const Sealed& one : sealed) {
      deliver(one.group, saved, one.state);
    }
    const std::lock_guard lock(mutex_);
    if (stopping_ && queue_.empty()) {
      return;
    }
  }
}

Status Acknowledger::anchor(const LogState& state, const Believed& believed) {
  const bool same = state.note == anchored()->state.note &&
                    believed.governance == anchored_believed_.governance &&
                    believed.map.root() == anchored_believed_.map.root();
  if (anchor_ && !same) {
    ASSAY_TRY(anchor_->save(state.note, believed.governance->epochs(), believed.governance->head(),
                            believed.map_state()));
  }
  anchored_believed_ = believed;
  auto anchored = std::make_shared<const Anchored>(Anchored{state, believed.number});
  const std::lock_guard lock(mutex_);
  anchored_ = std::move(anchored);
  return {};
}

}  // namespace assay::storage::sqlite
