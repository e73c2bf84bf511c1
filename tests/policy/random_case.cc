// SPDX-License-Identifier: Apache-2.0
// long-file: random policies and facts, whose parts call each other.
#include "tests/policy/random_case.h"

#include "policy/filler.h"
#include "schemas/lifecycle.h"
#include "schemas/manifest.h"
#include "tests/policy/random_evidence.h"

namespace assay::policy::test {

using Names = std::vector<std::string>;

// Not std::uniform_int_distribution: its results differ between standard libraries.
std::size_t RandomCase::below(std::size_t limit) {
  return static_cast<std::size_t>(engine_() % limit);
}

SignerFact RandomCase::signed_by(bool as_publisher, Timestamp at) {
  const std::string identity = pick(Names{"ann", "ben", "cat"});
  const std::string label = identity + pick(Names{"-1", "-2"});
  const std::string name_space = pick(Names{"*", "acme", "acme", "acme/demo", "beta"});
  TrustedKey key = as_publisher != wrong_in(16)
                       ? publisher(label, identity, name_space)
                       : signer(label, identity, pick(Names{"*", "train", "approve"}),
                                one_in(4) ? kLicenceType : kLifecyclePredicateType, name_space);
  if (wrong_in(8)) {
    key = revoked(std::move(key), pick(std::vector{from_now(-5), now(), from_now(5)}));
  }
  if (wrong_in(7)) {
    key.not_after = from_now(-1800);
  } else if (wrong_in(8)) {
    key.not_before = from_now(-1800);
  }
  return {std::move(key), wrong_in(8) ? pick(std::vector{at, from_now(-60), from_now(60)}) : at};
}

Json RandomCase::value() {
  return pick(std::vector<Json>{1, 2, 2.0, 2.5, -1, "x", "y", true, nullptr, Json::array({1})});
}

Json RandomCase::predicate() {
  Json json = Json::object();
  if (!one_in(6)) {
    json["n"] = one_in(8) ? value() : pick(std::vector<Json>{1, 2, 2.0, 3});
  }
  if (!one_in(6)) {
    json["s"] = one_in(8) ? value() : pick(std::vector<Json>{"x", "y"});
  }
  enrich(json);
  return json;
}

std::optional<WithdrawnFact> RandomCase::withdrawn() {
  std::optional<WithdrawnFact> withdrawn;
  std::swap(engine_, names_engine_);
  if (wrong_in(8)) {
    withdrawn = WithdrawnFact{"other", from_now(-60), {pick(Names{"ann", "olga"})}, one_in(2)};
  }
  std::swap(engine_, names_engine_);
  return withdrawn;
}

StatementFact RandomCase::statement(std::uint64_t number) {
  const Timestamp at =
      wrong_in(12) ? from_now(30) : pick(std::vector{from_now(-3600), from_now(-60), now()});
  StatementFact fact = foreign_statement(number, kLicenceType, predicate(), {});
  if (!one_in(4)) {
    fact.predicate_type = kLifecyclePredicateType;
    fact.stage = pick(Names{"train", "approve", "approve"});
  }
  std::swap(engine_, names_engine_);
  fact.names =
      wrong_in(4)
          ? pick(std::vector<Names>{{"beta/x"}, {"acme/demo", "beta/x"}, {"acme", "acme/demo"}, {}})
          : Names{"acme/demo"};
  std::swap(engine_, names_engine_);
  fact.accepted_at = at;
  fact.withdrawn = withdrawn();
  for (std::size_t i = below(3) + (one_in(2) ? 1U : 0U); i > 0; --i) {
    fact.signers.push_back(signed_by(false, at));
  }
  std::swap(engine_, names_engine_);
  for (SignerFact& signer : fact.signers) {  // added later
    signer.signed_at = one_in(4) ? std::max(at, pick(std::vector{from_now(-30), now()})) : at;
  }
  std::swap(engine_, names_engine_);
  fact.evidence = random_evidence(evidence_engine_, fact, options_.honest);
  return fact;
}

NodeFact RandomCase::node() {
  NodeFact node = node_fact();
  node.name = wrong_in(10) ? "gpu-2" : "gpu-1";
  node.enrolled_at = wrong_in(10) ? from_now(1) : from_now(-3600);
  node.expires_at = wrong_in(6) ? pick(std::vector{now(), from_now(-5)}) : from_now(1);
  node.worker_measured = !wrong_in(5);
  if (wrong_in(5)) {
    node.appraised_at.reset();
    node.anchor.reset();
  } else {
    node.appraised_at =
        wrong_in(8) ? from_now(5) : pick(std::vector{from_now(-60), from_now(-3600)});
    node.anchor_is_vendor = !wrong_in(4);
    node.tcb_status = one_in(4) ? "OutOfDate" : "UpToDate";
    node.appraisal_current = !wrong_in(6);
    node.appraisal_error = wrong_in(8) ? "TD_MRTD_MISMATCH" : "";
    node.boot = random_boot(evidence_engine_, options_.honest ? 60 : 12);
  }
  if (wrong_in(8)) {
    node.anchor.reset();
  }
  if (wrong_in(6)) {
    node.revoked = Revocation{pick(std::vector{from_now(-5), from_now(5)}), "test"};
  }
  return node;
}

// Of a model; mounts have others besides.
std::string RandomCase::location() {
  return pick(Names{"pvc://prod/a", "pvc://prod/a", "pvc://prod/b/x", "hostpath:///data"});
}

ReportFact RandomCase::report(std::uint64_t number) {
  ReportFact report = report_fact();
  report.job = "job-" + std::to_string(number);
  report.scope = one_in(3) ? "device-memory" : "files";
  report.result = wrong_in(3) ? pick(Names{"mismatch", "incomplete", "failed"}) : "verified";
  report.reported_at =
      wrong_in(8) ? from_now(5) : pick(std::vector{from_now(-60), from_now(-61), from_now(-3600)});
  report.read_since =
      wrong_in(8) ? from_now(5) : pick(std::vector{from_now(-60), from_now(-61), from_now(-3600)});
  report.location = location();
  report.volume = wrong_in(3) ? pick(Names{"pv-2", ""}) : "pv-1";
  if (one_in(4)) {
    report.pod = wrong_in(3) ? "uid-2" : "uid-1";
    report.pod_volume = pick(Names{"v", "w"});
    if (one_in(2)) {
      report.pod_volume = "f";
      report.location.clear();
    }
  }
  if (report.scope == "device-memory") {
    make_memory(report);
  }
  report.worker_measured = !wrong_in(5);
  report.appraisal_current = !wrong_in(6);
  if (one_in(2)) {
    report.evidence_valid_until =
        wrong_in(6) ? pick(std::vector{now(), from_now(-5)}) : from_now(2);
  }
  report.device_attested = !wrong_in(2);
  report.spot_checks = wrong_in(3) ? 0 : 1 + below(3);
  return report;
}

ManifestFact RandomCase::own_manifest(std::uint64_t number) {
  ManifestFact one =
      manifest(number, wrong_in(2) ? pick(Names{"acme", "acme-2", "beta/x"}) : "acme/demo", {});
  for (std::size_t i = wrong_in(3) ? 0 : 1 + below(2); i > 0; --i) {
    one.statement.signers.push_back(signed_by(true, one.statement.accepted_at));
  }
  one.parameters.hash = wrong_in(6) ? HashAlgorithm::kSha384 : HashAlgorithm::kSha256;
  one.locations = pick(std::vector<Names>{
      {"pvc://prod/a"}, {"pvc://prod/a", "pvc://prod/b/x"}, {"pvc://prod/b", location()}, {}});
  one.parameters.chunk_size = wrong_in(8) ? 4096 : 16384;
  if (options_.ignore && wrong_in(6)) {
    one.parameters.ignore = pick(std::vector<Names>{{"/.git"}, {"*.py"}, {"*.py", "/.git"}});
  }
  one.objects = options_.ignore && wrong_in(8) ? Objects::kTensors : Objects::kBoth;
  std::swap(engine_, names_engine_);
  one.formats = formats();
  one.parameters.follow_symlinks = options_.ignore && wrong_in(8);
  std::swap(engine_, names_engine_);
  one.statement.withdrawn = withdrawn();
  return one;
}

PlacementFact RandomCase::placement(std::uint64_t number) {
  const ManifestFact like = own_manifest(number);
  return {like.statement, like.name, {location()}};
}

std::vector<ClaimFact> RandomCase::claims() {
  std::vector<ClaimFact> found;
  for (const char* claim : {"pvc://prod/a", "pvc://prod/b"}) {
    if (!wrong_in(4)) {
      found.push_back({claim, "claim-1", wrong_in(4) ? pick(Names{"pv-2", ""}) : "pv-1"});
    }
  }
  return found;
}

Facts RandomCase::facts() {
  Facts facts;
  if (!wrong_in(12)) {
    facts.artifact = artifact();
  }
  facts.name = wrong_in(4) ? "acme" : pick(Names{"", "acme/demo", "acme/demo"});
  std::uint64_t number = 1;
  for (std::size_t i = wrong_in(6) ? 0 : 1 + below(2); i > 0; --i) {
    facts.manifests.push_back(own_manifest(number++));
  }
  for (std::size_t i = below(5); i > 0; --i) {
    facts.statements.push_back(statement(number++));
  }
  for (std::size_t i = one_in(2) ? below(3) : 0; i > 0; --i) {
    facts.placements.push_back(placement(number++));
  }
  if (!wrong_in(8)) {
    facts.node = node();
  }
  for (std::size_t i = below(6); i > 0; --i) {
    facts.reports.push_back(report(number++));
  }
  if (!wrong_in(2)) {
    facts.pod = "uid-1";
  }
  facts.claims = claims();
  facts.instances = instances();
  if (lineage_.below(3) != 0) {
    facts.lineage = lineage_.lineage();
  }
  if (one_in(4)) {
    facts.asked_locations = {one_in(4) ? "nfs://h/x" : location()};
  }
  return facts;
}

std::vector<Facts> RandomCase::models() {
  std::vector<Facts> models = {facts()};
  if (one_in(4)) {
    models.push_back(facts());
    models.back().node = models.front().node;
  }
  return models;
}

// Mostly what an honest pod has, so that each wrong thing decides by itself.
Mount RandomCase::mount() {
  Mount one;
  one.container = pick(Names{"server", "server", "server", "init", "side"});
  one.path = wrong_in(2) ? pick(Names{"/m/x", "/n/../m", "//o/", "/mm", "/", "/var/run/m", "/run/m",
                                      "/lib/./m", "/usr/lib/m/x", "/proc/self/root/m", "/dev/fd",
                                      "/var", "/var/run", "/etc", "/dev/m", "/usr/lib"})
                         : pick(Names{"/m", "/n", "/o", "/p"});
  one.volume = pick(Names{"v", "w"});
  one.source = pick(Names{"persistentVolumeClaim", "persistentVolumeClaim", "nfs"});
  one.location =
      wrong_in(2)
          ? pick(Names{"pvc://prod/b", "pvc://prod/a/sub", "pvc://prod/aa", "pvc://prod", ""})
          : location();
  one.read_only = !one_in(8);
  one.device = one_in(24);
  if (one_in(4)) {
    one.kind = one_in(2) ? VolumeKind::kConfig : VolumeKind::kScratch;
    one.source = one.kind == VolumeKind::kConfig ? "configMap" : "emptyDir";
    one.location = one_in(8) ? "pvc://prod/a" : "";
  }
  add_part(one);
  return one;
}

void RandomCase::add_part(Mount& one) {
  std::swap(engine_, names_engine_);
  if (wrong_in(6)) {
    one.part = one_in(2) ? std::nullopt : std::optional<std::string>("/part");
  }
  if (one.kind == VolumeKind::kModel && wrong_in(6)) {
    one.location = pick(Names{"", "hostpath:///var/lib", "hostpath:///data/kubelet/x",
                              "hostpath:///var/run/assay"});
    one.volume_location = one.location.empty()
                              ? pick(Names{"", "pvc://prod/a", "pvc://prod/c", "hostpath:///run/x"})
                              : "";
    one.source = pick(Names{"ephemeral", "hostPath", "nfs"});
    one.read_only_below = one.read_only && one_in(2);
  }
  std::swap(engine_, names_engine_);
}

namespace {

// Draws no random number, so that the other parts of each case stay the same.
void add_processes(Workload& workload) {
  const std::string first = workload.mounts.empty() ? "" : workload.mounts.front().path;
  if (first == "/n" || first == "/o") {
    workload.mounts.push_back(
        {.container = first == "/n" ? "server" : "init",
         .path = "/proc",
         .volume = {},
         .source = first == "/n" ? "shareProcessNamespace" : "targetContainerName",
         .location = {},
         .kind = VolumeKind::kConfig});
  }
}

}  // namespace

void RandomCase::add_pod(Workload& workload) {
  workload.pod = true;
  for (std::size_t i = below(4); i > 0; --i) {
    workload.mounts.push_back(mount());
  }
  if (one_in(4)) {
    for (const char* container : {"init", "server"}) {
      workload.mounts.push_back({.container = container,
                                 .path = "/filled",
                                 .volume = "f",
                                 .source = "emptyDir",
                                 .location = {},
                                 .kind = VolumeKind::kScratch,
                                 .read_only = !one_in(3)});
      add_part(workload.mounts.back());
    }
  }
  add_processes(workload);
  if (!one_in(8)) {
    const bool remounts = !workload.mounts.empty() && workload.mounts.front().path == "/p";
    workload.images = {{"server", pick(Names{"registry/a:1", "registry/a:1", "other"}), false},
                       {"init", pick(Names{"registry/init@sha256:1", "registry/init@sha256:2"}),
                        !one_in(4), remounts}};
    workload.images.back().args = run_list_digest(Names(workload.mounts.size() % 2, "a"));
    if (!workload.mounts.empty() && !workload.mounts.front().read_only) {
      workload.images.back().image = "registry/init@sha256:2@sha256:1";
    }
  }
}

void RandomCase::add_pod_members(PolicyDocument& policy) {
  if (one_in(2)) {
    policy.other_volumes = pick(std::vector<Names>{{"nfs"}, {"pvc://*"}, {"*"}, {"pvc://prod/b"}});
  }
  if (one_in(4)) {
    policy.images = pick(std::vector<Names>{{"registry/*"}, {"other", "*@sha256:*"}});
  }
  policy.mounts = one_in(3) ? MountRule::kWithin : MountRule::kExact;
  policy.writable_mounts = one_in(3);
  if (policy.version % 8 == 0) {
    policy.mount_paths = Names{"/m", "/n*", "/o/*"};
  } else if (policy.version % 16 == 1) {
    policy.mount_paths = Names{"/run/*", "/*"};
  }
  if (one_in(3)) {
    policy.fill_at_run = {"sha256:1"};
    policy.fillers.resize(policy.version % 2, Filler{"sha256:1", {}, Names{"a"}});
  }
}

SignerRequirement RandomCase::requirement() {
  SignerRequirement requirement{wrong_in(2) ? 2U : 1U, {}};
  if (wrong_in(3)) {
    requirement.identities = pick(std::vector<Names>{{"ann"}, {"ann", "ben"}, {"cat", "ben"}});
  }
  return requirement;
}

PredicateTest RandomCase::test() {
  const std::string pointer = pick(Names{"/n", "/n", "/s", "/missing", "/n/0", ""});
  const auto op = static_cast<Comparison>(below(7));
  if (op == Comparison::kIn) {
    return {pointer, op, one_in(2) ? Json::array({1, "x"}) : Json::array({value(), value()})};
  }
  return {pointer, op, one_in(3) ? value() : Json(2)};
}

NodeCondition RandomCase::node_condition() {
  NodeCondition node;
  if (one_in(3)) {
    node.max_evidence_age_seconds = pick(std::vector<std::uint64_t>{60, 59, 3600});
  }
  node.worker_measured = !one_in(3);
  if (one_in(3)) {
    node.tcb_status = pick(std::vector<Names>{{"UpToDate"}, {"OutOfDate", "x"}});
  }
  if (one_in(2)) {
    node.anchors = {"sha256:00", node_fact().anchor->text()};
  }
  node.boot = random_boot_demands(evidence_engine_);
  return node;
}

ReportCondition RandomCase::report_condition() {
  ReportCondition report;
  report.scope = one_in(4) ? "device-memory" : "files";
  report.at_serve = one_in(5);
  if (one_in(2)) {
    report.max_age_seconds = pick(std::vector<std::uint64_t>{60, 61, 3600});
  }
  report.worker_measured = !one_in(2);
  report.device_attested = one_in(4);
  if (one_in(3)) {
    report.min_spot_checks = below(4);
  }
  if (report.scope == "device-memory") {
    demand_memory(report.memory);
  }
  return report;
}

ConditionKind RandomCase::leaf() {
  if (auto rare = rare_leaf()) {
    return *std::move(rare);
  }
  if (lineage_.below(options_.lineage_in) == 0) {
    return lineage_.condition();
  }
  if (options_.nodes && one_in(options_.one_leaf_in)) {
    return node_condition();
  }
  if (options_.nodes && one_in(options_.one_leaf_in)) {
    return report_condition();
  }
  if (one_in(4)) {
    return ManifestCondition{requirement()};
  }
  if (one_in(8)) {
    return parameters();
  }
  StatementCondition statement;
  statement.predicate_type = kLicenceType;
  if (!one_in(4)) {
    statement.predicate_type = kLifecyclePredicateType;
    statement.stage = pick(Names{"train", "approve", "approve"});
  }
  statement.signers = requirement();
  statement.where = options_.always;
  for (std::size_t i = below(3); i > 0; --i) {
    statement.where.push_back(test());
  }
  statement.quantifier = pick(options_.quantifiers);
  if (one_in(5)) {
    statement.max_age_seconds = pick(std::vector<std::uint64_t>{59, 60, 3600});
  }
  enrich(statement);
  if (evidence_engine_() % options_.evidence_in == 0) {
    statement.evidence = random_demands(evidence_engine_);
  }
  return statement;
}

Condition RandomCase::condition(int depth) {
  const std::string id = "c" + std::to_string(next_id_++);
  if (depth == 0 || !one_in(3)) {
    return {id, leaf()};
  }
  if (options_.negation && one_in(3)) {
    NotCondition negation;
    negation.of.push_back(condition(depth - 1));
    return {id, std::move(negation)};
  }
  std::vector<Condition> parts;
  for (std::size_t i = 1 + below(3); i > 0; --i) {
    parts.push_back(condition(depth - 1));
  }
  if (one_in(3)) {
    return {id, AllCondition{std::move(parts)}};
  }
  if (one_in(2)) {
    return {id, AnyCondition{std::move(parts)}};
  }
  const std::size_t count = 1 + below(parts.size());
  return {id, AtLeastCondition{count, std::move(parts)}};
}

PolicyDocument RandomCase::policy() {
  std::vector<Condition> require;
  if (options_.honest && one_in(2)) {
    require.push_back(manifest_condition());
    if (options_.nodes && one_in(3)) {
      require.push_back(assay::policy::test::condition("verified", ReportCondition{}));
    }
  }
  for (std::size_t i = 1 + below(2); i > 0; --i) {
    require.push_back(condition(3));
  }
  std::swap(engine_, names_engine_);
  if (!one_in(4)) {
    require.push_back(assay::policy::test::condition("names", ManifestCondition{}));
  }
  std::swap(engine_, names_engine_);
  PolicyDocument policy = policy_with(std::move(require));
  policy.version = 1 + below(1000);
  add_pod_members(policy);
  // Names are resolved before anything is judged: no verdict depends on the rule.
  if (releases_engine_() % 3 == 0) {
    policy.names.rule = NameRule::kRelease;
  }
  return policy;
}

ActivePolicy RandomCase::with_named_sets(PolicyDocument policy) {
  ActivePolicy plain = active(std::move(policy));
  if (sets_engine_() % options_.sets_in != 0) {
    return plain;
  }
  name_sets(sets_engine_, plain.document);
  return with_sets(plain.id, std::move(plain.document), sets_);
}

std::vector<ActivePolicy> RandomCase::policies() {
  std::vector<ActivePolicy> policies;
  for (std::size_t i = below(4); i > 0; --i) {
    PolicyDocument one = policy();
    one.mode = pick(std::vector{PolicyMode::kEnforce, PolicyMode::kEnforce, PolicyMode::kWarn,
                                PolicyMode::kShadow});
    one.match = pick(std::vector<WorkloadMatch>{
        {},
        {{"prod-*"}, {}, {}},
        {{"*-eu", "x"}, {{"app", "chat"}}, {}},
        {{}, {}, {"nvidia.com/gpu"}},
        {{"test"}, {}, {}},
        {.resources = {"*.com/gpu"}},
        {.exclude_namespaces = {"prod-eu", "x"}},
        {.accelerators = true},
        {.accelerators = true, .harmless_resources = {"nvidia.com/*", "rdma/*"}},
        {.namespaces = {"prod-*"}, .nodes = {"gpu-*"}}});
    policies.push_back(with_named_sets(std::move(one)));
  }
  return policies;
}

}  // namespace assay::policy::test
