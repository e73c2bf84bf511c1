// SPDX-License-Identifier: Apache-2.0
// Strict CBOR and COSE_Sign1: own messages by each algorithm, and one mutation per refusal. Those
// of the COSE working group: verdict_documents.cc.
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "attestation/cose/sign1.h"
#include "tests/attestation/odd_signer.h"
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

// ES256K, a number that nobody has, and RS1.
TEST(Sign1, OtherAlgorithms_AreRefused) {
  for (const std::int64_t id : {-47, -100, -65535}) {
    cbor::Writer header;
    header.map(1).integer(kAlgorithm).integer(id);
    cbor::Writer message;
    message.tag(kSign1Tag).array(4).bytes(header.out()).map(0).bytes({}).bytes(Bytes(132));
    const auto result = parse_sign1(message.out());
    ASSERT_EQ(code_of(result), "malformed-cose");
    EXPECT_NE(result.error().detail.find("PS512"), std::string::npos) << result.error().detail;
  }
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
  EXPECT_EQ(cbor::parse(from_hex("3903e7"))->integer(), -1000);
  EXPECT_EQ(cbor::parse(from_hex("a201020304"))->find(3)->integer(), 4);
  EXPECT_EQ(cbor::parse(from_hex("1bffffffffffffffff"))->integer(), std::nullopt);
  EXPECT_EQ(cbor::parse(from_hex("6161"))->integer(), std::nullopt);
  EXPECT_EQ(cbor::parse(from_hex("00"))->text(), std::nullopt);
  EXPECT_EQ(cbor::parse(from_hex("80"))->find(1), nullptr);
  EXPECT_EQ(cbor::parse(from_hex("a1616100"))->find(1), nullptr);
  EXPECT_EQ(cbor::parse(from_hex("c100"))->tagged(2), nullptr);
  EXPECT_TRUE(cbor::parse(from_hex("f6"))->is_null());
  EXPECT_FALSE(cbor::parse(from_hex("f4"))->is_null());
  EXPECT_FALSE(cbor::parse(from_hex("16"))->is_null()) << "the number of null, as an integer";
}

// libcbor 0.8 by itself refuses the tags 6 to 20 in their shortest head.
TEST(Cbor, TagsInTheirShortestHead_AreRead) {
  for (std::uint64_t tag = 0; tag < 300; ++tag) {
    cbor::Writer writer;
    const auto value = cbor::parse(writer.tag(tag).array(1).tag(tag).integer(7).out());
    ASSERT_TRUE(value && value->tagged(tag) != nullptr) << tag;
    EXPECT_EQ(value->tagged(tag)->items[0].tagged(tag)->integer(), 7) << tag;
  }
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
  EXPECT_EQ(code_of(cbor::parse(Bytes(256U << 10, 0))), "malformed-cbor") << "many items";
  EXPECT_EQ(code_of(cbor::parse(Bytes((256U << 10) + 1, 0))), "limit-exceeded");
  EXPECT_EQ(code_of(cbor::parse(Bytes(10U << 20, 0))), "limit-exceeded");
  EXPECT_EQ(parsed("83010203", {.max_items = 4}), "ok");
  EXPECT_EQ(parsed("83010203", {.max_items = 3}), "malformed-cbor");
  EXPECT_EQ(parsed("99ffff" + repeated("00", 65'535)), "ok");
  EXPECT_EQ(parsed("9a00010000" + repeated("00", 65'536)), "malformed-cbor");
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
      {"one critical parameter that is there, and one that is not",
       message_with("a301260282030803183d", "a0")},
      {"an empty list of critical parameters", message_with("a201260280", "a0")},
      {"critical parameters that are not signed", message_with("a10126", "a1028101")},
      {"a header that is no map", message_with("80", "a0")},
      {"a detached payload", message_with("a10126", "a0", "f6")},
      {"a payload that is a text", message_with("a10126", "a0", "6100")},
      {"a label in bytes", message_with("a10126", "a1410000")},
      {"a text label in both headers", message_with("a2012661610"
                                                    "0",
                                                    "a1616100")},
      {"one label as text and as bytes", message_with("a201266161"
                                                      "00",
                                                      "a1416100")},
      {"critical parameters that are no list", message_with("a201260203", "a0")},
      {"a critical parameter named by a text", message_with("a20126028161"
                                                            "61",
                                                            "a0")},
      {"a content type that is empty", message_with("a201260360", "a0")},
      {"a content type that is negative", message_with("a201260320", "a0")},
      {"a corim-meta that is a map", message_with("a2012608a0", "a0")},
      {"a corim-meta of no bytes", message_with("a201260840", "a0")},
      {"an algorithm that is a text", message_with("a1016161", "a0")},
      {"a key id that is a text", message_with("a10126", "a1046161")}};
  for (const auto& [why, bytes] : refused) {
    EXPECT_EQ(code_of(parse_sign1(bytes)), "malformed-cose") << why;
  }
  EXPECT_EQ(code_of(parse_sign1(message_with("a201260126", "a0"))), "malformed-cbor");
  EXPECT_EQ(code_of(parse_sign1(message_with("a1", "a0"))), "malformed-cbor");
  Bytes trailing = message_with("a10126", "a0");
  trailing.push_back(0);
  EXPECT_EQ(code_of(parse_sign1(trailing)), "malformed-cbor");
  EXPECT_EQ(code_of(parse_sign1({})), "malformed-cbor");
}

TEST(Sign1, OtherShapes_AreRefused) {
  const std::map<std::string, std::string> refused = {
      {"d2a0", "a map under the tag"},
      {"d28343a10126a04100", "three items"},
      {"8543a10126a04100410000", "five items"},
      {"d284a10126a041004100", "a protected header that is a map"},
      {"d28443a101268041004100", "an unprotected header that is a list"},
      {"d28443a10126a041006100", "a signature that is a text"},
      {"00", "a number"}};
  for (const auto& [hex, why] : refused) {
    EXPECT_EQ(code_of(parse_sign1(from_hex(hex))), "malformed-cose") << why;
  }
}

TEST(Sign1, Hints_AreReadFromEitherHeader) {
  EXPECT_EQ(parse_sign1(message_with("a1"
                                     "0126",
                                     "a1044107"))
                ->key_id,
            Bytes{7});
  EXPECT_EQ(parse_sign1(message_with("a20126044108", "a0"))->key_id, Bytes{8});
  EXPECT_EQ(parse_sign1(message_with("a2012603183d", "a0"))->content_type, "coap:61");
  EXPECT_EQ(parse_sign1(message_with("a301260281"
                                     "0303183d",
                                     "a0"))
                ->content_type,
            "coap:61")
      << "a critical parameter that is understood";
  EXPECT_EQ(code_of(parse_sign1(message_with("a2012661610"
                                             "0",
                                             "a1616200"))),
            "ok")
      << "labels that are texts";
}

TEST(Sign1, SignatureOfAnotherLength_IsInvalid) {
  const Signer& key = signer(SignatureAlgorithm::kEcdsaP256);
  Sign1 message = parse_sign1(sign1(kPayload, {"a"}, key).value()).value();
  message.signature.pop_back();
  EXPECT_EQ(code_of(verify_sign1(message, public_half(key))), "signature-invalid");
  message.signature = Bytes(64, 0);
  EXPECT_EQ(code_of(verify_sign1(message, public_half(key))), "signature-invalid") << "r is 0";
}

TEST(Sign1, KeyThatDoesNotSign_MakesNoMessage) {
  EXPECT_EQ(code_of(sign1(kPayload, {}, assay::test::OddSigner(Bytes{0x30, 0}))), "key-unusable");
  EXPECT_EQ(code_of(sign1(kPayload, {}, assay::test::OddSigner(Bytes()))), "key-unusable");
  EXPECT_EQ(
      code_of(sign1(kPayload, {}, assay::test::OddSigner(fail(ErrorCode::kUnavailable, "busy")))),
      "unavailable");
}

}  // namespace
}  // namespace assay::attestation::cose
