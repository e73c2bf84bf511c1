// SPDX-License-Identifier: Apache-2.0
// Flat digests: known answers, and names.
#include "schemas/core/flat_hash.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/support/vectors.h"

namespace assay {
namespace {

std::string digest(FlatHash hash, std::string_view text) {
  FlatStream stream(hash);
  stream.update(as_bytes(text));
  return hex_encode(stream.finish());
}

// FIPS 180-4, and RFC 7693 appendix A.
TEST(FlatHash, KnownAnswers) {
  EXPECT_EQ(digest(FlatHash::kSha256, "abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest(FlatHash::kBlake2b, "abc"),
            "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
            "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923");
}

TEST(FlatHash, Stream_StartsAnewAfterEachDigest) {
  FlatStream stream(FlatHash::kSha256);
  stream.update(as_bytes("a"));
  stream.update(as_bytes("bc"));
  const Bytes first = stream.finish();
  EXPECT_EQ(hex_encode(first), digest(FlatHash::kSha256, "abc"));
  EXPECT_EQ(hex_encode(stream.finish()), digest(FlatHash::kSha256, ""));
}

TEST(FlatHash, OtherNames_AreRefused_Blake3ByName) {
  EXPECT_EQ(flat_hash_from("blake2b"), FlatHash::kBlake2b);
  for (const char* text : {"blake3", "blake2", "sha384", "SHA256", ""}) {
    EXPECT_EQ(test::code_of(flat_hash_from(text)), "invalid-digest") << text;
  }
  EXPECT_NE(flat_hash_from("blake3").error().detail.find("BLAKE3"), std::string::npos);
}

}  // namespace
}  // namespace assay
