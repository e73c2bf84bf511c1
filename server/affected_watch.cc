// SPDX-License-Identifier: Apache-2.0
#include "server/affected_watch.h"

#include "server/service/impact/note_affected.h"

namespace assay::server {
namespace {

constexpr std::chrono::seconds kRetryAfter{5};

// Revocations so far.
Result<std::uint64_t> revocations(Services& services) {
  ASSAY_ASSIGN(const auto snapshot, services.store.snapshot());
  ASSAY_ASSIGN(const storage::Epochs epochs, snapshot->epochs());
  return epochs.trust.revocation;
}

}  // namespace

AffectedWatch::AffectedWatch(Services& services, Log& log) : services_(services), log_(log) {
  // Only what is revoked from now on: before the start the log has it already.
  if (const auto before = revocations(services)) {
    noted_ = *before;
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

AffectedWatch::~AffectedWatch() {
  thread_.request_stop();
  changed_.notify_all();
}

void AffectedWatch::wake() {
  {
    const std::scoped_lock lock(mutex_);
    due_ = true;
  }
  changed_.notify_all();
}

bool AffectedWatch::look() {
  const auto present = revocations(services_);
  if (!present) {
    log_.error("affected_pods", {{"error", to_string(present.error())}});
    return false;
  }
  if (noted_ == *present) {
    return true;
  }
  const auto count = note_affected(services_);
  if (!count) {
    log_.error("affected_pods", {{"error", to_string(count.error())}});
    return false;
  }
  noted_ = *present;
  if (*count > 0) {
    log_.warn("affected_pods", {{"count", *count}});
  }
  return true;
}

void AffectedWatch::run(const std::stop_token& stop) {
  bool failed = false;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      if (failed) {
        changed_.wait_for(lock, stop, kRetryAfter, [] { return false; });
      } else {
        changed_.wait(lock, stop, [this] { return due_; });
      }
      if (stop.stop_requested()) {
        return;
      }
      due_ = false;
    }
    failed = !look();
  }
}

}  // namespace assay::server
