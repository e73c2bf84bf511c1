// SPDX-License-Identifier: Apache-2.0
// Documents of reference values: foreign CoRIMs, own ones in both forms, signed and not, and one
// mutation per refusal.
#include "attestation/corim/corim.h"

#include <functional>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "attestation/corim/reference_document.h"
#include "schemas/core/json.h"
#include "tests/attestation/support.h"
#include "tests/support/corim.h"

namespace assay::attestation::corim {
namespace {

using assay::test::code_of;
using assay::test::CorimSpec;
using assay::test::from_hex;
using assay::test::make_corim;
using assay::test::sha384_of;
using assay::test::signer;

CorimSpec good() {
  CorimSpec spec;
  spec.version = 3;
  spec.triples = {{.digests = {{"mrtd", sha384_of(1)}, {"rtmr0", sha384_of(2)}}},
                  {.vendor = "Intel Corporation", .digests = {{"mrseam", sha384_of(3)}}}};
  return spec;
}

std::string read(const CorimSpec& spec) {
  return code_of(read_reference_document(make_corim(spec)));
}

Bytes foreign(const std::string& name) {
  return to_bytes(assay::test::read_file(std::filesystem::path(ASSAY_SOURCE_DIR) / "tests" /
                                         "vectors" / "corim" / name));
}

TEST(Corim, OfOtherSchemes_AreRefusedByTheirProfile) {
  const std::map<std::string, std::string> profiles = {
      {"cca-endorsements.cbor", "http://arm.com/cca/ssd/1"},
      {"cca-realm-endorsements.cbor", "http://arm.com/cca/realm/1"},
      {"psa-endorsements.cbor", "http://arm.com/psa/iot/1"}};
  for (const auto& [name, profile] : profiles) {
    const auto document = read_reference_document(foreign(name));
    ASSERT_EQ(code_of(document), "reference-class-mismatch") << name;
    EXPECT_NE(document.error().detail.find("profile " + profile), std::string::npos)
        << document.error().detail;
  }
}

TEST(ReferenceDocument, Corim_BringsSetsUnderTheirNames) {
  const ReferenceDocument document = read_reference_document(make_corim(good())).value();
  EXPECT_EQ(document.evidence_type, "tdx");
  EXPECT_EQ(document.media_type, kCorimType);
  EXPECT_FALSE(document.envelope);
  ASSERT_EQ(document.tags.size(), 1U);
  const DocumentTag& tag = document.tags.front();
  EXPECT_EQ(tag.tag_id, "acme.example/os-image");
  EXPECT_EQ(tag.version, 3U);
  ASSERT_EQ(tag.sets.size(), 2U);
  EXPECT_EQ(tag.sets[0].name, "acme.example/os-image@3:Intel TDX#1");
  EXPECT_EQ(tag.sets[0].values.at("mrtd"), std::vector{hex_encode(sha384_of(1))});
  EXPECT_EQ(tag.sets[0].values.size(), 2U);
  EXPECT_EQ(tag.sets[1].name, "acme.example/os-image@3:Intel Corporation TDX#2");
}

// draft-cds-rats-intel-corim-profile: tee.mrtee is MRTD, as an extension and as an mkey. Integrity
// registers are RTMRs by number or name.
TEST(ReferenceDocument, OtherWaysToNameMeasurements_AreMapped) {
  const std::string digest =
      "58"
      "30" +
      hex_encode(sha384_of(9));
  const std::map<std::string, std::string> measurement = {
      {"a101a138528207" + digest, "mrtd"},        // {1: {-83: [7, digest]}}
      {"a101a13852818207" + digest, "mrtd"},      // {1: {-83: [[7, digest]]}}
      {"a200185301a102818207" + digest, "mrtd"},  // {0: 83, 1: {2: [[7, digest]]}}
      {"a101a10ea103818207" + digest, "rtmr3"},   // {1: {14: {3: [[7, digest]]}}}
      {"a101a10ea16572746d7231818207" + digest, "rtmr1"}};
  for (const auto& [hex, name] : measurement) {
    CorimSpec spec = good();
    spec.triples.resize(1);
    spec.measurement = from_hex(hex);
    const auto document = read_reference_document(make_corim(spec));
    ASSERT_EQ(code_of(document), "ok") << hex;
    EXPECT_EQ(document->tags[0].sets[0].values.begin()->first, name) << hex;
    EXPECT_EQ(document->tags[0].sets[0].values.size(), 1U);
  }
}

TEST(ReferenceDocument, WhatEvidenceIsNotComparedWith_IsRefused) {
  const std::string digest = "5830" + hex_encode(sha384_of(9));
  const std::string digests = "02818207" + digest;  // 2: [[7, digest]]
  const std::map<std::string, std::string> refused = {
      {"a2006372746d01a1" + digests, "an unknown mkey"},
      {"a101a1" + digests, "no mkey"},
      {"a200646d72746401a2010a" + digests, "a version beside it"},
      {"a200646d72746401a1010a", "no digests"},
      {"a300646d72746401a1" + digests + "0280", "keys that must sign"},
      {"a200646d72746401a102818201"
       "5820" +
           hex_encode(Bytes(32, 1)),
       "SHA-256 alone"},
      {"a200646d72746401a102818207"
       "5820" +
           hex_encode(Bytes(32, 1)),
       "another length"},
      {"a101a13852d9ea7480", "an expression in place of a value"},
      {"a101a10ea104818207" + digest, "a register that TDX does not have"}};
  for (const auto& [hex, why] : refused) {
    CorimSpec spec = good();
    spec.triples.resize(1);
    spec.measurement = from_hex(hex);
    EXPECT_EQ(read(spec), "reference-unmapped") << why;
  }
  CorimSpec none = good();
  none.triples.clear();
  EXPECT_EQ(read(none), "malformed-corim");
}

TEST(ReferenceDocument, OtherEnvironments_AreRefused) {
  CorimSpec other = good();
  other.triples[0].model = "SGX";
  EXPECT_EQ(read(other), "reference-class-mismatch");
  CorimSpec vendor = good();
  vendor.triples[0].vendor = "intel";
  EXPECT_EQ(read(vendor), "reference-class-mismatch");
  CorimSpec two = good();
  two.triples[1] = {"AMD", "SEV-SNP", {{"measurement", sha384_of(4)}}};
  EXPECT_EQ(read(two), "reference-class-mismatch") << "two types of evidence";
  const std::string tdx = "0165496e74656c0263544458";  // 1: "Intel", 2: "TDX"
  for (const auto& [hex, why] :
       std::map<std::string, std::string>{{"a200a2" + tdx + "014100", "an instance"},
                                          {"a200a2" + tdx + "024100", "a group"},
                                          {"a100a100d86f4100", "a class-id alone"},
                                          {"a100a3" + tdx + "0300", "a layer"},
                                          {"a100a3" + tdx + "0400", "an index"},
                                          {"a0", "no class"}}) {
    CorimSpec spec = good();
    spec.environment = from_hex(hex);
    EXPECT_EQ(read(spec), "reference-class-mismatch") << why;
  }
  CorimSpec plain = good();
  plain.environment = from_hex("a100a2" + tdx);
  EXPECT_EQ(read(plain), "ok");
}

TEST(ReferenceDocument, SnpLaunchMeasurement_IsMapped) {
  CorimSpec spec;
  spec.triples = {{"AMD", "SEV-SNP", {{"measurement", sha384_of(4)}}}};
  const auto document = read_reference_document(make_corim(spec));
  ASSERT_EQ(code_of(document), "ok");
  EXPECT_EQ(document->evidence_type, "sev-snp");
}

TEST(Corim, Malformed_IsRefused) {
  EXPECT_EQ(code_of(parse_corim({})), "malformed-cbor");
  EXPECT_EQ(code_of(parse_corim(from_hex("d901f5a0"))), "malformed-corim");
  EXPECT_EQ(code_of(parse_corim(from_hex("d901f480"))), "malformed-corim") << "another tag";
  EXPECT_EQ(code_of(parse_corim(from_hex("a0"))), "malformed-corim") << "no tag";
  // Two CoMIDs of one id say different things under one name.
  const CorimSpec spec = good();
  const Bytes comid = test::encode_comid(spec);
  EXPECT_EQ(code_of(parse_corim(test::encode_corim(spec, {comid, comid}))), "malformed-corim");
  std::vector<Bytes> tags;
  for (std::uint8_t i = 0; i < kMaxTagsOfDocument; ++i) {
    CorimSpec named = spec;
    named.tag_identity = from_hex("a10061" + hex_encode(Bytes{static_cast<std::uint8_t>('a' + i)}));
    tags.push_back(test::encode_comid(named));
  }
  EXPECT_EQ(code_of(parse_corim(test::encode_corim(spec, tags))), "ok");
  tags.push_back(comid);
  EXPECT_EQ(code_of(parse_corim(test::encode_corim(spec, tags))), "malformed-corim");
  test::Writer coswid;
  coswid.tag(501).map(2).integer(0).text("a").integer(1).array(1).tag(505).bytes(Bytes{0xa0});
  EXPECT_EQ(code_of(parse_corim(coswid.out())), "malformed-corim") << "a CoSWID";
  for (const char* identity : {"a1006161"
                               "",
                               "a0",
                               "a2006120"
                               "0101",
                               "a2006161"
                               "0120",
                               "a200600101", "a20041000101"}) {
    CorimSpec changed = good();
    changed.tag_identity = from_hex(identity);
    const bool plain = std::string(identity) == "a1006161";  // version 0
    EXPECT_EQ(read(changed), plain ? "ok" : "malformed-corim") << identity;
  }
  CorimSpec backwards = good();
  backwards.not_before = 2;
  backwards.not_after = 1;
  EXPECT_EQ(read(backwards), "malformed-corim");
}

TEST(Corim, MalformedMeasurements_AreRefused) {
  const std::string digest = "5830" + hex_encode(sha384_of(9));
  const std::map<std::string, std::string> refused = {
      {"80", "a measurement that is a list"},
      {"a10300", "a member that is not read"},
      {"a1616100", "a member named by a text"},
      {"a100646d727464", "no values"},
      {"a200646d7274640180", "values that are a list"},
      {"a200646d72746401a0", "values that are empty"},
      {"a200646d72746401a10280", "no digest"},
      {"a200646d72746401a102a0", "digests that are a map"},
      {"a200646d72746401a1028107", "a digest that is a number"},
      {"a200646d72746401a102818107", "a digest without value"},
      {"a200646d72746401a102818207"
       "6161",
       "a value that is a text"},
      {"a200646d72746401a1028182"
       "4107" +
           digest,
       "an algorithm in bytes"},
      {"a200646d72746401a102828207" + digest + "8207" + digest, "one algorithm twice"},
      {"a101a10e80", "registers that are a list"},
      {"a101a10ea0", "registers that are empty"},
      {"a101a10ea14100818207" + digest, "a register named by bytes"},
      {"a101a10ea100a0", "a register without digests"},
      {"a101a10ea201818207" + digest + "6131818207" + digest, "a register twice"},
      {"a101a1385280", "no digest of the TEE"}};
  for (const auto& [hex, why] : refused) {
    CorimSpec spec = good();
    spec.triples.resize(1);
    spec.measurement = from_hex(hex);
    EXPECT_EQ(read(spec), "malformed-corim") << why;
  }
}

TEST(Corim, MalformedEnvironmentsAndTriples_AreRefused) {
  for (const auto& [hex, why] :
       std::map<std::string, std::string>{{"80", "an environment that is a list"},
                                          {"a10300", "a member that is not read"},
                                          {"a10080", "a class that is a list"},
                                          {"a100a10100", "a vendor that is a number"},
                                          {"a100a10200", "a model that is a number"},
                                          {"a100a10500", "a member of a class that is not read"}}) {
    CorimSpec spec = good();
    spec.environment = from_hex(hex);
    EXPECT_EQ(read(spec), "malformed-corim") << why;
  }
  const std::string identity = "01a1006161";  // 1: {0: "a"}
  for (const auto& [hex, why] : std::map<std::string, std::string>{
           {"80", "a CoMID that is a list"},
           {"a0", "no identity"},
           {"a101a0", "an identity without id"},
           {"a10180", "an identity that is a list"},
           {"a1" + identity, "no triples"},
           {"a2" + identity + "0480", "triples that are a list"},
           {"a2" + identity + "04a0", "triples that are empty"},
           {"a2" + identity + "04a10080", "no reference triple"},
           {"a2" + identity + "04a1008100", "a triple that is a number"},
           {"a2" + identity + "04a1008180", "a triple of nothing"},
           {"a2" + identity + "04a1008182a080", "a triple without measurements"},
           {"a2" + identity + "0380", "links that are empty"},
           {"a2" + identity + "038100", "a link that is a number"},
           {"a2" + identity + "0381a1006161", "a link without relation"},
           {"a2" + identity +
                "0381a20061610161"
                "61",
            "a relation that is a text"},
           {"a2" + identity + "0381a10101", "a link without id"}}) {
    const Bytes comid = from_hex(hex);
    EXPECT_EQ(code_of(parse_corim(test::encode_corim(good(), {comid}))), "malformed-corim") << why;
  }
  EXPECT_EQ(code_of(parse_corim(test::encode_corim(good(), {from_hex("a1")}))), "malformed-cbor");
}

TEST(Corim, MalformedAround_IsRefused) {
  const std::string head = "d901f5";
  for (const auto& [hex, why] :
       std::map<std::string, std::string>{{head + "80", "a list"},
                                          {head + "a10061"
                                                  "61",
                                           "no tags"},
                                          {head + "a2006161"
                                                  "0180",
                                           "an empty list of tags"},
                                          {head + "a2006161"
                                                  "018100",
                                           "a tag that is a number"},
                                          {head + "a2006161"
                                                  "0181d901fa00",
                                           "a CoMID that is no byte string"},
                                          {head + "a200"
                                                  "60"
                                                  "0180",
                                           "an empty id"},
                                          {head + "a20061200180", "an id of a space"},
                                          {head + "a2006161"
                                                  "0480",
                                           "a validity that is a list"},
                                          {head + "a2006161"
                                                  "04a0",
                                           "a validity without end"},
                                          {head + "a2006161"
                                                  "04a10100",
                                           "a time without its tag"},
                                          {head + "a2006161"
                                                  "04a101c120",
                                           "a time before 1970"},
                                          {head + "a2006161"
                                                  "04a101c11b000000ffffffffff",
                                           "a time beyond the year 9999"},
                                          {head + "a2006161"
                                                  "04a101c16161",
                                           "a time in words"},
                                          {head + "a2006161"
                                                  "0600",
                                           "a member that is not read"}}) {
    EXPECT_EQ(code_of(parse_corim(from_hex(hex))), "malformed-corim") << why;
  }
  EXPECT_EQ(code_of(parse_corim_meta(from_hex("80"))), "malformed-corim");
  EXPECT_EQ(code_of(parse_corim_meta({})), "malformed-cbor");
}

// A UUID, with its tag or without it, is shown as people write it.
TEST(Corim, Uuids_AreReadAsText) {
  for (const char* tag : {"", "d825"}) {
    CorimSpec spec = good();
    spec.tag_identity = from_hex(std::string("a100") + tag + "50000102030405060708090a0b0c0d0e0f");
    const auto document = read_reference_document(make_corim(spec));
    ASSERT_EQ(code_of(document), "ok");
    EXPECT_EQ(document->tags[0].tag_id, "00010203-0405-0607-0809-0a0b0c0d0e0f");
  }
}

TEST(ReferenceDocument, SeveralValuesOfOneThing_AreRefused) {
  CorimSpec spec = good();
  spec.triples = {{.digests = {{"83", sha384_of(1)}, {"mrtd", sha384_of(2)}}}};
  EXPECT_EQ(read(spec), "reference-unmapped") << "83 is MRTD too";
}

TEST(ReferenceDocument, OtherTriples_AreNamedAndBringNothing) {
  CorimSpec spec = good();
  spec.other_triples = from_hex("0380");
  const ReferenceDocument document = read_reference_document(make_corim(spec)).value();
  EXPECT_EQ(document.tags[0].ignored, std::vector<std::string>{"3"});
  EXPECT_EQ(document.tags[0].sets, read_reference_document(make_corim(good()))->tags[0].sets);
}

TEST(ReferenceDocument, Signed_IsLimitedByBothValidities) {
  const Signer& key = signer(SignatureAlgorithm::kEcdsaP384);
  CorimSpec spec = good();
  spec.not_before = 1'000;
  spec.not_after = 9'000;
  const Bytes meta = from_hex(
      "a2"
      "00a100"
      "6161"
      "01a2"
      "00c11907d0"
      "01c11903e9");
  EXPECT_EQ(code_of(sign_reference_document(make_corim(spec), key, meta)), "malformed-corim")
      << "it ends before it begins";
  const Bytes later = from_hex(
      "a2"
      "00a100"
      "6161"
      "01a2"
      "00c11907d0"
      "01c1191b58");
  const Bytes bytes = sign_reference_document(make_corim(spec), key, later).value();
  const ReferenceDocument document = read_reference_document(bytes).value();
  ASSERT_TRUE(document.envelope);
  EXPECT_EQ(document.media_type, kSignedType);
  EXPECT_EQ(document.tags[0].sets[0].not_before, Timestamp(std::chrono::seconds(2'000)));
  EXPECT_EQ(document.tags[0].sets[0].not_after, Timestamp(std::chrono::seconds(7'000)));
  EXPECT_EQ(code_of(sign_reference_document(bytes, key)), "conflict");
  const auto other = cose::sign1(make_corim(spec), {"application/cbor"}, key);
  EXPECT_EQ(code_of(read_reference_document(*other)), "malformed-cose");
}

Json good_json() {
  return {{"evidence_type", "tdx"},
          {"tag_id", "acme.example/json"},
          {"tag_version", 2},
          {"not_after", "2026-12-31T00:00:00.000Z"},
          {"sets",
           {{{"label", "kernel 6.1"},
             {"values", {{"mrtd", {std::string(96, 'a')}}, {"rtmr3", {std::string(96, 'b')}}}}}}}};
}

TEST(ReferenceDocument, JsonForm_IsReadSignedOrNot) {
  const std::string text = good_json().dump();
  const ReferenceDocument document = read_reference_document(as_bytes(text)).value();
  EXPECT_EQ(document.media_type, kJsonType);
  ASSERT_EQ(document.tags.size(), 1U);
  EXPECT_EQ(document.tags[0].sets[0].name, "acme.example/json@2:kernel 6.1#1");
  EXPECT_EQ(document.tags[0].sets[0].values.at("rtmr3").front(), std::string(96, 'b'));
  const Bytes bytes =
      sign_reference_document(as_bytes(text), signer(SignatureAlgorithm::kEd25519)).value();
  EXPECT_EQ(read_reference_document(bytes)->tags[0].sets, document.tags[0].sets);
}

TEST(ReferenceDocument, JsonForm_RefusesWhatItDoesNotKnow) {
  const std::map<std::string, std::pair<std::string, std::function<void(Json&)>>> cases = {
      {"no sets", {"schema-violation", [](Json& json) { json["sets"] = Json::array(); }}},
      {"a member more", {"unknown-member", [](Json& json) { json["more"] = 1; }}},
      {"another measurement",
       {"reference-unmapped",
        [](Json& json) { json["sets"][0]["values"]["pcr0"] = {std::string(96, 'a')}; }}},
      {"a short value",
       {"schema-violation", [](Json& json) { json["sets"][0]["values"]["mrtd"] = {"aa"}; }}},
      {"an empty list",
       {"schema-violation", [](Json& json) { json["sets"][0]["values"]["mrtd"] = Json::array(); }}},
      {"another type",
       {"reference-class-mismatch", [](Json& json) { json["evidence_type"] = "tpm"; }}},
      {"two spaces in the id", {"schema-violation", [](Json& json) { json["tag_id"] = "a  b"; }}},
      {"a space before the id", {"schema-violation", [](Json& json) { json["tag_id"] = " a"; }}}};
  for (const auto& [why, one] : cases) {
    Json json = good_json();
    one.second(json);
    EXPECT_EQ(code_of(read_reference_document(as_bytes(json.dump()))), one.first) << why;
  }
  const std::string twice = R"({"tag_id":"a","tag_id":"b"})";
  EXPECT_EQ(code_of(read_reference_document(as_bytes(twice))), "duplicate-key");
}

TEST(ReferenceDocument, TooLong_IsRefused) {
  EXPECT_NE(code_of(read_reference_document(Bytes(kMaxReferenceDocument, '{'))), "limit-exceeded");
  EXPECT_EQ(code_of(read_reference_document(Bytes(kMaxReferenceDocument + 1, '{'))),
            "limit-exceeded");
  EXPECT_EQ(code_of(read_reference_document({})), "malformed-cbor");
  CorimSpec spec = good();
  spec.triples =
      std::vector<test::TripleSpec>(kMaxSetsOfDocument, {.digests = {{"mrtd", sha384_of(1)}}});
  EXPECT_EQ(read(spec), "ok");
  spec.triples.push_back(spec.triples.front());
  EXPECT_EQ(read(spec), "limit-exceeded");
}

}  // namespace
}  // namespace assay::attestation::corim
