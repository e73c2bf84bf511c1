// SPDX-License-Identifier: Apache-2.0
// Digests and ids: values with one text form.
#include "schemas/core/ids.h"

#include <unordered_set>

#include <gtest/gtest.h>

#include "schemas/core/sha.h"
#include "schemas/core/signer.h"
#include "tests/support/vectors.h"

namespace assay {
namespace {

using test::code_of;

const std::string k32(64, 'a');
const std::string k48(96, 'b');

TEST(Digest, TextForm_RoundTrips) {
  const Digest digest = *Digest::parse("sha256:" + k32);
  EXPECT_EQ(digest.text(), "sha256:" + k32);
  EXPECT_EQ(digest.hex(), k32);
  EXPECT_EQ(digest.algorithm(), HashAlgorithm::kSha256);
  EXPECT_EQ(digest.bytes().size(), 32U);
  const Digest longer = *Digest::parse("sha384:" + k48);
  EXPECT_EQ(longer.text(), "sha384:" + k48);
  EXPECT_EQ(longer.bytes().size(), 48U);
}

TEST(Digest, AnythingElse_IsRefused) {
  for (const std::string& text :
       {std::string(), k32, ":" + k32, std::string("sha256:"), "sha256:" + k32.substr(1),
        "sha256:" + k32 + "a", "sha256:" + k48, "sha384:" + k32, "SHA256:" + k32,
        "sha256:" + std::string(64, 'A'), "sha512:" + k32, "sha256 :" + k32, "sha256:" + k32 + "\n",
        "sha256:" + k32 + ":" + k32}) {
    EXPECT_EQ(code_of(Digest::parse(text)), "invalid-digest") << text;
  }
  EXPECT_EQ(code_of(Digest::from_bytes(HashAlgorithm::kSha256, Bytes(31))), "invalid-digest");
  EXPECT_EQ(code_of(Digest::from_bytes(HashAlgorithm::kSha384, Bytes(32))), "invalid-digest");
}

TEST(Digest, SameBytesOfTwoAlgorithms_AreNotEqual) {
  const Bytes zeros(48, 0);
  EXPECT_NE(Digest::wrap(HashAlgorithm::kSha256, zeros.data()),
            Digest::wrap(HashAlgorithm::kSha384, zeros.data()));
}

TEST(ArtifactId, TextForm_RoundTrips) {
  const std::string text = "assay-tree-v1-sha384:" + k48;
  const ArtifactId id = *ArtifactId::parse(text);
  EXPECT_EQ(id.text(), text);
  EXPECT_EQ(id.digest_name(), "assay-tree-v1-sha384");
  EXPECT_EQ(id.root().hex(), k48);
}

TEST(ArtifactId, HashOfBytesOrOtherTree_IsRefused) {
  for (const std::string& text :
       {"sha256:" + k32, "assay-tree-v2-sha256:" + k32, "assay-tree-v1:" + k32,
        "assay-tree-v1-" + k32, "assay-tree-v1-sha512:" + k32, "Assay-tree-v1-sha256:" + k32}) {
    EXPECT_EQ(code_of(ArtifactId::parse(text)), "invalid-digest") << text;
  }
}

TEST(DigestId, Hash_TellsIdsApart) {
  std::unordered_set<KeyId> keys;
  for (int i = 0; i < 100; ++i) {
    keys.insert(KeyId(sha256(as_bytes(std::to_string(i)))));
  }
  EXPECT_EQ(keys.size(), 100U);
  EXPECT_TRUE(keys.contains(*KeyId::parse(sha256(as_bytes("7")).text())));
}

// Written to disk: the values must never change.
TEST(StoredEnums, Values_ArePinned) {
  EXPECT_EQ(static_cast<int>(HashAlgorithm::kSha256), 1);
  EXPECT_EQ(static_cast<int>(HashAlgorithm::kSha384), 2);
  EXPECT_EQ(static_cast<int>(SignatureAlgorithm::kEd25519), 1);
  EXPECT_EQ(static_cast<int>(SignatureAlgorithm::kEcdsaP256), 2);
  EXPECT_EQ(static_cast<int>(SignatureAlgorithm::kEcdsaP384), 3);
  EXPECT_EQ(static_cast<int>(SignatureAlgorithm::kEcdsaP521), 4);
  EXPECT_EQ(static_cast<int>(SignatureAlgorithm::kRsaPss), 5);
  EXPECT_EQ(static_cast<int>(SignatureAlgorithm::kRsaPkcs1), 6);
  EXPECT_EQ(static_cast<int>(SignatureAlgorithm::kMlDsa44), 7);
  EXPECT_EQ(static_cast<int>(SignatureAlgorithm::kMlDsa65), 8);
  EXPECT_EQ(static_cast<int>(SignatureAlgorithm::kMlDsa87), 9);
}

TEST(SignatureAlgorithm, Names_RoundTrip) {
  for (int number = 1; number <= 9; ++number) {
    const auto algorithm = static_cast<SignatureAlgorithm>(number);
    EXPECT_NE(name(algorithm), "unknown");
    EXPECT_EQ(signature_algorithm_from(name(algorithm)), algorithm);
  }
  EXPECT_EQ(code_of(signature_algorithm_from("rsa")), "unsupported-key");
  EXPECT_EQ(code_of(hash_algorithm_from("sha1")), "invalid-digest");
}

}  // namespace
}  // namespace assay
