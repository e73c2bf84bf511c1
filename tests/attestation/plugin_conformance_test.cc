// SPDX-License-Identifier: Apache-2.0
// The checks for authors: the example passes all of them, and each wrong plug-in fails one.
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "attestation/plugin/conformance.h"
#include "tests/attestation/plugin_support.h"

namespace assay::attestation::plugin {
namespace {

Json example_vectors() {
  std::ifstream file(std::string(ASSAY_SOURCE_DIR) +
                     "/deploy/examples/verifier-plugin/vectors.json");
  return Json::parse(file);
}

// "VECTOR/CHECK" of what failed.
std::vector<std::string> failures(const EvidenceVerifier& verifier, const Json& vectors) {
  std::vector<std::string> failed;
  const auto parsed = parse_vectors(to_bytes(vectors.dump()));
  EXPECT_TRUE(parsed) << to_string(parsed.error());
  for (const ConformanceCheck& check : check_conformance(verifier, parsed.value())) {
    EXPECT_EQ(check.passed, check.detail.empty());
    if (!check.passed) {
      failed.push_back(check.vector + "/" + check.check);
    }
  }
  return failed;
}

TEST(Conformance, Example_PassesAllChecks) {
  const auto verifier = test::example_hmac();
  EXPECT_EQ(failures(*verifier, example_vectors()), std::vector<std::string>{});
}

TEST(Conformance, OtherExpectation_Fails) {
  const auto verifier = test::example_hmac();
  Json vectors = example_vectors();
  vectors["vectors"] = Json::array({vectors["vectors"][4]});
  vectors["vectors"][0]["expect"]["error"] = "OTHER";
  EXPECT_EQ(failures(*verifier, vectors), std::vector<std::string>{"nothing/verdict"});
}

// The wicked plug-in accepts whatever begins with "good", for whatever report data.
TEST(Conformance, PluginThatLooksAtNothing_Fails) {
  const auto verifier = test::wicked();
  const Json vectors = {{"type", "wicked"},
                        {"media_type", "application/vnd.example.wicked"},
                        {"vectors",
                         {{{"name", "v"},
                           {"evidence", base64_encode(to_bytes("good, and more"))},
                           {"report_data", std::string(128, '0')},
                           {"now", "2026-01-01T00:00:00Z"},
                           {"expect", {{"verdict", "accepted"}}}}}}};
  EXPECT_EQ(failures(*verifier, vectors),
            (std::vector<std::string>{"v/report-data", "v/empty", "v/extended", "v/truncated",
                                      "v/flipped"}));
}

TEST(Conformance, Evidence_IsAsLongAsNodesMaySend) {
  Json vectors = example_vectors();
  const auto parsed_with = [&](std::size_t bytes) {
    vectors["vectors"][0]["evidence"] = base64_encode(Bytes(bytes));
    return parse_vectors(to_bytes(vectors.dump())).has_value();
  };
  EXPECT_TRUE(parsed_with(kMaxOtherEvidenceBytes));
  EXPECT_FALSE(parsed_with(kMaxOtherEvidenceBytes + 3));
}

// A verifier whose answers a test plays. It counts its calls from 1.
class PlayedVerifier final : public EvidenceVerifier {
 public:
  using Play = std::function<Result<AppraisedEvidence>(const Evidence&, int call)>;
  explicit PlayedVerifier(Play play) : play_(std::move(play)) {}

  [[nodiscard]] std::string_view type() const override { return "played"; }
  [[nodiscard]] std::string_view media_type() const override { return "application/x-played"; }
  [[nodiscard]] Status check(const Appraisal& /*appraisal*/) const override { return {}; }
  [[nodiscard]] Result<AppraisedEvidence> appraise(const Evidence& evidence,
                                                   const Appraisal& /*appraisal*/,
                                                   Purpose /*purpose*/,
                                                   const ReportDataBytes& /*expected*/,
                                                   Timestamp /*now*/) const override {
    return play_(evidence, ++calls_);
  }

 private:
  Play play_;
  mutable int calls_ = 0;
};

AppraisedEvidence verdict_of(bool accepted) {
  AppraisedEvidence appraised;
  appraised.accepted = accepted;
  appraised.error = accepted ? "" : "NO";
  appraised.tcb_status = "UpToDate";
  appraised.result = {{"measurements", {{"image", "abc"}}}};
  return appraised;
}

Json vectors_expecting(const Json& expect) {
  return {{"type", "played"},
          {"media_type", "application/x-played"},
          {"vectors",
           {{{"name", "v"},
             {"evidence", base64_encode(to_bytes("evidence"))},
             {"endorsements", {{"chain", "x"}}},
             {"report_data", std::string(128, '0')},
             {"now", "2026-01-01T00:00:00Z"},
             {"expect", expect}}}}};
}

// "CHECK: DETAIL" of what failed.
std::vector<std::string> failed_checks(PlayedVerifier::Play play, const Json& expect) {
  std::vector<std::string> failed;
  const Vectors vectors = parse_vectors(to_bytes(vectors_expecting(expect).dump())).value();
  for (const ConformanceCheck& check :
       check_conformance(PlayedVerifier(std::move(play)), vectors)) {
    if (!check.passed) {
      failed.push_back(check.check + ": " + check.detail);
    }
  }
  return failed;
}

using Failures = std::vector<std::string>;

TEST(Conformance, EachMemberThatDiffers_IsNamed) {
  const auto accept = [](const Evidence&, int) { return verdict_of(true); };
  EXPECT_EQ(failed_checks(accept, {{"verdict", "rejected"},
                                   {"error", "NO"},
                                   {"tcb_status", "OutOfDate"},
                                   {"measurements", {{"image", "abc"}}}}),
            Failures{"verdict: error is absent, expected \"NO\"; tcb_status is \"UpToDate\", "
                     "expected \"OutOfDate\"; verdict is \"accepted\", expected \"rejected\""});
}

TEST(Conformance, Error_IsNoRejection) {
  const auto error = [](const Evidence&, int) -> Result<AppraisedEvidence> {
    return fail(ErrorCode::kVerifierFailed, "it died");
  };
  EXPECT_EQ(failed_checks(error, {{"verdict", "error"}}), Failures{});
  EXPECT_EQ(failed_checks(error, {{"verdict", "rejected"}}),
            Failures{"verdict: verdict is \"error\", expected \"rejected\"; verifier-failed: it "
                     "died"});
  // Accepted as it should be, and an error for whatever else.
  const auto only_good = [&](const Evidence& evidence, int call) {
    return as_text(evidence.quote) == "evidence" && call <= 2 ? verdict_of(true)
                                                              : error(evidence, call);
  };
  EXPECT_EQ(failed_checks(only_good, {{"verdict", "accepted"}}),
            (Failures{
                "report-data: with other report data: error, verifier-failed: it died",
                "empty: without a byte: error, verifier-failed: it died",
                "extended: with a byte more: error, verifier-failed: it died",
                "truncated: truncated at byte 0: error, verifier-failed: it died",
                "flipped: flipped at byte 0: error, verifier-failed: it died",
            }));
}

TEST(Conformance, OtherOutcomeOfTheSecondCall_Fails) {
  const auto moody = [](const Evidence&, int call) { return verdict_of(call % 2 == 0); };
  EXPECT_EQ(failed_checks(moody, {{"verdict", "rejected"}}),
            Failures{"repeated: the second call has another outcome"});
}

TEST(Conformance, Endorsements_AreHandedOver) {
  const auto look = [](const Evidence& evidence, int) {
    return verdict_of(evidence.collateral != Json({{"chain", "x"}}));
  };
  EXPECT_EQ(failed_checks(look, {{"verdict", "rejected"}, {"error", "NO"}}), Failures{});
}

TEST(Vectors, WhatDoesNotFollowTheSchema_IsRefused) {
  const auto code = [](const Json& json) {
    const auto parsed = parse_vectors(to_bytes(json.dump()));
    return parsed ? std::string("OK") : std::string(info(parsed.error().code).code);
  };
  const Json valid = example_vectors();
  EXPECT_EQ(code(valid), "OK");
  for (const char* place : {"/type", "/media_type", "/vectors", "/vectors/0/name",
                            "/vectors/0/evidence", "/vectors/0/report_data", "/vectors/0/now",
                            "/vectors/0/expect", "/vectors/0/expect/verdict"}) {
    Json changed = valid;
    changed[Json::json_pointer(place)] = 7;
    EXPECT_EQ(code(changed), "schema-violation") << place;
  }
  Json changed = valid;
  changed["vectors"][0]["evidence"] = "?";
  EXPECT_EQ(code(changed), "invalid-encoding");
  changed = valid;
  changed["vectors"][0]["now"] = "yesterday";
  EXPECT_EQ(code(changed), "invalid-time");
}

}  // namespace
}  // namespace assay::attestation::plugin
