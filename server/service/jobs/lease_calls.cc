// SPDX-License-Identifier: Apache-2.0
// What a worker does with a lease besides reporting: it gives the job up or back, and keeps it.
#include <algorithm>
#include <utility>

#include "server/service/job_bell.h"
#include "server/service/jobs/job_steps.h"
#include "server/service/jobs/jobs.h"

namespace assay::server {
namespace {

// A lease goes no further than the question that it waits for an answer to.
Timestamp last_end(const Pending& pending) {
  const Timestamp longest = pending.leased_at + kMaxLeaseTime;
  const bool asked = pending.answer && pending.answer->challenge;
  return asked ? std::min<Timestamp>(longest, pending.answer->challenge->expires_at) : longest;
}

}  // namespace

Status fail_job(Services& services, const LeaseCall& call, ErrorCode why, std::string_view cause) {
  if (why != ErrorCode::kLocationUnmapped && why != ErrorCode::kPodVolumeMissing &&
      why != ErrorCode::kInstanceMissing && why != ErrorCode::kDeviceFailed) {
    return fail(ErrorCode::kInvalidParameter, "a worker cannot end a job with this code", "code");
  }
  const Timestamp now = services.clock.now();
  std::string_view result;
  ASSAY_TRY(services.store.write([&](storage::Transaction& transaction) -> Status {
    result = {};
    ASSAY_ASSIGN(OwnJob own, still_own(transaction, call, now));
    if (why == ErrorCode::kDeviceFailed && can_lease(own.job)) {
      own.job.lease_expires_at = now;
      return transaction.put_job(own.job);
    }
    ASSAY_ASSIGN(const Pending pending, pending_from(own.job));
    Ending ending = lost_ending(own.job, pending, why, cause);
    result = ending.result;
    return finish(transaction, std::move(own.job), pending, std::move(ending), call.actor.name);
  }));
  if (result.empty()) {
    if (services.job_bell != nullptr) {
      services.job_bell->ring();
    }
    return {};
  }
  count(services, NodeEvent::kJob, result);
  return {};
}

Result<Timestamp> renew_lease(Services& services, const LeaseCall& call) {
  const Timestamp now = services.clock.now();
  Timestamp expires_at{};
  std::string node;
  ASSAY_TRY(services.store.write([&](storage::Transaction& transaction) -> Status {
    ASSAY_ASSIGN(OwnJob own, still_own(transaction, call, now));
    node = own.job.node;
    ASSAY_ASSIGN(const Pending pending, pending_from(own.job));
    expires_at = std::min<Timestamp>(now + services.nodes.lease_life, last_end(pending));
    if (expires_at <= now) {
      return fail(ErrorCode::kLeaseLost, "the lease has been renewed for too long");
    }
    own.job.lease_expires_at = expires_at;
    return transaction.put_job(own.job);
  }));
  services.last_seen.note(node, now);
  return expires_at;
}

}  // namespace assay::server
