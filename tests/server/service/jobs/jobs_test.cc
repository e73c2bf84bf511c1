// SPDX-License-Identifier: Apache-2.0
// Jobs up to the report: creation, leases, fencing, expiry, waiting; outlines.
#include <atomic>
#include <thread>

#include "server/service/held_clock.h"
#include "server/service/job_bell.h"
#include "tests/server/service/node_fixture.h"

namespace assay::server::test {
namespace {

class Jobs : public NodeTest {
 protected:
  Jobs() {
    enrol_ok(worker_);
    store_model(model_);
  }
  Result<LeaseAnswer> ask(const Worker& worker) {
    return lease_job(*services_, worker.node, worker.principal, {});
  }
  Result<Timestamp> renew(const JobLease& lease, const Worker& worker) {
    return renew_lease(*services_, {lease.job, lease.token, worker.principal});
  }
};

TEST_F(Jobs, NewJob_IsQueuedAndLogged) {
  const JobCreated made = new_job(model_, worker_.node);
  EXPECT_TRUE(made.created);
  const Json view = job_view(job_row(made.job.id));
  EXPECT_EQ(view["state"], "queued");
  EXPECT_EQ(view["model_name"], "acme/demo");
  EXPECT_EQ(view["location"], kLocation) << "the only one";
  EXPECT_EQ(view["pod"], Json());
  EXPECT_EQ(view["read_since"], Json());
  EXPECT_EQ(view["attempt"], 0);
  EXPECT_EQ(view["result"], Json());
  EXPECT_EQ(newest_records(1), (std::vector<std::string>{"job.created"}));
}

TEST_F(Jobs, LeaseEnds_AlsoWhenTheClockIsSetBack) {
  std::chrono::milliseconds steady{0};
  const HeldClock held(clock_, [&steady] { return steady; });
  Services services{*store_, *service_key_, held, random_, "example.com/log"};
  services.nodes = services_->nodes;
  new_job(model_, worker_.node);
  const auto first = lease_job(services, worker_.node, worker_.principal, {});
  ASSERT_TRUE(first && first->lease);
  clock_.advance(-std::chrono::hours(1));
  const LeaseCall call{first->lease->job, first->lease->token, worker_.principal};
  steady += std::chrono::seconds(30);
  EXPECT_TRUE(renew_lease(services, call));
  steady += std::chrono::seconds(61);
  EXPECT_EQ(refusal(renew_lease(services, call)), ErrorCode::kLeaseLost);
  const auto second = lease_job(services, worker_.node, worker_.principal, {});
  ASSERT_TRUE(second && second->lease) << "another worker may have it";
  EXPECT_EQ(second->lease->token, first->lease->token + 1);
}

TEST_F(Jobs, SameWishWhileQueued_IsTheSameJob) {
  const JobCreated first = new_job(model_, worker_.node);
  const JobCreated again = new_job(model_, worker_.node);
  EXPECT_FALSE(again.created);
  EXPECT_EQ(again.job.id, first.job.id);
  const auto elsewhere = [](JobRequest& request) { request.pod = JobPod{"uid-1", "pv-1"}; };
  EXPECT_TRUE(new_job(model_, worker_.node, elsewhere).created);
  ASSERT_TRUE(ask(worker_));
  EXPECT_TRUE(new_job(model_, worker_.node).created);
}

TEST_F(Jobs, Location_IsOneThatATrustedManifestOfThisVeryArtifactNames) {
  const auto create = [&](const std::string& location, std::optional<JobPod> pod = {}) {
    return create_job(*services_,
                      {model_.id, JobScope::kFiles, worker_.node, location, {}, std::move(pod)},
                      actor_);
  };
  EXPECT_TRUE(create(kLocation));
  for (const char* other :
       {"pvc://inference/models/sub", "pvc://inference/model", "hostpath:///data"}) {
    EXPECT_EQ(refusal(create(other)), ErrorCode::kReferenceUnbound) << other;
  }
  // A volume that a pod fills lies nowhere; its claims lie where manifests say.
  EXPECT_EQ(create("", JobPod{"uid-1", "cache"})->job.location, "");
  EXPECT_TRUE(create(kLocation, JobPod{"uid-1", "pv-1"}));
  EXPECT_EQ(refusal(create("pvc://a/b", JobPod{"uid-1", "pv-1"})), ErrorCode::kReferenceUnbound);
  // A second place, under another name.
  Manifest second = model_.manifest;
  second.name = "acme/demo-2";
  second.locations = {"hostpath:///data"};
  ASSERT_TRUE(accept_manifest(*services_, signed_manifest(second), actor_));
  EXPECT_EQ(create("hostpath:///data")->job.model_name, "acme/demo-2");
  EXPECT_EQ(create(kLocation)->job.model_name, "acme/demo");
  EXPECT_EQ(refusal(create("")), ErrorCode::kInvalidParameter) << "which of the two?";
  EXPECT_EQ(refusal(create("hostpath:///data", JobPod{"uid-1", "pv-1"})),
            ErrorCode::kInvalidParameter)
      << "nothing ties a volume of the pod to that place";
}

TEST_F(Jobs, OrderedJob_IsOneForAsLongAsItIsOpen) {
  const JobRequest request{model_.id, JobScope::kFiles, worker_.node, kLocation, {}, {}};
  const auto order = [&] {
    return order_job(*services_, services_->store, request, "kube").value();
  };
  const auto first = order();
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->created);
  EXPECT_EQ(first->job.created_by, "system");
  EXPECT_EQ(order()->job.id, first->job.id);
  const JobLease leased = lease(worker_);
  EXPECT_EQ(order()->job.id, first->job.id) << "under way";
  // The node cannot do it: it is not told so again and again.
  ASSERT_TRUE(fail_job(*services_, {leased.job, leased.token, worker_.principal},
                       ErrorCode::kLocationUnmapped));
  EXPECT_FALSE(order());
  clock_.advance(std::chrono::minutes(2));
  EXPECT_TRUE(order()->created);
}

TEST_F(Jobs, WorkerWhoseDeviceFailed_GivesTheJobBack_UntilItsLastAttempt) {
  const std::string id = new_job(model_, worker_.node).job.id;
  for (std::uint64_t attempt = 1; attempt <= kMaxAttempts; ++attempt) {
    const JobLease leased = lease(worker_);
    EXPECT_EQ(leased.job, id);
    EXPECT_EQ(leased.token, attempt);
    const LeaseCall call{leased.job, leased.token, worker_.principal};
    ASSERT_TRUE(fail_job(*services_, call, ErrorCode::kDeviceFailed));
    const Status again = fail_job(*services_, call, ErrorCode::kDeviceFailed);
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, ErrorCode::kLeaseLost);
  }
  const Json view = job_view(job_row(id));
  EXPECT_EQ(view["result"], "failed");
  EXPECT_EQ(view["detail"]["code"], "device-failed");
}

TEST_F(Jobs, WorkerWithoutTheLocation_EndsTheJob) {
  const std::string id = new_job(model_, worker_.node).job.id;
  const JobLease leased = lease(worker_);
  EXPECT_EQ(leased.location, kLocation);
  const auto give_up = [&](std::uint64_t token, const Worker& worker, ErrorCode why) {
    const Status status = fail_job(*services_, {leased.job, token, worker.principal}, why);
    return status ? std::nullopt : std::optional(status.error().code);
  };
  EXPECT_EQ(give_up(leased.token, worker_, ErrorCode::kSpotCheckFailed),
            ErrorCode::kInvalidParameter);
  EXPECT_EQ(give_up(leased.token + 1, worker_, ErrorCode::kLocationUnmapped),
            ErrorCode::kLeaseLost);
  EXPECT_EQ(give_up(leased.token, {worker_.node, other_.principal, nullptr},
                    ErrorCode::kLocationUnmapped),
            ErrorCode::kNodeTaken);
  EXPECT_EQ(give_up(leased.token, worker_, ErrorCode::kLocationUnmapped), std::nullopt);
  const Json view = job_view(job_row(id));
  EXPECT_EQ(view["state"], "done");
  EXPECT_EQ(view["result"], "failed");
  EXPECT_EQ(view["detail"]["code"], "location-unmapped");
  EXPECT_FALSE(view["detail"].contains("refused"));
  EXPECT_EQ(view["report"], Json());
  EXPECT_EQ(newest_records(1), (std::vector<std::string>{"job.finished"}));
}

TEST_F(Jobs, ModelWithoutTrustedManifest_IsNotFound) {
  const Model unknown = make_model({content(10, 9)});
  EXPECT_EQ(
      refusal(create_job(*services_, {unknown.id, JobScope::kFiles, worker_.node, {}, {}}, actor_)),
      ErrorCode::kNotFound);
  ASSERT_TRUE(apply_trust_change(
      *services_,
      trust_change(2, {RevokeKey{publisher_.record.id, "lost"}}, {&operator1_, &operator2_}),
      actor_));
  EXPECT_EQ(
      refusal(create_job(*services_, {model_.id, JobScope::kFiles, worker_.node, {}, {}}, actor_)),
      ErrorCode::kNotFound);
}

TEST_F(Jobs, UnknownNodeAndEntries_AreRefused) {
  const JobRequest good{model_.id, JobScope::kFiles, worker_.node, {}, {}};
  JobRequest request = good;
  request.node = "gpu-9";
  EXPECT_EQ(refusal(create_job(*services_, request, actor_)), ErrorCode::kNodeNotEnrolled);
  request = good;
  request.subset = {0, 2};
  EXPECT_EQ(refusal(create_job(*services_, request, actor_)), ErrorCode::kInvalidParameter);
  request.subset = {1, 1};
  EXPECT_EQ(refusal(create_job(*services_, request, actor_)), ErrorCode::kInvalidParameter);
  request.subset = {1};
  EXPECT_TRUE(create_job(*services_, request, actor_));
}

TEST_F(Jobs, NodeThatMayNotAct_GetsNoJob) {
  const JobRequest request{model_.id, JobScope::kFiles, worker_.node, {}, {}};
  new_job(model_, worker_.node);
  EXPECT_EQ(refusal(ask({"gpu-9", worker_.principal, nullptr})), ErrorCode::kNodeNotEnrolled);
  EXPECT_EQ(refusal(ask({worker_.node, other_.principal, nullptr})), ErrorCode::kNodeTaken);
  clock_.advance(std::chrono::hours(24));
  EXPECT_EQ(refusal(ask(worker_)), ErrorCode::kEnrolmentExpired);
  EXPECT_EQ(refusal(create_job(*services_, request, actor_)), ErrorCode::kEnrolmentExpired);
  revoke(worker_.node);
  EXPECT_EQ(refusal(ask(worker_)), ErrorCode::kNodeRevoked);
  EXPECT_EQ(refusal(create_job(*services_, request, actor_)), ErrorCode::kNodeRevoked);
}

TEST_F(Jobs, Lease_SaysWhatToDo) {
  const JobCreated made = new_job(model_, worker_.node);
  const JobLease leased = lease(worker_);
  EXPECT_EQ(leased.job, made.job.id);
  EXPECT_EQ(leased.artifact, model_.id);
  EXPECT_EQ(leased.token, 1U);
  EXPECT_EQ(leased.expires_at - clock_.now(), std::chrono::seconds(60));
  EXPECT_EQ(leased.lease_seconds, 60U);
  EXPECT_EQ(leased.challenge.purpose, ChallengePurpose::kReport);
  EXPECT_EQ(leased.challenge.job, made.job.id);
  EXPECT_EQ(job_view(job_row(made.job.id))["state"], "leased");
  EXPECT_FALSE(ask(worker_)->lease) << "nobody else gets it";
}

TEST_F(Jobs, ManyAsking_OneGetsTheJob) {
  new_job(model_, worker_.node);
  std::atomic<int> leased = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] { leased += ask(worker_).value().lease ? 1 : 0; });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(leased, 1);
}

TEST_F(Jobs, OldestJob_ComesFirst) {
  const std::string first = new_job(model_, worker_.node).job.id;
  const auto part = [](JobRequest& request) { request.subset = {1}; };
  const std::string second = new_job(model_, worker_.node, part).job.id;
  EXPECT_EQ(lease(worker_).job, first);
  const JobLease next = lease(worker_);
  EXPECT_EQ(next.job, second);
  EXPECT_EQ(next.subset, (std::vector<std::uint64_t>{1}));
}

TEST_F(Jobs, LeaseThatRanOut_ComesAgainWithANewTokenAndNonce) {
  new_job(model_, worker_.node);
  const JobLease first = lease(worker_);
  clock_.advance(std::chrono::seconds(60));
  const JobLease second = lease(worker_);
  EXPECT_EQ(second.job, first.job);
  EXPECT_EQ(second.token, 2U);
  EXPECT_NE(second.challenge.nonce, first.challenge.nonce);
  EXPECT_EQ(refusal(renew(first, worker_)), ErrorCode::kLeaseLost);
  EXPECT_TRUE(renew(second, worker_));
}

TEST_F(Jobs, Renewal_KeepsTheLease) {
  new_job(model_, worker_.node);
  const JobLease leased = lease(worker_);
  for (int i = 0; i < 5; ++i) {
    clock_.advance(std::chrono::seconds(50));
    const auto renewed = renew(leased, worker_);
    ASSERT_TRUE(renewed) << to_string(renewed.error());
    EXPECT_EQ(*renewed - clock_.now(), std::chrono::seconds(60));
  }
  EXPECT_FALSE(ask(worker_)->lease);
  EXPECT_EQ(refusal(renew(leased, {worker_.node, other_.principal, nullptr})),
            ErrorCode::kNodeTaken);
  clock_.advance(std::chrono::seconds(60));
  EXPECT_EQ(refusal(renew(leased, worker_)), ErrorCode::kLeaseLost) << "it is over";
}

TEST_F(Jobs, Renewal_EndsAfterSixHours) {
  services_->nodes.lease_life = std::chrono::hours(2);
  new_job(model_, worker_.node);
  const JobLease leased = lease(worker_);
  clock_.advance(std::chrono::minutes(110));
  ASSERT_TRUE(renew(leased, worker_));
  clock_.advance(std::chrono::minutes(110));
  ASSERT_TRUE(renew(leased, worker_));
  clock_.advance(std::chrono::minutes(110));
  EXPECT_EQ(renew(leased, worker_).value() - clock_.now(), std::chrono::minutes(30));
  clock_.advance(std::chrono::minutes(30));
  EXPECT_EQ(refusal(renew(leased, worker_)), ErrorCode::kLeaseLost);
}

TEST_F(Jobs, FiveLostLeases_AreAFailedJob) {
  const std::string id = new_job(model_, worker_.node).job.id;
  for (std::uint64_t attempt = 1; attempt <= kMaxAttempts; ++attempt) {
    EXPECT_EQ(lease(worker_).token, attempt);
    clock_.advance(std::chrono::seconds(60));
  }
  EXPECT_FALSE(ask(worker_)->lease);
  const Json view = job_view(job_row(id));
  EXPECT_EQ(view["state"], "done");
  EXPECT_EQ(view["result"], "failed");
  EXPECT_EQ(view["detail"]["code"], "lease-lost");
  EXPECT_EQ(view["report"], Json());
  EXPECT_EQ(newest_records(1), (std::vector<std::string>{"job.finished"}));
}

TEST_F(Jobs, UnknownJob_IsNotFound) {
  EXPECT_EQ(refusal(renew_lease(*services_, {"no such job", 1, worker_.principal})),
            ErrorCode::kNotFound);
}

// --- waiting

TEST_F(Jobs, WithoutABell_NobodyWaits) {
  const auto answer =
      lease_job(*services_, worker_.node, worker_.principal, std::chrono::seconds(25));
  ASSERT_TRUE(answer);
  EXPECT_FALSE(answer->lease);
}

TEST_F(Jobs, NewJob_WakesWhoWaitsAndGoesToWhoAsks) {
  JobBell bell(1);
  services_->job_bell = &bell;
  std::optional<LeaseAnswer> answer;
  std::thread waiting([&] {
    answer =
        lease_job(*services_, worker_.node, worker_.principal, std::chrono::seconds(25)).value();
  });
  const std::string id = new_job(model_, worker_.node).job.id;
  waiting.join();
  // It asked before or after the job was made.
  EXPECT_EQ(answer->next, answer->lease ? LeaseAnswer::Next::kWork : LeaseAnswer::Next::kAskNow);
  if (!answer->lease) {
    EXPECT_EQ(job_row(id).token, 0U) << "whoever waited may be gone";
    EXPECT_TRUE(ask(worker_)->lease);
  }
  EXPECT_EQ(job_row(id).token, 1U);
}

TEST(JobBell, Stop_WakesEveryone) {
  JobBell bell(1);
  std::thread waiting(
      [&] { EXPECT_EQ(bell.wait(0, std::chrono::hours(1), "node-1"), JobBell::Woken::kAway); });
  bell.stop();
  waiting.join();
  EXPECT_EQ(bell.wait(0, std::chrono::hours(1), "node-1"), JobBell::Woken::kAway);
}

TEST(JobBell, TheNewestWaitsForANode) {
  JobBell bell(1);
  std::thread dead(
      [&] { EXPECT_EQ(bell.wait(0, std::chrono::hours(1), "node-1"), JobBell::Woken::kAway); });
  // Takes the place of the other one, before or after that began to wait, or is replaced by it.
  std::thread heir([&] {
    auto woken = JobBell::Woken::kAway;
    while (woken == JobBell::Woken::kAway && bell.rings() == 0) {
      woken = bell.wait(0, std::chrono::hours(1), "node-1");
    }
    EXPECT_EQ(woken, JobBell::Woken::kRang);
  });
  dead.join();
  EXPECT_EQ(bell.wait(0, std::chrono::hours(1), "node-2"), JobBell::Woken::kAway) << "no room";
  bell.ring();
  heir.join();
}

TEST(JobBell, NoRoom_IsSaidAtOnce) {
  JobBell bell(0);
  EXPECT_EQ(bell.wait(0, std::chrono::hours(1), "node-1"), JobBell::Woken::kAway);
  bell.ring();
  EXPECT_EQ(bell.wait(0, std::chrono::hours(1), "node-1"), JobBell::Woken::kRang)
      << "it rang before";
  EXPECT_EQ(JobBell(1).wait(0, std::chrono::milliseconds(1), "node-1"), JobBell::Woken::kTimeout);
}

// --- outlines

TEST_F(Jobs, Outline_IsStoredOnce) {
  const Bytes blob = encode_outline(model_.outline, model_.manifest.artifact).value();
  const auto again = accept_outline(*services_, model_.id, blob, actor_);
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_FALSE(again->created);
  EXPECT_EQ(again->span, kSpan);
  const Outline coarse{65'536,
                       {{std::get<FileEntry>(model_.manifest.artifact.entries[0]).root},
                        {std::get<FileEntry>(model_.manifest.artifact.entries[1]).root}}};
  EXPECT_EQ(
      refusal(accept_outline(*services_, model_.id,
                             encode_outline(coarse, model_.manifest.artifact).value(), actor_)),
      ErrorCode::kConflict);
}

TEST_F(Jobs, OutlineTooCoarseForSpotChecks_IsRefused) {
  // Anybody can make this one: its digests stand in the manifest.
  const Model other = make_model({content(9'000, 3)});
  store_model(other, false);
  const auto put = [&](std::uint64_t span) {
    const Outline coarse{span, {{std::get<FileEntry>(other.manifest.artifact.entries[0]).root}}};
    return accept_outline(*services_, other.id,
                          encode_outline(coarse, other.manifest.artifact).value(), actor_);
  };
  EXPECT_EQ(refusal(put(kMaxOutlineSpan)), ErrorCode::kInvalidParameter);
  EXPECT_EQ(refusal(put(2 * kMaxStoredSpan)), ErrorCode::kInvalidParameter);
  EXPECT_TRUE(put(kMaxStoredSpan)->created);
}

TEST_F(Jobs, OutlineOfSomethingElse_IsRefused) {
  const Model other = make_model({content(9'000, 3)});
  const Bytes blob = encode_outline(other.outline, other.manifest.artifact).value();
  EXPECT_EQ(refusal(accept_outline(*services_, other.id, blob, actor_)), ErrorCode::kNotFound);
  store_model(other, false);
  Bytes changed = blob;
  changed.back() ^= 1;
  EXPECT_EQ(refusal(accept_outline(*services_, other.id, changed, actor_)),
            ErrorCode::kMalformedOutline);
  EXPECT_EQ(refusal(accept_outline(*services_, model_.id, blob, actor_)),
            ErrorCode::kMalformedOutline);
  EXPECT_TRUE(accept_outline(*services_, other.id, blob, actor_)->created);
  EXPECT_EQ(newest_records(1), (std::vector<std::string>{"outline.accepted"}));
}

}  // namespace
}  // namespace assay::server::test
