// SPDX-License-Identifier: Apache-2.0
// Decisions: their JSON follows the schema, and replay sees every result.
#include "schemas/decision.h"

#include <functional>

#include <gtest/gtest.h>

#include "schemas/core/sha.h"
#include "schemas/validate.h"
#include "tests/schemas/samples.h"

namespace assay {
namespace {

using test::at;
using test::digest_of;

ConditionResult passed(std::string id) {
  return {
      std::move(id), Outcome::kPass, std::nullopt, {}, {}, {"sha256:" + std::string(64, '1')}, {}};
}

Verdict sample_verdict() {
  ConditionResult failed{"signed", Outcome::kFail,      Reason::kSignersInsufficient, 2, 1,
                         {},       {passed("signed.a")}};
  ConditionResult later{"node", Outcome::kDeferred, Reason::kConditionDeferred, {}, {}, {}, {}};
  return {false,
          {Reason::kSignersInsufficient},
          {"policy old-models: statement-stale"},
          {passed("reference")},
          {{"prod-llm",
            3,
            StatementId(digest_of("policy")),
            PolicyMode::kEnforce,
            ArtifactId(digest_of("root")).text(),
            Outcome::kFail,
            {failed, later}}}};
}

Decision sample_decision() {
  const DocumentId facts(digest_of("facts"));
  const Timestamp now = at("2026-08-24T10:00:00.123Z");
  return {"0198f0a2-7c3e-7bbb-8123-456789abcdef",
          DecisionPoint::kCreate,
          sample_verdict(),
          {{ArtifactId(digest_of("root")), "acme/demo-llm"}},
          {{"uid", "1"}},
          false,
          now,
          {3, 1},
          2,
          991,
          facts,
          DocumentId(digest_of("results")),
          *replay_digest(sample_verdict(), facts, now)};
}

TEST(Decision, Json_FollowsTheSchema) {
  const Json json = to_json(sample_decision());
  const auto status = validate("decision", json);
  EXPECT_TRUE(status) << to_string(status.error());
  EXPECT_EQ(json["verdict"]["allowed"], false);
  EXPECT_EQ(json["verdict"]["reasons"], Json({"signers-insufficient"}));
  EXPECT_EQ(json["verdict"]["policies"][0]["conditions"][0]["code"], "signers-insufficient");
  EXPECT_EQ(json["verdict"]["policies"][0]["conditions"][0]["expected"], 2);
  EXPECT_EQ(json["epochs"], Json({{"trust", 3}, {"revocation", 1}, {"policy", 2}}));
  EXPECT_EQ(json["evaluated_at"], "2026-08-24T10:00:00.123Z");
}

TEST(Decision, UnknownModel_LeavesItOut) {
  Decision decision = sample_decision();
  decision.models.clear();
  const Json json = to_json(decision);
  EXPECT_TRUE(validate("decision", json));
  EXPECT_EQ(json["models"], Json::array());
}

TEST(Decision, Models_ComeWithTheNameThatWasAskedFor) {
  Decision decision = sample_decision();
  decision.models.push_back({ArtifactId(digest_of("adapter")), ""});
  const Json json = to_json(decision);
  EXPECT_TRUE(validate("decision", json));
  EXPECT_EQ(json["models"],
            Json({{{"artifact", ArtifactId(digest_of("root")).text()}, {"name", "acme/demo-llm"}},
                  {{"artifact", ArtifactId(digest_of("adapter")).text()}}}));
}

TEST(Decision, Json_SaysItsFormatAndTheRulesOfItsVerdict) {
  const Json json = to_json(sample_decision());
  EXPECT_EQ(json["format"], kDecisionFormat);
  EXPECT_EQ(json["evaluator"], kEvaluator);
}

TEST(Decision, Schema_HoldsCodeAndOutcomeTogether) {
  Json json = to_json(sample_decision());
  json["verdict"]["preconditions"][0]["code"] = "internal";
  EXPECT_FALSE(validate("decision", json));
  json = to_json(sample_decision());
  json["verdict"]["policies"][0]["conditions"][0].erase("code");
  EXPECT_FALSE(validate("decision", json));
}

TEST(Decision, OutcomeNames_AreTheSchemas) {
  EXPECT_EQ(name(Outcome::kPass), "pass");
  EXPECT_EQ(name(Outcome::kFail), "fail");
  EXPECT_EQ(name(Outcome::kError), "error");
  EXPECT_EQ(name(Outcome::kDeferred), "deferred");
}

// What a replay compares, by its JSON value.
Digest by_value(const Verdict& verdict, const DocumentId& facts, Timestamp now) {
  const Json results = results_of(verdict);
  Json document = {{"allowed", verdict.allowed}, {"reasons", to_json(verdict)["reasons"]},
                   {"policies", Json::array()},  {"facts", facts.text()},
                   {"now", to_rfc3339(now)},     {"conditions", {results["preconditions"]}}};
  for (Json policy : results["policies"]) {
    document["policies"].push_back(policy["id"]);
    for (const char* const member : {"id", "name", "version"}) {
      policy.erase(member);
    }
    document["conditions"].push_back(std::move(policy));
  }
  return sha256(as_bytes(canonical_json(document).value()));
}

// Written member by member, each document is the one that its JSON value would be.
TEST(ResultsText, IsTheCanonicalDocument) {
  const std::function<void(Verdict&)> changes[] = {
      [](Verdict&) {},
      [](Verdict& v) { v.preconditions.clear(); },
      [](Verdict& v) { v.policies.clear(); },
      [](Verdict& v) { v.allowed = !v.allowed; },
      [](Verdict& v) { v.reasons = {Reason::kKeyRevoked, Reason::kManifestMissing}; },
      [](Verdict& v) { v.policies[0].conditions.clear(); },
      [](Verdict& v) { v.policies[0].name = "\u00dc \"\\\n\x01"; },
      [](Verdict& v) { v.policies[0].model = "sha256:aa"; },
      [](Verdict& v) { v.policies[0].version = 0; },
      [](Verdict& v) { v.policies[0].conditions[0].expected = nullptr; },
      [](Verdict& v) { v.policies[0].conditions[0].actual = {{"z", 1.5}, {"a", {nullptr, ""}}}; },
      [](Verdict& v) { v.policies[0].conditions[0].code.reset(); },
      [](Verdict& v) { v.policies[0].conditions[0].evidence = {"a", "\u2028", "\t"}; },
      [](Verdict& v) {
        v.policies[0].conditions[0].evidence = std::vector<std::string>(40, "sha256:bb");
      },
      [](Verdict& v) { v.policies[0].conditions[0].parts = v.preconditions; },
      [](Verdict& v) {
        v.policies[0].conditions[0].parts = v.policies[0].conditions;
        v.policies.push_back(v.policies[0]);
      },
  };
  const auto text_of = [](const Verdict& verdict) {
    return results_text(verdict).value_or("nothing");
  };
  const DocumentId facts(digest_of("facts"));
  const Timestamp now = at("2026-08-24T10:00:00Z");
  for (const auto& change : changes) {
    for (const auto& another : changes) {
      Verdict verdict = sample_verdict();
      change(verdict);
      if (!verdict.policies.empty() && !verdict.policies[0].conditions.empty()) {
        another(verdict);
      }
      EXPECT_EQ(text_of(verdict), canonical_json(results_of(verdict)).value());
      EXPECT_EQ(replay_digest(verdict, facts, now).value(), by_value(verdict, facts, now));
    }
  }
}

TEST(ResultsText, WhatJsonCannotSay_IsRefused) {
  const auto refused = [](const std::function<void(ConditionResult&)>& change) {
    Verdict verdict = sample_verdict();
    change(verdict.policies[0].conditions[0]);
    const DocumentId facts(digest_of("facts"));
    return !results_text(verdict) && !replay_digest(verdict, facts, Timestamp());
  };
  EXPECT_TRUE(refused([](ConditionResult& one) { one.id = "\xff"; }));
  EXPECT_TRUE(refused([](ConditionResult& one) { one.actual = "\xff"; }));
  EXPECT_TRUE(refused([](ConditionResult& one) { one.expected = std::uint64_t{1} << 60; }));
  EXPECT_TRUE(refused([](ConditionResult& one) { one.evidence = {"\xff"}; }));
  EXPECT_FALSE(refused([](ConditionResult&) {}));
}

TEST(ReplayDigest, SameInput_SameDigest) {
  const DocumentId facts(digest_of("facts"));
  const Timestamp now = at("2026-08-24T10:00:00Z");
  EXPECT_EQ(*replay_digest(sample_verdict(), facts, now),
            *replay_digest(sample_verdict(), facts, now));
}

TEST(ReplayDigest, AnyResult_ChangesIt) {
  const DocumentId facts(digest_of("facts"));
  const Timestamp now = at("2026-08-24T10:00:00Z");
  const Digest base = *replay_digest(sample_verdict(), facts, now);
  EXPECT_NE(*replay_digest(sample_verdict(), DocumentId(digest_of("other")), now), base);
  EXPECT_NE(*replay_digest(sample_verdict(), facts, now + std::chrono::milliseconds(1)), base);
  const std::function<void(Verdict&)> changes[] = {
      [](Verdict& v) { v.allowed = true; },
      [](Verdict& v) { v.reasons.clear(); },
      [](Verdict& v) { v.preconditions[0].outcome = Outcome::kError; },
      [](Verdict& v) { v.policies[0].id = StatementId(digest_of("another policy")); },
      [](Verdict& v) { v.policies[0].mode = PolicyMode::kWarn; },
      [](Verdict& v) { v.policies[0].outcome = Outcome::kPass; },
      [](Verdict& v) { v.policies[0].conditions[0].actual = 0; },
      [](Verdict& v) { v.policies[0].conditions[0].expected = 3; },
      [](Verdict& v) { v.policies[0].conditions[0].code = Reason::kStatementMissing; },
      [](Verdict& v) { v.policies[0].conditions[0].evidence = {"x"}; },
      [](Verdict& v) { v.policies[0].conditions[0].parts[0].outcome = Outcome::kDeferred; },
      [](Verdict& v) { v.policies[0].conditions.pop_back(); },
      [](Verdict& v) { v.policies.clear(); }};
  for (const auto& change : changes) {
    Verdict verdict = sample_verdict();
    change(verdict);
    EXPECT_NE(*replay_digest(verdict, facts, now), base);
  }
}

// Warnings are texts for people, made from the results.
TEST(ReplayDigest, Warnings_DoNotCount) {
  const DocumentId facts(digest_of("facts"));
  const Timestamp now = at("2026-08-24T10:00:00Z");
  Verdict verdict = sample_verdict();
  verdict.warnings = {"said otherwise"};
  EXPECT_EQ(*replay_digest(verdict, facts, now), *replay_digest(sample_verdict(), facts, now));
}

// --- evidence

std::vector<std::string> ids(int count) {
  std::vector<std::string> list;
  for (int i = 0; i < count; ++i) {
    list.push_back("id-" + std::to_string(i));
  }
  return list;
}

TEST(EvidenceIds, AreACountADigestAndTheFirst16) {
  for (const int count : {0, 1, 16, 17}) {
    const EvidenceIds some(ids(count));
    const Json json = some.to_json();
    EXPECT_EQ(json["count"], count);
    EXPECT_EQ(json["first"].size(), std::min(count, 16));
    EXPECT_EQ(json["digest"], sha256(as_bytes(canonical_json(ids(count)).value())).text());
    const auto again = EvidenceIds::from_json(json);
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, some);
    EXPECT_EQ(again->to_json(), json);
  }
  EXPECT_NE(EvidenceIds(ids(17)), EvidenceIds(ids(18)));
}

TEST(EvidenceIds, WithOtherCharacters_HaveTheDigestOfTheCanonicalArray) {
  const std::vector<std::string> odd = {"a\"b", "\xc3\xa9", "line\n", "plain"};
  EXPECT_EQ(EvidenceIds(odd).digest(), sha256(as_bytes(canonical_json(odd).value())));
}

TEST(EvidenceIds, AnythingElse_IsDataLoss) {
  const Json good = EvidenceIds(ids(2)).to_json();
  for (const char* member : {"count", "digest", "first"}) {
    Json bad = good;
    bad[member] = "x";
    EXPECT_FALSE(EvidenceIds::from_json(bad)) << member;
    bad.erase(member);
    EXPECT_FALSE(EvidenceIds::from_json(bad)) << member;
  }
  Json fewer = good;
  fewer["first"].erase(0);
  EXPECT_FALSE(EvidenceIds::from_json(fewer));
}

// Decisions of one kind share the document with their results.
TEST(Decision, SignedForm_NamesItsResults) {
  const Decision decision = sample_decision();
  Json json = signed_form(decision);
  EXPECT_TRUE(validate("decision", json));
  EXPECT_EQ(json["results"], decision.results.text());
  EXPECT_FALSE(json["verdict"].contains("policies"));
  json["verdict"].update(results_of(decision.verdict));
  EXPECT_EQ(json, to_json(decision));
}

}  // namespace
}  // namespace assay
