// SPDX-License-Identifier: Apache-2.0
// CoRIMs of Intel's profile: what is taken from them, and by which name the rest is refused.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attestation/corim/corim.h"
#include "attestation/corim/reference_document.h"
#include "tests/attestation/support.h"
#include "tests/support/corim.h"

namespace assay::attestation::corim {
namespace {

using assay::test::CorimSpec;
using assay::test::from_hex;
using assay::test::make_corim;
using assay::test::sha384_of;

constexpr const char* kIntelOid = "d86f4a6086480186f84d011001";  // 111(2.16.840.1.113741.1.16.1)
constexpr const char* kSeamOid = "d86f4c6086480186f84d0102030403";

Bytes environment(const std::string& model, const std::string& class_id = kSeamOid) {
  test::Writer writer;
  writer.map(1).integer(0).map(3).integer(0).encoded(from_hex(class_id));
  return writer.integer(1).text("Intel Corporation").integer(2).text(model).out();
}

// A document of the shape of Intel's samples: an id with spaces, the profile, a class-id.
CorimSpec sample(const std::string& model, const std::string& measurement) {
  CorimSpec spec;
  spec.tag_id = "Sample TDX reference tag";
  spec.profile = from_hex(kIntelOid);
  spec.triples = {{}};
  spec.environment = environment(model);
  spec.measurement = from_hex(measurement);
  return spec;
}

// "ok", or the code and why.
std::string read(const Bytes& document) {
  const auto result = read_reference_document(document);
  return result ? "ok" : test::code_of(result) + ": " + result.error().detail;
}

std::string digest(std::uint8_t byte) { return "82075830" + hex_encode(sha384_of(byte)); }

// {1: {-83: 60020([6, [SHA-256, SHA-384, SHA-384, the first of these again]])}}
std::string members() {
  return "a101a13852d9ea7482068482015820" + hex_encode(Bytes(32, 5)) + digest(1) + digest(2) +
         digest(1);
}

// One of Intel's samples for a profile of Veraison, in a CoRIM.
std::string read_published(const std::string& name) {
  const auto path = std::filesystem::path(ASSAY_SOURCE_DIR) / "tests" / "vectors" / "corim" / name;
  CorimSpec spec;
  spec.profile = from_hex(kIntelOid);
  return read(test::encode_corim(spec, {to_bytes(test::read_file(path))}));
}

TEST(IntelProfile, DocumentsOfItsShape_AreTaken) {
  const auto td = read_reference_document(make_corim(sample("TDX", members())));
  ASSERT_EQ(test::code_of(td), "ok") << td.error().detail;
  const DocumentTag& tag = td->tags.front();
  EXPECT_EQ(tag.sets[0].name,
            "Sample TDX reference tag@1:Intel Corporation TDX (2.16.840.1.113741.1.2.3.4.3)#1");
  const std::vector<std::string> both = {hex_encode(sha384_of(1)), hex_encode(sha384_of(2))};
  EXPECT_EQ(tag.sets[0].values.at("mrtd"), both);
  EXPECT_EQ(tag.sets[0].values.size(), 1U);
  // The same digest of the TDX module is MRSEAM.
  const auto seam = read_reference_document(make_corim(sample("TDX SEAM", members())));
  ASSERT_EQ(test::code_of(seam), "ok") << seam.error().detail;
  EXPECT_EQ(seam->evidence_type, "tdx");
  EXPECT_EQ(seam->tags.front().sets[0].values.at("mrseam"), both);
  const std::string registers = "a101a10ea10181" + digest(3);
  EXPECT_EQ(read(make_corim(sample("TDX", registers))), "ok");
  EXPECT_TRUE(read(make_corim(sample("TDX SEAM", registers))).starts_with("reference-unmapped"));
}

TEST(IntelProfile, WhatIsNotCompared_IsRefusedByName) {
  const auto refused = [](const std::string& values) {
    return read(make_corim(sample("TDX SEAM", "a101" + values)));
  };
  const std::string unmapped =
      "reference-unmapped: evidence is not compared with these members of a measurement: ";
  EXPECT_EQ(refused("a2" + members().substr(6) + "3848d9ea6a820206"),
            unmapped + "tee.isvsvn (mval -73)");
  EXPECT_EQ(refused("a13853" + digest(1)), unmapped + "tee.mrsigner (mval -84)");
  EXPECT_EQ(refused("a13855d9ea6a82020b"), unmapped + "tee.tcb-eval-num (mval -86)");
  // 60020([7, [...]]): a digest that evidence must not have.
  EXPECT_EQ(refused("a13852d9ea74820781" + digest(1)),
            unmapped + "tee.mrtee with another operator than member");
  EXPECT_EQ(refused("a13852d9ea74820680"),
            unmapped + "tee.mrtee with another operator than member");
  EXPECT_TRUE(refused("a13852d9ea7482068107").starts_with("malformed-corim"));
}

// What the sample for the TDX module demands, one by one; without all of it, it is taken.
TEST(IntelProfile, EachDemandOfTheSampleForTheModule_IsRefusedAlone) {
  const std::pair<std::string, std::string> demands[] = {
      {"3851820102", "tee.attributes (mval -82)"},
      {"385442abcd", "tee.isvprodid (mval -85)"},
      {"3848d9ea6a820206", "tee.isvsvn (mval -73)"},
      {"3853" + digest(1), "tee.mrsigner (mval -84)"},
      {"3855d9ea6a82020b", "tee.tcb-eval-num (mval -86)"}};
  for (const auto& [demand, name] : demands) {
    EXPECT_EQ(read(make_corim(sample("TDX SEAM", "a101a2" + members().substr(6) + demand))),
              "reference-unmapped: evidence is not compared with these members of a measurement: " +
                  name);
  }
  EXPECT_EQ(read(make_corim(sample("TDX SEAM", "a2" + members().substr(2) + "0281d9022a6161"))),
            "reference-unmapped: evidence is not compared with these members of a measurement: "
            "authorized-by");
  EXPECT_EQ(read(make_corim(sample("TDX SEAM",
                                   "a101a13852"
                                   "82015820" +
                                       hex_encode(Bytes(32, 5))))),
            "reference-unmapped: mrseam needs 1 to 64 SHA-384 digests of 48 bytes (algorithm 7)");
  EXPECT_EQ(read(make_corim(sample("TDX SEAM", members()))), "ok");
}

TEST(IntelProfile, PublishedSamples_AreRefusedByName) {
  // It demands more of the TDX module than evidence is compared with.
  EXPECT_EQ(read_published("tdx-seam.comid.cbor"),
            "reference-unmapped: evidence is not compared with these members of a measurement: "
            "authorized-by, tee.attributes (mval -82), tee.isvprodid (mval -85), tee.isvsvn (mval "
            "-73), tee.mrsigner (mval -84), tee.tcb-eval-num (mval -86)");
  EXPECT_EQ(read_published("tdx-qe.comid.cbor"),
            "reference-class-mismatch: no evidence is of the class Intel Corporation SGX QE TCB "
            "2.16.840.1.113741.1.2.3.4.1");
  EXPECT_EQ(read_published("tdx-pce.comid.cbor"),
            "reference-class-mismatch: no evidence is of the class Intel Corporation TDX PCE TCB "
            "2.16.840.1.113741.1.2.3.4.5");
}

TEST(IntelProfile, OtherProfiles_AreRefusedByName) {
  const auto with_profile = [](const std::string& hex) {
    CorimSpec spec = sample("TDX", members());
    spec.profile = from_hex(hex);
    return read(make_corim(spec));
  };
  EXPECT_EQ(with_profile(kIntelOid), "ok");
  EXPECT_EQ(with_profile("d86f4a6086480186f84d011002"),
            "reference-class-mismatch: the document is of the profile 2.16.840.1.113741.1.16.2, "
            "which is not read here");
  EXPECT_EQ(with_profile("d820697461673a782c793a7a"),
            "reference-class-mismatch: the document is of the profile tag:x,y:z, which is not read "
            "here");
  EXPECT_EQ(with_profile("697461673a782c793a7a"), with_profile("d820697461673a782c793a7a"));
  for (const char* hex : {"00", "d82000", "d82060", "d8206120", "d86f40", "d86f4180", "d86f4186",
                          "d86f428001", "d86f4affffffffffffffffff7f", "d86f6161"}) {
    EXPECT_EQ(with_profile(hex), "malformed-corim: a profile is a URI or an OID") << hex;
  }
}

TEST(IntelProfile, ClassIds_AreShownAndMustBeReadable) {
  const auto with_class = [](const std::string& hex) {
    CorimSpec spec = sample("TDX", members());
    spec.environment = environment("TDX", hex);
    const auto document = read_reference_document(make_corim(spec));
    return document ? document->tags.front().sets[0].name : test::code_of(document);
  };
  const std::string name = "Sample TDX reference tag@1:Intel Corporation TDX (";
  EXPECT_EQ(with_class("d8255067b28b6c34cc40a19117ab5b05911e37"),
            name + "67b28b6c-34cc-40a1-9117-ab5b05911e37)#1");
  EXPECT_EQ(with_class("d9023042abcd"), name + "abcd)#1");
  EXPECT_EQ(with_class("d86f4127"), name + "0.39)#1");
  for (const char* hex : {"00", "4161", "d8254100", "d9023040", "d86f4180"}) {
    EXPECT_EQ(with_class(hex), "malformed-corim") << hex;
  }
  EXPECT_EQ(with_class("d902305820" + hex_encode(Bytes(32, 1))).substr(0, name.size()), name);
  EXPECT_EQ(with_class("d902305821" + hex_encode(Bytes(33, 1))), "malformed-corim");
}

TEST(IntelProfile, IdsWithSpaces_LookLikeOneIdAlone) {
  const auto with_id = [](const std::string& id) {
    CorimSpec spec = sample("TDX", members());
    spec.tag_id = id;
    return read(make_corim(spec)).substr(0, 15);
  };
  EXPECT_EQ(with_id("a b c"), "ok");
  for (const char* id : {" a", "a ", "a  b", "a\tb", " "}) {
    EXPECT_EQ(with_id(id), "malformed-corim") << id;
  }
}

}  // namespace
}  // namespace assay::attestation::corim
