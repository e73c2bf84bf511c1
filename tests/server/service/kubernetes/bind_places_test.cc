// SPDX-License-Identifier: Apache-2.0
// What the node read is what the pod mounts: locations, volumes behind claims, a pod's own mounts.
#include "schemas/job.h"
#include "server/service/references/resolve.h"
#include "tests/server/service/bind_fixture.h"

namespace assay::server::test {
namespace {

class BindPlaces : public BindTest {
 protected:
  std::string message(const Json& response) {
    return response.contains("status") ? response["status"].value("message", "") : "";
  }
  void expect_refused(const Json& response, const std::string& code) {
    EXPECT_EQ(response["allowed"], false) << response.dump();
    EXPECT_NE(message(response).find(code), std::string::npos) << message(response);
  }
  // A node that read the model, but elsewhere or from another volume.
  void put_report(const std::string& node, const std::string& location, const std::string& volume,
                  const std::optional<JobPod>& pod = {}) {
    storage::JobRow row = report_row(id_of(model_), node);
    row.location = location;
    row.volume = volume;
    row.pod = pod ? pod->uid : "";
    row.pod_volume = pod ? pod->volume : "";
    put(row);
  }
  std::size_t open_jobs(const std::string& node) {
    storage::JobQuery query;
    query.node = node;
    query.finished = false;
    return store_->snapshot().value()->jobs(query).value().size();
  }
};

TEST_F(BindPlaces, NodeThatReadWhatThePodMounts_IsAllowed) {
  const Json response = create_and_bind();
  EXPECT_EQ(response["allowed"], true) << response.dump();
  EXPECT_EQ(open_jobs("gpu-1"), 0U);
}

// Case 3 of "close the chain": the job hashed another directory than the pod mounts.
TEST_F(BindPlaces, NodeThatReadAnotherPlace_IsRefusedAndToldToReadThisOne) {
  put(node_row("gpu-2"));
  put_report("gpu-2", "hostpath:///data", "");
  put_report("gpu-2", "pvc://inference/good/sub", "pv-1");
  put_report("gpu-2", "pvc://inference/goo", "pv-1");
  expect_refused(create_and_bind("gpu-2"), "report-missing");
  EXPECT_EQ(open_jobs("gpu-2"), 1U);
  const Json again = ask(binding_review("uid-1", "gpu-2"));
  EXPECT_NE(message(again).find("was ordered on pvc://inference/good"), std::string::npos)
      << message(again);
  EXPECT_EQ(open_jobs("gpu-2"), 1U) << "once is enough";
  put_report("gpu-2", "pvc://inference/good", "pv-1");
  EXPECT_EQ(ask(binding_review("uid-1", "gpu-2"))["allowed"], true);
}

TEST_F(BindPlaces, MismatchElsewhere_DoesNotStopThePod) {
  storage::JobRow row = report_row(id_of(model_));
  row.location = "hostpath:///data";
  row.volume.clear();
  row.result = "mismatch";
  put(row);
  EXPECT_EQ(create_and_bind()["allowed"], true);
}

// A claim that is deleted and made again has another volume.
TEST_F(BindPlaces, AnotherVolumeBehindTheClaim_IsRefused) {
  put_claim("good", "pv-2");
  expect_refused(create_and_bind(), "volume-changed");
  EXPECT_EQ(open_jobs("gpu-1"), 1U);
  put_report("gpu-1", "pvc://inference/good", "");
  expect_refused(ask(binding_review("uid-1")), "volume-changed");
  put_report("gpu-1", "pvc://inference/good", "pv-2");
  EXPECT_EQ(ask(binding_review("uid-1"))["allowed"], true);
  put_claim("good", "");
  expect_refused(ask(binding_review("uid-1")), "claim-unknown");
  put_claim("good", "pv-2");
  EXPECT_EQ(ask(binding_review("uid-1"))["allowed"], true);
}

// The kubelet keeps volumes of a pod and persistent volumes in directories of one kind.
TEST_F(BindPlaces, VolumeOfThePodWithTheNameOfThePersistentVolume_MayBeTheOneThatWasRead) {
  Json policy = bind_policy();
  policy["other_volumes"] = {"nfs"};
  policy["version"] = 2;
  put_policy(policy);
  for (const char* name : {"pv-2", "pv-1"}) {
    Json pod = pod_review(std::string("uid of ") + name, "acme/demo");
    Json& spec = pod["request"]["object"]["spec"];
    spec["volumes"].push_back({{"name", name}, {"nfs", {{"server", "evil"}, {"path", "/x"}}}});
    spec["containers"][0]["volumeMounts"].push_back(
        {{"name", name}, {"mountPath", "/data"}, {"readOnly", true}});
    EXPECT_EQ(ask(pod)["allowed"], true);
  }
  EXPECT_EQ(ask(binding_review("uid of pv-2"))["allowed"], true) << "the honest neighbour";
  expect_refused(ask(binding_review("uid of pv-1")), "report-missing");
}

// The node's agent says of its directory that it is another volume, as often as it is asked.
TEST_F(BindPlaces, JobThatReadAnotherVolume_IsNotOrderedAgainAtOnce) {
  put_claim("good", "pv-2");
  clock_.advance(std::chrono::seconds(1));
  const auto tried = [&] {
    expect_refused(ask(binding_review("uid-1")), "volume-changed");
    const std::size_t open = open_jobs("gpu-1");
    storage::JobQuery query;
    query.node = "gpu-1";
    query.finished = false;
    const auto jobs = store_->snapshot().value()->jobs(query).value();
    for (const storage::JobRow& job : jobs) {
      storage::JobRow done = report_row(id_of(model_));  // ends with the old volume
      done.id = job.id;
      done.created_at = job.created_at;
      done.created_by = job.created_by;
      done.log_index = job.log_index;
      put(done);
    }
    return open;
  };
  expect_refused(create_and_bind(), "volume-changed");
  EXPECT_EQ(tried(), 1U);
  for (int i = 0; i < 5; ++i) {
    clock_.advance(std::chrono::seconds(90));
    EXPECT_EQ(tried(), 0U) << i;
  }
  put_claim("good", "pv-3");
  clock_.advance(std::chrono::seconds(1));
  EXPECT_EQ(tried(), 1U) << "the claim changed";
  EXPECT_EQ(tried(), 0U);
  clock_.advance(std::chrono::minutes(10));
  EXPECT_EQ(tried(), 1U) << "the pause is over";
}

// --- at serve

class AtServe : public BindPlaces {
 protected:
  AtServe() {
    Json policy = bind_policy();
    policy["version"] = 2;
    policy["require"].push_back(
        {{"id", "mounted"}, {"report", {{"at", "serve"}, {"max_age_seconds", 600}}}});
    put_policy(policy);
    const Json response = create_and_bind();
    EXPECT_EQ(response["allowed"], true) << response.dump();
  }
  // As the route makes it of a pod's row.
  std::vector<Reason> reasons(const std::string& uid = "uid-1") {
    const storage::PodRow row = pod_row().value();
    DecisionRequest request{.point = DecisionPoint::kServe,
                            .models = references_in(reference_to(row.models)),
                            .workload = policy::workload_from_json(row.workload).value(),
                            .context = Json::object(),
                            .principal = "orchestrator"};
    request.workload.node = row.nodes.back();
    request.cluster = row.cluster;
    request.pod_uid = uid;
    const auto answer = decide(*services_, request);
    EXPECT_TRUE(answer) << to_string(answer.error());
    EXPECT_TRUE(answer->ordered.empty()) << "whoever asks at serve orders";
    return answer->decision->verdict.reasons;
  }
  using Codes = std::vector<Reason>;
};

TEST_F(AtServe, OnlyThatPodsOwnMountCounts) {
  EXPECT_EQ(reasons(), Codes{Reason::kReportMissing}) << "the node's directory is not the mount";
  put_report("gpu-1", "pvc://inference/good", "pv-1", JobPod{"uid-2", "pv-1"});
  EXPECT_EQ(reasons(), Codes{Reason::kReportMissing}) << "another pod";
  put_report("gpu-2", "pvc://inference/good", "pv-1", JobPod{"uid-1", "pv-1"});
  EXPECT_EQ(reasons(), Codes{Reason::kReportMissing}) << "another node";
  put_report("gpu-1", "hostpath:///data", "", JobPod{"uid-1", "data"});
  EXPECT_EQ(reasons(), Codes{Reason::kReportMissing}) << "another location";
  put_report("gpu-1", "pvc://inference/good", "pv-2", JobPod{"uid-1", "pv-2"});
  EXPECT_EQ(reasons(), Codes{Reason::kVolumeChanged}) << "another volume";
  put_report("gpu-1", "pvc://inference/good", "pv-1", JobPod{"uid-1", "pv-1"});
  EXPECT_EQ(reasons(), Codes{}) << "what is behind the claim counts";
}

TEST_F(AtServe, ReportOnThePodsMount_IsAllowedWhileItIsFresh) {
  put_report("gpu-1", "pvc://inference/good", "pv-1", JobPod{"uid-1", "pv-1"});
  EXPECT_EQ(reasons(), Codes{});
  EXPECT_EQ(reasons("uid-9"), Codes{Reason::kReportMissing});
  clock_.advance(std::chrono::seconds(601));
  EXPECT_EQ(reasons(), Codes{Reason::kReportStale});
}

}  // namespace
}  // namespace assay::server::test
