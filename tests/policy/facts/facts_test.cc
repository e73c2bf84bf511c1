// SPDX-License-Identifier: Apache-2.0
// The facts document: complete, independent of order, and what replay reads back.
#include "policy/facts.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "schemas/core/sha.h"
#include "schemas/placement.h"
#include "tests/policy/fixture.h"

namespace assay::policy::test {
namespace {

Facts full_facts() {
  Facts facts = valid_facts();
  facts.manifests.push_back(
      manifest(7, "acme/other", {publisher("b", "bob"), revoked(publisher("c", "chris"), now())}));
  facts.manifests.back().locations = {"s3://models/b", "pvc://prod/a"};
  facts.manifests.back().parameters = {HashAlgorithm::kSha384, 65536};
  TrustedKey two_roles = signer("l", "legal", "*", kLicenceType, "*");
  two_roles.roles.push_back({"approve", "https://assay.dev/lifecycle/v1", "acme"});
  facts.statements.push_back(foreign_statement(
      8, kLicenceType, {{"licence", "mit"}, {"n", {1, 2.5, nullptr, true}}}, {two_roles}));
  facts.statements.back().signers.front().signed_at = from_now(-5);
  facts.statements.back().names = {"acme/demo", "acme"};
  const ManifestFact placed = manifest(9, "acme/demo", {publisher("a", "alice")});
  facts.placements = {{placed.statement, placed.name, {"pvc://prod/moved", "nfs://host/a"}}};
  facts.placements.front().statement.predicate_type = kPlacementPredicateType;
  return facts;
}

std::string canonical(const Facts& facts) { return canonical_json(to_json(facts)).value(); }

DocumentId document_id(const Facts& facts) {
  return DocumentId(sha256(as_bytes(canonical(facts))));
}

// Through the bytes that are stored.
Facts through_bytes(const Facts& facts) {
  return facts_from_json(parse_json(canonical(facts)).value()).value();
}

TEST(Facts, RoundTrip_GivesTheSameDocument) {
  for (const Facts& facts : {full_facts(), valid_facts(), Facts{}}) {
    const auto again = facts_from_json(parse_json(canonical(facts)).value());
    ASSERT_TRUE(again) << to_string(again.error());
    EXPECT_EQ(canonical(*again), canonical(facts));
  }
}

TEST(Facts, RoundTrip_KeepsEveryField) {
  const Facts facts = full_facts();
  const Facts again = through_bytes(facts);
  EXPECT_EQ(again.artifact, facts.artifact);
  ASSERT_EQ(again.manifests.size(), 2U);
  EXPECT_EQ(again.manifests[1].name, "acme/other");
  EXPECT_EQ(again.manifests[1].parameters, facts.manifests[1].parameters);
  EXPECT_EQ(again.manifests[1].locations,
            (std::vector<std::string>{"pvc://prod/a", "s3://models/b"}));
  ASSERT_EQ(again.placements.size(), 1U);
  EXPECT_EQ(again.placements[0].statement.id, facts.placements[0].statement.id);
  EXPECT_EQ(again.placements[0].statement.predicate_type, kPlacementPredicateType);
  EXPECT_EQ(again.placements[0].statement.signers.size(), 1U);
  EXPECT_EQ(again.placements[0].name, "acme/demo");
  EXPECT_EQ(again.placements[0].locations,
            (std::vector<std::string>{"nfs://host/a", "pvc://prod/moved"}));
  const StatementFact& before = facts.statements.back();
  const StatementFact& after = again.statements.back();
  EXPECT_EQ(after.id, before.id);
  EXPECT_EQ(after.predicate_type, before.predicate_type);
  EXPECT_EQ(after.stage, before.stage);
  EXPECT_EQ(after.predicate, before.predicate);
  EXPECT_EQ(after.accepted_at, before.accepted_at);
  EXPECT_EQ(after.log_index, before.log_index);
  EXPECT_EQ(after.names, (std::vector<std::string>{"acme", "acme/demo"}));
  EXPECT_EQ(after.signers.front().signed_at, before.signers.front().signed_at);
  TrustedKey key = before.signers.front().key;
  std::reverse(key.roles.begin(), key.roles.end());  // the document orders them
  EXPECT_TRUE(after.signers.front().key == key);
}

TEST(Facts, PublicKeys_AreLeftOut) {
  Facts facts = valid_facts();
  facts.statements.front().signers.front().key.public_key = to_bytes("secretlylong");
  EXPECT_EQ(canonical(facts), canonical(valid_facts()));
}

TEST(Facts, Order_DoesNotMatter) {
  const Facts facts = full_facts();
  Facts other = facts;
  std::reverse(other.manifests.begin(), other.manifests.end());
  std::reverse(other.statements.begin(), other.statements.end());
  for (ManifestFact& one : other.manifests) {
    std::reverse(one.statement.signers.begin(), one.statement.signers.end());
    std::reverse(one.locations.begin(), one.locations.end());
  }
  for (StatementFact& one : other.statements) {
    for (SignerFact& signer : one.signers) {
      std::reverse(signer.key.roles.begin(), signer.key.roles.end());
    }
  }
  EXPECT_EQ(canonical(other), canonical(facts));
  EXPECT_EQ(to_json(decide(valid_policy(), other)), to_json(decide(valid_policy(), facts)));
}

TEST(Facts, ReplayFromTheDocument_GivesTheSameDigest) {
  const Facts facts = full_facts();
  const auto digest = [&](const Facts& used) {
    return replay_digest(decide(valid_policy(), used), document_id(facts), now()).value();
  };
  EXPECT_EQ(digest(through_bytes(facts)), digest(facts));
}

TEST(Facts, EveryField_ChangesTheDocument) {
  std::vector<Facts> variants(14, valid_facts());
  variants[0].artifact.reset();
  variants[1].manifests.front().name = "acme/demo2";
  variants[2].manifests.front().parameters.chunk_size = 4096;
  variants[3].manifests.front().locations.clear();
  variants[4].statements.front().id = statement_id(99);
  variants[5].statements.front().predicate["x"] = 1;
  variants[6].statements.front().stage = "merge";
  variants[7].statements.front().accepted_at += std::chrono::milliseconds(1);
  variants[8].statements.front().log_index = 99;
  SignerFact& signer9 = variants[9].statements.front().signers.front();
  signer9.signed_at += std::chrono::milliseconds(1);
  variants[10].statements.front().signers.front().key.identity = "other";
  variants[11].statements.front().signers.front().key.revoked = Revocation{now(), "lost"};
  variants[12].statements.front().signers.front().key.not_after += std::chrono::milliseconds(1);
  variants[13].statements.front().signers.front().key.roles.clear();
  for (std::size_t i = 0; i < variants.size(); ++i) {
    EXPECT_NE(canonical(variants[i]), canonical(valid_facts())) << i;
  }
}

// Every object of the document refuses a member more or less.
void refuse_mutations(const Json& document, const Json::json_pointer& place) {
  const Json& object = document[place];
  for (const auto& [name, value] : object.items()) {
    Json without = document;
    without[place].erase(name);
    const bool optional =
        name == "artifact" || name == "revoked" || name == "placements" || name == "formats";
    EXPECT_EQ(facts_from_json(without).has_value(), optional) << place.to_string() << " " << name;
    Json mistyped = document;
    mistyped[place][name] = Json::object({{"surprise", 1}});
    EXPECT_FALSE(facts_from_json(mistyped).has_value()) << place.to_string() << " " << name;
  }
  Json extra = document;
  extra[place]["surprise"] = 1;
  const auto refused = facts_from_json(extra);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnknownMember) << place.to_string();
}

TEST(Facts, MissingUnknownOrMistypedMember_IsRefused) {
  const Json document = to_json(full_facts());
  for (const char* place : {"", "/manifests/1", "/manifests/1/parameters", "/manifests/1/signers/0",
                            "/manifests/1/signers/0/roles/0"}) {
    refuse_mutations(document, Json::json_pointer(place));
  }
}

TEST(Facts, RevocationAndStatementMembers_AreChecked) {
  const Json document = to_json(full_facts());
  const Json& signers = document["manifests"][1]["signers"];
  const std::string revoked_at = signers[0].contains("revoked") ? "0" : "1";
  refuse_mutations(document, Json::json_pointer("/manifests/1/signers/" + revoked_at + "/revoked"));
  Json without = document;
  without["statements"][0].erase("stage");
  EXPECT_EQ(facts_from_json(without).error().code, ErrorCode::kSchemaViolation);
  EXPECT_EQ(facts_from_json(without).error().where, "/statements/0/stage");
  Json extra = document;
  extra["statements"][0]["surprise"] = 1;
  EXPECT_EQ(facts_from_json(extra).error().where, "/statements/0/surprise");
}

TEST(Facts, BadValues_AreRefusedWithTheirCode) {
  const std::vector<std::tuple<const char*, Json, ErrorCode>> cases = {
      {"/format", "assay-facts-v2", ErrorCode::kSchemaViolation},
      {"/artifact", "sha256:00", ErrorCode::kInvalidDigest},
      {"/statements/0/id", "sha256:xyz", ErrorCode::kInvalidDigest},
      {"/statements/0/accepted_at", "yesterday", ErrorCode::kInvalidTime},
      {"/statements/0/log_index", -1, ErrorCode::kSchemaViolation},
      {"/statements/0/log_index", 1.5, ErrorCode::kSchemaViolation},
      {"/statements/0/signers/0/purpose", "owner", ErrorCode::kInvalidParameter},
      {"/manifests/0/locations", {1}, ErrorCode::kSchemaViolation},
      {"/manifests/0/parameters/chunk_size", 5000, ErrorCode::kInvalidParameter}};
  for (const auto& [place, value, code] : cases) {
    Json document = to_json(valid_facts());
    document[Json::json_pointer(place)] = value;
    const auto refused = facts_from_json(document);
    ASSERT_FALSE(refused.has_value()) << place;
    EXPECT_EQ(refused.error().code, code) << place;
    EXPECT_TRUE(refused.error().where.starts_with(place) ||
                std::string(place).starts_with(refused.error().where))
        << refused.error().where;
  }
  for (const Json& document : {Json(nullptr), Json::array(), Json("facts")}) {
    EXPECT_EQ(facts_from_json(document).error().code, ErrorCode::kSchemaViolation);
  }
}

}  // namespace
}  // namespace assay::policy::test
