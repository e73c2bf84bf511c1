// SPDX-License-Identifier: Apache-2.0
// Builders for tests of policy: one valid set of keys, facts and policy; each test changes one
// thing.
#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/conditions.h"
#include "policy/evaluate.h"
#include "policy/locations.h"

namespace assay {

// Readable failures.
inline void PrintTo(Outcome outcome, std::ostream* out) { *out << name(outcome); }
inline void PrintTo(Reason code, std::ostream* out) { *out << info(code).code; }

}  // namespace assay

namespace assay::policy::test {

inline constexpr std::string_view kLicenceType = "https://example.com/licence/v1";

// The time of every evaluation unless a test says otherwise.
Timestamp now();
// `offset` seconds from now().
Timestamp from_now(std::int64_t seconds);

StatementId statement_id(std::uint64_t number);
ArtifactId artifact();

// Keys valid for a year around now(), with one role. The key id follows from `label`.
TrustedKey publisher(std::string_view label, std::string_view identity,
                     std::string_view name_space = "acme");
TrustedKey signer(std::string_view label, std::string_view identity, std::string_view stage = "*",
                  std::string_view predicate_type = {}, std::string_view name_space = "acme");
TrustedKey revoked(TrustedKey key, Timestamp at);

// Signed by `keys` one hour before now() at log index `number`; about acme/demo.
StatementFact statement(std::uint64_t number, std::string_view stage, Json predicate,
                        std::vector<TrustedKey> keys);
StatementFact foreign_statement(std::uint64_t number, std::string_view predicate_type,
                                Json predicate, std::vector<TrustedKey> keys);
ManifestFact manifest(std::uint64_t number, std::string_view name, std::vector<TrustedKey> keys);

// The facts as the policy judges them, statements included. Borrows from `facts`.
JudgedFacts judge_all(const Facts& facts, const PolicyDocument& policy);

// acme/demo, published by alice; trained by trainer; evaluated (accuracy 0.9) by eve; approved by
// carol and dave.
Facts valid_facts();

// gpu-1: enrolled an hour ago for a day, appraised half an hour ago, under the vendor's anchor.
NodeFact node_fact();
// Job job-1 of that node, a quarter of an hour ago: verified, by a measured worker, 16 spot checks.
ReportFact report_fact();
// valid_facts() on gpu-1, which verified the files.
Facts facts_on_node();
// The same about instance "main" of that pod: 100 bytes in place, 16 pieces redrawn.
ReportFact memory_report_fact(std::string_view pod = {});
// valid_facts() on gpu-1, where that instance was verified, and still was 2 s ago.
Facts facts_in_memory(std::string_view pod = {});

Condition manifest_condition(SignerRequirement signers = {});
// Lifecycle statement of `stage`.
StatementCondition stage_condition(std::string_view stage);
Condition condition(std::string_view id, ConditionKind kind);

// prod-llm, mode enforce: published by one, evaluated with accuracy at least 0.8, approved by two.
PolicyDocument valid_policy();
ActivePolicy active(PolicyDocument document);
// A policy with these conditions and nothing else changed.
PolicyDocument policy_with(std::vector<Condition> require);
Workload workload();

// workload() on gpu-1.
Workload workload_on_node();

// One model, as evaluate() takes them.
inline std::vector<Facts> one(Facts facts) { return {std::move(facts)}; }

// A claim, mounted read-only in the container "server"; its volume is named by `path`.
Mount mount_at(std::string_view path, std::string_view location);
Mount config_at(std::string_view path);
Mount scratch_at(std::string_view container, std::string_view path, std::string_view volume,
                 bool read_only);
// workload() as a pod with these mounts and one container.
Workload pod_with(std::vector<Mount> mounts);
// The implied result `id` about the first model; a result without id when there is none.
ConditionResult implied(const Verdict& verdict, std::string_view id);

// Evaluates at the point serve, workload_on_node() and now(): nothing is deferred.
Verdict decide_on_node(const std::vector<ActivePolicy>& policies, const Facts& facts);
// The result of one condition of a policy that asks for a manifest besides, at the point bind.
ConditionResult judge_on_node(ConditionKind kind, const Facts& facts,
                              const Workload& workload = workload_on_node());

// Evaluates at the point create and at now().
Verdict decide(const std::vector<ActivePolicy>& policies, const Facts& facts);
Verdict decide(const PolicyDocument& policy, const Facts& facts);
// The result of one condition of a policy that asks for a manifest besides.
ConditionResult judge_alone(ConditionKind kind, const Facts& facts);

}  // namespace assay::policy::test
