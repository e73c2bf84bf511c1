// SPDX-License-Identifier: Apache-2.0
// Digests, UUIDs and signatures leave their text and come back to it, character for character.
#include "storage/sqlite/set_apart.h"

#include <random>

#include <gtest/gtest.h>

#include "storage/sqlite/uuid.h"

namespace assay::storage::sqlite {
namespace {

constexpr std::string_view kDigest =
    "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
constexpr std::string_view kUuid = "0199f0a2-7c3e-7bbb-8123-100000000412";
constexpr std::string_view kSignature = R"("sig":"AAEC_w==")";

std::string back(std::string_view text) {
  const auto parts = set_apart(text);
  const auto whole = parts ? put_back(parts->text, parts->values) : std::nullopt;
  return whole.value_or("nothing");
}

std::string marked(std::string text) { return set_apart(text).value().text; }

TEST(SetApart, Values_LeaveMarksAndBytes) {
  const std::string text = std::string("a ") + std::string(kDigest) + " b " + std::string(kUuid) +
                           R"( "sig":"AAEC/w==","k")";
  const auto parts = set_apart(text).value();
  EXPECT_EQ(parts.text, "a \x01 b \x02 \"sig\":\"\x03\",\"k\"");
  EXPECT_EQ(hex_encode(parts.values),
            std::string(kDigest) + "0199f0a27c3e7bbb8123100000000412" + "04" + "000102ff");
  EXPECT_EQ(put_back(parts.text, parts.values), text);
}

TEST(SetApart, WhatOnlyLooksLikeAValue_Stays) {
  for (const std::string& text : std::vector<std::string>{
           "",
           std::string(kDigest.substr(1)),
           std::string(kDigest.substr(1)) + "A",
           std::string(kUuid.substr(1)),
           std::string(kUuid.substr(0, 35)),
           std::string(kUuid.substr(0, 35)) + "G",
           "0199F0A2-7c3e-7bbb-8123-100000000412",
           "0199f0a2-7c3e7-bbb-8123-100000000412",
           "0199f0a2_7c3e-7bbb-8123-100000000412",
           "x" + std::string(kSignature),
           R"("sig":"")",
           R"("sig":"AAEC/w=")",
           R"("sig":"AAEC/x==")",
           R"("sig":"AAEC/w==)" + std::string(1, '\n'),
           R"("sig":")" + base64_encode(Bytes(256, 1)) + "\"",
           R"("sig")",
       }) {
    EXPECT_EQ(marked(text), text);
    EXPECT_EQ(back(text), text);
  }
}

TEST(SetApart, LongerRuns_AndNeighbours_ComeBack) {
  const std::string digest(kDigest);
  const std::string uuid(kUuid);
  const std::string signature = R"("sig":")" + base64_encode(Bytes(255, 1)) + "\"";
  for (const std::string& text :
       {digest + "0", "0" + digest, digest + digest, digest + uuid, uuid + uuid, uuid + digest,
        digest + "-" + uuid, signature, signature + signature, R"("sig":")" + digest + "\"",
        R"("sig":")" + uuid + "\"", std::string("\0", 1) + digest}) {
    EXPECT_EQ(back(text), text);
    EXPECT_LT(marked(text).size(), text.size());
  }
}

TEST(SetApart, TextsWithMarks_AreNotTaken) {
  for (const char* mark : {"\x01", "\x02", "\x03"}) {
    EXPECT_FALSE(set_apart(std::string("a") + mark));
  }
  EXPECT_TRUE(set_apart("\x04"));
}

TEST(SetApart, MarksAndValuesThatDoNotFit_AreNothing) {
  const Bytes bytes(100, 7);
  const auto gives = [&](std::string_view text, std::size_t size) {
    return put_back(text, ByteView(bytes).first(size)).has_value();
  };
  EXPECT_TRUE(gives("\x01\x02", 48));
  EXPECT_FALSE(gives("\x01\x02", 47));
  EXPECT_FALSE(gives("\x01\x02", 49));
  EXPECT_FALSE(gives("", 1));
  EXPECT_TRUE(gives("\x03", 8));
  EXPECT_FALSE(gives("\x03", 7));
  EXPECT_FALSE(gives("\x03", 0));
}

// Texts of pieces that are values, nearly values, and parts of them.
TEST(SetApart, RandomTexts_ComeBack) {
  std::mt19937_64 random(20261128);
  const std::vector<std::string> pieces = {
      std::string(kDigest), std::string(kUuid),   R"("sig":")", "AAEC/w==", "\"", "-", "a", "0",
      "0199f0a2-",          std::string(63, 'f'), "{",          "\x04",     "\n"};
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (std::uint64_t count = random() % 12; count > 0; --count) {
      std::string piece = pieces[random() % pieces.size()];
      if (random() % 4 == 0) {
        piece = piece.substr(random() % piece.size());
      }
      text += piece;
    }
    ASSERT_EQ(back(text), text) << round;
  }
}

TEST(Uuid, TextAndBytes_AreEachOther) {
  EXPECT_EQ(uuid_text(uuid_bytes(kUuid).value()), kUuid);
  EXPECT_FALSE(uuid_bytes(std::string(kUuid) + "0"));
  EXPECT_FALSE(uuid_bytes("0199F0A2-7c3e-7bbb-8123-100000000412"));
  EXPECT_FALSE(uuid_bytes(""));
}

}  // namespace
}  // namespace assay::storage::sqlite
