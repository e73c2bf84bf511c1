// SPDX-License-Identifier: Apache-2.0
// Strict CBOR and COSE_Sign1: the messages of the COSE working group, own ones by each algorithm,
// and one mutation per refusal.
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "attestation/cose/sign1.h"
#include "tests/attestation/support.h"

namespace assay::attestation::cose {
namespace {

using assay::test::code_of;
using assay::test::from_hex;
using assay::test::kAlgorithms;
using assay::test::signer;

std::string parsed(const std::string& hex, const cbor::Limits& limits = {}) {
  return code_of(cbor::parse(from_hex(hex), limits));
}

std::string repeated(const std::string& text, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) {
    out += text;
  }
  return out;
}

// RFC 8949 appendix A, as far as it is read here.
TEST(Cbor, Examples_AreRead) {
  for (const char* hex : {"00",
                          "17",
                          "1818",
                          "190100",
                          "1a00010000",
                          "1b0000000100000000",
                          "1bffffffffffffffff",
                          "20",
                          "3903e7",
                          "40",
                          "4401020304",
                          "60",
                          "62c3bc",
                          "80",
                          "83010203",
                          "a0",
                          "a201020304",
                          "c11a514b67b0",
                          "f4",
                          "f5",
                          "f6",
                          "d74401020304",
                          "826161a161626163"}) {
    EXPECT_EQ(parsed(hex), "ok") << hex;
  }
  for (std::uint64_t tag = 0; tag < 300; ++tag) {
    cbor::Writer writer;
    const auto value = cbor::parse(writer.tag(tag).array(1).tag(tag).integer(7).out());
    ASSERT_TRUE(value && value->tagged(tag) != nullptr) << tag;
    EXPECT_EQ(value->tagged(tag)->items[0].tagged(tag)->integer(), 7) << tag;
  }
  EXPECT_EQ(cbor::parse(from_hex("3903e7"))->integer(), -1000);
  EXPECT_EQ(cbor::parse(from_hex("a201020304"))->find(3)->integer(), 4);
  EXPECT_EQ(cbor::parse(from_hex("1bffffffffffffffff"))->integer(), std::nullopt);
}

TEST(Cbor, WhatTwoParsersReadDifferently_IsRefused) {
  const std::map<std::string, std::string> refused = {
      {"", "nothing"},
      {"0000", "trailing byte"},
      {"1817", "longer head than needed"},
      {"190017", "longer head than needed"},
      {"1b0000000000000000", "longer head than needed"},
      {"1c", "reserved head"},
      {"19", "truncated head"},
      {"4401", "truncated string"},
      {"5bffffffffffffffff", "string of 2^64 - 1 bytes"},
      {"9bffffffffffffffff", "array of 2^64 - 1 items"},
      {"bbffffffffffffffff", "map of 2^64 - 1 pairs"},
      {"9a7fffffff", "array of 2^31 items"},
      {"8201", "array that ends too early"},
      {"a101", "map without the value"},
      {"a201020103", "duplicate key"},
      {"a2616101616102", "duplicate text key"},
      {"5f41004100ff", "indefinite string"},
      {"9fff", "indefinite array"},
      {"bfff", "indefinite map"},
      {"ff", "break"},
      {"62c328", "not UTF-8"},
      {"f93c00", "half float"},
      {"fb3ff199999999999a", "float"},
      {"f7", "undefined"},
      {"f820", "simple value in two bytes"},
      {"3bffffffffffffffff", "negative integer of 65 bits"},
      {"d9", "truncated tag"},
      {"c1", "tag of nothing"}};
  for (const auto& [hex, why] : refused) {
    EXPECT_EQ(parsed(hex), "malformed-cbor") << why;
  }
}

TEST(Cbor, Depth_EndsAtTheLimit) {
  EXPECT_EQ(parsed(repeated("81", 15) + "80"), "ok");
  EXPECT_EQ(parsed(repeated("81", 16) + "80"), "malformed-cbor");
  EXPECT_EQ(parsed(repeated("81", 10'000) + "80"), "malformed-cbor");
  EXPECT_EQ(parsed(repeated("c1", 10'000) + "00"), "malformed-cbor");
  EXPECT_EQ(parsed(repeated("a100", 10'000) + "00"), "malformed-cbor");
}

TEST(Cbor, Limits_AreHeld) {
  EXPECT_EQ(code_of(cbor::parse(Bytes((256U << 10) + 1, 0))), "limit-exceeded");
  EXPECT_EQ(code_of(cbor::parse(Bytes(10U << 20, 0))), "limit-exceeded");
  EXPECT_EQ(parsed("83010203", {.max_items = 4}), "ok");
  EXPECT_EQ(parsed("83010203", {.max_items = 3}), "malformed-cbor");
}

TEST(Cbor, Writer_WritesTheShortestForm) {
  cbor::Writer writer;
  writer.tag(501).array(3).integer(-1000).text("a").map(1).integer(24).bytes(Bytes{1, 2});
  EXPECT_EQ(hex_encode(writer.out()),
            "d901f583"
            "3903e7"
            "6161"
            "a1"
            "1818"
            "420102");
  EXPECT_EQ(code_of(cbor::parse(writer.out())), "ok");
}

// --- messages of the working group

Json vector_of(const std::string& name) { return test::load_vectors("cose/" + name + ".json"); }

Bytes base64url(const Json& text) {
  std::string padded = text.get<std::string>();
  padded.append((4 - padded.size() % 4) % 4, '=');
  return base64_decode_any(padded).value();
}

// The key of a vector; nullopt for a curve that is not supported here.
std::optional<PublicKey> key_of(const Json& vector) {
  const Json& key = vector["input"]["sign0"]["key"];
  if (key["crv"] == "P-256" || key["crv"] == "P-384") {
    return std::move(PublicKey::from_point(base64url(key["x"]), base64url(key["y"]))).value();
  }
  Bytes der;
  if (key["crv"] == "Ed25519") {
    der = *hex_decode("302a300506032b6570032100");
    const Bytes bytes = from_hex(key["x_hex"]);
    der.insert(der.end(), bytes.begin(), bytes.end());
  } else {
    return std::nullopt;
  }
  return std::move(PublicKey::from_der(der)).value();
}

Bytes message_of(const Json& vector) {
  std::string hex = vector["output"]["cbor"].get<std::string>();
  for (char& c : hex) {
    c = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return *hex_decode(hex);
}

std::string judged(const std::string& name) {
  const Json vector = vector_of(name);
  const auto message = parse_sign1(message_of(vector));
  if (!message) {
    return code_of(message);
  }
  const auto key = key_of(vector);
  const Json external = vector["input"]["sign0"].value("external", Json(""));
  return key ? code_of(verify_sign1(*message, *key, from_hex(external))) : "unsupported curve";
}

TEST(Sign1, MessagesOfTheWorkingGroup_ComeToWhatTheyShould) {
  // RFC 9052 allows the algorithm in the unprotected header (sign-pass-01), where anybody can
  // change it; here it counts from the protected header alone. The tag is optional (sign-pass-03).
  const std::map<std::string, std::string> expected = {
      {"ecdsa-sig-01", "ok"},                 // ES256
      {"ecdsa-sig-02", "ok"},                 // ES384
      {"ecdsa-sig-03", "malformed-cose"},     // ES512
      {"ecdsa-sig-04", "malformed-cose"},     // ES512 with a P-256 key
      {"eddsa-sig-01", "ok"},                 // Ed25519
      {"eddsa-sig-02", "unsupported curve"},  // Ed448
      {"sign-pass-01", "malformed-cose"},
      {"sign-pass-02", "ok"},
      {"sign-pass-03", "ok"},
      {"sign-fail-01", "malformed-cose"},     // another tag
      {"sign-fail-02", "signature-invalid"},  // another payload
      {"sign-fail-03", "malformed-cose"},     // an algorithm that does not exist
      {"sign-fail-04", "malformed-cose"},     // an algorithm named by a text
      {"sign-fail-06", "signature-invalid"},  // a protected parameter more
      {"sign-fail-07", "signature-invalid"},  // a protected parameter less
      {"ecdsa-01", "malformed-cose"},         // COSE_Sign
      {"ecdsa-02", "malformed-cose"},
      {"ecdsa-03", "malformed-cose"},
      {"ecdsa-04", "malformed-cose"},
      {"eddsa-01", "malformed-cose"},
      {"eddsa-02", "malformed-cose"}};
  for (const auto& [name, code] : expected) {
    EXPECT_EQ(judged(name), code) << name;
  }
}

// --- own messages

PublicKey public_half(const Signer& signer) {
  return std::move(PublicKey::from_der(signer.public_key())).value();
}

const Bytes kPayload = to_bytes("payload");

TEST(Sign1, OwnMessage_VerifiesWithItsKeyAlone) {
  for (const SignatureAlgorithm algorithm : kAlgorithms) {
    const Bytes aad = to_bytes("context");
    const Bytes bytes =
        sign1(kPayload, {"application/rim+cbor", Bytes{0xa0}}, signer(algorithm), aad).value();
    const Sign1 message = parse_sign1(bytes).value();
    EXPECT_EQ(message.content_type, "application/rim+cbor");
    EXPECT_EQ(message.corim_meta, Bytes{0xa0});
    EXPECT_EQ(message.payload, kPayload);
    EXPECT_EQ(code_of(verify_sign1(message, public_half(signer(algorithm)), aad)), "ok");
    EXPECT_EQ(code_of(verify_sign1(message, public_half(signer(algorithm)))), "signature-invalid");
    for (const SignatureAlgorithm other : kAlgorithms) {
      EXPECT_EQ(code_of(verify_sign1(message, public_half(signer(other, 1)), aad)),
                "signature-invalid");
    }
  }
}

// Every bit of what is signed. The unprotected header (a hint) is all that may change.
TEST(Sign1, NoMutation_KeepsOtherSignedBytes) {
  const Signer& key = signer(SignatureAlgorithm::kEcdsaP256);
  const Bytes bytes = sign1(kPayload, {"application/rim+cbor"}, key).value();
  const Sign1 original = parse_sign1(bytes).value();
  const PublicKey half = public_half(key);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    const auto message = parse_sign1(assay::test::flip(bytes, bit));
    if (message && verify_sign1(*message, half)) {
      EXPECT_EQ(message->protected_header, original.protected_header) << bit;
      EXPECT_EQ(message->payload, original.payload) << bit;
      EXPECT_EQ(message->content_type, original.content_type) << bit;
    }
  }
}

// A message of these headers. The signature is of no key.
Bytes message_with(const std::string& protected_hex, const std::string& unprotected_hex,
                   const std::string& payload_hex = "4100") {
  cbor::Writer writer;
  writer.tag(18).array(4).bytes(from_hex(protected_hex));
  writer.encoded(from_hex(unprotected_hex)).encoded(from_hex(payload_hex)).bytes(Bytes(64, 1));
  return writer.out();
}

TEST(Sign1, HeadersThatCannotBeTrusted_AreRefused) {
  EXPECT_EQ(code_of(parse_sign1(message_with("a10126", "a0"))), "ok");
  const std::map<std::string, Bytes> refused = {
      {"no algorithm", message_with("", "a0")},
      {"no algorithm in the map", message_with("a0", "a0")},
      {"the algorithm in both headers", message_with("a10126", "a10126")},
      {"another algorithm in the unprotected header", message_with("a10126", "a10127")},
      {"a critical parameter that is not known", message_with("a3012602811903e71903e701", "a0")},
      {"a critical parameter that is not there", message_with("a20126028103", "a0")},
      {"an empty list of critical parameters", message_with("a201260280", "a0")},
      {"critical parameters that are not signed", message_with("a10126", "a1028101")},
      {"a header that is no map", message_with("80", "a0")},
      {"a detached payload", message_with("a10126", "a0", "f6")},
      {"a payload that is a text", message_with("a10126", "a0", "6100")},
      {"a key id that is a text", message_with("a10126", "a1046161")}};
  for (const auto& [why, bytes] : refused) {
    EXPECT_EQ(code_of(parse_sign1(bytes)), "malformed-cose") << why;
  }
  EXPECT_EQ(code_of(parse_sign1(message_with("a201260126", "a0"))), "malformed-cbor");
  Bytes trailing = message_with("a10126", "a0");
  trailing.push_back(0);
  EXPECT_EQ(code_of(parse_sign1(trailing)), "malformed-cbor");
  EXPECT_EQ(code_of(parse_sign1({})), "malformed-cbor");
}

}  // namespace
}  // namespace assay::attestation::cose
