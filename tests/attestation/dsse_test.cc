// SPDX-License-Identifier: Apache-2.0
// DSSE envelopes: encoding, reading, writing, signing.
#include "attestation/dsse.h"

#include <gtest/gtest.h>

#include "schemas/core/json.h"
#include "schemas/document_size.h"
#include "tests/attestation/support.h"

namespace assay::attestation {
namespace {

using test::code_of;
using test::kAlgorithms;
using test::signer;
using test::where_of;

constexpr std::string_view kType = "application/vnd.in-toto+json";

Envelope sample() {
  const Signer* signers[] = {&signer(SignatureAlgorithm::kEd25519)};
  return std::move(sign_envelope(kType, as_bytes("{\"a\":1}"), signers)).value();
}

Json sample_json() { return Json::parse(encode_envelope(sample())); }
std::string parse_code(const Json& json) { return code_of(parse_envelope(as_bytes(json.dump()))); }

TEST(Pae, Vectors_GiveEncodingAndId) {
  const Json vectors = test::load_vectors("dsse.json");
  ASSERT_GE(vectors["pae"].size(), 10U);
  for (const Json& row : vectors["pae"]) {
    const std::string type = row["payload_type"];
    const Bytes payload = test::from_base64(row["payload"]);
    EXPECT_EQ(pre_authentication_encoding(type, payload), test::from_base64(row["pae"])) << row;
    EXPECT_EQ(statement_id(type, payload).text(), row["id"].get<std::string>());
  }
}

TEST(Pae, TypeAndPayload_CannotBeShifted) {
  EXPECT_NE(statement_id("a", as_bytes("b c")), statement_id("a b", as_bytes("c")));
  EXPECT_NE(statement_id("a", as_bytes("1 b")), statement_id("a 1", as_bytes("b")));
}

TEST(Envelope, Vectors_AreReadOrRefusedAndSignedBy) {
  const Json vectors = test::load_vectors("dsse.json");
  std::vector<TrustedKey> keys;
  for (const Json& row : vectors["keys"]) {
    const auto key = test::signer_from_seed(test::from_hex(row["seed"]));
    keys.push_back(test::trust(*key, "k" + std::to_string(keys.size())));
  }
  ASSERT_GE(vectors["envelopes"].size(), 30U);
  for (const Json& row : vectors["envelopes"]) {
    const auto envelope = parse_envelope(as_bytes(row["envelope"].get<std::string>()));
    EXPECT_EQ(envelope.has_value(), row["want"] == "accept") << row["name"];
    if (!envelope) {
      continue;
    }
    const auto verified = verify_signatures(*envelope, keys);
    std::set<KeyId> found;
    if (verified) {
      for (const VerifiedSignature& signature : *verified) {
        found.insert(signature.key.id);
      }
    }
    std::set<KeyId> want;
    for (const Json& index : row["signed_by"]) {
      want.insert(keys[index.get<std::size_t>()].id);
    }
    EXPECT_EQ(found, want) << row["name"];
  }
}

TEST(Envelope, Written_ReadsBack) {
  const Envelope envelope = sample();
  const std::string text = encode_envelope(envelope);
  const auto parsed = parse_envelope(as_bytes(text));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->payload_type, kType);
  EXPECT_EQ(as_text(parsed->payload), "{\"a\":1}");
  EXPECT_EQ(encode_envelope(*parsed), text);
  EXPECT_EQ(parsed->signatures[0].keyid_hint,
            signer(SignatureAlgorithm::kEd25519).key_id().digest().hex());
}

TEST(Envelope, ExactPayloadBytes_AreKept) {
  Json json = sample_json();
  const std::string odd = std::string("\xEF\xBB\xBF { \"a\" : 1 }\r\n\0", 18);
  json["payload"] = base64_encode(as_bytes(odd));
  EXPECT_EQ(as_text(parse_envelope(as_bytes(json.dump()))->payload), odd);
}

TEST(Envelope, UnknownMembers_AreRefused) {
  Json json = sample_json();
  json["extra"] = 1;
  EXPECT_EQ(parse_code(json), "unknown-member");
}

// Nobody signs what stands beside a signature: it is kept, and means nothing.
TEST(Envelope, ExtraMembersOfSignatures_AreKept) {
  Json json = sample_json();
  json["signatures"][0]["cert"] = "-----BEGIN CERTIFICATE-----";
  auto parsed = parse_envelope(as_bytes(json.dump()));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(verify_signatures(*parsed,
                              std::vector{test::trust(signer(SignatureAlgorithm::kEd25519), "k")})
                ->size(),
            1U);
  ASSERT_TRUE(add_signature(*parsed, signer(SignatureAlgorithm::kEcdsaP256), kKeyidNone));
  const Json written = Json::parse(encode_envelope(*parsed));
  EXPECT_EQ(written["signatures"][0], json["signatures"][0]);
  EXPECT_EQ(written["signatures"][1]["keyid"], "");
  for (int i = 0; i < 9; ++i) {
    json["signatures"][0]["more" + std::to_string(i)] = i;
  }
  EXPECT_EQ(parse_code(json), "schema-violation");
}

// tests/vectors/keyid.json was made with securesystemslib 1.6.0 and OpenSSH.
TEST(Keyid, Vectors_AreWhatOtherSoftwareDerives) {
  const Json vectors = test::load_vectors("keyid.json");
  ASSERT_EQ(vectors["keys"].size(), 3U);
  for (const Json& row : vectors["keys"]) {
    const auto key = PublicKey::from_pem(row["pem"].get<std::string>());
    ASSERT_TRUE(key);
    for (const char* form : {"none", "sha256", "ssh", "tuf"}) {
      EXPECT_EQ(keyid_of(form, *key), row[form].get<std::string>()) << form;
    }
    EXPECT_EQ(keyid_of("release-2026", *key), "release-2026");
    EXPECT_FALSE(keyid_of("", *key));
    EXPECT_FALSE(keyid_of(std::string(1025, 'a'), *key));
    EXPECT_FALSE(keyid_of("\xFF", *key));
  }
}

TEST(Envelope, MissingOrMistypedMembers_AreRefused) {
  for (const char* member : {"payload", "payloadType", "signatures"}) {
    Json json = sample_json();
    json.erase(member);
    EXPECT_EQ(parse_code(json), "schema-violation") << member;
    for (const Json& wrong : {Json(), Json(1), Json::object(), Json::array({1})}) {
      json[member] = wrong;
      EXPECT_EQ(parse_code(json), "schema-violation") << member << wrong;
    }
  }
  Json json = sample_json();
  json["payloadType"] = "";
  EXPECT_EQ(parse_code(json), "schema-violation");
  json = sample_json();
  json["signatures"][0].erase("sig");
  EXPECT_EQ(parse_code(json), "schema-violation");
  json = sample_json();
  json["signatures"][0]["sig"] = "";
  EXPECT_EQ(parse_code(json), "schema-violation");
  json = sample_json();
  json["signatures"][0]["keyid"] = 7;
  EXPECT_EQ(parse_code(json), "schema-violation");
  for (const char* text : {"[]", "1", "null", "\"x\""}) {
    EXPECT_EQ(code_of(parse_envelope(as_bytes(text))), "schema-violation") << text;
  }
}

TEST(Envelope, KeyidOfNull_IsNone) {
  Json json = sample_json();
  json["signatures"][0]["keyid"] = nullptr;
  EXPECT_EQ(parse_envelope(as_bytes(json.dump()))->signatures[0].keyid_hint, "");
}

TEST(Envelope, NoSignature_HasItsOwnCode) {
  Json json = sample_json();
  json["signatures"] = Json::array();
  EXPECT_EQ(parse_code(json), "signature-missing");
}

TEST(Envelope, Signatures_EndAt32) {
  Json json = sample_json();
  const Json one = json["signatures"][0];
  json["signatures"] = Json(32, one);
  EXPECT_EQ(parse_code(json), "ok");
  json["signatures"].push_back(one);
  EXPECT_EQ(parse_code(json), "limit-exceeded");
}

TEST(Envelope, Base64InAnotherSpelling_IsRefused) {
  for (const char* text : {"YQ", "YQ=", "YR==", "YQ==\n", " YQ==", "Y Q=", "+_8=", "YQ==YQ=="}) {
    Json json = sample_json();
    json["payload"] = text;
    EXPECT_EQ(parse_code(json), "invalid-encoding") << text;
    json = sample_json();
    json["signatures"][0]["sig"] = text;
    EXPECT_EQ(parse_code(json), "invalid-encoding") << text;
  }
  Json json = sample_json();
  json["signatures"][0]["sig"] = "YQ";
  EXPECT_EQ(where_of(parse_envelope(as_bytes(json.dump()))), "/signatures/0/sig");
}

TEST(Envelope, StrictJson_IsAskedFor) {
  const std::string text = encode_envelope(sample());
  std::string twice = text;
  twice.insert(1, R"("payload":"YQ==",)");
  EXPECT_EQ(code_of(parse_envelope(as_bytes(twice))), "duplicate-key");
  EXPECT_EQ(code_of(parse_envelope(as_bytes(text + "{}"))), "malformed-json");
  EXPECT_EQ(code_of(parse_envelope(as_bytes(""))), "malformed-json");
}

TEST(Envelope, LongestPayload_IsTakenUpToTheLimitOfEnvelopes) {
  const Signer* signers[] = {&signer(SignatureAlgorithm::kEd25519)};
  const auto envelope = sign_envelope(kType, Bytes(kMaxReportPayload, 'x'), signers);
  ASSERT_TRUE(envelope);
  std::string text = encode_envelope(*envelope);
  text.insert(1, std::string(kMaxEnvelopeBytes - text.size(), ' '));
  EXPECT_EQ(code_of(parse_envelope(as_bytes(text))), "ok");
  text.insert(1, " ");
  EXPECT_EQ(code_of(parse_envelope(as_bytes(text))), "limit-exceeded");
}

// Nothing is known yet of who sends it.
TEST(Envelope, MembersThatTakeFarMoreMemoryThanText_AreRefused) {
  std::string text = R"({"payload":[0)";
  while (text.size() < std::size_t{4} << 20) {
    text += ",{}";
  }
  EXPECT_EQ(code_of(parse_envelope(as_bytes(text + "]}"))), "limit-exceeded");
}

std::size_t text_size(const Json& text) { return text.get_ref<const std::string&>().size(); }

// Spaces are not signed and would be stored with every copy.
TEST(Envelope, MostlySpaces_IsRefused) {
  const std::string written = encode_envelope(sample());
  const auto padded = [&](std::size_t spaces) {
    return code_of(parse_envelope(
        as_bytes(written.substr(0, 1) + std::string(spaces, ' ') + written.substr(1))));
  };
  const Json json = sample_json();
  std::size_t carried = kType.size() + text_size(json["payload"]);
  for (const Json& signature : json["signatures"]) {
    carried += signature.value("keyid", "").size() + text_size(signature["sig"]);
  }
  const std::size_t most = 2 * carried + (256U << 10) - written.size();
  EXPECT_EQ(padded(most), "ok");
  EXPECT_EQ(padded(most + 1), "limit-exceeded");
}

TEST(Sign, SeveralSigners_InTheirOrder) {
  std::vector<const Signer*> signers;
  for (const auto algorithm : kAlgorithms) {
    signers.push_back(&signer(algorithm));
  }
  const auto envelope = sign_envelope(kType, as_bytes("x"), signers);
  ASSERT_TRUE(envelope);
  ASSERT_EQ(envelope->signatures.size(), signers.size());
  const Bytes message = pre_authentication_encoding(kType, as_bytes("x"));
  for (std::size_t i = 0; i < signers.size(); ++i) {
    const auto key = PublicKey::from_der(signers[i]->public_key());
    EXPECT_TRUE(key->verify(message, envelope->signatures[i].signature));
  }
}

TEST(Sign, NobodyOrNoType_IsRefused) {
  EXPECT_EQ(code_of(sign_envelope(kType, as_bytes("x"), {})), "signature-missing");
  const Signer* signers[] = {&signer(SignatureAlgorithm::kEd25519)};
  for (const std::string& type : {std::string(), std::string(256, 'a'), std::string("\xFF")}) {
    EXPECT_EQ(code_of(sign_envelope(type, as_bytes("x"), signers)), "invalid-parameter");
  }
}

TEST(Sign, SameKeyTwice_IsAConflict) {
  for (const auto algorithm : kAlgorithms) {
    const Signer* signers[] = {&signer(algorithm), &signer(algorithm)};
    EXPECT_EQ(code_of(sign_envelope(kType, as_bytes("x"), signers)), "conflict");
    const Signer* once[] = {&signer(algorithm)};
    Envelope envelope = *sign_envelope(kType, as_bytes("x"), once);
    envelope.signatures[0].keyid_hint = "somebody else";
    EXPECT_EQ(code_of(add_signature(envelope, signer(algorithm))), "conflict");
    EXPECT_EQ(envelope.signatures.size(), 1U);
    EXPECT_TRUE(add_signature(envelope, signer(algorithm, 1)));
  }
}

TEST(Sign, ThirtyThirdSignature_IsRefused) {
  Envelope envelope = sample();
  envelope.signatures.resize(32, envelope.signatures[0]);
  EXPECT_EQ(code_of(add_signature(envelope, signer(SignatureAlgorithm::kEcdsaP256))),
            "limit-exceeded");
}

TEST(Encode, TextThatIsNoUtf8_GivesNothing) {
  Envelope envelope = sample();
  envelope.payload_type = "\xFF";
  EXPECT_EQ(encode_envelope(envelope), "");
}

}  // namespace
}  // namespace assay::attestation
