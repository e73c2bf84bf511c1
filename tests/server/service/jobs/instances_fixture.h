// SPDX-License-Identifier: Apache-2.0
// A node with a model that processes hold in memory, for tests of what jobs, heartbeats and
// decisions make of it.
#pragma once

#include "attestation/dsse.h"
#include "server/service/decisions/decide.h"
#include "server/service/governance/policies.h"
#include "server/service/nodes/heartbeat.h"
#include "tests/server/service/node_fixture.h"

namespace assay::server::test {

using Codes = std::vector<Reason>;

inline constexpr const char* kPod = "uid-1";

class Instances : public NodeTest {
 protected:
  Instances() {
    enrol_ok(worker_);
    store_model(loaded_);
    put_policy(Json::object());
  }

  // Asks for what is in memory, with these members more.
  void put_policy(Json members) {
    members["scope"] = "device-memory";
    members["max_age_seconds"] = 3600;
    const Json document = {{"name", "loaded"},
                           {"version", ++policy_version_},
                           {"mode", "enforce"},
                           {"match", {{"resources", {"nvidia.com/gpu"}}}},
                           {"require",
                            {{{"id", "published"}, {"manifest", Json::object()}},
                             {{"id", "loaded"}, {"report", std::move(members)}}}}};
    const auto accepted = accept_policy(
        *services_, envelope(kPolicyPayloadType, canonical_json(document).value(), {&author_}),
        actor_);
    ASSERT_TRUE(accepted) << to_string(accepted.error());
    const auto applied = apply_policy_approval(
        *services_, PolicyApproval::Action::kActivate, accepted->row.id,
        policy_approval(accepted->row.id, policy_version_, policy_approver_), actor_);
    ASSERT_TRUE(applied) << to_string(applied.error());
  }

  // As admission keeps it.
  void put_pod(const std::string& uid, const std::string& name_space) {
    storage::PodRow row;
    row.cluster = "cluster-1";
    row.uid = row.name = uid;
    row.name_space = name_space;
    row.admitted_at = clock_.now();
    const auto put =
        store_->write([&](storage::Transaction& transaction) { return transaction.put_pod(row); });
    ASSERT_TRUE(put) << to_string(put.error());
  }

  JobLease lease_for(const JobInstance& instance) {
    new_job(loaded_, worker_.node, [&](JobRequest& request) {
      request.scope = JobScope::kDeviceMemory;
      request.instance = instance;
    });
    return lease(worker_);
  }

  VerificationReport memory_report(const JobLease& leased) {
    VerificationReport made = report(leased, loaded_);
    made.instance = leased.instance;
    made.memory.emplace();
    made.memory->in_place = 44'000;
    made.memory->devices = {"GPU-1"};
    made.memory->on_devices = 44'000;
    made.memory->registered = 44'000;
    made.memory->device_bytes = 88'000;
    made.memory->redrawn = 16;
    std::erase_if(made.entries,
                  [](const Entry& entry) { return std::holds_alternative<FileEntry>(entry); });
    made.bytes = 44'000;
    return made;
  }

  // The answer to a report of the pod's instance "main" that is changed in this way.
  Result<ReportAnswer> verify(const Change<VerificationReport>& change = {},
                              const std::string& pod = kPod) {
    const JobLease leased = lease_for({pod, "main"});
    job_ = leased.job;
    VerificationReport made = memory_report(leased);
    if (change) {
      change(made);
    }
    return send_report(worker_, leased, made);
  }

  Bytes beat_envelope(const Heartbeat& heartbeat, const Signer& key) {
    const Signer* const signers[] = {&key};
    return to_bytes(attestation::encode_envelope(
        attestation::sign_envelope(kHeartbeatPayloadType,
                                   as_bytes(canonical_json(to_json(heartbeat)).value()), signers)
            .value()));
  }
  Heartbeat heartbeat(InstanceState state, const std::string& pod = kPod) {
    Heartbeat made{worker_.node, services_->heartbeats.session(random_).value(), ++sequence_, {}};
    made.instances.push_back(
        {{pod, "main"}, loaded_.id, state, DocumentId(Digest(loaded_.id.root()))});
    return made;
  }
  Result<HeartbeatAnswer> beat(const Heartbeat& made) {
    return take_heartbeat(*services_, worker_.node, beat_envelope(made, *worker_.key),
                          worker_.principal);
  }
  void beat_ok(InstanceState state, const std::string& pod = kPod) {
    const auto answer = beat(heartbeat(state, pod));
    ASSERT_TRUE(answer) << to_string(answer.error());
    EXPECT_TRUE(answer->counts);
  }

  Codes reasons_for(const std::string& pod, bool is_pod = false) {
    DecisionRequest request{.point = DecisionPoint::kServe,
                            .models = {loaded_.id.text()},
                            .workload = {"inference", {}, {"nvidia.com/gpu"}, worker_.node},
                            .context = Json::object(),
                            .principal = "orchestrator"};
    request.pod_uid = pod;
    if (is_pod) {
      request.workload.pod = true;
      request.workload.mounts = {{.container = "server",
                                  .path = "/models",
                                  .volume = "models",
                                  .source = "persistentVolumeClaim",
                                  .location = kLocation,
                                  .read_only = true}};
      request.workload.images = {{"server", "registry.example/server:1", false}};
    }
    const auto answer = decide(*services_, request);
    EXPECT_TRUE(answer) << to_string(answer.error());
    const Decision& decision = answer->decision.value();
    EXPECT_TRUE(replay(*services_, decision.id).value().reproduced);
    EXPECT_EQ(decision.verdict.allowed, decision.verdict.reasons.empty());
    return decision.verdict.reasons;
  }
  Codes reasons() { return reasons_for(kPod); }

  std::uint64_t node_version() {
    return store_->snapshot().value()->node_version(worker_.node).value();
  }

  Model loaded_ = make_cut_model();  // two tensors in one file
  std::uint64_t policy_version_ = 0;
  std::uint64_t sequence_ = 0;
  std::string job_;
};

}  // namespace assay::server::test
