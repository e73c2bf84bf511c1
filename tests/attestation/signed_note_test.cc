// SPDX-License-Identifier: Apache-2.0
// Signed checkpoints: our vectors, and a log that other software signed.
#include "attestation/signed_note.h"

#include <gtest/gtest.h>

#include "schemas/core/merkle.h"
#include "schemas/core/sha.h"
#include "tests/attestation/support.h"

namespace assay::attestation {
namespace {

using test::code_of;
using test::signer;

constexpr std::string_view kOrigin = "assay.example.com/log";
// INDEX of the shared vectors.
constexpr std::string_view kForeignKey =
    "example.com/log/testdata+33d7b496+AeHTu4Q3hEIMHNqc6fASMsq3rKNx280NI+oO5xCFkkSx";

NoteVerifier verifier_of(const Signer& signer, std::string_view name = kOrigin) {
  return std::move(parse_verifier_key(*note_verifier_key(name, signer.public_key()))).value();
}

Checkpoint sample(std::string_view origin = kOrigin) {
  return {std::string(origin), 8, sha256(as_bytes("root"))};
}

const Signer& ed(int number) { return signer(SignatureAlgorithm::kEd25519, number); }

TEST(VerifyCheckpoint, Signed_Verifies) {
  const std::string note = *sign_checkpoint(sample(), ed(0));
  const auto checkpoint = verify_checkpoint(note, verifier_of(ed(0)));
  ASSERT_TRUE(checkpoint) << to_string(checkpoint.error());
  EXPECT_EQ(*checkpoint, sample());
}

TEST(VerifyCheckpoint, Vectors_VerifyOrAreRefused) {
  const Json vectors = test::load_vectors("log.json");
  const NoteVerifier verifier =
      std::move(parse_verifier_key(vectors["verifier_key"].get<std::string>())).value();
  for (const Json& row : vectors["checkpoints"]) {
    const auto checkpoint = verify_checkpoint(test::text_from_base64(row["note"]), verifier);
    ASSERT_TRUE(checkpoint) << row << to_string(checkpoint.error());
    EXPECT_EQ(checkpoint->size, row["size"].get<TreeSize>());
    EXPECT_EQ(checkpoint->root.hex(), row["root"].get<std::string>());
  }
  const std::map<std::string, std::string> codes = {{"note-bad-signature", "signature-invalid"},
                                                    {"note-unsigned", "signature-missing"}};
  ASSERT_GE(vectors["refused_checkpoints"].size(), 30U);
  for (const Json& row : vectors["refused_checkpoints"]) {
    const auto known = codes.find(row["reason"]);
    EXPECT_EQ(code_of(verify_checkpoint(test::text_from_base64(row["note"]), verifier)),
              known == codes.end() ? "malformed-checkpoint" : known->second)
        << row;
  }
}

TEST(VerifyCheckpoint, OurSignature_IsTheOneOfTheVectors) {
  const Json vectors = test::load_vectors("log.json");
  const auto key = test::signer_from_seed(test::from_hex(vectors["seed"]));
  const std::string note = test::text_from_base64(vectors["checkpoints"][1]["note"]);
  const Checkpoint checkpoint = parse_checkpoint(note)->checkpoint;
  EXPECT_EQ(*sign_checkpoint(checkpoint, *key), note);
}

TEST(VerifyCheckpoint, LogOfOtherSoftware_Verifies) {
  ASSAY_SHARED_VECTORS_OR_SKIP(folder, "tlog-tiles");
  const NoteVerifier verifier = std::move(parse_verifier_key(kForeignKey)).value();
  for (TreeSize size = 0; size < 8; ++size) {
    const std::string note =
        test::read_file(folder / "log" / ("checkpoint." + std::to_string(size)));
    const auto checkpoint = verify_checkpoint(note, verifier);
    ASSERT_TRUE(checkpoint) << size << to_string(checkpoint.error());
    EXPECT_EQ(checkpoint->size, size);
    for (std::size_t i = 0; i < note.size(); ++i) {
      std::string changed = note;
      changed[i] = static_cast<char>(changed[i] ^ 1);
      EXPECT_FALSE(verify_checkpoint(changed, verifier)) << size << " " << i;
    }
  }
}

TEST(VerifyCheckpoint, EveryFlippedBitAndTruncation_IsRefused) {
  const std::string note = *sign_checkpoint(sample(), ed(0));
  const NoteVerifier verifier = verifier_of(ed(0));
  for (std::size_t bit = 0; bit < note.size() * 8; ++bit) {
    std::string changed = note;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(verify_checkpoint(changed, verifier)) << changed;
  }
  for (std::size_t size = 0; size < note.size(); ++size) {
    EXPECT_EQ(code_of(verify_checkpoint(note.substr(0, size), verifier)), "malformed-checkpoint");
  }
}

TEST(VerifyCheckpoint, AnotherKey_IsMissing) {
  const std::string note = *sign_checkpoint(sample(), ed(0));
  EXPECT_EQ(code_of(verify_checkpoint(note, verifier_of(ed(1)))), "signature-missing");
}

TEST(VerifyCheckpoint, AnotherLog_IsRefused) {
  const std::string note = *sign_checkpoint(sample("other.example/log"), ed(0));
  EXPECT_EQ(code_of(verify_checkpoint(note, verifier_of(ed(0)))), "malformed-checkpoint");
}

// The line of our key under a text of another origin: signed by us, and still not our log.
TEST(VerifyCheckpoint, OriginThatIsNotTheKeyName_IsRefused) {
  const std::string text = checkpoint_text(sample("other.example/log"));
  Bytes line = *note_key_hash(kOrigin, ed(0).public_key());
  const Bytes signature = *ed(0).sign(as_bytes(text));
  line.insert(line.end(), signature.begin(), signature.end());
  const std::string note =
      text + "\n\u2014 " + std::string(kOrigin) + " " + base64_encode(line) + "\n";
  EXPECT_EQ(code_of(verify_checkpoint(note, verifier_of(ed(0)))), "malformed-checkpoint");
}

TEST(VerifyCheckpoint, Witnesses_AreIgnoredWhateverTheySay) {
  std::string note = *sign_checkpoint(sample(), ed(0));
  note += "\u2014 witness.example/w " + base64_encode(Bytes(76, 3)) + "\n";
  EXPECT_TRUE(verify_checkpoint(note, verifier_of(ed(0))));
}

TEST(VerifyCheckpoint, GoodAndBadSignatureOfOneKey_IsInvalid) {
  std::string note = *sign_checkpoint(sample(), ed(0));
  Bytes line = *note_key_hash(kOrigin, ed(0).public_key());
  line.resize(68, 0);
  note += "\u2014 " + std::string(kOrigin) + " " + base64_encode(line) + "\n";
  EXPECT_EQ(code_of(verify_checkpoint(note, verifier_of(ed(0)))), "signature-invalid");
}

TEST(SignCheckpoint, KeysThatAreNotEd25519_AreRefused) {
  EXPECT_EQ(code_of(sign_checkpoint(sample(), signer(SignatureAlgorithm::kEcdsaP256))),
            "unsupported-key");
}

TEST(VerifierKey, Text_RoundTrips) {
  const auto parsed = parse_verifier_key(kForeignKey);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->key_name, "example.com/log/testdata");
  EXPECT_EQ(note_verifier_key(parsed->key_name, parsed->key.der()), kForeignKey);
}

TEST(VerifierKey, EveryFlippedBitAndTruncation_IsRefused) {
  const std::string text(kForeignKey);
  for (std::size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string changed = text;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(parse_verifier_key(changed)) << changed;
  }
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(parse_verifier_key(text.substr(0, size))) << size;
  }
  for (const char* other : {"", "+", "++", "a+b", "a b+00000000+AA==", "+33d7b496+AeHT"}) {
    EXPECT_FALSE(parse_verifier_key(other)) << other;
  }
}

}  // namespace
}  // namespace assay::attestation
