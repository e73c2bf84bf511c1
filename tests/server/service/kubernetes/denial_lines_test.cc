// SPDX-License-Identifier: Apache-2.0
// What kubectl shows of a denial, line by line.
#include "server/service/kubernetes/denial_lines.h"

#include <gtest/gtest.h>

#include "server/service/kubernetes/review_answer.h"

namespace assay::server::test {
namespace {

using Lines = std::vector<std::string>;

ConditionResult failed(const std::string& id, Reason reason, Json actual = nullptr,
                       Json expected = nullptr) {
  return {id, Outcome::kFail, reason, std::move(expected), std::move(actual), {}, {}};
}

ArtifactId artifact(char digit) {
  return ArtifactId::parse("assay-tree-v1-sha256:" + std::string(64, digit)).value();
}

PolicyResult policy(std::vector<ConditionResult> conditions, PolicyMode mode = PolicyMode::kEnforce,
                    char model = 'a') {
  const StatementId id = StatementId::parse("sha256:" + std::string(64, '1')).value();
  return {"prod", 3, id, mode, artifact(model).text(), Outcome::kFail, std::move(conditions)};
}

Decision decision(std::vector<PolicyResult> policies, bool allowed = false) {
  const DocumentId document = DocumentId::parse("sha256:" + std::string(64, '2')).value();
  return {.id = "0190a1b2-0000-7000-8000-000000000001",
          .point = DecisionPoint::kCreate,
          .verdict = {allowed, {}, {}, {}, std::move(policies)},
          .models = {{artifact('a'), "acme/demo"}},
          .request = Json::object(),
          .dry_run = false,
          .evaluated_at = {},
          .epochs = {},
          .policy_epoch = 1,
          .tree_size = 1,
          .facts = document,
          .results = document,
          .replay_digest = document.digest()};
}

Json response_to(const Decision& decided, std::vector<OrderedJob> ordered = {}) {
  const DecisionAnswer answer{.selected = true,
                              .decision = decided,
                              .envelope = "",
                              .index = std::nullopt,
                              .ordered = std::move(ordered)};
  return parse_json(answer_decision(Review{}, answer).body).value()["response"];
}

std::string message_of(const Decision& decided, std::vector<OrderedJob> ordered = {}) {
  return response_to(decided, std::move(ordered))["status"]["message"];
}

TEST(ConditionWords, SentenceThenCode) {
  EXPECT_EQ(condition_words(failed("published", Reason::kManifestMissing)),
            "published: no manifest by a trusted publisher names this model [manifest-missing]");
}

TEST(ConditionWords, SayWhatItIsAbout) {
  const std::vector<std::pair<ConditionResult, std::string>> cases = {
      {failed("two", Reason::kSignersInsufficient, {{"identities", {"a"}}}, {{"at_least", 2}}),
       ": 1 of 2 signed [signers-insufficient]"},
      {failed("reference-bound", Reason::kReferenceUnbound, nullptr, {{"needs", "a digest"}}),
       ": needed: a digest [reference-unbound]"},
      {failed("volumes", Reason::kVolumeUnaccounted,
              {{"failed", {"volume-unaccounted", "mount-writable"}},
               {"unaccounted", {"server:/cache (nfs)", "server:/x (nfs)"}}}),
       ": server:/cache (nfs) [volume-unaccounted, mount-writable]"},
      {failed("images", Reason::kImageNotAllowed, {"server: vllm:1"}),
       ": server: vllm:1 [image-not-allowed]"},
      {failed("good", Reason::kPredicateMismatch,
              {{"failures",
                {{{"pointer", "/accuracy"}, {"op", ">="}, {"expected", 0.9}, {"actual", 0.71}}}}}),
       ": /accuracy is 0.71, not >= 0.9 [predicate-mismatch]"},
      {failed("good", Reason::kValueMissing,
              {{"failures", {{{"pointer", "/accuracy"}, {"op", ">="}, {"expected", 0.9}}}}}),
       ": /accuracy [value-missing]"},
      {failed("verified", Reason::kModelMismatch,
              {{"failed", {"model-mismatch"}},
               {"node", "gpu-1"},
               {"location", "pvc://a/b"},
               {"differing", "m bytes 0-9"}}),
       ": on gpu-1 at pvc://a/b: m bytes 0-9 [model-mismatch]"},
      {failed("node", Reason::kTcbNotAccepted,
              {{"node", "gpu-1"}, {"evidence", {{"tcb_status", "OutOfDate"}}}}),
       ": on gpu-1: OutOfDate [tcb-not-accepted]"},
      {failed("model-reference", Reason::kModelReferenceMissing, "acme/x"),
       ": acme/x [model-reference-missing]"}};
  for (const auto& [result, end] : cases) {
    EXPECT_EQ(condition_words(result),
              result.id + ": " + inside_line(info(result.code.value()).title) + end);
  }
}

// What a condition wrote may be anything: nothing is assumed of it.
TEST(ConditionWords, OddValues_LeaveTheSentence) {
  for (std::size_t i = 0; i < reason_count(); ++i) {
    const auto reason = static_cast<Reason>(i);
    for (const Json& odd : {Json(nullptr), Json(7), Json("x"), Json::array(), Json::object(),
                            Json::parse(R"({"failed":3,"failures":[3],"unaccounted":{}})")}) {
      const std::string words = condition_words(failed("id", reason, odd, odd));
      EXPECT_TRUE(words.starts_with("id: " + inside_line(info(reason).title))) << words;
      EXPECT_TRUE(words.ends_with("[" + std::string(info(reason).code) + "]")) << words;
    }
  }
}

// Whoever names images and volumes cannot write lines of the message, nor very long ones.
TEST(ConditionWords, HostileValues_StayOnTheLineAndShort) {
  const std::string forged = "x\nvolumes: all is well\x1b[2J\xe2\x80\xae";
  const std::string words = condition_words(
      failed("images", Reason::kImageNotAllowed, Json::array({forged + std::string(9999, 'y')})));
  EXPECT_LT(words.size(), 300U);
  for (const char c : words) {
    EXPECT_TRUE(c >= ' ' && c <= '~') << static_cast<int>(c);
  }
}

TEST(DenialMessage, LineForEachCondition_ThenTheCommand) {
  ConditionResult combined = failed("who", Reason::kConditionFailed);
  combined.parts = {
      failed("audit", Reason::kStatementMissing),
      {"passes", Outcome::kPass, {}, nullptr, nullptr, {}, {}},
      {"later", Outcome::kDeferred, Reason::kConditionDeferred, nullptr, nullptr, {}, {}}};
  const Decision denied =
      decision({policy({failed("published", Reason::kManifestMissing), combined}),
                policy({failed("published", Reason::kManifestMissing)}),
                policy({failed("unsaid", Reason::kKeyExpired)}, PolicyMode::kWarn),
                policy({failed("unsaid", Reason::kKeyExpired)}, PolicyMode::kShadow)});
  EXPECT_EQ(message_of(denied, {{"0190-job", "pvc://a/b"}}),
            "assay: this workload may not run here:\n"
            "published: no manifest by a trusted publisher names this model [manifest-missing]\n"
            "who: a combination of conditions does not hold [condition-failed]\n"
            "  audit: no trusted statement of the required kind is about this model "
            "[statement-missing]\n"
            "job 0190-job was ordered on pvc://a/b: try again when it is done\n"
            "The whole decision: assay decision show 0190a1b2-0000-7000-8000-000000000001");
}

TEST(DenialMessage, OfADryRun_NamesNoDecision) {
  Decision denied = decision({policy({failed("published", Reason::kManifestMissing)})});
  denied.dry_run = true;
  const std::string message = message_of(denied);
  EXPECT_EQ(message.find("decision show"), std::string::npos) << message;
  EXPECT_TRUE(message.ends_with("\nThis was a dry run, so no decision is stored.")) << message;
}

TEST(DenialMessage, OfSeveralModels_SaysWhichOne) {
  Decision denied = decision({policy({failed("published", Reason::kManifestMissing)}),
                              policy({failed("published", Reason::kManifestMissing),
                                      failed("volumes", Reason::kMountOverlaps)},
                                     PolicyMode::kEnforce, 'b')});
  denied.models.push_back({artifact('b'), "acme/lora"});
  EXPECT_EQ(denial_words(denied),
            (Lines{"published (acme/demo): no manifest by a trusted publisher names this model "
                   "[manifest-missing]",
                   "published (acme/lora): no manifest by a trusted publisher names this model "
                   "[manifest-missing]",
                   "volumes: something is mounted over or around the files of a model "
                   "[mount-overlaps]"}));
}

TEST(DenialMessage, WithoutAFailedCondition_NamesTheReasons) {
  Decision denied = decision({});
  denied.verdict.reasons = {Reason::kNoMatchingPolicy};
  EXPECT_EQ(denial_words(denied), Lines{"no policy selects this workload [no-matching-policy]"});
}

// The API server takes long messages, people do not: bounded, and the last line always stands.
TEST(DenialMessage, OfManyConditions_IsBounded) {
  std::vector<ConditionResult> many;
  for (int i = 0; i < 500; ++i) {
    many.push_back(failed("condition-" + std::to_string(i), Reason::kManifestMissing));
  }
  const std::string message = message_of(decision({policy(std::move(many))}));
  EXPECT_LE(message.size(), 4096U);
  EXPECT_GT(message.size(), 3800U);
  EXPECT_NE(message.find("\nand 4"), std::string::npos) << message;
  EXPECT_TRUE(message.ends_with("assay decision show 0190a1b2-0000-7000-8000-000000000001"));
}

TEST(Warnings, SayPolicyConditionSentenceAndCode) {
  const Decision allowed =
      decision({policy({failed("published", Reason::kManifestMissing)}, PolicyMode::kWarn),
                policy({failed("unsaid", Reason::kKeyExpired)}, PolicyMode::kShadow)},
               true);
  EXPECT_EQ(response_to(allowed)["warnings"],
            Json({"policy prod v3, published: no manifest by a trusted publisher names this model "
                  "[manifest-missing]"}));
}

TEST(Warnings, KeepTheCodeWhenTheyAreCut) {
  const std::string id(60, 'i');
  const Lines warnings = warning_words(
      decision({policy({failed(id, Reason::kImageNotAllowed, {std::string(100, 'x')}),
                        failed("images", Reason::kImageNotAllowed, {std::string(100, 'x')})},
                       PolicyMode::kWarn)},
               true));
  EXPECT_EQ(warnings, (Lines{"policy prod v3, " + id + " [image-not-allowed]",
                             "policy prod v3, images: the image of a container is not on the "
                             "policy's list [image-not-allowed]"}));
}

TEST(Warnings, OfATemplate_SayWhatItsPodsWouldBeDeniedFor) {
  const Decision denied = decision({policy({failed("published", Reason::kManifestMissing)})});
  const Json response = parse_json(answer_advice(Review{}, denied).body).value()["response"];
  EXPECT_EQ(response["allowed"], true);
  EXPECT_EQ(response["warnings"],
            Json({"assay: pods of this template would be denied",
                  "assay: published: no manifest by a trusted publisher names this model "
                  "[manifest-missing]"}));
}

TEST(Refusal, SaysWhatToDo) {
  const Json reserved =
      parse_json(refuse(Review{}, Reason::kAnnotationReserved, "no").body).value();
  EXPECT_EQ(reserved["response"]["status"]["message"],
            "assay: denied: no [annotation-reserved]\nWhat to do: " +
                std::string(info(Reason::kAnnotationReserved).next));
  const Json undecided =
      parse_json(refuse_undecided(Review{}, {ErrorCode::kStorage, "secret", ""}).body).value();
  EXPECT_EQ(
      undecided["response"]["status"]["message"],
      "assay: not decided, and therefore denied: the database failed [storage]\nWhat to do: " +
          std::string(info(ErrorCode::kStorage).next));
}

TEST(Refusal, OfWhatCannotBeDoneNow_SaysWhy_AndOfWhatFailedInside_DoesNot) {
  const auto message = [](ErrorCode code) {
    return parse_json(refuse_undecided(Review{}, {code, "clock-behind: set it", ""}).body)
        .value()["response"]["status"]["message"]
        .get<std::string>();
  };
  EXPECT_TRUE(message(ErrorCode::kUnavailable)
                  .starts_with("assay: not decided, and therefore denied: clock-behind: set it "
                               "[unavailable]\n"))
      << message(ErrorCode::kUnavailable);
  for (const ErrorCode code : {ErrorCode::kInternal, ErrorCode::kStorage, ErrorCode::kDataLoss}) {
    EXPECT_EQ(message(code).find("clock-behind"), std::string::npos) << message(code);
  }
}

}  // namespace
}  // namespace assay::server::test
