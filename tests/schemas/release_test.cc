// SPDX-License-Identifier: Apache-2.0
// Release statements, withdrawals, and the names of a policy.
#include "schemas/release.h"

#include <gtest/gtest.h>

#include "schemas/core/json_values.h"
#include "schemas/policy_document.h"
#include "schemas/trust.h"
#include "schemas/withdrawal.h"
#include "tests/schemas/samples.h"

namespace assay {
namespace {

using test::code_of;
using test::where_of;

const StatementId kOther = StatementId::parse("sha256:" + std::string(64, 'b')).value();

Release sample() {
  return {"acme/demo", "2.0.0",
          ArtifactId::parse("assay-tree-v1-sha256:" + std::string(64, 'a')).value(), kOther};
}
Statement sample_statement() { return to_statement(sample()).value(); }

TEST(Release, Statement_RoundTrips) {
  for (const bool first : {true, false}) {
    Release release = sample();
    if (first) {
      release.supersedes.reset();
    }
    const std::string encoded = encode_statement(to_statement(release).value()).value();
    const auto again = release_from(parse_statement(as_bytes(encoded)).value());
    ASSERT_TRUE(again) << to_string(again.error());
    EXPECT_EQ(again->name, release.name);
    EXPECT_EQ(again->version, release.version);
    EXPECT_EQ(again->artifact, release.artifact);
    EXPECT_EQ(again->supersedes, release.supersedes);
  }
}

TEST(Release, OtherShapes_AreRefused) {
  Statement statement = sample_statement();
  statement.predicate_type = "https://assay.dev/release/v2";
  EXPECT_EQ(code_of(release_from(statement)), "predicate-type-unknown");
  statement = sample_statement();
  statement.predicate["notes"] = "new";
  EXPECT_EQ(code_of(release_from(statement)), "unknown-member");
  for (const Json& version : {Json(""), Json(2), Json("../2"), Json(std::string(129, '1'))}) {
    statement = sample_statement();
    statement.predicate["version"] = version;
    EXPECT_EQ(code_of(release_from(statement)), "schema-violation") << version;
    EXPECT_EQ(where_of(release_from(statement)), "/predicate/version") << version;
  }
  statement = sample_statement();
  statement.predicate["supersedes"] = nullptr;  // not the first release
  EXPECT_EQ(code_of(release_from(statement)), "schema-violation");
  statement.predicate["supersedes"] = "b";
  EXPECT_EQ(code_of(release_from(statement)), "schema-violation");
}

TEST(Release, Subject_IsTheOneArtifactUnderThatName) {
  Statement statement = sample_statement();
  statement.subjects[0].name = "acme/other";
  EXPECT_EQ(code_of(release_from(statement)), "subject-mismatch");
  statement = sample_statement();
  statement.subjects.push_back(statement.subjects[0]);
  EXPECT_EQ(code_of(release_from(statement)), "subject-mismatch");
  statement = sample_statement();
  statement.subjects[0].digest["sha256"] = std::string(64, 'c');
  EXPECT_EQ(code_of(release_from(statement)), "subject-mismatch");
}

// --- withdrawals

Json withdrawal() {
  return {{"statement", kOther.text()}, {"reason", "licence"}, {"text", "no licence"}};
}
Result<Withdrawal> parsed(const Json& json) {
  return parse_withdrawal(as_bytes(canonical_json(json).value()));
}

TEST(Withdrawal, RoundTrips) {
  Json json = withdrawal();
  EXPECT_EQ(to_json(*parsed(json)), json);
  EXPECT_FALSE(parsed(json)->since);
  json["since"] = "2026-03-01T00:00:00.000Z";
  EXPECT_EQ(to_json(*parsed(json)), json);
  for (const std::string_view reason : kWithdrawalReasons) {
    json["reason"] = reason;
    EXPECT_TRUE(parsed(json)) << reason;
  }
}

TEST(Withdrawal, OtherShapes_AreRefused) {
  for (const char* member : {"statement", "reason", "text"}) {
    Json json = withdrawal();
    json.erase(member);
    EXPECT_EQ(code_of(parsed(json)), "schema-violation") << member;
  }
  Json json = withdrawal();
  json["until"] = "2026-03-01T00:00:00Z";
  EXPECT_EQ(code_of(parsed(json)), "unknown-member") << "nothing ends a withdrawal";
  for (const auto& [member, value] : {std::pair("reason", Json("because")),
                                      {"reason", Json(nullptr)},
                                      {"text", Json("")},
                                      {"text", Json(std::string(1025, 'x'))},
                                      {"since", Json(nullptr)},
                                      {"since", Json("now")},
                                      {"statement", Json("b")}}) {
    json = withdrawal();
    json[member] = value;
    EXPECT_EQ(code_of(parsed(json)), "schema-violation") << member << value;
  }
  json = withdrawal();
  json["since"] = "2026-02-30T00:00:00Z";
  EXPECT_EQ(code_of(parsed(json)), "invalid-time");
}

TEST(Withdrawal, InAChangeOfTrust_RoundTrips) {
  const Json change = {{"sequence", 3}, {"operations", {{{"withdraw_statement", withdrawal()}}}}};
  const auto read = parse_trust_change(as_bytes(canonical_json(change).value()));
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(to_json(*read), change);
}

TEST(Withdrawal, Recorded_RoundTrips) {
  const Withdrawn withdrawn{kOther, "other", "text", Timestamp(), Timestamp(), {"a", "b"}, true};
  EXPECT_EQ(json::get<Withdrawn>(to_json(withdrawn)), withdrawn);
  Json json = to_json(withdrawn);
  json.erase("by");
  EXPECT_FALSE(json::get<Withdrawn>(json));
}

// --- names of a policy

Result<NamePolicy> names(const Json& json) { return names_from_json({{"names", json}}); }

TEST(PolicyNames, RoundTrip) {
  EXPECT_EQ(names_from_json(Json::object())->rule, NameRule::kOnlyArtifact);
  for (const char* rule : {"release", "none"}) {
    EXPECT_EQ(to_json(*names({{"resolve", rule}})), (Json{{"resolve", rule}}));
  }
  const Json pinned = {{"resolve", "pinned"},
                       {"pinned", {{"acme/demo", sample().artifact.text()}}}};
  EXPECT_EQ(to_json(*names(pinned)), pinned);
}

TEST(PolicyNames, InAPolicy_FollowTheSchema) {
  Json policy = {{"name", "p"},
                 {"version", 1},
                 {"mode", "enforce"},
                 {"match", {{"namespaces", {"a"}}}},
                 {"require", {{{"id", "m"}, {"manifest", {{"signers", {{"at_least", 1}}}}}}}}};
  const auto read = [&] { return parse_policy(as_bytes(canonical_json(policy).value())); };
  ASSERT_TRUE(read()) << to_string(read().error());
  policy["names"] = {{"resolve", "release"}};
  ASSERT_TRUE(read()) << to_string(read().error());
  EXPECT_EQ(read()->names.rule, NameRule::kRelease);
  EXPECT_EQ(to_json(*read())["names"], policy["names"]);
  policy["names"] = {{"resolve", "newest"}};
  EXPECT_EQ(code_of(read()), "schema-violation");
  policy["names"] = nullptr;
  EXPECT_EQ(code_of(read()), "schema-violation") << "not the default";
  policy["names"] = {{"resolve", "pinned"}, {"pinned", {{"Acme", sample().artifact.text()}}}};
  EXPECT_EQ(code_of(read()), "schema-violation");
  const Json pinned = {{"acme/demo", sample().artifact.text()}};
  policy["names"] = {{"resolve", "pinned"}, {"pinned", pinned}};
  ASSERT_TRUE(read()) << to_string(read().error());
  policy["names"] = {{"resolve", "release"}, {"pinned", pinned}};
  EXPECT_EQ(code_of(read()), "schema-violation");
  EXPECT_EQ(where_of(read()), "/names/pinned");
  policy["names"] = {{"resolve", "pinned"}};
  EXPECT_EQ(code_of(read()), "schema-violation");
}

}  // namespace
}  // namespace assay
