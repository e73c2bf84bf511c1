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

Result<std::uint64_t> noted_before(Services& services) {
  ASSAY_ASSIGN(const auto snapshot, services.store.snapshot());
  return noted_revocations(*snapshot);
}

}  // namespace

AffectedWatch::AffectedWatch(Services& services, Log& log) : services_(services), log_(log) {
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
  const auto before = noted_ ? Result<std::uint64_t>(*noted_) : noted_before(services_);
  const auto present = before ? revocations(services_) : before;
  if (!present) {
    log_.error("affected_pods", {{"error", to_string(present.error())}});
    return false;
  }
  if (*before == *present) {
    noted_ = *present;
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
