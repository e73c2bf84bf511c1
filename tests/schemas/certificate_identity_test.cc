// SPDX-License-Identifier: Apache-2.0
// Identities by certificate: their JSON, the names that their patterns cover, revocations from a
// time on.
#include "schemas/certificate_identity.h"

#include <gtest/gtest.h>

#include "schemas/trust.h"
#include "tests/schemas/samples.h"

namespace assay {
namespace {

using test::at;
using test::code_of;
using test::sample_key;
using test::where_of;

constexpr const char* kWorkflow =
    "https://github.com/acme/models/.github/workflows/release.yml@refs/heads/main";

Json keyless() {
  return {{"issuer", "https://token.actions.githubusercontent.com"},
          {"trusted_root", "sigstore"},
          {"subject", {{"kind", "uri"}, {"pattern", kWorkflow}}}};
}

Json private_ca() {
  return {{"roots", {"AAEC"}}, {"subject", {{"kind", "email"}, {"pattern", "*@acme.example"}}}};
}

Json trusted(const Json& certificate, std::string_view purpose = "publisher") {
  return {{"certificate", certificate},
          {"purpose", purpose},
          {"identity", "acme-release"},
          {"not_before", "2026-01-01T00:00:00.000Z"},
          {"not_after", "2027-01-01T00:00:00.000Z"}};
}

TEST(CertificateIdentityJson, BothForms_RoundTrip) {
  for (const Json& form : {keyless(), private_ca()}) {
    const auto key = trusted_key_from_json(trusted(form));
    ASSERT_TRUE(key) << to_string(key.error());
    EXPECT_EQ(trusted_key_from_json(to_json(*key)), *key);
    EXPECT_EQ(key->id, certificate_id(*key->certificate, KeyPurpose::kPublisher));
  }
}

TEST(CertificateIdentityJson, IdNamesPurposeAndPattern) {
  const auto id = [](const Json& json) { return trusted_key_from_json(json).value().id; };
  Json other = keyless();
  other["subject"]["pattern"] = std::string(kWorkflow) + "2";
  EXPECT_NE(id(trusted(keyless())), id(trusted(keyless(), "signer")));
  EXPECT_NE(id(trusted(keyless())), id(trusted(other)));
}

TEST(CertificateIdentityJson, Changes_AreRefused) {
  const std::tuple<const char*, Json, const char*> changes[] = {
      {"/certificate/issuer", "", "schema-violation"},
      {"/certificate/trusted_root", "Not Kebab", "schema-violation"},
      {"/certificate/roots", {"AAEC"}, "schema-violation"},  // both forms at once
      {"/certificate/subject/kind", "ip", "schema-violation"},
      {"/certificate/subject/pattern", "", "schema-violation"},
      {"/certificate/subject/pattern", "a b", "schema-violation"},
      {"/certificate/extra", 1, "unknown-member"},
      {"/algorithm", "ed25519", "schema-violation"},  // a key beside the identity
      {"/public_key", "AAEC", "schema-violation"},
      {"/purpose", "operator", "schema-violation"},
      {"/purpose", "author", "schema-violation"},
      {"/purpose", "approver", "schema-violation"},
      {"/purpose", "worker", "schema-violation"},
      {"/purpose", "service", "schema-violation"}};
  for (const auto& [place, value, code] : changes) {
    Json json = trusted(keyless());
    json[Json::json_pointer(place)] = value;
    EXPECT_EQ(code_of(trusted_key_from_json(json)), code) << place << value;
  }
  for (const char* member : {"issuer", "trusted_root", "subject"}) {
    Json json = trusted(keyless());
    json["certificate"].erase(member);
    EXPECT_EQ(code_of(trusted_key_from_json(json)), "schema-violation") << member;
  }
  Json neither = trusted(keyless());
  neither.erase("certificate");
  EXPECT_EQ(code_of(trusted_key_from_json(neither)), "schema-violation");
}

TEST(CertificateIdentityJson, WidePatterns_AreRefused) {
  const std::pair<const char*, const char*> wide[] = {
      {"uri", "*"},
      {"uri", "https://*/acme/x@refs/heads/main"},
      {"uri", "https://github.com*/acme/x@refs/heads/main"},
      {"uri", "https://github.com/acme/x/.github/workflows/a.yml@*"},
      {"uri", "https://github.com/acme/x/.github/workflows/a.yml@refs/heads/*"},
      {"email", "*"},
      {"email", "release@*"},
      {"email", "release@*.example"},
      {"dns", "*"},
      {"dns", "build.*.example"}};
  for (const auto& [kind, pattern] : wide) {
    Json json = trusted(keyless());
    json["certificate"]["subject"] = {{"kind", kind}, {"pattern", pattern}};
    const auto key = trusted_key_from_json(json);
    EXPECT_EQ(code_of(key), "schema-violation") << pattern;
    EXPECT_EQ(where_of(key), "/certificate/subject/pattern") << pattern;
  }
}

TEST(CertificateSubjectTest, PatternCoversNamesOfItsKind) {
  struct Case {
    SubjectKind kind;
    const char* pattern;
    const char* name;
    bool covered;
  };
  const Case cases[] = {
      {SubjectKind::kUri, kWorkflow, kWorkflow, true},
      {SubjectKind::kUri, "https://h/acme/*/w@r", "https://h/acme/x/w@r", true},
      {SubjectKind::kUri, "https://h/acme/*/w@r", "https://h/acme//w@r", false},
      {SubjectKind::kUri, "https://h/acme/*/w@r", "https://h/acme/x/y/w@r", false},
      {SubjectKind::kUri, "https://h/acme/*/w@r", "https://h/acme/x@r/w@r", false},
      {SubjectKind::kUri, "https://h/acme/*/w@r", "https://h/acme/x/w@r2", false},
      {SubjectKind::kUri, "https://h/acme/*/w@r", "xhttps://h/acme/x/w@r", false},
      {SubjectKind::kUri, "https://h/a*b*c", "https://h/a1b2b3c", true},
      {SubjectKind::kUri, "https://h/a*b*c", "https://h/abc", false},
      {SubjectKind::kEmail, "*@acme.example", "anne@acme.example", true},
      {SubjectKind::kEmail, "*@acme.example", "@acme.example", false},
      {SubjectKind::kEmail, "*@acme.example", "a@b@acme.example", false},
      {SubjectKind::kEmail, "*@acme.example", "anne@acme.example.evil.example", false},
      {SubjectKind::kEmail, "anne@acme.example", "Anne@acme.example", false},
      {SubjectKind::kDns, "*.acme.example", "build.acme.example", true},
      {SubjectKind::kDns, "*.acme.example", "a.build.acme.example", false},
      {SubjectKind::kDns, "*.acme.example", "acme.example", false}};
  for (const Case& one : cases) {
    EXPECT_EQ(covers({one.kind, one.pattern}, one.kind, one.name), one.covered)
        << one.pattern << ' ' << one.name;
    for (const SubjectKind kind : {SubjectKind::kEmail, SubjectKind::kUri, SubjectKind::kDns}) {
      EXPECT_TRUE(kind == one.kind || !covers({one.kind, one.pattern}, kind, one.name));
    }
  }
}

TEST(RevokedSince, SignaturesThatWereLoggedBefore_CountOn) {
  TrustedKey key = sample_key(KeyPurpose::kPublisher);
  key.revoked = Revocation{at("2026-06-02T00:00:00Z"), "stolen", at("2026-06-01T00:00:00Z")};
  const SigningContext context{KeyPurpose::kPublisher, "", "", "acme/llama"};
  const Timestamp before = at("2026-05-31T23:59:59.999Z");
  const Timestamp since = at("2026-06-01T00:00:00Z");
  const Timestamp now = at("2026-06-03T00:00:00Z");
  EXPECT_TRUE(check_grant(key, context, before, now));
  EXPECT_EQ(code_of(check_grant(key, context, since, now)), "key-revoked");
  EXPECT_TRUE(check_grant(key, context, since, at("2026-06-01T12:00:00Z"))) << "not revoked yet";
  key.revoked->since.reset();
  EXPECT_EQ(code_of(check_grant(key, context, before, now)), "key-revoked");
}

}  // namespace
}  // namespace assay
