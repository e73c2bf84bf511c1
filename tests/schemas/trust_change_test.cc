// SPDX-License-Identifier: Apache-2.0
// JSON of keys, principals, changes of trust and bootstraps.
#include <gtest/gtest.h>

#include "schemas/trust.h"
#include "tests/schemas/samples.h"

namespace assay {
namespace {

using test::bytes_of;
using test::code_of;
using test::sample_key;
using test::sample_principal;
using test::where_of;

TrustChange sample_change() {
  return {7,
          {AddKey{sample_key()}, RevokeKey{sample_key(KeyPurpose::kWorker, 9).id, "laptop lost"},
           PutPrincipal{sample_principal()}, RemovePrincipal{"old-ci"}}};
}

Bootstrap sample_bootstrap() {
  Principal other{"admin", {AccessRole::kAdmin}, {}, std::nullopt};
  return {{sample_key(KeyPurpose::kOperator, 1), sample_key(KeyPurpose::kPublisher, 2)},
          {sample_principal(), other},
          {},
          {}};
}

// --- keys

TEST(TrustedKeyJson, RoundTrips) {
  TrustedKey key = sample_key();
  EXPECT_EQ(trusted_key_from_json(to_json(key)), key);
  key.revoked = Revocation{test::at("2026-05-01T00:00:00.001Z"), "lost"};
  EXPECT_EQ(trusted_key_from_json(to_json(key)), key);
}

TEST(TrustedKeyJson, IdAndRoles_MayBeAbsent) {
  Json json = to_json(sample_key());
  json.erase("id");
  EXPECT_EQ(trusted_key_from_json(json), sample_key());
  json.erase("roles");
  EXPECT_TRUE(trusted_key_from_json(json)->roles.empty());
}

TEST(TrustedKeyJson, IdOfAnotherKey_IsRefused) {
  Json json = to_json(sample_key());
  json["id"] = sample_key(KeyPurpose::kSigner, 8).id.text();
  EXPECT_EQ(code_of(trusted_key_from_json(json)), "schema-violation");
  EXPECT_EQ(where_of(trusted_key_from_json(json)), "/id");
}

TEST(TrustedKeyJson, Changes_AreRefused) {
  const std::tuple<const char*, Json, const char*> changes[] = {
      {"/algorithm", "rsa", "schema-violation"},
      {"/purpose", "admin", "schema-violation"},
      {"/identity", "", "schema-violation"},
      {"/identity", "two words", "schema-violation"},
      {"/identity", "-x", "schema-violation"},
      {"/identity", "sha256:" + std::string(64, 'a'), "schema-violation"},  // looks like a key's id
      {"/identity", "sha256:c213", "schema-violation"},
      {"/public_key", "!!!!", "invalid-encoding"},
      {"/public_key", "AAAB", "schema-violation"},  // the id is no longer its hash
      {"/not_before", "2026-01-01", "schema-violation"},
      {"/not_before", "2026-02-30T00:00:00Z", "invalid-time"},
      {"/not_after", "2025-01-01T00:00:00Z", "schema-violation"},
      {"/roles/0/stage", "No", "schema-violation"},
      {"/roles/0/namespace", "", "schema-violation"},
      {"/roles/0/namespace", "acme/*", "schema-violation"},
      {"/roles/0/predicate_type", "x", "schema-violation"},
      {"/roles/0/extra", 1, "unknown-member"},
      {"/revoked", Json::object(), "schema-violation"},
      {"/revoked", {{"at", "2026-02-30T00:00:00Z"}, {"reason", "x"}}, "invalid-time"},
      {"/extra", 1, "unknown-member"}};
  for (const auto& [place, value, code] : changes) {
    Json json = to_json(sample_key());
    json[Json::json_pointer(place)] = value;
    EXPECT_EQ(code_of(trusted_key_from_json(json)), code) << place << value;
  }
}

TEST(TrustedKeyJson, IdentityWithTheSignsOfAnId_IsTaken) {
  for (const char* identity : {"a-x", "sha256:team", "team@sha256:aa", "sha512:aa"}) {
    Json json = to_json(sample_key());
    json["identity"] = identity;
    EXPECT_TRUE(trusted_key_from_json(json)) << identity;
  }
}

TEST(TrustedKeyJson, EndBeforeBeginning_IsRefusedAndOneInstantTaken) {
  TrustedKey key = sample_key();
  key.not_after = key.not_before;
  EXPECT_TRUE(trusted_key_from_json(to_json(key)));
  key.not_after -= std::chrono::milliseconds(1);
  EXPECT_FALSE(trusted_key_from_json(to_json(key)));
}

// --- principals

TEST(PrincipalJson, RoundTrips) {
  Principal principal = sample_principal();
  EXPECT_EQ(principal_from_json(to_json(principal)), principal);
  principal.not_after.reset();
  principal.credentials.clear();
  EXPECT_EQ(principal_from_json(to_json(principal)), principal);
}

TEST(PrincipalJson, Changes_AreRefused) {
  const std::tuple<const char*, Json, const char*> changes[] = {
      {"/name", "", "schema-violation"},
      {"/name", "system", "schema-violation"},
      {"/name", "a b", "schema-violation"},
      {"/name", std::string(129, 'a'), "schema-violation"},
      {"/roles", Json::array(), "schema-violation"},
      {"/roles", {"reader", "reader"}, "schema-violation"},
      {"/roles", {"root"}, "schema-violation"},
      {"/credentials/0/kind", "password", "schema-violation"},
      {"/credentials/0/sha256", "00", "schema-violation"},
      {"/credentials/0/sha256", std::string(64, 'A'), "schema-violation"},
      {"/not_after", "never", "schema-violation"},
      {"/extra", 1, "unknown-member"}};
  for (const auto& [place, value, code] : changes) {
    Json json = to_json(sample_principal());
    json[Json::json_pointer(place)] = value;
    EXPECT_EQ(code_of(principal_from_json(json)), code) << place << value;
  }
}

// --- changes

TEST(TrustChange, RoundTrips) {
  const auto change = parse_trust_change(bytes_of(to_json(sample_change())));
  ASSERT_TRUE(change) << to_string(change.error());
  EXPECT_EQ(change->sequence, 7U);
  ASSERT_EQ(change->operations.size(), 4U);
  EXPECT_EQ(std::get<AddKey>(change->operations[0]).key, sample_key());
  EXPECT_EQ(std::get<RevokeKey>(change->operations[1]).reason, "laptop lost");
  EXPECT_EQ(std::get<PutPrincipal>(change->operations[2]).principal, sample_principal());
  EXPECT_EQ(std::get<RemovePrincipal>(change->operations[3]).name, "old-ci");
  EXPECT_EQ(to_json(*change), to_json(sample_change()));
}

TEST(TrustChange, Changes_AreRefused) {
  const std::tuple<const char*, Json, const char*> changes[] = {
      {"/sequence", 0, "schema-violation"},
      {"/sequence", -1, "schema-violation"},
      {"/sequence", 1.0, "schema-violation"},
      {"/operations", Json::array(), "schema-violation"},
      {"/operations/0", Json::object(), "schema-violation"},
      {"/operations/0/remove_principal", {{"name", "x"}}, "schema-violation"},
      {"/operations/0", {{"drop_everything", true}}, "unknown-member"},
      {"/operations/1/revoke_key/reason", "", "schema-violation"},
      {"/operations/1/revoke_key/key", "sha256:00", "schema-violation"},
      {"/operations/3/remove_principal/name", "system", "schema-violation"},
      {"/extra", 1, "unknown-member"}};
  for (const auto& [place, value, code] : changes) {
    Json json = to_json(sample_change());
    json[Json::json_pointer(place)] = value;
    EXPECT_EQ(code_of(parse_trust_change(bytes_of(json))), code) << place << value;
  }
}

TEST(TrustChange, KeyThatIsRevokedAlready_IsNotAdded) {
  Json json = to_json(sample_change());
  json["operations"][0]["add_key"]["revoked"] = {{"at", "2026-01-01T00:00:00Z"}, {"reason", "x"}};
  EXPECT_EQ(code_of(parse_trust_change(bytes_of(json))), "schema-violation");
}

TEST(TrustChange, SameKeyOrCredentialTwice_IsRefused) {
  TrustChange change = sample_change();
  change.operations.push_back(AddKey{sample_key()});
  auto parsed = parse_trust_change(bytes_of(to_json(change)));
  EXPECT_EQ(code_of(parsed), "schema-violation");
  EXPECT_EQ(where_of(parsed), "/operations/4/add_key");
  change = sample_change();
  Principal thief = sample_principal();
  thief.name = "thief";
  change.operations.push_back(PutPrincipal{thief});
  parsed = parse_trust_change(bytes_of(to_json(change)));
  EXPECT_EQ(code_of(parsed), "schema-violation");
  EXPECT_EQ(where_of(parsed), "/operations/4/put_principal/credentials");
}

TEST(TrustChange, ErrorInsideAnOperation_NamesItsPlace) {
  Json json = to_json(sample_change());
  json["operations"][0]["add_key"]["not_after"] = "2026-02-30T00:00:00Z";
  const auto parsed = parse_trust_change(bytes_of(json));
  EXPECT_EQ(code_of(parsed), "invalid-time");
  EXPECT_EQ(where_of(parsed), "/operations/0/add_key/not_after");
}

TEST(TrustChange, EveryTruncation_IsRefused) {
  const std::string text = to_json(sample_change()).dump();
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(parse_trust_change(as_bytes(text.substr(0, size)))) << size;
  }
}

// --- nodes

Appraisal sample_appraisal() {
  return {"tdx",
          {{"accept_tcb_status", {"UpToDate"}}, {"min_tcb_evaluation_data_number", 17}},
          {{0x30, 0x00}, {0x30, 0x01}},
          true};
}

TrustChange node_change() {
  return {8, {PutAppraisal{sample_appraisal()}, RevokeNode{"gpu-1.example", "sold"}}};
}

TEST(AppraisalJson, RoundTrips) {
  EXPECT_EQ(appraisal_from_json(to_json(sample_appraisal())), sample_appraisal());
  const Appraisal bare{"tdx", Json::object(), {}, false};
  EXPECT_EQ(appraisal_from_json(to_json(bare)), bare);
  EXPECT_EQ(appraisal_from_json({{"evidence_type", "tdx"}}), bare);
}

TEST(AppraisalJson, Changes_AreRefused) {
  const std::tuple<const char*, Json, const char*> changes[] = {
      {"/evidence_type", "", "schema-violation"},
      {"/policy", "strict", "schema-violation"},
      {"/policy", Json(), "schema-violation"},
      {"/dangerous_anchors", "MAA=", "schema-violation"},
      {"/dangerous_anchors/1", "MAA", "invalid-encoding"},
      {"/dangerous_anchors/1", base64_encode(Bytes{0x30, 0x00}), "schema-violation"},  // twice
      {"/dangerous_allow_missing_reference_values", 1, "schema-violation"},
      {"/anchors", Json::array(), "unknown-member"}};
  for (const auto& [place, value, code] : changes) {
    Json json = to_json(sample_appraisal());
    json[Json::json_pointer(place)] = value;
    EXPECT_EQ(code_of(appraisal_from_json(json)), code) << place << value;
  }
}

TEST(TrustChange, OfNodes_RoundTrips) {
  const auto change = parse_trust_change(bytes_of(to_json(node_change())));
  ASSERT_TRUE(change) << to_string(change.error());
  ASSERT_EQ(change->operations.size(), 2U);
  EXPECT_EQ(std::get<PutAppraisal>(change->operations[0]).appraisal, sample_appraisal());
  EXPECT_EQ(std::get<RevokeNode>(change->operations[1]).node, "gpu-1.example");
  EXPECT_EQ(std::get<RevokeNode>(change->operations[1]).reason, "sold");
  EXPECT_EQ(to_json(*change), to_json(node_change()));
}

TEST(TrustChange, OfNodes_Changes_AreRefused) {
  const std::tuple<const char*, Json, const char*, const char*> changes[] = {
      {"/operations/0/put_appraisal/dangerous_anchors/0", "?", "invalid-encoding",
       "/operations/0/put_appraisal/dangerous_anchors/0"},
      {"/operations/1/revoke_node/node", "GPU", "schema-violation",
       "/operations/1/revoke_node/node"},
      {"/operations/1/revoke_node/reason", "", "schema-violation",
       "/operations/1/revoke_node/reason"},
      {"/operations/1/revoke_node/extra", 1, "unknown-member", "/operations/1/revoke_node/extra"},
      {"/operations/1",
       {{"put_appraisal", to_json(sample_appraisal())}},
       "schema-violation",
       "/operations/1/put_appraisal"}};
  for (const auto& [place, value, code, where] : changes) {
    Json json = to_json(node_change());
    json[Json::json_pointer(place)] = value;
    const auto parsed = parse_trust_change(bytes_of(json));
    EXPECT_EQ(code_of(parsed), code) << place << value;
    EXPECT_EQ(where_of(parsed), where);
  }
}

// --- registrations

Registration sample_registration() { return {"gpu-1", "gpu-1.example", "agent", {"00ff"}, 2, {}}; }

Registration sample_pool() {
  const Json key = {{"kty", "EC"}, {"kid", "1"}, {"crv", "P-256"}, {"x", "AA"}, {"y", "AA"}};
  return {"pool",
          "gpu-*.example",
          "agent",
          {},
          1,
          ServiceAccountIssuer{
              "https://kube", "system:serviceaccount:a:b", {{"keys", Json::array({key})}}}};
}

TEST(Registration, InAChangeAndABootstrap_RoundTrips) {
  const TrustChange change{9,
                           {PutRegistration{sample_registration()}, PutRegistration{sample_pool()},
                            RemoveRegistration{"gpu-0"}}};
  const auto parsed = parse_trust_change(bytes_of(to_json(change)));
  ASSERT_TRUE(parsed) << to_string(parsed.error());
  EXPECT_EQ(std::get<PutRegistration>(parsed->operations[0]).registration, sample_registration());
  EXPECT_EQ(std::get<PutRegistration>(parsed->operations[1]).registration, sample_pool());
  EXPECT_EQ(std::get<RemoveRegistration>(parsed->operations[2]).id, "gpu-0");
  EXPECT_EQ(to_json(*parsed), to_json(change));
  Bootstrap bootstrap = sample_bootstrap();
  bootstrap.registrations = {sample_registration(), sample_pool()};
  EXPECT_EQ(parse_bootstrap(bytes_of(to_json(bootstrap)))->registrations, bootstrap.registrations);
  bootstrap.registrations[1].id = "gpu-1";
  EXPECT_EQ(where_of(parse_bootstrap(bytes_of(to_json(bootstrap)))), "/registrations/1");
}

TEST(Registration, Changes_AreRefused) {
  const std::tuple<const char*, Json, const char*> changes[] = {
      {"/id", "GPU 1", "schema-violation"},
      {"/node", "GPU", "schema-violation"},
      {"/node", "gpu-**", "schema-violation"},
      {"/node", "*-gpu-*", "schema-violation"},
      {"/node", "gpu..1", "schema-violation"},
      {"/principal", "", "schema-violation"},
      {"/platforms", Json::array(), "schema-violation"},
      {"/nodes_per_platform", 0, "schema-violation"},
      {"/service_account/jwks/keys/0/d", "AA", "unknown-member"},
      {"/service_account/subject", "admin", "schema-violation"},
      {"/extra", 1, "unknown-member"}};
  for (const auto& [place, value, code] : changes) {
    Json json = to_json(sample_pool());
    json[Json::json_pointer(place)] = value;
    EXPECT_EQ(code_of(registration_from_json(json)), code) << place << value;
  }
  Registration alone = sample_pool();
  alone.service_account.reset();
  EXPECT_EQ(where_of(registration_from_json(to_json(alone))), "/service_account");
}

TEST(Registration, Pattern_CoversOneLabelEach) {
  EXPECT_TRUE(covers("gpu-1", "gpu-1"));
  EXPECT_FALSE(covers("gpu-1", "gpu-11"));
  EXPECT_TRUE(covers("gpu-*", "gpu-1"));
  EXPECT_TRUE(covers("*", "a"));
  EXPECT_TRUE(covers("ip-*.*.internal", "ip-10-0-0-1.eu.internal"));
  EXPECT_FALSE(covers("gpu-*", "gpu-")) << "one character at least";
  EXPECT_FALSE(covers("gpu-*", "gpu-1.example"));
  EXPECT_FALSE(covers("*", "a.b"));
  EXPECT_FALSE(covers("a*a", "aa"));
  EXPECT_FALSE(covers("gpu-*", "gpu-*"));
  EXPECT_FALSE(covers("gpu-*", "cpu-1"));
}

TEST(Registration, Overlap_IsFoundBothWays) {
  const std::tuple<const char*, const char*, bool> cases[] = {
      {"gpu-*", "gpu-1", true},    {"gpu-*", "*-1", true},    {"gpu-*", "g*", true},
      {"*", "gpu-*", true},        {"gpu-*", "cpu-*", false}, {"*-a", "*-b", false},
      {"gpu-*", "gpu-*.x", false}, {"*.x", "gpu-*.x", true},  {"*.x", "*.y", false},
      {"gpu-1", "gpu-1", true},    {"gpu-1", "gpu-2", false}, {"a*.*", "*b.c*", true}};
  for (const auto& [left, right, expected] : cases) {
    EXPECT_EQ(overlap(left, right), expected) << left << " " << right;
    EXPECT_EQ(overlap(right, left), expected) << right << " " << left;
  }
}

// --- bootstrap

TEST(Bootstrap, Appraisals_RoundTripAndAreOfDistinctTypes) {
  Bootstrap bootstrap = sample_bootstrap();
  EXPECT_FALSE(to_json(bootstrap).contains("appraisals"));
  bootstrap.appraisals = {sample_appraisal()};
  const auto parsed = parse_bootstrap(bytes_of(to_json(bootstrap)));
  ASSERT_TRUE(parsed) << to_string(parsed.error());
  EXPECT_EQ(parsed->appraisals, bootstrap.appraisals);
  bootstrap.appraisals.push_back({"tdx", Json::object(), {}, false});
  EXPECT_EQ(code_of(parse_bootstrap(bytes_of(to_json(bootstrap)))), "schema-violation");
  EXPECT_EQ(where_of(parse_bootstrap(bytes_of(to_json(bootstrap)))), "/appraisals/1");
}

TEST(Bootstrap, RoundTrips) {
  const auto bootstrap = parse_bootstrap(bytes_of(to_json(sample_bootstrap())));
  ASSERT_TRUE(bootstrap) << to_string(bootstrap.error());
  EXPECT_EQ(bootstrap->keys, sample_bootstrap().keys);
  EXPECT_EQ(bootstrap->principals, sample_bootstrap().principals);
}

TEST(Bootstrap, Repeats_AreRefused) {
  Bootstrap bootstrap = sample_bootstrap();
  bootstrap.keys.push_back(bootstrap.keys[0]);
  EXPECT_EQ(where_of(parse_bootstrap(bytes_of(to_json(bootstrap)))), "/keys/2");
  bootstrap = sample_bootstrap();
  bootstrap.principals[1].name = "ci";
  EXPECT_EQ(where_of(parse_bootstrap(bytes_of(to_json(bootstrap)))), "/principals/1");
  bootstrap = sample_bootstrap();
  bootstrap.principals[1].credentials = {bootstrap.principals[0].credentials[0]};
  EXPECT_EQ(where_of(parse_bootstrap(bytes_of(to_json(bootstrap)))), "/principals/1/credentials");
}

TEST(Bootstrap, WithoutKeysMember_IsRefused) {
  Json json = to_json(sample_bootstrap());
  json.erase("keys");
  EXPECT_EQ(code_of(parse_bootstrap(bytes_of(json))), "schema-violation");
  EXPECT_EQ(code_of(parse_bootstrap(as_bytes("[]"))), "schema-violation");
  EXPECT_EQ(code_of(parse_bootstrap(as_bytes(""))), "malformed-json");
}

}  // namespace
}  // namespace assay
