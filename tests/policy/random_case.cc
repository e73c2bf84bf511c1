// SPDX-License-Identifier: Apache-2.0
// Random policies and facts.
#include "tests/policy/random_case.h"

#include "schemas/lifecycle.h"
#include "schemas/manifest.h"

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
  TrustedKey key = as_publisher != one_in(16)
                       ? publisher(label, identity, name_space)
                       : signer(label, identity, pick(Names{"*", "train", "approve"}),
                                one_in(4) ? kLicenceType : kLifecyclePredicateType, name_space);
  if (one_in(8)) {
    key = revoked(std::move(key), pick(std::vector{from_now(-5), now(), from_now(5)}));
  }
  if (one_in(7)) {
    key.not_after = from_now(-1800);
  } else if (one_in(8)) {
    key.not_before = from_now(-1800);
  }
  return {std::move(key), one_in(8) ? pick(std::vector{at, from_now(-60), from_now(60)}) : at};
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
  return json;
}

StatementFact RandomCase::statement(std::uint64_t number) {
  const Timestamp at =
      one_in(12) ? from_now(30) : pick(std::vector{from_now(-3600), from_now(-60), now()});
  StatementFact fact = foreign_statement(number, kLicenceType, predicate(), {});
  if (!one_in(4)) {
    fact.predicate_type = kLifecyclePredicateType;
    fact.stage = pick(Names{"train", "approve", "approve"});
  }
  fact.accepted_at = at;
  for (std::size_t i = below(3) + (one_in(2) ? 1U : 0U); i > 0; --i) {
    fact.signers.push_back(signed_by(false, at));
  }
  return fact;
}

NodeFact RandomCase::node() {
  NodeFact node = node_fact();
  node.name = one_in(10) ? "gpu-2" : "gpu-1";
  node.enrolled_at = one_in(10) ? from_now(1) : from_now(-3600);
  node.expires_at = one_in(6) ? pick(std::vector{now(), from_now(-5)}) : from_now(1);
  node.worker_measured = !one_in(5);
  if (one_in(5)) {
    node.appraised_at.reset();
    node.anchor.reset();
  } else {
    node.appraised_at = one_in(8) ? from_now(5) : pick(std::vector{from_now(-60), from_now(-3600)});
    node.anchor_is_vendor = !one_in(4);
    node.tcb_status = one_in(4) ? "OutOfDate" : "UpToDate";
  }
  if (one_in(8)) {
    node.anchor.reset();
  }
  if (one_in(6)) {
    node.revoked = Revocation{pick(std::vector{from_now(-5), from_now(5)}), "test"};
  }
  return node;
}

ReportFact RandomCase::report(std::uint64_t number) {
  ReportFact report = report_fact();
  report.job = "job-" + std::to_string(number);
  report.scope = one_in(3) ? "device-memory" : "files";
  report.result = one_in(3) ? pick(Names{"mismatch", "incomplete", "failed"}) : "verified";
  report.reported_at =
      one_in(8) ? from_now(5) : pick(std::vector{from_now(-60), from_now(-61), from_now(-3600)});
  report.worker_measured = !one_in(5);
  report.device_attested = one_in(2);
  report.spot_checks = below(3);
  return report;
}

Facts RandomCase::facts() {
  Facts facts;
  if (!one_in(12)) {
    facts.artifact = artifact();
  }
  std::uint64_t number = 1;
  for (std::size_t i = one_in(6) ? 0 : 1 + below(2); i > 0; --i) {
    ManifestFact one =
        manifest(number++, pick(Names{"acme/demo", "acme/demo", "acme", "acme-2", "beta/x"}), {});
    for (std::size_t k = below(3); k > 0; --k) {
      one.statement.signers.push_back(signed_by(true, one.statement.accepted_at));
    }
    one.parameters.hash = one_in(6) ? HashAlgorithm::kSha384 : HashAlgorithm::kSha256;
    one.parameters.chunk_size = one_in(8) ? 4096 : 16384;
    facts.manifests.push_back(std::move(one));
  }
  for (std::size_t i = below(5); i > 0; --i) {
    facts.statements.push_back(statement(number++));
  }
  if (!one_in(8)) {
    facts.node = node();
  }
  for (std::size_t i = below(4); i > 0; --i) {
    facts.reports.push_back(report(number++));
  }
  return facts;
}

SignerRequirement RandomCase::requirement() {
  SignerRequirement requirement{1 + below(2), {}};
  if (one_in(3)) {
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
  return node;
}

ReportCondition RandomCase::report_condition() {
  ReportCondition report;
  report.scope = one_in(4) ? "device-memory" : "files";
  if (one_in(2)) {
    report.max_age_seconds = pick(std::vector<std::uint64_t>{60, 61, 3600});
  }
  report.worker_measured = !one_in(2);
  report.device_attested = one_in(4);
  if (one_in(3)) {
    report.min_spot_checks = below(4);
  }
  return report;
}

ConditionKind RandomCase::leaf() {
  if (options_.nodes && one_in(12)) {
    return node_condition();
  }
  if (options_.nodes && one_in(12)) {
    return report_condition();
  }
  if (one_in(4)) {
    return ManifestCondition{requirement()};
  }
  if (one_in(8)) {
    return ParametersCondition{one_in(2) ? Names{"sha256"} : Names{},
                               one_in(2) ? std::vector{16384U} : std::vector<std::uint32_t>{}};
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
  for (std::size_t i = 1 + below(2); i > 0; --i) {
    require.push_back(condition(3));
  }
  PolicyDocument policy = policy_with(std::move(require));
  policy.version = 1 + below(1000);
  return policy;
}

std::vector<ActivePolicy> RandomCase::policies() {
  std::vector<ActivePolicy> policies;
  for (std::size_t i = below(4); i > 0; --i) {
    PolicyDocument one = policy();
    one.mode = pick(std::vector{PolicyMode::kEnforce, PolicyMode::kEnforce, PolicyMode::kWarn,
                                PolicyMode::kShadow});
    one.match = pick(std::vector<WorkloadMatch>{{},
                                                {{"prod-*"}, {}, {}},
                                                {{"*-eu", "x"}, {{"app", "chat"}}, {}},
                                                {{}, {}, {"nvidia.com/gpu"}},
                                                {{"test"}, {}, {}}});
    policies.push_back(active(std::move(one)));
  }
  return policies;
}

}  // namespace assay::policy::test
