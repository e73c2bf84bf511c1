// SPDX-License-Identifier: Apache-2.0
// Text forms of bytes: one spelling each, everything else refused.
#include "schemas/core/bytes.h"

#include <array>

#include <gtest/gtest.h>

#include "tests/support/vectors.h"

namespace assay {
namespace {

using test::code_of;

TEST(Hex, AllBytes_RoundTrip) {
  Bytes bytes;
  for (int i = 0; i < 256; ++i) {
    bytes.push_back(static_cast<std::uint8_t>(i));
  }
  const std::string text = hex_encode(bytes);
  EXPECT_EQ(text.substr(0, 6), "000102");
  EXPECT_EQ(text.substr(506), "fdfeff");
  EXPECT_EQ(hex_decode(text), bytes);
  EXPECT_EQ(hex_decode(""), Bytes());
}

TEST(Hex, AnotherSpelling_IsRefused) {
  for (const char* text : {"0", "abc", "AB", "aB", "0x", " 00", "00 ", "0g", "\xC3\xA9", "-1"}) {
    EXPECT_EQ(code_of(hex_decode(text)), "invalid-encoding") << text;
  }
}

// RFC 4648 section 10.
TEST(Base64, RfcVectors_BothWays) {
  constexpr std::array<std::pair<const char*, const char*>, 7> kVectors = {
      {{"", ""},
       {"f", "Zg=="},
       {"fo", "Zm8="},
       {"foo", "Zm9v"},
       {"foob", "Zm9vYg=="},
       {"fooba", "Zm9vYmE="},
       {"foobar", "Zm9vYmFy"}}};
  for (const auto& [plain, text] : kVectors) {
    EXPECT_EQ(base64_encode(as_bytes(plain)), text);
    EXPECT_EQ(base64_decode(text), to_bytes(plain));
    EXPECT_EQ(base64_decode_any(text), to_bytes(plain));
  }
}

TEST(Base64, AnotherSpelling_IsRefused) {
  for (const char* text : {"Zg",          "Zg=",      "Zg===",  "=Zg=",  "Z===",  "====",   "Zh==",
                           "Zm9=",        "Zm8=Zm8=", "Zg==\n", " Zg==", "Zm 9v", "Zm\n9v", "Zm9v!",
                           "Z\xC3\xA9==", "Zg==Zg==", "Zm9vY",  "+-==",  "__-_",  "_w=="}) {
    EXPECT_EQ(code_of(base64_decode(text)), "invalid-encoding") << text;
  }
}

TEST(Base64, AnyAlphabet_NeverMixed) {
  const Bytes bytes = {0xfb, 0xff, 0xfe};
  EXPECT_EQ(base64_decode_any("+//+"), bytes);
  EXPECT_EQ(base64_decode_any("-__-"), bytes);
  for (const char* text : {"+__+", "-//-", "-//+", "_/8=", "-__", "__8"}) {
    EXPECT_EQ(code_of(base64_decode_any(text)), "invalid-encoding") << text;
  }
}

TEST(Base64Url, Encode_HasNoPadding) {
  EXPECT_EQ(base64url_encode(Bytes{0xfb, 0xff, 0xfe}), "-__-");
  EXPECT_EQ(base64url_encode(Bytes{0xff}), "_w");
  EXPECT_EQ(base64url_encode(Bytes{}), "");
}

TEST(Bytes, ConstantTimeEqual_ComparesContentAndLength) {
  EXPECT_TRUE(constant_time_equal(as_bytes(""), as_bytes("")));
  EXPECT_TRUE(constant_time_equal(as_bytes("abc"), as_bytes("abc")));
  EXPECT_FALSE(constant_time_equal(as_bytes("abc"), as_bytes("abd")));
  EXPECT_FALSE(constant_time_equal(as_bytes("abc"), as_bytes("ab")));
}

// RFC 3629 section 4.
TEST(Utf8, WellFormed_IsTaken) {
  for (const char* text :
       {"", "a", "\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
        "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(is_utf8(text)) << hex_encode(as_bytes(text));
  }
  EXPECT_TRUE(is_utf8(std::string_view("a\0b", 3)));
}

TEST(Utf8, OverlongSurrogateCutOrTooLarge_IsRefused) {
  for (const char* text :
       {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xC2", "\xC2\x41", "\xE0\x9F\xBF", "\xE0\xA0",
        "\xED\xA0\x80", "\xED\xBF\xBF", "\xF0\x8F\xBF\xBF", "\xF0\x90\x80", "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80", "\xFF", "\xFE", "a\xC2", "\xE2\x82\x41"}) {
    EXPECT_FALSE(is_utf8(text)) << hex_encode(as_bytes(text));
  }
}

TEST(SecretBytes, Moved_LeavesNothingBehind) {
  SecretBytes first(to_bytes("secret"));
  SecretBytes second(std::move(first));
  EXPECT_TRUE(first.empty());  // NOLINT(bugprone-use-after-move): the point of the test
  EXPECT_EQ(as_text(second.view()), "secret");
  SecretBytes third(to_bytes("other"));
  third = std::move(second);
  EXPECT_TRUE(second.empty());  // NOLINT(bugprone-use-after-move): the same
  EXPECT_EQ(as_text(third.view()), "secret");
}

TEST(SecretBytes, Wipe_Overwrites) {
  Bytes bytes = to_bytes("secret");
  secure_wipe(bytes);
  EXPECT_EQ(bytes, Bytes(6, 0));
  secure_wipe({});
}

}  // namespace
}  // namespace assay
