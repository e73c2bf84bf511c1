// SPDX-License-Identifier: Apache-2.0
// Report conditions of scope device-memory: one that holds, and one change each that must stop it.
#include <algorithm>
#include <functional>
#include <iterator>

#include <gtest/gtest.h>

#include "tests/policy/fixture.h"

namespace assay::policy::test {
namespace {

using Change = std::function<void(Facts& facts)>;

ReportCondition strict() {
  ReportCondition condition;
  condition.scope = kDeviceMemoryScope;
  condition.max_age_seconds = 3600;
  condition.memory = {.watched = true,
                      .in_place = true,
                      .max_uncovered_bytes = 64,
                      .min_device_percent = 90,
                      .min_redrawn = 16};
  return condition;
}

ConditionResult judge_at_serve(ConditionKind kind, const Facts& facts,
                               const Workload& asker = workload_on_node()) {
  const std::vector policies = {active(policy_with({condition("it", std::move(kind))}))};
  return evaluate(policies, asker, one(facts), {}, DecisionPoint::kServe, now())
      .policies.front()
      .conditions.front();
}

void expect(const ConditionResult& result, Outcome outcome, std::optional<Reason> code) {
  EXPECT_EQ(result.outcome, outcome) << to_json(result).dump();
  EXPECT_EQ(result.code, code) << to_json(result).dump();
}

TEST(MemoryCondition, VerifiedAndWatched_Passes) {
  const ConditionResult result = judge_at_serve(strict(), facts_in_memory());
  expect(result, Outcome::kPass, std::nullopt);
  EXPECT_EQ(result.expected, (Json{{"result", "verified"},
                                   {"scope", "device-memory"},
                                   {"worker_measured", true},
                                   {"device_attested", false},
                                   {"max_age_seconds", 3600},
                                   {"watched", true},
                                   {"in_place", true},
                                   {"max_uncovered_bytes", 64},
                                   {"min_device_percent", 90},
                                   {"min_redrawn", 16}}));
  EXPECT_EQ(result.actual["memory"]["on_devices"], 90);
  EXPECT_EQ(result.actual["memory"]["device_bytes"], 100);
  EXPECT_EQ(result.actual["instance"], "main");
  EXPECT_EQ(result.actual["memory"]["in_place"], 100);
  EXPECT_EQ(result.actual["state"], "verified");
  EXPECT_EQ(result.actual["heartbeat_age_seconds"], 2);
  for (const char* member : {"read_by", "check", "staged_causes", "detection", "uncovered_count"}) {
    EXPECT_FALSE(result.actual["memory"].contains(member)) << member;  // as cases before have it
  }
  EXPECT_FALSE(result.actual.contains("findings"));
  EXPECT_FALSE(result.actual.contains("watch"));
}

// What read it, by which check it is watched and where it changed is told, and decides nothing.
TEST(MemoryCondition, DevicesAndPlaces_AreTold) {
  Facts facts = facts_in_memory();
  facts.reports[0].memory->read_by = {{{0}, "opencl:0", "A GPU", "1", "GPU-1", {}, {}}};
  EXPECT_EQ(judge_at_serve(strict(), facts).actual["memory"]["read_by"][0]["uuid"], "GPU-1");
  expect(judge_at_serve(strict(), facts), Outcome::kPass, std::nullopt);
  facts.reports[0].memory->check = "full";
  facts.reports[0].memory->staged_causes = {"cudaMalloc"};
  facts.reports[0].memory->detection = 0.25;
  facts.reports[0].memory->uncovered_count = 3;
  const ConditionResult told = judge_at_serve(strict(), facts);
  expect(told, Outcome::kPass, std::nullopt);
  EXPECT_EQ(told.actual["memory"]["check"], "full");
  EXPECT_EQ(told.actual["memory"]["staged_causes"], (Json{"cudaMalloc"}));
  EXPECT_EQ(told.actual["memory"]["detection"], 0.25);
  EXPECT_EQ(told.actual["memory"]["uncovered_count"], 3);
  facts.instances[0].watch = WatchedBy{WatchCheck::kRandom, 500, 25};
  EXPECT_EQ(judge_at_serve(strict(), facts).actual["watch"],
            (Json{{"check", "random"}, {"period_ms", 500}, {"share_percent", 25}}));
  facts.instances[0].findings = {{"embed", "bytes 0 to 7"}};
  expect(judge_at_serve(strict(), facts), Outcome::kPass, std::nullopt);
  facts.instances[0].state = "violated";
  const ConditionResult violated = judge_at_serve(strict(), facts);
  expect(violated, Outcome::kFail, Reason::kInstanceViolated);
  EXPECT_EQ(violated.actual["findings"][0],
            (Json{{"tensor", "embed"}, {"detail", "bytes 0 to 7"}}));
}

struct Case {
  const char* what;
  Change change;
  Outcome outcome;
  Reason code;
};

std::vector<Case> share_cases() {
  const auto fail = Outcome::kFail;
  const auto error = Outcome::kError;
  return {{"one byte more on the device", [](Facts& f) { f.reports[0].memory->device_bytes = 101; },
           fail, Reason::kDeviceShareLow},
          {"one byte fewer hashed on the device",
           [](Facts& f) { f.reports[0].memory->on_devices = 89; }, fail, Reason::kDeviceShareLow},
          {"the driver says nothing", [](Facts& f) { f.reports[0].memory->device_bytes.reset(); },
           error, Reason::kDeviceBytesUnknown},
          {"the driver counts nothing", [](Facts& f) { f.reports[0].memory->device_bytes = 0; },
           error, Reason::kDeviceBytesUnknown},
          {"the driver counts less than was hashed",
           [](Facts& f) { f.reports[0].memory->device_bytes = 89; }, error,
           Reason::kDeviceBytesUnknown}};
}

std::vector<Case> other_cases() {
  const auto fail = Outcome::kFail;
  const auto error = Outcome::kError;
  return {
      {"no report", [](Facts& f) { f.reports.clear(); }, fail, Reason::kReportMissing},
      {"a report on files", [](Facts& f) { f.reports = {report_fact()}; }, fail,
       Reason::kReportMissing},
      {"of a pod", [](Facts& f) { f.reports[0].pod = "uid-1"; }, fail, Reason::kReportMissing},
      {"mismatch", [](Facts& f) { f.reports[0].result = "mismatch"; }, fail,
       Reason::kModelMismatch},
      {"incomplete", [](Facts& f) { f.reports[0].result = "incomplete"; }, fail,
       Reason::kReportMissing},
      {"stale", [](Facts& f) { f.reports[0].read_since = from_now(-3601); }, fail,
       Reason::kReportStale},
      {"not measured", [](Facts& f) { f.reports[0].worker_measured = false; }, fail,
       Reason::kWorkerNotMeasured},
      {"revoked", [](Facts& f) { f.node->revoked = Revocation{now(), "x"}; }, fail,
       Reason::kNodeRevoked},
      {"one byte staged", [](Facts& f) { f.reports[0].memory->staged = 1; }, fail,
       Reason::kMemoryStaged},
      {"one byte too many uncovered", [](Facts& f) { f.reports[0].memory->uncovered = 65; }, fail,
       Reason::kMemoryUncovered},
      {"too few redrawn", [](Facts& f) { f.reports[0].memory->redrawn = 15; }, fail,
       Reason::kRedrawsMissing},
      {"nothing about memory", [](Facts& f) { f.reports[0].memory.reset(); }, error,
       Reason::kConditionUndecided},
      {"no heartbeat", [](Facts& f) { f.instances.clear(); }, error, Reason::kInstanceUnwatched},
      {"a heartbeat from the future", [](Facts& f) { f.instances[0].heard_at = from_now(1); },
       error, Reason::kConditionUndecided},
      {"pending", [](Facts& f) { f.instances[0].state = "pending"; }, error,
       Reason::kInstanceUnwatched},
      {"unknown", [](Facts& f) { f.instances[0].state = "unknown"; }, error,
       Reason::kInstanceUnwatched},
      {"another state", [](Facts& f) { f.instances[0].state = "Verified"; }, error,
       Reason::kInstanceUnwatched},
      {"violated", [](Facts& f) { f.instances[0].state = "violated"; }, fail,
       Reason::kInstanceViolated},
      {"a second instance that nobody verified",
       [](Facts& f) { f.instances.push_back({"draft", "verified", now()}); }, fail,
       Reason::kReportMissing},
      {"a second instance that is not watched",
       [](Facts& f) {
         f.reports.push_back(memory_report_fact());
         f.reports.back().instance = "draft";
       },
       error, Reason::kInstanceUnwatched},
      {"a second instance with other bytes",
       [](Facts& f) {
         f.reports.push_back(memory_report_fact());
         f.reports.back().instance = "draft";
         f.reports.back().result = "mismatch";
         f.instances.push_back({"draft", "verified", now()});
       },
       fail, Reason::kModelMismatch}};
}

const std::string kLayout = "sha256:" + std::string(64, '1');

void lay_out(Facts& facts, LayoutKind kind, bool by_table) {
  facts.reports[0].memory->layout = MemoryLayout{kind, kLayout, by_table};
}

std::vector<Case> layout_cases() {
  const auto fail = Outcome::kFail;
  return {{"laid out by the table", [](Facts& f) { lay_out(f, LayoutKind::kRecipe, true); }, fail,
           Reason::kLayoutKindRefused},
          {"laid out otherwise", [](Facts& f) { lay_out(f, LayoutKind::kRecipe, false); }, fail,
           Reason::kLayoutKindRefused},
          {"published", [](Facts& f) { lay_out(f, LayoutKind::kPublished, true); }, fail,
           Reason::kLayoutKindRefused}};
}

// Kinds that a policy accepts, and the layouts that count then.
TEST(MemoryCondition, Layouts_CountByKindAndByTableOrDigest) {
  struct Row {
    std::vector<LayoutKind> accepted;
    std::vector<std::string> digests;
    LayoutKind kind;
    bool by_table;
    std::optional<Reason> code;
  };
  const auto exact = LayoutKind::kExact;
  const auto recipe = LayoutKind::kRecipe;
  const auto published = LayoutKind::kPublished;
  const std::string other = "sha256:" + std::string(64, '2');
  const std::vector<Row> rows = {
      {{exact}, {}, exact, false, std::nullopt},
      {{recipe}, {}, exact, false, Reason::kLayoutKindRefused},
      {{recipe}, {}, recipe, true, std::nullopt},
      {{recipe}, {}, recipe, false, Reason::kLayoutNotPinned},
      {{recipe}, {other}, recipe, true, std::nullopt},
      {{recipe}, {other}, recipe, false, Reason::kLayoutNotPinned},
      {{exact, recipe}, {other, kLayout}, recipe, false, std::nullopt},
      {{exact}, {kLayout}, recipe, false, Reason::kLayoutKindRefused},
      {{recipe}, {kLayout}, published, false, Reason::kLayoutKindRefused},
      {{published}, {}, published, false, Reason::kLayoutNotPinned},
      {{published}, {kLayout}, published, false, std::nullopt},
  };
  for (const Row& row : rows) {
    ReportCondition condition = strict();
    condition.memory.layouts = row.accepted;
    condition.memory.layout_digests = row.digests;
    Facts facts = facts_in_memory();
    if (row.kind != exact) {
      lay_out(facts, row.kind, row.by_table);
    }
    SCOPED_TRACE(&row - rows.data());
    expect(judge_at_serve(condition, facts), row.code ? Outcome::kFail : Outcome::kPass, row.code);
  }
}

const std::string kPublishedLayout = "assay-tree-v1-sha256:" + std::string(64, '1');

// Changes of a statement of stage layout about a published layout.
struct SignedRow {
  const char* what;
  std::function<void(Facts& facts, StatementFact& said)> change;
  std::optional<Reason> code;
};

std::vector<SignedRow> signed_rows() {
  return {{"signed", [](Facts&, StatementFact&) {}, std::nullopt},
          {"not said", [](Facts& facts, StatementFact&) { facts.statements = {}; },
           Reason::kLayoutNotPinned},
          {"another layout",
           [](Facts&, StatementFact& said) { said.predicate["parameters"]["layout"] = kLayout; },
           Reason::kLayoutNotPinned},
          {"no layout", [](Facts&, StatementFact& said) { said.predicate.erase("parameters"); },
           Reason::kLayoutNotPinned},
          {"another stage", [](Facts&, StatementFact& said) { said.stage = "approve"; },
           Reason::kLayoutNotPinned},
          {"no role for the stage",
           [](Facts&, StatementFact& said) {
             said.signers[0].key = signer("mallory-1", "mallory", "approve");
           },
           Reason::kRoleNotGranted},
          {"revoked",
           [](Facts&, StatementFact& said) {
             said.signers[0].key.revoked = Revocation{from_now(-1), "stolen", {}};
           },
           Reason::kKeyRevoked},
          {"expired when it was signed",
           [](Facts&, StatementFact& said) {
             said.signers[0].key.not_after = said.signers[0].signed_at - std::chrono::seconds(1);
           },
           Reason::kKeyExpired},
          {"withdrawn",
           [](Facts&, StatementFact& said) {
             said.withdrawn =
                 WithdrawnFact{.reason = "wrong", .since = from_now(-1), .by = {"lea"}};
           },
           Reason::kStatementWithdrawn}};
}

TEST(MemoryCondition, LayoutThatATrustedSignerSigned_CountsUnlessTheStatementDoesNot) {
  ReportCondition condition = strict();
  condition.memory.layouts = {LayoutKind::kPublished};
  for (const SignedRow& row : signed_rows()) {
    SCOPED_TRACE(row.what);
    Facts facts = facts_in_memory();
    facts.reports[0].memory->layout = MemoryLayout{LayoutKind::kPublished, kPublishedLayout, false};
    StatementFact said = statement(
        20, "layout", {{"stage", "layout"}, {"parameters", {{"layout", kPublishedLayout}}}},
        {signer("lea-1", "lea", "layout")});
    facts.statements = {};
    Facts changed = facts;
    row.change(changed, said);
    if (std::string_view(row.what) != "not said") {
      changed.statements = {said};
    }
    // Signers are asked for a role for the names that the manifests of a policy give.
    const PolicyDocument policy =
        policy_with({manifest_condition(), assay::policy::test::condition("it", condition)});
    const ConditionResult result = evaluate(std::vector{active(policy)}, workload_on_node(),
                                            one(changed), {}, DecisionPoint::kServe, now())
                                       .policies.front()
                                       .conditions.at(1);
    expect(result, row.code ? Outcome::kFail : Outcome::kPass, row.code);
    if (!row.code) {
      EXPECT_EQ(result.evidence.size(), 2U) << "the report and the statement";
    }
  }
}

TEST(MemoryCondition, Layout_IsToldWithWhatIsAccepted) {
  ReportCondition condition = strict();
  condition.memory.layouts = {LayoutKind::kRecipe, LayoutKind::kExact};
  condition.memory.layout_digests = {kLayout};
  Facts facts = facts_in_memory();
  lay_out(facts, LayoutKind::kRecipe, true);
  const ConditionResult result = judge_at_serve(condition, facts);
  EXPECT_EQ(result.expected["layouts"], (Json{"recipe", "exact"}));
  EXPECT_EQ(result.expected["layout_digests"], Json::array({kLayout}));
  EXPECT_EQ(result.actual["memory"]["layout"],
            (Json{{"kind", "recipe"}, {"digest", kLayout}, {"by_table", true}}));
}

std::vector<Case> cases() {
  std::vector<Case> all = other_cases();
  std::ranges::copy(layout_cases(), std::back_inserter(all));
  std::ranges::copy(share_cases(), std::back_inserter(all));
  return all;
}

TEST(MemoryCondition, OneChange_IsRefusedWithItsCode) {
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.what);
    Facts facts = facts_in_memory();
    one.change(facts);
    expect(judge_at_serve(strict(), facts), one.outcome, one.code);
  }
}

TEST(MemoryCondition, BelowNot_OnlyAKnownMismatchTurnsRound) {
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.what);
    Facts facts = facts_in_memory();
    one.change(facts);
    NotCondition negation;
    negation.of = {condition("part", strict())};
    const Outcome outcome = one.code == Reason::kModelMismatch ? Outcome::kPass : Outcome::kError;
    EXPECT_EQ(judge_at_serve(std::move(negation), facts).outcome, outcome);
  }
}

TEST(MemoryCondition, BoundsThatAreNotAskedFor_DoNotMatter) {
  ReportCondition condition;
  condition.scope = kDeviceMemoryScope;
  Facts facts = facts_in_memory();
  facts.reports[0].memory->staged = 5;
  facts.reports[0].memory->uncovered = 1U << 30;
  facts.reports[0].memory->redrawn = 0;
  facts.reports[0].memory->device_bytes.reset();
  expect(judge_at_serve(condition, facts), Outcome::kPass, std::nullopt);
  condition.memory.watched = false;
  facts.instances.clear();
  expect(judge_at_serve(condition, facts), Outcome::kPass, std::nullopt);
}

TEST(MemoryCondition, ShareOfTheDevice_IsExact) {
  ReportCondition condition;
  condition.scope = kDeviceMemoryScope;
  Facts facts = facts_in_memory();
  MemoryFact& memory = *facts.reports[0].memory;
  memory.device_bytes = (std::uint64_t{1} << 53) - 1;
  memory.on_devices = *memory.device_bytes;
  condition.memory.min_device_percent = 100;
  expect(judge_at_serve(condition, facts), Outcome::kPass, std::nullopt);
  memory.on_devices -= 1;
  expect(judge_at_serve(condition, facts), Outcome::kFail, Reason::kDeviceShareLow);
  memory.on_devices = 0;
  condition.memory.min_device_percent = 1;
  expect(judge_at_serve(condition, facts), Outcome::kFail, Reason::kDeviceShareLow);
}

// Against the definition, in numbers that a double has exactly. What is not said never passes, and
// more bytes on the device never help.
TEST(MemoryCondition, ShareOfTheDevice_IsWhatItIsDefinedAs) {
  ReportCondition condition;
  condition.scope = kDeviceMemoryScope;
  Facts facts = facts_in_memory();
  MemoryFact& memory = *facts.reports[0].memory;
  const std::vector<std::uint64_t> sizes = {0, 1, 49, 50, 51, 99, 100, 101, 200};
  for (const std::uint64_t percent : {1U, 49U, 50U, 51U, 99U, 100U}) {
    condition.memory.min_device_percent = percent;
    for (const std::uint64_t on_devices : sizes) {
      memory.on_devices = on_devices;
      memory.device_bytes.reset();
      EXPECT_EQ(judge_at_serve(condition, facts).outcome, Outcome::kError);
      bool passed = true;
      for (const std::uint64_t held : sizes) {
        memory.device_bytes = held;
        const bool known = held > 0 && on_devices <= held;
        const bool enough = static_cast<double>(on_devices) / static_cast<double>(held) * 100 >=
                            static_cast<double>(percent);
        const bool passes = judge_at_serve(condition, facts).outcome == Outcome::kPass;
        EXPECT_EQ(passes, known && enough) << on_devices << " of " << held << ", " << percent;
        EXPECT_TRUE(!passes || passed || held == on_devices) << "more on the device helped";
        passed = known ? passes : true;
      }
    }
  }
}

TEST(MemoryCondition, HeartbeatCountsForTenSeconds) {
  Facts facts = facts_in_memory();
  facts.instances[0].heard_at = from_now(-10);
  expect(judge_at_serve(strict(), facts), Outcome::kPass, std::nullopt);
  facts.instances[0].heard_at -= std::chrono::milliseconds(1);
  expect(judge_at_serve(strict(), facts), Outcome::kError, Reason::kInstanceUnwatched);
}

// --- whose memory

Workload pod_on_node() {
  Workload pod = pod_with({});
  pod.node = "gpu-1";
  return pod;
}

TEST(MemoryCondition, OfAPod_CountsThatPodAlone) {
  expect(judge_at_serve(strict(), facts_in_memory("uid-1"), pod_on_node()), Outcome::kPass,
         std::nullopt);
  for (const char* other : {"uid-2", ""}) {
    Facts facts = facts_in_memory("uid-1");
    facts.reports[0].pod = other;
    expect(judge_at_serve(strict(), facts, pod_on_node()), Outcome::kFail, Reason::kReportMissing);
  }
}

// Without its uid nobody can say which processes are the pod's.
TEST(MemoryCondition, OfAPodWithoutAUid_IsNotWhatOtherProcessesHave) {
  expect(judge_at_serve(strict(), facts_in_memory(), pod_on_node()), Outcome::kFail,
         Reason::kReportMissing);
}

TEST(MemoryCondition, NewestReportOfAnInstance_Counts) {
  Facts facts = facts_in_memory();
  facts.reports.push_back(memory_report_fact());
  facts.reports[0].result = "mismatch";
  facts.reports[1].reported_at = from_now(-60);
  facts.reports[1].job = "job-2";
  expect(judge_at_serve(strict(), facts), Outcome::kPass, std::nullopt);
  facts.reports[0].reported_at = from_now(-30);
  expect(judge_at_serve(strict(), facts), Outcome::kFail, Reason::kModelMismatch);
}

TEST(MemoryCondition, BeforeServe_IsDeferred) {
  expect(judge_on_node(strict(), facts_in_memory()), Outcome::kDeferred,
         Reason::kConditionDeferred);
}

}  // namespace
}  // namespace assay::policy::test
