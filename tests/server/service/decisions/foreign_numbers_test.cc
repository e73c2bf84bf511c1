// SPDX-License-Identifier: Apache-2.0
// Statements of others with integers of 64 bits: stored, judged, shown, and replayed.
#include <gtest/gtest.h>

#include "schemas/core/json_foreign.h"
#include "tests/server/service/fixture.h"

namespace assay::server::test {
namespace {

constexpr const char* kType = "https://example.com/train/v1";
constexpr const char* kSlsa = "https://slsa.dev/provenance/v1";
constexpr const char* kSeed = "13938349572398471239";

class ForeignNumbers : public ServiceTest {
 protected:
  ForeignNumbers() {
    EXPECT_TRUE(apply_trust_change(
        *services_, trust_change(1, {AddKey{trainer_.record}}, {&operator1_, &operator2_}),
        actor_));
    EXPECT_TRUE(accept_manifest(*services_, signed_manifest(model_), actor_));
  }

  // The bytes of a statement about the model, with this text for its predicate.
  [[nodiscard]] std::string statement(const std::string& type, const std::string& predicate) const {
    return R"({"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"acme/demo","digest":{")" +
           id_of(model_).digest_name() + R"(":")" + id_of(model_).root().hex() +
           R"("}}],"predicateType":")" + type + R"(","predicate":)" + predicate + "}";
  }
  Result<Accepted> push(const std::string& type, const std::string& predicate) {
    return accept_attestation(
        *services_, envelope(kStatementPayloadType, statement(type, predicate), {&trainer_}),
        actor_);
  }
  void demand(const Json& where) {
    const Json document = {
        {"name", "seeds"},
        {"version", ++version_},
        {"mode", "enforce"},
        {"match", {{"namespaces", {"inference"}}}},
        {"require",
         {{{"id", "published"}, {"manifest", {{"signers", {{"at_least", 1}}}}}},
          {{"id", "seeded"}, {"statement", {{"predicate_type", kType}, {"where", {where}}}}}}}};
    const auto accepted = accept_policy(
        *services_, envelope(kPolicyPayloadType, canonical_json(document).value(), {&author_}),
        actor_);
    ASSERT_TRUE(accepted) << to_string(accepted.error());
    const std::uint64_t next = store_->snapshot().value()->epochs()->policy + 1;
    ASSERT_TRUE(
        apply_policy_approval(*services_, PolicyApproval::Action::kActivate, accepted->row.id,
                              policy_approval(accepted->row.id, next, policy_approver_), actor_));
  }
  Decision decide_now() {
    const auto answer = decide(*services_, {.point = DecisionPoint::kCreate,
                                            .models = references_in(id_of(model_).text()),
                                            .workload = {"inference", {}, {}},
                                            .context = Json::object(),
                                            .principal = "orchestrator"});
    EXPECT_TRUE(answer) << to_string(answer.error());
    return answer->decision.value();
  }
  // The outcome of the condition "seeded", of a decision that gives the same when replayed.
  Outcome seeded() {
    const Decision decision = decide_now();
    EXPECT_TRUE(replay(*services_, decision.id)->reproduced);
    for (const ConditionResult& condition : decision.verdict.policies.at(0).conditions) {
      if (condition.id == "seeded") {
        shown_ = condition.actual.dump();
        return condition.outcome;
      }
    }
    ADD_FAILURE() << "no such condition";
    return Outcome::kError;
  }

  const Manifest model_ = manifest("seeded");
  TestKey trainer_ = make_key(KeyPurpose::kSigner, "tom",
                              {{"*", kType, "acme"}, {"*", kSlsa, "acme"}, role("train")});
  std::uint64_t version_ = 0;
  std::string shown_;
};

TEST_F(ForeignNumbers, SeedOf64Bits_IsStoredAsItCame) {
  const std::string bytes = statement(kType, std::string(R"({"seed":)") + kSeed + "}");
  const auto accepted = push(kType, std::string(R"({"seed":)") + kSeed + "}");
  ASSERT_TRUE(accepted) << to_string(accepted.error());
  const auto stored = store_->snapshot().value()->document(accepted->row.envelopes.back());
  ASSERT_TRUE(stored);
  EXPECT_EQ(as_text(attestation::parse_envelope(stored->bytes)->payload), bytes);
}

TEST_F(ForeignNumbers, TestsOfASeed_AreUndecided_AndSayItsDigits) {
  ASSERT_TRUE(push(kType, std::string(R"({"seed":)") + kSeed + "}"));
  for (const Json& where : {Json{{"pointer", "/seed"}, {"op", "=="}, {"value", kSeed}},
                            Json{{"pointer", "/seed"}, {"op", "!="}, {"value", "other"}},
                            Json{{"pointer", "/seed"}, {"op", "matches"}, {"value", "[0-9]+"}},
                            Json{{"pointer", "/seed"}, {"op", ">"}, {"value", 0}}}) {
    demand(where);
    EXPECT_EQ(seeded(), Outcome::kError) << where.dump();
    EXPECT_FALSE(decide_now().verdict.allowed);
    EXPECT_NE(shown_.find(std::string("\"") + kSeed + "\""), std::string::npos) << shown_;
  }
  demand({{"pointer", "/seed"}, {"op", "exists"}, {"value", true}});
  EXPECT_EQ(seeded(), Outcome::kPass);
}

// A seed in the statement is no reason to leave the rest of it unread.
TEST_F(ForeignNumbers, OtherMembersBesideASeed_AreJudged) {
  ASSERT_TRUE(push(kType, std::string(R"({"epochs":3,"seed":)") + kSeed + "}"));
  demand({{"pointer", "/epochs"}, {"op", "=="}, {"value", 3}});
  EXPECT_EQ(seeded(), Outcome::kPass);
  demand({{"pointer", "/epochs"}, {"op", ">"}, {"value", 3}});
  EXPECT_EQ(seeded(), Outcome::kFail);
}

// Digits without quotation marks are no digest, although there are as many as a digest has.
TEST_F(ForeignNumbers, DigitsInPlaceOfADigest_AreNoInput) {
  const std::string digits(64, '1');
  const auto accepted = push(
      "https://slsa.dev/provenance/v1",
      R"({"buildDefinition":{"resolvedDependencies":[{"digest":{"sha256":)" + digits + "}}]}}");
  ASSERT_TRUE(accepted) << to_string(accepted.error());
  EXPECT_TRUE(accepted->row.inputs.empty());
  EXPECT_TRUE(parse_json(accepted->row.contents)->contains("unread"));
}

TEST_F(ForeignNumbers, OwnPredicates_StayStrict) {
  const auto accepted =
      push("https://assay.dev/lifecycle/v1",
           std::string(R"({"stage":"train","parameters":{"seed":)") + kSeed + "}}");
  EXPECT_EQ(refusal(accepted), ErrorCode::kLimitExceeded);
}

}  // namespace
}  // namespace assay::server::test
