// SPDX-License-Identifier: Apache-2.0
// Bundles of a deployment whose keys the tests have: one that is good, of each kind, and changes of
// one thing each.
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "schemas/core/sha.h"
#include "tests/attestation/sigstore/deployment.h"

namespace assay::test {
namespace {

using Change = std::function<void(Recipe&)>;

std::string verified(Recipe recipe, const Change& change = [](Recipe&) {}) {
  change(recipe);
  return code_of(verify(made(recipe)));
}

TEST(Verify, EachKindOfEntry_IsVerified) {
  EXPECT_EQ(verified(Recipe()), "ok");
  EXPECT_EQ(verified(rekor2()), "ok");
  for (const auto& [kind, version] : std::vector<std::pair<std::string, std::string>>{
           {"dsse", "0.0.1"}, {"dsse", "0.0.2"}, {"intoto", "0.0.2"}, {"hashedrekord", "0.0.2"}}) {
    EXPECT_EQ(verified(envelope(kind, version)), "ok") << kind << " " << version;
  }
}

TEST(Verify, OtherKindsOfEntry_AreRefused) {
  EXPECT_EQ(verified(envelope("hashedrekord", "0.0.1")), "log-entry-mismatch");
  for (const auto& [kind, version] :
       std::vector<std::pair<std::string, std::string>>{{"dsse", "0.0.1"},
                                                        {"intoto", "0.0.2"},
                                                        {"rekord", "0.0.1"},
                                                        {"hashedrekord", "0.0.3"}}) {
    Recipe recipe;
    recipe.kind = kind;
    recipe.version = version;
    EXPECT_EQ(verified(recipe), "log-entry-mismatch") << kind << " " << version;
  }
}

TEST(Verify, Result_NamesWhatCounted) {
  Recipe recipe;
  recipe.stamps = {StampRecipe{}};
  const auto result = verify(made(recipe));
  ASSERT_EQ(code_of(result), "ok") << to_string(result.error());
  EXPECT_EQ(result->identity->subject, "signer@example.com");
  EXPECT_EQ(result->identity->issuer, "https://issuer.example");
  EXPECT_EQ(name(result->identity->kind), "email");
  ASSERT_EQ(result->times.size(), 2U);
  EXPECT_EQ(to_rfc3339(result->times[0].time), "2026-03-01T12:00:05.000Z");
  EXPECT_EQ(result->times[0].name, "https://tsa.example");
  EXPECT_EQ(to_rfc3339(result->times[1].time), "2026-03-01T12:00:06.000Z");
  EXPECT_EQ(result->times[1].name, "https://rekor.example");
  ASSERT_EQ(result->entries.size(), 1U);
  EXPECT_EQ(result->entries[0].index, 1000U);
  EXPECT_TRUE(result->entries[0].is_proven);
  EXPECT_EQ(result->certificate_log, "https://ct.example");
  EXPECT_EQ(result->key_id, attestation::PublicKey::from_pem(managed_key())->id());
}

struct Case {
  const char* what;
  std::string code;
  Change change;
};

// --- versions and certificates

const std::string kV01 = "application/vnd.dev.sigstore.bundle+json;version=0.1";
const std::string kV02 = "application/vnd.dev.sigstore.bundle+json;version=0.2";

void run(const std::vector<Case>& cases, const Recipe& recipe = Recipe()) {
  for (const Case& one : cases) {
    EXPECT_EQ(verified(recipe, one.change), one.code) << one.what;
  }
}

TEST(Verify, CertificatesOfABundle) {
  run({{"0.1 with a chain", "ok",
        [](Recipe& r) {
          r.media_type = kV01;
          r.as_chain = true;
        }},
       {"0.1 with a promise alone", "ok",
        [](Recipe& r) {
          r.media_type = kV01;
          r.as_chain = true;
          r.with_proof = false;
        }},
       {"0.2 with a chain and an intermediate", "ok",
        [](Recipe& r) {
          r.media_type = kV02;
          r.as_chain = r.with_intermediate = true;
        }},
       {"0.1 without a promise", "malformed-bundle",
        [](Recipe& r) {
          r.media_type = kV01;
          r.as_chain = true;
          r.with_promise = false;
        }},
       {"0.3 with a promise alone", "malformed-bundle", [](Recipe& r) { r.with_proof = false; }},
       {"0.2 with one certificate", "malformed-bundle", [](Recipe& r) { r.media_type = kV02; }},
       {"0.3 with a chain", "malformed-bundle", [](Recipe& r) { r.as_chain = true; }},
       {"a self-issued certificate", "malformed-bundle",
        [](Recipe& r) { r.leaf.issuer = r.leaf.subject; }},
       {"a certificate of another CA", "certificate-untrusted",
        [](Recipe& r) { r.leaf.issuer_key = key_of("P-256", 119); }},
       {"a certificate for another purpose", "certificate-refused",
        [](Recipe& r) { r.leaf = with(r.leaf, "extendedKeyUsage", "emailProtection"); }},
       {"a P-384 key", "ok", [](Recipe& r) { r.leaf.key = key_of("P-384", 120); }},
       {"a P-521 key that signs a hash of P-256", "signature-invalid",
        [](Recipe& r) { r.leaf.key = key_of("P-521", 121); }}});
}

TEST(Verify, TimestampsOfCertificateLogs) {
  const SctRecipe good;
  SctRecipe unknown;
  unknown.by_another = true;
  SctRecipe broken;
  broken.is_broken = true;
  SctRecipe early;
  early.time = "2026-01-31T23:59:59Z";
  run({{"none", "sct-invalid", [](Recipe& r) { r.scts.clear(); }},
       {"by an unknown log", "sct-invalid", [&](Recipe& r) { r.scts = {unknown}; }},
       {"one of two is by an unknown log", "ok", [&](Recipe& r) { r.scts = {unknown, good}; }},
       {"broken", "sct-invalid", [&](Recipe& r) { r.scts = {broken}; }},
       {"one of two is broken", "sct-invalid", [&](Recipe& r) { r.scts = {good, broken}; }},
       {"before the log counts", "sct-invalid", [&](Recipe& r) { r.scts = {early}; }}});
}

TEST(Verify, Identities) {
  const auto san = [](const char* value) {
    return [value](Recipe& r) { r.leaf = with(r.leaf, "subjectAltName", value); };
  };
  run({{"a URI of that text is another kind, and the same text", "identity-mismatch",
        san("URI:https://example.com")},
       {"another email", "identity-mismatch", san("email:signer@example.com.evil")},
       {"two names", "identity-mismatch", san("email:signer@example.com,email:b@example.com")},
       {"a DNS name", "identity-mismatch", san("DNS:example.com")},
       {"none", "identity-mismatch", san("")},
       {"no issuer", "identity-mismatch",
        [](Recipe& r) { r.leaf = with(r.leaf, "1.3.6.1.4.1.57264.1.8", ""); }},
       {"another issuer", "identity-mismatch",
        [](Recipe& r) {
          r.leaf =
              with(r.leaf, "1.3.6.1.4.1.57264.1.8", "ASN1:UTF8String:https://issuer.example.evil");
        }},
       {"an issuer with NUL", "malformed-certificate",
        [](Recipe& r) { r.leaf = with(r.leaf, "1.3.6.1.4.1.57264.1.8", "DER:0c03610062"); }}});
}

// --- times

TEST(Verify, TimesOfTheCertificate_AreInclusive) {
  const auto integrated = [](const char* time) {
    return [time](Recipe& r) { r.integrated = time; };
  };
  run({{"first second", "ok", integrated("2026-03-01T12:00:00Z")},
       {"before", "certificate-not-yet-valid", integrated("2026-03-01T11:59:59Z")},
       {"last second", "ok", integrated("2026-03-01T12:10:00Z")},
       {"after", "certificate-expired", integrated("2026-03-01T12:10:01Z")}});
  const auto stamped = [](const char* time) {
    return [time](Recipe& r) { r.stamps.front().time = time; };
  };
  run({{"first second", "ok", stamped("2026-03-01T12:00:00Z")},
       {"before", "certificate-not-yet-valid", stamped("2026-03-01T11:59:59Z")},
       {"last second", "ok", stamped("2026-03-01T12:10:00Z")},
       {"after", "certificate-expired", stamped("2026-03-01T12:10:01Z")}},
      rekor2());
}

TEST(Verify, EachProvenTime_Counts) {
  Recipe both;
  both.stamps = {StampRecipe{}};
  run({{"both good", "ok", [](Recipe&) {}},
       {"the log's is over", "certificate-expired",
        [](Recipe& r) { r.integrated = "2026-03-01T13:00:00Z"; }},
       {"the authority's is over", "certificate-expired",
        [](Recipe& r) { r.stamps.front().time = "2026-03-01T13:00:00Z"; }},
       {"a proof without a promise", "ok", [](Recipe& r) { r.with_promise = false; }},
       {"neither promise nor timestamp", "signing-time-missing",
        [](Recipe& r) {
          r.with_promise = false;
          r.stamps.clear();
        }}},
      both);
}

TEST(Verify, Timestamps) {
  run({{"over the artifact", "timestamp-invalid",
        [](Recipe& r) { r.stamps.front().message = r.artifact; }},
       {"by another authority", "timestamp-invalid",
        [](Recipe& r) { r.stamps.front().by_another = true; }},
       {"one of two is by another authority", "timestamp-invalid",
        [](Recipe& r) {
          r.stamps.push_back(StampRecipe{});
          r.stamps.back().by_another = true;
        }},
       {"without the certificate of the authority", "ok",
        [](Recipe& r) { r.stamps.front().with_certificate = false; }},
       {"imprint with SHA-512", "ok", [](Recipe& r) { r.stamps.front().hash = "SHA512"; }},
       {"imprint with SHA-1", "timestamp-invalid",
        [](Recipe& r) { r.stamps.front().hash = "SHA1"; }},
       {"signed with SHA-1", "timestamp-invalid",
        [](Recipe& r) { r.stamps.front().signature_hash = "SHA1"; }},
       {"before the authority counts", "timestamp-invalid",
        [](Recipe& r) { r.stamps.front().time = "2026-01-31T23:59:59Z"; }}},
      rekor2());
}

TEST(Verify, NothingWasSignedInTheFuture) {
  for (const Recipe& recipe : {Recipe(), rekor2()}) {
    BundleCase given = made(recipe);
    given.now = *parse_rfc3339("2026-03-01T11:55:06Z");
    EXPECT_EQ(code_of(verify(given)), "ok");
    given.now = *parse_rfc3339("2026-03-01T11:55:04Z");
    EXPECT_EQ(code_of(verify(given)), "timestamp-invalid");
  }
}

// --- keys

TEST(Verify, ManagedKeys) {
  Recipe managed;
  managed.managed = true;
  run({{"Rekor v1", "ok", [](Recipe&) {}},
       {"Rekor v1 without a promise", "ok", [](Recipe& r) { r.with_promise = false; }},
       {"another key signed", "log-entry-mismatch",
        [](Recipe& r) { r.leaf.key = key_of("P-256", 122); }}},
      managed);
  Recipe second = rekor2();
  second.managed = true;
  run({{"Rekor v2", "ok", [](Recipe&) {}},
       {"Rekor v2 without a timestamp", "ok", [](Recipe& r) { r.stamps.clear(); }},
       {"a timestamp over other bytes", "timestamp-invalid",
        [](Recipe& r) { r.stamps.front().message = "x"; }}},
      second);
}

// PKIX_RSA_PKCS1V15_2048_SHA256, which is what cosign and Fulcio make of an RSA key.
TEST(Verify, RsaKeysSignWithPkcs1) {
  const auto by_rsa = [](Recipe& r) { r.leaf.key = key_of("RSA-2048", 123); };
  run({{"a message", "ok", by_rsa}}, Recipe());
  run({{"a message in Rekor v2", "ok", by_rsa}}, rekor2());
  run({{"an envelope", "ok", by_rsa}}, envelope("dsse", "0.0.1"));
}

TEST(Verify, TheOtherKindOfSigner_IsRefused) {
  Recipe managed;
  managed.managed = true;
  BundleCase given = made(managed);
  given.key.clear();
  EXPECT_EQ(code_of(verify(given)), "untrusted-signer");
  given = made(Recipe());
  given.key = managed_key();
  EXPECT_EQ(code_of(verify(given)), "untrusted-signer") << "though the key is the same";
}

// --- artifacts and statements

TEST(Verify, OtherArtifacts_AreRefused) {
  for (const Recipe& recipe : {Recipe(), rekor2(), envelope("dsse", "0.0.1")}) {
    BundleCase given = made(recipe);
    given.artifact += "x";
    EXPECT_EQ(code_of(verify(given)), "artifact-mismatch");
  }
  Json bundle = make_bundle(Recipe());
  bundle["messageSignature"].erase("messageDigest");
  BundleCase given = made(Recipe());
  given.bundle = bundle.dump();
  EXPECT_EQ(code_of(verify(given)), "ok");
  given.artifact += "x";
  EXPECT_EQ(code_of(verify(given)), "log-entry-mismatch");
}

TEST(Verify, Statements) {
  const auto statement = [](const std::function<void(Json&)>& change) {
    return [change](Recipe& r) { change(*r.statement); };
  };
  const Json other = {{"digest", {{"sha256", std::string(64, 'a')}}}};
  run({{"several subjects", "ok",
        statement([&](Json& s) { s["subject"].insert(s["subject"].begin(), other); })},
       {"version 0.1", "ok",
        statement([](Json& s) { s["_type"] = "https://in-toto.io/Statement/v0.1"; })},
       {"SHA-384 beside it that is right", "ok", statement([](Json& s) {
          s["subject"][0]["digest"]["sha384"] =
              sha(HashAlgorithm::kSha384, as_bytes("an artifact\n")).hex();
        })},
       {"SHA-384 beside it that is wrong", "artifact-mismatch",
        statement([](Json& s) { s["subject"][0]["digest"]["sha384"] = std::string(96, 'a'); })},
       {"another subject", "artifact-mismatch",
        statement([&](Json& s) { s["subject"] = Json::array({other}); })},
       {"no subject", "artifact-mismatch", statement([](Json& s) { s.erase("subject"); })},
       {"another type", "payload-type-unknown",
        statement([](Json& s) { s["_type"] = "https://in-toto.io/Statement/v2"; })},
       {"another payload type", "payload-type-unknown",
        [](Recipe& r) { r.payload_type = "text/plain"; }}},
      envelope("dsse", "0.0.1"));
}

TEST(Verify, EnvelopesWithoutAnArtifact_AreForTheCaller) {
  namespace sigstore = attestation::sigstore;
  const auto root = sigstore::parse_trusted_root(as_bytes(deployment_root().dump())).value();
  const auto identity =
      sigstore::WantedIdentity::exactly("https://issuer.example", "signer@example.com").value();
  const auto judged = [&](const Recipe& recipe) {
    const auto bundle = sigstore::parse_bundle(as_bytes(make_bundle(recipe).dump())).value();
    const sigstore::Keyless signer{root, identity};
    return code_of(
        sigstore::verify_bundle(bundle, {signer, nullptr, *parse_rfc3339("2026-12-01T00:00:00Z")}));
  };
  Recipe text = envelope("dsse", "0.0.1");
  text.payload_type = "text/plain";
  EXPECT_EQ(judged(text), "ok");
  EXPECT_EQ(judged(Recipe()), "artifact-mismatch") << "a message signature is about an artifact";
}

}  // namespace
}  // namespace assay::test
