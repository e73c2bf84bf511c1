// SPDX-License-Identifier: Apache-2.0
// reference-bound: the pod mounts the model at a location whose signers the policy believes.
#include "policy/locations.h"

#include <gtest/gtest.h>

#include "policy/processes.h"
#include "schemas/core/sha.h"
#include "tests/policy/fixture.h"

namespace assay::policy::test {
namespace {

constexpr const char* kFiller = "sha256:1111";

// Published by alice, and nothing else.
PolicyDocument by(SignerRequirement signers) {
  return policy_with({manifest_condition(std::move(signers))});
}

ManifestFact at(std::uint64_t number, std::string_view name, std::vector<TrustedKey> keys,
                std::string_view location) {
  ManifestFact fact = manifest(number, name, std::move(keys));
  fact.locations = {std::string(location)};
  return fact;
}

Facts facts_of(std::vector<ManifestFact> manifests, std::string_view name = "acme/demo") {
  Facts facts;
  facts.artifact = artifact();
  facts.name = name;
  facts.manifests = std::move(manifests);
  return facts;
}

Facts good_facts() {
  return facts_of({at(1, "acme/demo", {publisher("alice-1", "alice")}, "pvc://prod/good")});
}

Verdict judge_pod(const PolicyDocument& policy, const Workload& pod, std::vector<Facts> models,
                  DecisionPoint point = DecisionPoint::kCreate) {
  return evaluate(std::vector{active(policy)}, pod, models, {}, point, now());
}

ConditionResult bound(const PolicyDocument& policy, const Workload& pod, Facts facts,
                      DecisionPoint point = DecisionPoint::kCreate) {
  return implied(judge_pod(policy, pod, one(std::move(facts)), point), "reference-bound");
}

TEST(Bound, MountedLocationOfTheManifest_Passes) {
  const Verdict verdict = judge_pod(
      by({1, {"alice"}}), pod_with({mount_at("/m", "pvc://prod/good")}), one(good_facts()));
  EXPECT_TRUE(verdict.allowed) << to_json(verdict).dump(1);
  const ConditionResult result = implied(verdict, "reference-bound");
  EXPECT_EQ(result.outcome, Outcome::kPass);
  EXPECT_EQ(result.actual["bound"], Json::array({"pvc://prod/good"}));
  EXPECT_EQ(result.evidence, std::vector{statement_id(1).text()});
  EXPECT_EQ(verdict.policies.at(0).model, artifact().text());
}

// A claim that moved needs no new manifest, but somebody whom the policy believes.
TEST(Bound, MountedLocationOfAPlacement_CountsLikeThatOfAManifest) {
  const auto moved = [](const TrustedKey& key, std::string_view name) {
    Facts facts = good_facts();
    const ManifestFact placed = manifest(2, name, {key});
    facts.placements = {{placed.statement, placed.name, {"pvc://prod/moved"}}};
    return bound(by({1, {"alice"}}), pod_with({mount_at("/m", "pvc://prod/moved")}),
                 std::move(facts))
        .outcome;
  };
  EXPECT_EQ(moved(publisher("alice-1", "alice"), "acme/demo"), Outcome::kPass);
  EXPECT_EQ(moved(publisher("alice-1", "alice"), "acme/other"), Outcome::kFail);
  EXPECT_EQ(moved(publisher("bob-1", "bob"), "acme/demo"), Outcome::kFail);
  EXPECT_EQ(moved(revoked(publisher("alice-1", "alice"), now()), "acme/demo"), Outcome::kFail);
}

TEST(Bound, OnlyEqualLocationsCount) {
  for (const char* place : {"pvc://prod", "pvc://prod/goo", "pvc://prod/goods", "pvc://prod/good/x",
                            "pvc://other/good", "hostpath:///data/evil", ""}) {
    const Verdict verdict = judge_pod(by({}), pod_with({mount_at("/m", place)}), one(good_facts()));
    EXPECT_FALSE(verdict.allowed) << place;
    EXPECT_EQ(implied(verdict, "reference-bound").code, Reason::kReferenceUnbound) << place;
    EXPECT_EQ(implied(verdict, "volumes").code, Reason::kVolumeUnaccounted) << place;
  }
}

TEST(Bound, NothingMounted_IsUnbound) {
  EXPECT_EQ(bound(by({}), pod_with({}), good_facts()).code, Reason::kReferenceUnbound);
}

// A config map or an empty directory with the right text beside it holds no model.
TEST(Bound, OtherKindsOfVolumes_BindNothing) {
  for (const VolumeKind kind : {VolumeKind::kConfig, VolumeKind::kScratch}) {
    Mount mount = mount_at("/m", "pvc://prod/good");
    mount.kind = kind;
    EXPECT_EQ(bound(by({}), pod_with({mount}), good_facts()).code, Reason::kReferenceUnbound);
  }
}

TEST(Bound, BlockDevice_BindsNothing) {
  Mount mount = mount_at("/m", "pvc://prod/good");
  mount.device = true;
  EXPECT_EQ(bound(by({}), pod_with({mount}), good_facts()).code, Reason::kReferenceUnbound);
}

TEST(Bound, LocationFromAPublisherThatThePolicyDoesNotList_DoesNotCount) {
  const Facts facts =
      facts_of({at(1, "acme/demo", {publisher("alice-1", "alice")}, "pvc://prod/good"),
                at(2, "acme/demo", {publisher("mallory-1", "mallory")}, "pvc://prod/evil")});
  const Workload pod = pod_with({mount_at("/m", "pvc://prod/evil")});
  EXPECT_EQ(bound(by({1, {"alice"}}), pod, facts).code, Reason::kReferenceUnbound);
  EXPECT_EQ(bound(by({1, {"alice", "mallory"}}), pod, facts).outcome, Outcome::kPass);
}

TEST(Bound, LocationUnderAnotherName_DoesNotCount) {
  const Facts facts =
      facts_of({at(1, "acme/demo", {publisher("alice-1", "alice")}, "pvc://prod/good"),
                at(2, "acme/other", {publisher("alice-1", "alice")}, "pvc://prod/other")});
  const Workload pod = pod_with({mount_at("/m", "pvc://prod/other")});
  EXPECT_EQ(bound(by({}), pod, facts).code, Reason::kReferenceUnbound);
  Facts nameless = facts;
  nameless.name.clear();
  EXPECT_EQ(bound(by({}), pod, nameless).outcome, Outcome::kPass);
}

TEST(Bound, OneOfTwoRequiredPublishers_AddsNoLocationAlone) {
  const TrustedKey alice = publisher("alice-1", "alice");
  const TrustedKey bob = publisher("bob-1", "bob");
  const PolicyDocument both = by({2, {"alice", "bob"}});
  const Facts facts = facts_of({at(1, "acme/demo", {alice, bob}, "pvc://prod/good"),
                                at(2, "acme/demo", {bob}, "pvc://prod/evil")});
  const Verdict attack = judge_pod(both, pod_with({mount_at("/m", "pvc://prod/evil")}), one(facts));
  EXPECT_EQ(attack.policies.at(0).conditions.at(0).outcome, Outcome::kPass) << "both signed";
  EXPECT_EQ(implied(attack, "reference-bound").code, Reason::kReferenceUnbound);
  EXPECT_TRUE(judge_pod(both, pod_with({mount_at("/m", "pvc://prod/good")}), one(facts)).allowed);
}

TEST(Bound, EveryManifestConditionCounts_ButNotThoseBelowANot) {
  const Facts facts = good_facts();
  const Workload pod = pod_with({mount_at("/m", "pvc://prod/good")});
  const Condition alice = condition("a", ManifestCondition{{1, {"alice"}}});
  const Condition bob = condition("b", ManifestCondition{{1, {"bob"}}});
  EXPECT_EQ(bound(policy_with({condition("any", AnyCondition{{alice, bob}})}), pod, facts).code,
            Reason::kReferenceUnbound);
  EXPECT_EQ(bound(policy_with({alice, condition("not", NotCondition{{bob}})}), pod, facts).outcome,
            Outcome::kPass);
  EXPECT_EQ(bound(policy_with({condition("not", NotCondition{{bob}})}), pod, facts).code,
            Reason::kReferenceUnbound);
}

TEST(Bound, PolicyWithoutManifestCondition_BelievesNoLocation) {
  const ConditionResult result = bound(policy_with({condition("size", ParametersCondition{})}),
                                       pod_with({mount_at("/m", "pvc://prod/good")}), good_facts());
  EXPECT_EQ(result.code, Reason::kReferenceUnbound);
  EXPECT_NE(result.expected.dump().find("manifest condition"), std::string::npos);
}

TEST(Bound, RevokedPublisher_BindsNothingAtEveryPoint) {
  const Facts facts = facts_of({at(
      1, "acme/demo", {revoked(publisher("alice-1", "alice"), from_now(-1))}, "pvc://prod/good")});
  Workload pod = pod_with({mount_at("/m", "pvc://prod/good")});
  pod.node = "gpu-1";
  for (const DecisionPoint point :
       {DecisionPoint::kCreate, DecisionPoint::kBind, DecisionPoint::kServe}) {
    EXPECT_EQ(bound(by({}), pod, facts, point).code, Reason::kReferenceUnbound);
    EXPECT_EQ(bound(by({}), pod, good_facts(), point).outcome, Outcome::kPass);
  }
}

TEST(Bound, SignatureFromTheFuture_IsUndecided) {
  Facts facts = good_facts();
  facts.manifests[0].statement.signers[0].signed_at = from_now(5);
  const Verdict verdict =
      judge_pod(by({}), pod_with({mount_at("/m", "pvc://prod/good")}), one(facts));
  EXPECT_FALSE(verdict.allowed);
  EXPECT_EQ(implied(verdict, "reference-bound").outcome, Outcome::kError);
  EXPECT_EQ(implied(verdict, "volumes").outcome, Outcome::kError);
}

// A manifest that names the artifact as another digest of its model says where its own bytes lie.
TEST(Bound, ManifestOfAnotherRoot_SpeaksOfItsOwnBytes) {
  Facts facts = good_facts();
  facts.manifests[0].parameters.hash = HashAlgorithm::kSha384;
  EXPECT_EQ(bound(by({}), pod_with({mount_at("/m", "pvc://prod/good")}), facts).code,
            Reason::kReferenceUnbound);
}

TEST(Bound, Within_AdmitsADirectoryInsideAndSaysSo) {
  PolicyDocument policy = by({});
  policy.mounts = MountRule::kWithin;
  const Verdict verdict =
      judge_pod(policy, pod_with({mount_at("/m", "pvc://prod/good/v1")}), one(good_facts()));
  EXPECT_TRUE(verdict.allowed) << to_json(verdict).dump(1);
  EXPECT_EQ(implied(verdict, "volumes").actual["within"], Json::array({"pvc://prod/good/v1"}));
  for (const char* place : {"pvc://prod/goods", "pvc://prod"}) {
    EXPECT_FALSE(judge_pod(policy, pod_with({mount_at("/m", place)}), one(good_facts())).allowed);
  }
}

// --- several models

Facts adapter_facts() {
  Facts facts = facts_of({at(7, "acme/lora", {publisher("alice-1", "alice")}, "pvc://prod/lora")},
                         "acme/lora");
  facts.artifact = ArtifactId(sha256(as_bytes("adapter")));
  return facts;
}

// ../../blobs of a mounted snapshot is whatever the pod has there.
TEST(Bound, Within_IsNotForAnArtifactWithLinks) {
  PolicyDocument policy = by({});
  policy.mounts = MountRule::kWithin;
  Facts facts = good_facts();
  facts.manifests[0].parameters.follow_symlinks = true;
  const auto allowed = [&](std::string_view place) {
    return judge_pod(policy,
                     pod_with({mount_at("/m/s", place),
                               scratch_at("server", "/blobs", "scratch", false)}),
                     one(facts))
        .allowed;
  };
  EXPECT_FALSE(allowed("pvc://prod/good/snapshots/1"));
  EXPECT_TRUE(allowed("pvc://prod/good"));
  facts.manifests[0].parameters.follow_symlinks = false;
  EXPECT_TRUE(allowed("pvc://prod/good/snapshots/1"));
}

// The artifact of a snapshot says nothing of links, but its directory in a cache has them.
TEST(Bound, Within_IsNotForARepositoryOfAHuggingFaceCache) {
  PolicyDocument policy = by({});
  policy.mounts = MountRule::kWithin;
  const auto allowed = [&](const std::string& location, const std::string& part) {
    Facts facts = facts_of({at(1, "acme/demo", {publisher("alice-1", "alice")}, location)});
    return judge_pod(policy,
                     pod_with({mount_at("/m/s", location + part),
                               scratch_at("server", "/blobs", "scratch", false)}),
                     one(facts))
        .allowed;
  };
  for (const std::string name : {"models--acme--good", "datasets--acme--good"}) {
    EXPECT_FALSE(allowed("pvc://prod/hub/" + name, "/snapshots/1")) << name;
    EXPECT_TRUE(allowed("pvc://prod/hub/" + name, "")) << name;
  }
  EXPECT_TRUE(allowed("pvc://prod/hub/good", "/snapshots/1"));
  EXPECT_TRUE(allowed("pvc://prod/hub", "/models--acme--good/snapshots/1"));
}

TEST(Bound, EveryModelIsJudged_AndAllMustPass) {
  const std::vector<Facts> models = {good_facts(), adapter_facts()};
  const Workload both =
      pod_with({mount_at("/m", "pvc://prod/good"), mount_at("/lora", "pvc://prod/lora")});
  const Verdict allowed = judge_pod(by({}), both, models);
  EXPECT_TRUE(allowed.allowed) << to_json(allowed).dump(1);
  ASSERT_EQ(allowed.policies.size(), 2U);
  EXPECT_EQ(allowed.policies[1].model, adapter_facts().artifact->text());
  EXPECT_EQ(allowed.policies[1].conditions.back().id, "reference-bound");
  const Verdict unbound = judge_pod(by({}), pod_with({mount_at("/m", "pvc://prod/good")}), models);
  EXPECT_EQ(unbound.reasons, std::vector{Reason::kReferenceUnbound});
  std::vector<Facts> unsigned_adapter = models;
  unsigned_adapter[1].manifests.clear();
  EXPECT_FALSE(judge_pod(by({}), both, unsigned_adapter).allowed);
}

TEST(Bound, ModelWithoutArtifactAmongOthers_Denies) {
  std::vector<Facts> models = {good_facts(), adapter_facts()};
  models[1].artifact.reset();
  const Verdict verdict = judge_pod(by({}), workload(), models);
  EXPECT_FALSE(verdict.allowed);
  EXPECT_EQ(verdict.reasons.front(), Reason::kModelReferenceMissing);
}

TEST(Bound, NoModelAtAll_Denies) {
  const Verdict verdict = judge_pod(by({}), workload(), {});
  EXPECT_EQ(verdict.reasons.front(), Reason::kModelReferenceMissing);
  EXPECT_EQ(verdict.policies.size(), 1U) << "the policy is explained all the same";
}

// Whoever asks without a pod is not asked for mounts.
TEST(Bound, WorkloadWithoutPod_IsNotJudgedByMounts) {
  const Verdict verdict = judge_pod(by({}), workload(), one(good_facts()));
  EXPECT_TRUE(verdict.allowed);
  EXPECT_EQ(verdict.policies.at(0).conditions.size(), 2U) << "its own, and ignore-accepted";
  for (const char* id : {"reference-bound", "volumes", "images"}) {
    EXPECT_EQ(implied(verdict, id).id, "") << id;
  }
}

// --- volumes that are filled at run time

Workload filled_pod(const char* image, bool server_writes = false) {
  Workload pod = pod_with({scratch_at("initializer", "/mnt/models", "model", false),
                           scratch_at("server", "/mnt/models", "model", !server_writes)});
  pod.images.push_back({"initializer", image, true});
  return pod;
}

TEST(FilledAtRun, ImageOfTheList_IsDeferredToServe) {
  PolicyDocument policy = by({});
  policy.fill_at_run = {kFiller};
  const Workload pod = filled_pod("kserve/storage-initializer:v1@sha256:1111");
  for (const DecisionPoint point : {DecisionPoint::kCreate, DecisionPoint::kBind}) {
    const Verdict verdict = judge_pod(policy, pod, one(good_facts()), point);
    EXPECT_TRUE(verdict.allowed);
    const ConditionResult result = implied(verdict, "reference-bound");
    EXPECT_EQ(result.outcome, Outcome::kDeferred);
    EXPECT_EQ(result.code, Reason::kConditionDeferred);
    EXPECT_EQ(result.actual["filled"], Json::array({"model"}));
  }
}

TEST(FilledAtRun, AtServeAReportHasToSayWhatIsThere) {
  PolicyDocument policy = by({});
  policy.fill_at_run = {kFiller};
  Workload pod = filled_pod("kserve/storage-initializer@sha256:1111");
  pod.node = "gpu-1";
  Facts facts = good_facts();
  facts.node = node_fact();
  facts.pod = "uid-1";
  facts.reports = {memory_report_fact("uid-1")};
  facts.instances = {{"main", "verified", from_now(-2)}};
  EXPECT_EQ(bound(policy, pod, facts, DecisionPoint::kServe).code, Reason::kReferenceUnbound);
  ReportCondition report;
  report.scope = "device-memory";
  policy.require.push_back(condition("resident", report));
  EXPECT_TRUE(judge_pod(policy, pod, one(facts), DecisionPoint::kServe).allowed);
  facts.reports.clear();
  EXPECT_FALSE(judge_pod(policy, pod, one(facts), DecisionPoint::kServe).allowed);
}

TEST(FilledAtRun, WithoutTheList_IsUnboundAndSaysWhy) {
  for (const char* image : {"kserve/storage-initializer@sha256:1111", "kserve/x:sha256:1111"}) {
    const ConditionResult result = bound(by({}), filled_pod(image), good_facts());
    EXPECT_EQ(result.code, Reason::kReferenceUnbound);
    EXPECT_NE(result.expected.dump().find("fill_at_run"), std::string::npos);
    EXPECT_EQ(result.actual["filled_by_others"], Json::array({"model"}));
  }
}

TEST(FilledAtRun, OnlyInitContainersWithThatDigest_Fill) {
  PolicyDocument policy = by({});
  policy.fill_at_run = {kFiller};
  for (const char* image : {"evil@sha256:2222", "evil:sha256:1111", "sha256:1111",
                            "evil@sha256:2222@sha256:1111", "evil@@sha256:1111"}) {
    EXPECT_EQ(bound(policy, filled_pod(image), good_facts()).code, Reason::kReferenceUnbound);
  }
  Workload sidecar = filled_pod("kserve/storage-initializer@sha256:1111");
  sidecar.images.back().init = false;
  EXPECT_EQ(bound(policy, sidecar, good_facts()).code, Reason::kReferenceUnbound);
  Workload alone = filled_pod("kserve/storage-initializer@sha256:1111");
  alone.mounts.pop_back();
  EXPECT_EQ(bound(policy, alone, good_facts()).code, Reason::kReferenceUnbound);
}

TEST(FilledAtRun, NothingIsMountedOverIt_AndOnlyItsFillerWrites) {
  PolicyDocument policy = by({});
  policy.fill_at_run = {kFiller};
  const char* image = "kserve/storage-initializer@sha256:1111";
  Workload covered = filled_pod(image);
  covered.mounts.push_back(config_at("/mnt/models/code"));
  EXPECT_EQ(implied(judge_pod(policy, covered, one(good_facts())), "volumes").code,
            Reason::kMountOverlaps);
  EXPECT_EQ(implied(judge_pod(policy, filled_pod(image, true), one(good_facts())), "volumes").code,
            Reason::kMountWritable);
}

// What a container has of a filled volume is what was verified: the whole, or a part of it from
// which no link leads out.
TEST(FilledAtRun, PartOfAFilledVolume_IsRefused) {
  PolicyDocument policy = by({});
  policy.fill_at_run = {kFiller};
  const auto judge = [&](std::optional<std::string> part, bool links) {
    Workload pod = filled_pod("kserve/storage-initializer@sha256:1111");
    pod.mounts.back().part = std::move(part);
    Facts facts = good_facts();
    facts.manifests.front().parameters.follow_symlinks = links;
    return implied(judge_pod(policy, pod, one(facts)), "volumes");
  };
  EXPECT_EQ(judge("", true).outcome, Outcome::kPass);
  EXPECT_EQ(judge("/snapshots/main", false).code, Reason::kVolumeUnaccounted);
  EXPECT_EQ(judge(std::nullopt, false).code, Reason::kVolumeUnaccounted);
  policy.mounts = MountRule::kWithin;
  EXPECT_EQ(judge("/snapshots/main", false).outcome, Outcome::kPass);
  EXPECT_EQ(judge("/snapshots/main", false).actual["within"],
            Json::array({"server:/mnt/models (emptyDir)/snapshots/main"}));
  EXPECT_EQ(judge("/snapshots/main", true).code, Reason::kVolumeUnaccounted);
  EXPECT_EQ(judge(std::nullopt, false).code, Reason::kVolumeUnaccounted);
}

// The filler may write where it likes: the report says what came of it.
TEST(FilledAtRun, FillerThatHasAPart_IsAllowed) {
  PolicyDocument policy = by({});
  policy.fill_at_run = {kFiller};
  Workload pod = filled_pod("kserve/storage-initializer@sha256:1111");
  pod.mounts.front().part = "/sub";
  EXPECT_TRUE(judge_pod(policy, pod, one(good_facts())).allowed);
}

// A directory of the node in which the kubelet has the volumes of pods.
TEST(FilledAtRun, WritingThroughTheNode_IsRefused) {
  PolicyDocument policy = by({});
  policy.fill_at_run = {kFiller};
  policy.other_volumes = {"*"};
  const auto judge = [&](const char* location, const char* source, bool read_only = false) {
    Workload pod = filled_pod("kserve/storage-initializer@sha256:1111");
    pod.mounts.push_back(mount_at("/h", location));
    pod.mounts.back().source = source;
    pod.mounts.back().read_only = pod.mounts.back().read_only_below = read_only;
    return implied(judge_pod(policy, pod, one(good_facts())), "volumes");
  };
  for (const char* place : {"hostpath:///var/lib/kubelet/pods", "hostpath:///var", ""}) {
    EXPECT_EQ(judge(place, "hostPath").code, Reason::kMountWritable) << place;
    EXPECT_EQ(judge(place, "hostPath", true).outcome, Outcome::kPass) << place;
  }
  EXPECT_EQ(judge("hostpath:///data/cache", "hostPath").outcome, Outcome::kPass);
  EXPECT_EQ(judge("", "ephemeral").outcome, Outcome::kPass);
}

// --- a base that is mounted, and adapters that are filled in

// What the worker found in a volume of the pod, about one model.
ReportFact found_in(const std::string& volume, const std::string& result = "verified") {
  ReportFact report = report_fact();
  report.job = volume + result;
  report.location.clear();
  report.volume.clear();
  report.pod = "uid-1";
  report.pod_volume = volume;
  report.result = result;
  return report;
}

class FilledBeside : public ::testing::Test {
 protected:
  FilledBeside() {
    policy_.fill_at_run = {kFiller};
    ReportCondition report;
    report.at_serve = true;
    policy_.require.push_back(condition("found", report));
    for (Facts& facts : models_) {
      facts.node = node_fact();
      facts.pod = "uid-1";
      facts.claims = {{"pvc://prod/good", "claim-1", "pv-1"}};
    }
    ReportFact mounted = found_in("m");
    mounted.location = "pvc://prod/good";
    mounted.volume = "pv-1";
    models_[0].reports = {mounted};
    pod_.mounts.push_back(mount_at("/base", "pvc://prod/good"));
    pod_.node = "gpu-1";
  }
  Verdict serve() { return judge_pod(policy_, pod_, models_, DecisionPoint::kServe); }
  void fill_another(const std::string& volume) {
    pod_.mounts.push_back(scratch_at("initializer", "/mnt/" + volume, volume, false));
    pod_.mounts.push_back(scratch_at("server", "/mnt/" + volume, volume, true));
  }

  PolicyDocument policy_ = by({});
  std::vector<Facts> models_ = {good_facts(), adapter_facts()};
  Workload pod_ = filled_pod("kserve/storage-initializer@sha256:1111");  // fills "model"
};

TEST_F(FilledBeside, MountedBaseAndFilledAdapter_AreAllowed) {
  models_[1].reports = {found_in("model")};
  EXPECT_TRUE(serve().allowed) << to_json(serve()).dump(1);
  // Whether the base is in there, too, is nobody's question: it has its place.
  models_[0].reports.push_back(found_in("model", "mismatch"));
  EXPECT_TRUE(serve().allowed);
}

TEST_F(FilledBeside, FilledWithNoneOfThem_IsRefused) {
  EXPECT_EQ(serve().reasons, std::vector{Reason::kReportMissing});
  models_[1].reports = {found_in("model", "mismatch")};
  EXPECT_EQ(serve().reasons, std::vector{Reason::kModelMismatch});
}

TEST_F(FilledBeside, BaseThatIsNotRight_IsRefused) {
  models_[1].reports = {found_in("model")};
  models_[0].reports[0].result = "mismatch";
  EXPECT_EQ(serve().reasons, std::vector{Reason::kModelMismatch});
  models_[0].reports = {found_in("model")};
  EXPECT_EQ(serve().reasons, std::vector{Reason::kReportMissing}) << "of its own location";
}

// The process reads whichever it likes.
TEST_F(FilledBeside, TwoVolumesAndOneAdapter_NeedItInBoth) {
  fill_another("evil");
  models_[1].reports = {found_in("model")};
  EXPECT_EQ(serve().reasons, std::vector{Reason::kReportMissing});
  // The base has its place, so that it accounts for no volume.
  models_[0].reports.push_back(found_in("evil"));
  EXPECT_FALSE(serve().allowed);
  models_[1].reports.push_back(found_in("evil"));
  EXPECT_TRUE(serve().allowed);
}

TEST_F(FilledBeside, TwoAdaptersInTwoVolumes_AreEachFoundOnce) {
  fill_another("second");
  Facts other = models_[1];
  other.artifact = ArtifactId(sha256(as_bytes("other adapter")));
  models_.push_back(other);
  models_[1].reports = {found_in("model"), found_in("second", "mismatch")};
  models_[2].reports = {found_in("second"), found_in("model", "mismatch")};
  EXPECT_TRUE(serve().allowed) << to_json(serve()).dump(1);
  // Both volumes hold one of them: the other is nowhere.
  models_[1].reports[1] = found_in("second");
  models_[2].reports[0] = found_in("second", "mismatch");
  EXPECT_EQ(serve().reasons, std::vector{Reason::kReportMissing});
  // A volume holds neither.
  models_[1].reports = {found_in("model"), found_in("second", "mismatch")};
  EXPECT_FALSE(serve().allowed);
}

TEST_F(FilledBeside, AllMountedAndOneFilledBeside_IsOneOfThem) {
  pod_.mounts.push_back(mount_at("/lora", "pvc://prod/lora"));
  models_[1].claims.push_back({"pvc://prod/lora", "claim-2", "pv-2"});
  ReportFact lora = found_in("l");
  lora.location = "pvc://prod/lora";
  lora.volume = "pv-2";
  models_[1].reports = {lora};
  EXPECT_EQ(serve().reasons, std::vector{Reason::kReportMissing});
  models_[1].reports.push_back(found_in("model"));
  EXPECT_TRUE(serve().allowed) << to_json(serve()).dump(1);
}

// The view that a container has of processes of other containers.
Mount processes_of(const char* container, std::string_view source) {
  Mount mount;
  mount.container = container;
  mount.path = kProcessesPath;
  mount.source = source;
  mount.kind = VolumeKind::kConfig;
  return mount;
}

// Below /proc/PID/root the volume is as writable as the filler has it.
TEST(FilledAtRun, WhoSeesTheProcessOfTheFiller_MayWrite) {
  PolicyDocument policy = by({});
  policy.fill_at_run = {kFiller};
  for (const std::string_view source : {kProcessesOfPod, kProcessesOfTarget}) {
    Workload pod = filled_pod("kserve/storage-initializer@sha256:1111");
    pod.mounts.push_back(processes_of("initializer", source));
    EXPECT_TRUE(judge_pod(policy, pod, one(good_facts())).allowed) << "the filler itself";
    pod.images.push_back({"evil", "evil.example/any", false});
    pod.mounts.push_back(processes_of("evil", source));
    const ConditionResult result = implied(judge_pod(policy, pod, one(good_facts())), "volumes");
    ASSERT_EQ(result.code, Reason::kMountWritable);
    EXPECT_EQ(
        result.actual["writable"],
        Json::array({"evil: sees the processes that fill a volume (" + std::string(source) + ")"}));
  }
}

// Nobody in the pod holds the model writable, so that there is nothing to be had of processes.
TEST(FilledAtRun, WithoutFilledVolumes_ContainersMaySeeEachOther) {
  PolicyDocument policy = by({});
  policy.fill_at_run = {kFiller};
  policy.mount_paths = {"/p*", "/m*"};
  Workload pod = pod_with(
      {mount_at("/m", "pvc://prod/good"), scratch_at("initializer", "/tmp", "own", false),
       processes_of("initializer", kProcessesOfPod), processes_of("server", kProcessesOfPod)});
  pod.images.push_back({"initializer", "kserve/storage-initializer@sha256:1111", true});
  const Verdict verdict = judge_pod(policy, pod, one(good_facts()));
  EXPECT_TRUE(verdict.allowed) << to_json(verdict).dump(1);
}

// What stands between two fillers could have the volume read before the second one writes.
TEST(FilledAtRun, FillersStandTogether) {
  PolicyDocument policy = by({});
  policy.fill_at_run = {kFiller};
  const std::string filler = "kserve/storage-initializer@sha256:1111";
  const auto pod_of = [&](const std::vector<ContainerImage>& images) {
    Workload pod = pod_with({scratch_at("initializer", "/mnt/models", "model", false),
                             scratch_at("second", "/mnt/models", "model", false),
                             scratch_at("server", "/mnt/models", "model", true)});
    pod.images = images;
    return implied(judge_pod(policy, pod, one(good_facts())), "volumes").code;
  };
  const ContainerImage server{"server", "registry/vllm:1", false};
  const ContainerImage first{"initializer", filler, true};
  const ContainerImage second{"second", filler, true};
  EXPECT_EQ(pod_of({server, first, second}), std::nullopt);
  EXPECT_EQ(pod_of({server, {"mesh", "istio/init:1", true}, first, second}), std::nullopt);
  EXPECT_EQ(pod_of({server, first, second, {"holder", "assay/holder:1", true}}), std::nullopt);
  EXPECT_EQ(pod_of({server, first, {"holder", "assay/holder:1", true}, second}),
            Reason::kMountWritable);
  EXPECT_EQ(pod_of({server, first, {"sidecar", "assay/holder:1", false}, second}),
            Reason::kMountWritable);
}

}  // namespace
}  // namespace assay::policy::test
