// SPDX-License-Identifier: Apache-2.0
// Builders for tests of policy.
#include "tests/policy/fixture.h"

#include "schemas/core/sha.h"
#include "schemas/lifecycle.h"
#include "schemas/manifest.h"

namespace assay::policy::test {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

TrustedKey key(KeyPurpose purpose, std::string_view label, std::string_view identity,
               SignerRole role) {
  return {KeyId(sha256(as_bytes(label))),
          SignatureAlgorithm::kEd25519,
          {},
          purpose,
          std::string(identity),
          {std::move(role)},
          now() - hours(24 * 180),
          now() + hours(24 * 180),
          std::nullopt};
}

std::vector<SignerFact> signed_by(std::vector<TrustedKey> keys, Timestamp at) {
  std::vector<SignerFact> signers;
  for (TrustedKey& one : keys) {
    signers.push_back({std::move(one), at});
  }
  return signers;
}

}  // namespace

Timestamp now() { return std::chrono::sys_days(std::chrono::year(2026) / 6 / 1) + hours(12); }

Timestamp from_now(std::int64_t offset) { return now() + seconds(offset); }

StatementId statement_id(std::uint64_t number) {
  return StatementId(sha256(as_bytes("statement " + std::to_string(number))));
}

ArtifactId artifact() { return ArtifactId(sha256(as_bytes("artifact"))); }

TrustedKey publisher(std::string_view label, std::string_view identity,
                     std::string_view name_space) {
  return key(KeyPurpose::kPublisher, label, identity, {"*", "*", std::string(name_space)});
}

TrustedKey signer(std::string_view label, std::string_view identity, std::string_view stage,
                  std::string_view predicate_type, std::string_view name_space) {
  const std::string_view type = predicate_type.empty() ? kLifecyclePredicateType : predicate_type;
  return key(KeyPurpose::kSigner, label, identity,
             {std::string(stage), std::string(type), std::string(name_space)});
}

TrustedKey revoked(TrustedKey one, Timestamp at) {
  one.revoked = Revocation{at, "test"};
  return one;
}

StatementFact statement(std::uint64_t number, std::string_view stage, Json predicate,
                        std::vector<TrustedKey> keys) {
  StatementFact fact =
      foreign_statement(number, kLifecyclePredicateType, std::move(predicate), std::move(keys));
  fact.stage = stage;
  return fact;
}

StatementFact foreign_statement(std::uint64_t number, std::string_view predicate_type,
                                Json predicate, std::vector<TrustedKey> keys) {
  const Timestamp at = now() - hours(1);
  return {statement_id(number),
          std::string(predicate_type),
          {},
          std::move(predicate),
          signed_by(std::move(keys), at),
          at,
          number,
          {"acme/demo"}};
}

ManifestFact manifest(std::uint64_t number, std::string_view name, std::vector<TrustedKey> keys) {
  return {foreign_statement(number, kManifestPredicateType, nullptr, std::move(keys)),
          std::string(name),
          {},
          {"pvc://prod/models"},
          Objects::kBoth,
          std::vector{ModelFormat::kOther, ModelFormat::kSafetensors}};
}

JudgedFacts judge_all(const Facts& facts, const PolicyDocument& policy) {
  JudgedFacts judged = judge_signers(facts, now());
  judge_statements(names_of(publisher_demands(policy), judged, facts.name), now(), judged);
  return judged;
}

Facts valid_facts() {
  const Json evaluation = {{"stage", "evaluate"},
                           {"metrics", {{"accuracy", {{"value", 0.9}, {"unit", "1"}}}}}};
  Facts facts;
  facts.artifact = artifact();
  facts.manifests = {manifest(1, "acme/demo", {publisher("alice-1", "alice")})};
  facts.statements = {
      statement(2, "train", {{"stage", "train"}}, {signer("trainer-1", "trainer", "train")}),
      statement(3, "evaluate", evaluation, {signer("eve-1", "eve", "evaluate")}),
      statement(4, "approve", {{"stage", "approve"}}, {signer("carol-1", "carol", "approve")}),
      statement(5, "approve", {{"stage", "approve"}, {"comment", "fine"}},
                {signer("dave-1", "dave", "approve")})};
  return facts;
}

NodeFact node_fact() {
  NodeFact node;
  node.name = "gpu-1";
  node.enrolled_at = from_now(-3600);
  node.expires_at = from_now(82800);
  node.worker_measured = true;
  node.appraised_at = from_now(-1800);
  node.appraisal_current = true;
  node.appraisal_policy = DocumentId(sha256(as_bytes("appraisal policy")));
  node.evidence_type = "tdx";
  node.tcb_status = "UpToDate";
  node.anchor = Anchor::root(sha256(as_bytes("vendor's root")));
  node.anchor_is_vendor = true;
  node.appraisal = DocumentId(sha256(as_bytes("appraisal")));
  return node;
}

ReportFact report_fact() {
  ReportFact report;
  report.job = "job-1";
  report.scope = "files";
  report.result = "verified";
  report.location = "pvc://inference/models";
  report.volume = "pv-1";
  report.reported_at = from_now(-600);
  report.read_since = from_now(-900);
  report.worker_measured = true;
  report.appraisal_current = true;
  report.spot_checks = 16;
  report.report = DocumentId(sha256(as_bytes("report")));
  return report;
}

Facts facts_on_node() {
  Facts facts = valid_facts();
  facts.node = node_fact();
  facts.reports = {report_fact()};
  return facts;
}

ReportFact memory_report_fact(std::string_view pod) {
  ReportFact report = report_fact();
  report.scope = "device-memory";
  report.location.clear();
  report.volume.clear();
  report.spot_checks = 0;
  report.pod = pod;
  report.instance = "main";
  report.memory.emplace();
  report.memory->in_place = 100;
  report.memory->registered = 200;
  report.memory->on_devices = 90;
  report.memory->device_bytes = 100;
  report.memory->redrawn = 16;
  return report;
}

Facts facts_in_memory(std::string_view pod) {
  Facts facts = valid_facts();
  facts.node = node_fact();
  facts.reports = {memory_report_fact(pod)};
  facts.pod = pod;
  facts.instances = {{"main", "verified", from_now(-2)}};
  return facts;
}

Condition condition(std::string_view id, ConditionKind kind) {
  return {std::string(id), std::move(kind)};
}

Condition manifest_condition(SignerRequirement signers) {
  return condition("published", ManifestCondition{std::move(signers)});
}

StatementCondition stage_condition(std::string_view stage) {
  StatementCondition statement;
  statement.predicate_type = kLifecyclePredicateType;
  statement.stage = stage;
  return statement;
}

PolicyDocument valid_policy() {
  StatementCondition evaluated = stage_condition("evaluate");
  evaluated.where = {{"/metrics/accuracy/value", Comparison::kGreaterEqual, 0.8}};
  StatementCondition approved = stage_condition("approve");
  approved.signers.at_least = 2;
  return policy_with({manifest_condition(), condition("evaluated", std::move(evaluated)),
                      condition("approved", std::move(approved))});
}

PolicyDocument policy_with(std::vector<Condition> require) {
  PolicyDocument policy;
  policy.name = "prod-llm";
  policy.version = 3;
  policy.mode = PolicyMode::kEnforce;
  policy.match.namespaces = {"prod-*"};
  policy.require = std::move(require);
  return policy;
}

ActivePolicy active(PolicyDocument document) {
  StatementId id(sha256(as_bytes("policy " + document.name + std::to_string(document.version))));
  return {std::move(id), std::move(document)};
}

Workload workload() { return {"prod-eu", {{"app", "chat"}}, {"nvidia.com/gpu"}}; }

Workload workload_on_node() {
  Workload on_node = workload();
  on_node.node = "gpu-1";
  return on_node;
}

Mount mount_at(std::string_view path, std::string_view location) {
  return {.container = "server",
          .path = std::string(path),
          .volume = "volume of " + std::string(path),
          .source = "persistentVolumeClaim",
          .location = std::string(location),
          .kind = VolumeKind::kModel,
          .read_only = true};
}

Mount config_at(std::string_view path) {
  Mount mount = mount_at(path, "");
  mount.source = "configMap";
  mount.kind = VolumeKind::kConfig;
  return mount;
}

Mount scratch_at(std::string_view container, std::string_view path, std::string_view volume,
                 bool read_only) {
  Mount mount = mount_at(path, "");
  mount.container = container;
  mount.volume = volume;
  mount.source = "emptyDir";
  mount.kind = VolumeKind::kScratch;
  mount.read_only = read_only;
  return mount;
}

Workload pod_with(std::vector<Mount> mounts) {
  Workload pod = workload();
  pod.pod = true;
  pod.mounts = std::move(mounts);
  pod.images = {{"server", "registry.example/server:1", false}};
  return pod;
}

ConditionResult implied(const Verdict& verdict, std::string_view id) {
  for (const ConditionResult& result : verdict.policies.at(0).conditions) {
    if (result.id == id) {
      return result;
    }
  }
  return {{}, Outcome::kError, {}, nullptr, nullptr, {}, {}};
}

Verdict decide_on_node(const std::vector<ActivePolicy>& policies, const Facts& facts) {
  return evaluate(policies, workload_on_node(), one(facts), {}, DecisionPoint::kServe, now());
}

ConditionResult judge_on_node(ConditionKind kind, const Facts& facts, const Workload& workload) {
  const std::vector policies = {
      active(policy_with({condition("it", std::move(kind)), manifest_condition()}))};
  return evaluate(policies, workload, one(facts), {}, DecisionPoint::kBind, now())
      .policies.front()
      .conditions.front();
}

Verdict decide(const std::vector<ActivePolicy>& policies, const Facts& facts) {
  return evaluate(policies, workload(), one(facts), {}, DecisionPoint::kCreate, now());
}

Verdict decide(const PolicyDocument& policy, const Facts& facts) {
  return decide(std::vector{active(policy)}, facts);
}

ConditionResult judge_alone(ConditionKind kind, const Facts& facts) {
  return decide(policy_with({condition("it", std::move(kind)), manifest_condition()}), facts)
      .policies.front()
      .conditions.front();
}

}  // namespace assay::policy::test
