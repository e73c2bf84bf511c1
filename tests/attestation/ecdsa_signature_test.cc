// SPDX-License-Identifier: Apache-2.0
// Raw and DER form of ECDSA signatures. The pairs are written out by hand from X.690 section 8.3.

#include "attestation/crypto/ecdsa_signature.h"

#include <string>

#include <gtest/gtest.h>

namespace assay::attestation {
namespace {

struct Pair {
  const char* name;
  std::string r, s;  // hex, 32 bytes each
  std::string der;   // hex
};

std::string low(const std::string& digits) { return std::string(64 - digits.size(), '0') + digits; }
std::string repeat(const std::string& digits) {
  std::string text;
  for (int i = 0; i < 32; ++i) {
    text += digits;
  }
  return text;
}

Bytes from_hex(const std::string& hex) { return hex_decode(hex).value(); }

class EcdsaSignature : public ::testing::TestWithParam<Pair> {};

TEST_P(EcdsaSignature, BothForms_AreTheSameSignature) {
  const Pair& pair = GetParam();
  EXPECT_EQ(hex_encode(der_signature(from_hex(pair.r + pair.s))), pair.der);
  const auto raw = raw_signature(from_hex(pair.der));
  ASSERT_TRUE(raw.has_value());
  EXPECT_EQ(hex_encode(*raw), pair.r + pair.s);
}

const Pair kPairs[] = {
    {"OneByteEach", low("01"), low("7f"), "300602010102017f"},
    {"HighBitTakesAZero", low("80"), low("ff"), "300802020080020200ff"},
    {"LeadingZerosGo", low("0102"), low("8001"),
     "300902020102020300"
     "8001"},
    {"Longest", repeat("ff"), repeat("80"), "3046022100" + repeat("ff") + "022100" + repeat("80")},
    {"FullWithoutZeros", repeat("7f"), repeat("11"),
     "30440220" + repeat("7f") + "0220" + repeat("11")},
    {"OfUnequalLength", repeat("7f"), low("05"), "30250220" + repeat("7f") + "020105"},
};
INSTANTIATE_TEST_SUITE_P(Pairs, EcdsaSignature, ::testing::ValuesIn(kPairs),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(EcdsaSignatureRaw, WhatIsNoSignature_HasNoDer) {
  EXPECT_TRUE(der_signature({}).empty());
  EXPECT_TRUE(der_signature(Bytes(63, 1)).empty());
  EXPECT_TRUE(der_signature(Bytes(65, 1)).empty());
  EXPECT_TRUE(der_signature(from_hex(low("00") + low("01"))).empty()) << "r is zero";
  EXPECT_TRUE(der_signature(from_hex(low("01") + low("00"))).empty()) << "s is zero";
  EXPECT_FALSE(der_signature(from_hex(low("01") + low("01"))).empty());
}

TEST(EcdsaSignatureSize, OfNoCurveHere_HasNoForm) {
  EXPECT_EQ(der_signature(Bytes(96, 1), 48).size(), 102U);
  EXPECT_EQ(raw_signature(from_hex("3006020101020101"), 48).size(), 96U);
  const Bytes longest = der_signature(Bytes(132, 0x81), 66);
  EXPECT_EQ(hex_encode(ByteView(longest).first(3)), "30818a");  // its length has two bytes
  EXPECT_EQ(longest.size(), 141U);
  EXPECT_EQ(raw_signature(longest, 66), Bytes(132, 0x81));
  for (const std::size_t size : {0U, 1U, 31U, 33U, 65U, 67U}) {
    EXPECT_TRUE(der_signature(Bytes(2 * size, 1), size).empty()) << size;
    EXPECT_TRUE(raw_signature(from_hex("3006020101020101"), size).empty()) << size;
  }
}

TEST(EcdsaSignatureDer, WhatDoesNotFit_HasNoRawForm) {
  ASSERT_TRUE(raw_signature(from_hex("3006020101020101")).has_value());
  for (const std::string& der : {
           std::string(), std::string("30"),
           std::string("300602010102"),                         // cut
           std::string("300602010102010100"),                   // a byte behind it
           std::string("3003020101"),                           // r alone
           std::string("3006020101020181"),                     // negative
           "302602210101" + repeat("00").substr(2) + "020101",  // r of 33 bytes
           "3026020101022101" + repeat("00"),                   // s of 33 bytes
           std::string("0406020101020101"),                     // another type
       }) {
    EXPECT_FALSE(raw_signature(from_hex(der)).has_value()) << der;
  }
}

}  // namespace
}  // namespace assay::attestation
