// SPDX-License-Identifier: Apache-2.0
// The edges of what a document of reference values may say: the last value that is taken, and the
// first that is not.
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attestation/corim/corim.h"
#include "attestation/corim/measurement_mapping.h"
#include "attestation/corim/reference_document.h"
#include "tests/attestation/support.h"
#include "tests/support/corim.h"

namespace assay::attestation::corim {
namespace {

using assay::test::code_of;
using assay::test::CorimSpec;
using assay::test::from_hex;
using assay::test::make_corim;
using assay::test::sha384_of;

CorimSpec of_one_triple() {
  CorimSpec spec;
  spec.triples = {{.digests = {{"mrtd", sha384_of(1)}}}};
  return spec;
}

std::string code_with_measurement(const std::string& hex) {
  CorimSpec spec = of_one_triple();
  spec.measurement = from_hex(hex);
  return code_of(read_reference_document(make_corim(spec)));
}

// A CoMID with the id "a" and one further member, in hex.
std::string code_of_comid(const std::string& hex) {
  const Bytes comid = from_hex("a201a1006161" + hex);
  return code_of(read_reference_document(test::encode_corim(of_one_triple(), {comid})));
}

std::string triples_hex() {
  const CorimSpec spec = of_one_triple();
  return "04a10081" + hex_encode(test::encode_triple(spec, spec.triples[0]));
}

TEST(CorimEdges, WhatCannotBeCompared_IsRefused) {
  const std::string digest = "5830" + hex_encode(sha384_of(9));
  const std::map<std::string, std::string> refused = {
      {"a2006001a102818207" + digest, "an mkey that is empty"},
      {"a200646d72746401a1028182677368612d333834" + digest, "an algorithm that is a text"},
      {"a101a1616101", "a value named by a text"},
      {"a200646d72746401a10ea100818207" + digest, "an mkey, and registers alone"},
      {"a200646d72746401a138528207" + digest, "an mkey, and a digest of the TEE alone"}};
  for (const auto& [hex, why] : refused) {
    EXPECT_EQ(code_with_measurement(hex), "reference-unmapped") << why;
  }
  EXPECT_EQ(code_with_measurement("a200646d72746401a102828207" + digest + "8261784100"), "ok")
      << "another algorithm beside SHA-384";
}

TEST(CorimEdges, Ids_HaveTheirLengthAndCharacters) {
  const auto with = [](const std::string& id) {
    CorimSpec spec = of_one_triple();
    spec.tag_id = id;
    return code_of(read_reference_document(make_corim(spec)));
  };
  EXPECT_EQ(with("!~"), "ok");
  EXPECT_EQ(with(std::string(253, 'a')), "ok");
  for (const std::string& id : {std::string(254, 'a'), std::string("a\x7f"), std::string("a\nb"),
                                std::string("\xc3\xa4"), std::string("a  b"), std::string()}) {
    EXPECT_EQ(with(id), "malformed-corim") << id;
  }
}

TEST(CorimEdges, TagVersion_EndsAtWhatJsonHolds) {
  const auto with = [](const char* version) {
    CorimSpec spec = of_one_triple();
    spec.tag_identity = from_hex(std::string("a200616101") + version);
    return code_of(read_reference_document(make_corim(spec)));
  };
  EXPECT_EQ(with("1b001fffffffffffff"), "ok");
  EXPECT_EQ(with("1b0020000000000000"), "malformed-corim");
}

TEST(CorimEdges, Triples_OfOtherKindsAlone_BringNothing) {
  EXPECT_EQ(code_of_comid(triples_hex()), "ok");
  EXPECT_EQ(code_of_comid("04a10380"), "reference-unmapped");
  EXPECT_EQ(code_of_comid("04a1616180"), "reference-unmapped");
  CorimSpec spec = of_one_triple();
  spec.other_triples = from_hex("616180");
  EXPECT_EQ(read_reference_document(make_corim(spec))->tags[0].ignored,
            std::vector<std::string>{"of a text"});
}

// draft-ietf-rats-corim section 5.1.1.3: 0 supplements the other tag, 1 replaces it.
TEST(CorimEdges, OnlyAReplacingLink_Replaces) {
  const auto replaced = [](const std::string& relation) {
    const Bytes comid = from_hex("a301a10061610381a200616201" + relation + triples_hex());
    return read_reference_document(test::encode_corim(of_one_triple(), {comid}))->tags[0].replaces;
  };
  EXPECT_EQ(replaced("00"), std::vector<std::string>{});
  EXPECT_EQ(replaced("01"), std::vector<std::string>{"b"});
  EXPECT_EQ(replaced("20"), std::vector<std::string>{});
}

TEST(CorimEdges, Validity_MayBeginAnyTimeAndEndsNotBefore) {
  CorimSpec spec = of_one_triple();
  const auto set = [&] { return read_reference_document(make_corim(spec))->tags[0].sets[0]; };
  spec.not_after = 7;
  EXPECT_EQ(set().not_before, std::nullopt);
  EXPECT_EQ(set().not_after, Timestamp(std::chrono::seconds(7)));
  spec.not_before = 7;
  EXPECT_EQ(set().not_before, set().not_after);
  spec.not_before = 8;
  EXPECT_EQ(code_of(read_reference_document(make_corim(spec))), "malformed-corim");
  EXPECT_EQ(code_of(parse_corim_meta(from_hex("a101a100c107"))), "malformed-corim") << "no end";
}

TEST(CorimEdges, SignatureWithoutTerms_AddsNoLimit) {
  CorimSpec spec = of_one_triple();
  spec.not_after = 7;
  const Bytes bytes =
      sign_reference_document(make_corim(spec), test::signer(SignatureAlgorithm::kEcdsaP256))
          .value();
  EXPECT_EQ(read_reference_document(bytes)->tags[0].sets,
            read_reference_document(make_corim(spec))->tags[0].sets);
}

// What a CoRIM says of its signature says nothing of the JSON form: both must not be mixed.
TEST(CorimEdges, JsonUnderACorimHeader_IsRefused) {
  const Json json = {{"evidence_type", "tdx"},
                     {"tag_id", "a"},
                     {"tag_version", 1},
                     {"sets", {{{"values", {{"mrtd", {std::string(96, 'a')}}}}}}}};
  const Signer& key = test::signer(SignatureAlgorithm::kEcdsaP256);
  const std::string text = json.dump();
  EXPECT_EQ(code_of(sign_reference_document(as_bytes(text), key)), "ok");
  EXPECT_EQ(code_of(sign_reference_document(as_bytes(text), key, from_hex("a0"))),
            "malformed-cose");
}

TEST(CorimEdges, Values_AreWholeDigestsOfWhatEvidenceHas) {
  const Mapping& tdx = *mapping_of("tdx");
  const auto check = [&](const std::string& measurement, const std::string& value) {
    return code_of(check_values(tdx, {{measurement, {std::string(96, '0'), value}}}));
  };
  EXPECT_EQ(check("mrtd", std::string(96, 'a')), "ok");
  EXPECT_EQ(check("pcr0", std::string(96, 'a')), "reference-unmapped");
  for (const std::string& value :
       {std::string(), std::string(94, 'a'), std::string(95, 'a'), std::string(98, 'a'),
        std::string(96, 'g'), std::string(96, 'A')}) {
    EXPECT_EQ(check("mrtd", value), "schema-violation") << value;
  }
  EXPECT_EQ(code_of(values_of(tdx, {})), "reference-unmapped");
  EXPECT_EQ(mapping_of("tpm"), nullptr);
}

}  // namespace
}  // namespace assay::attestation::corim
