// SPDX-License-Identifier: Apache-2.0
// Checkpoints without keys: format, key hashes, vectors. Signatures: tests/attestation.
#include "schemas/checkpoint.h"

#include <gtest/gtest.h>

#include "schemas/core/merkle.h"
#include "tests/schemas/samples.h"

namespace assay {
namespace {

using test::code_of;

const std::string kDash = "\u2014 ";

Checkpoint sample() { return {"assay.example.com/log", 8, test::digest_of("root")}; }

std::string sample_note() {
  return checkpoint_text(sample()) + "\n" + kDash + "assay.example.com/log " +
         base64_encode(Bytes(68, 1)) + "\n";
}

// A signer whose signatures mean nothing.
class FakeSigner final : public Signer {
 public:
  explicit FakeSigner(Bytes spki) : spki_(std::move(spki)), id_(sha256(spki_)) {}
  [[nodiscard]] SignatureAlgorithm algorithm() const override {
    return SignatureAlgorithm::kEd25519;
  }
  [[nodiscard]] const KeyId& key_id() const override { return id_; }
  [[nodiscard]] const Bytes& public_key() const override { return spki_; }
  [[nodiscard]] Result<Bytes> sign(ByteView) const override { return Bytes(64, 9); }

 private:
  Bytes spki_;
  KeyId id_;
};

TEST(Checkpoint, Text_HasThreeLines) {
  EXPECT_EQ(checkpoint_text({"o", 0, merkle_empty(HashAlgorithm::kSha256)}),
            "o\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n");
}

TEST(Checkpoint, Note_ReadsBack) {
  const auto parsed = parse_checkpoint(sample_note());
  ASSERT_TRUE(parsed) << to_string(parsed.error());
  EXPECT_EQ(parsed->checkpoint, sample());
  EXPECT_EQ(parsed->text, checkpoint_text(sample()));
  ASSERT_EQ(parsed->signatures.size(), 1U);
  EXPECT_EQ(parsed->signatures[0].key_name, "assay.example.com/log");
  EXPECT_EQ(parsed->signatures[0].key_hash, Bytes(4, 1));
  EXPECT_EQ(parsed->signatures[0].signature, Bytes(64, 1));
}

TEST(Checkpoint, Vectors_AreRead) {
  const Json vectors = test::load_vectors("log.json");
  ASSERT_GE(vectors["checkpoints"].size(), 5U);
  for (const Json& row : vectors["checkpoints"]) {
    const auto parsed = parse_checkpoint(test::text_from_base64(row["note"]));
    ASSERT_TRUE(parsed) << row << to_string(parsed.error());
    EXPECT_EQ(parsed->checkpoint.size, row["size"].get<TreeSize>());
    EXPECT_EQ(parsed->checkpoint.root.hex(), row["root"].get<std::string>());
  }
}

TEST(Checkpoint, VectorsOfWrongFormat_AreRefused) {
  const Json vectors = test::load_vectors("log.json");
  int refused = 0;
  for (const Json& row : vectors["refused_checkpoints"]) {
    const std::string reason = row["reason"];
    if (reason == "note-bad-signature" || reason == "note-unsigned" ||
        reason == "checkpoint-origin") {
      continue;  // the format is fine: needs the key
    }
    EXPECT_EQ(code_of(parse_checkpoint(test::text_from_base64(row["note"]))),
              "malformed-checkpoint")
        << row;
    ++refused;
  }
  EXPECT_GE(refused, 25);
}

TEST(Checkpoint, EveryTruncation_IsRefused) {
  const std::string note = sample_note();
  for (std::size_t size = 0; size < note.size(); ++size) {
    EXPECT_EQ(code_of(parse_checkpoint(note.substr(0, size))), "malformed-checkpoint") << size;
  }
}

TEST(Checkpoint, SingleChanges_AreRefused) {
  const std::string text = checkpoint_text(sample());
  const std::string line = kDash + "assay.example.com/log " + base64_encode(Bytes(68, 1)) + "\n";
  const Digest digest = sample().root;
  const std::string root = base64_encode(digest.bytes());
  for (const std::string& note :
       {text + line,                             // no empty line
        text + "\n\n" + line,                    // two
        text + "\n" + line + "\n",               // empty line behind
        text + "\n" + line + "x",                // half a line behind
        "\n" + text + "\n" + line,               // empty origin
        text + "extension\n\n" + line,           // extension line
        "a b\n8\n" + root + "\n\n" + line,       // space in the origin
        "a+b\n8\n" + root + "\n\n" + line,       // plus in the origin
        "a\u00a0b\n8\n" + root + "\n\n" + line,  // Unicode space in the origin
        "a\n 8\n" + root + "\n\n" + line,        // sizes
        "a\n8.0\n" + root + "\n\n" + line,       //
        "a\n1e3\n" + root + "\n\n" + line,       //
        "a\n00\n" + root + "\n\n" + line,        //
        "a\n\n" + root + "\n\n" + line,          //
        "a\n18446744073709551616\n" + root + "\n\n" + line,
        "a\n8\n" + root.substr(1) + "\n\n" + line,  // roots
        "a\n8\n" + root + "=\n\n" + line,           //
        "a\n8\n" + base64_encode(Bytes(48)) + "\n\n" + line,
        "a\n0\n" + root + "\n\n" + line,  // not the empty tree's root
        text + "\n" + kDash + "a  " + base64_encode(Bytes(68)) + "\n",
        text + "\n" + kDash + "a " + base64_encode(Bytes(68)) + " \n",
        text + "\n" + kDash + "a " + base64_encode(Bytes(4)) + "\n",
        text + "\n" + kDash + " " + base64_encode(Bytes(68)) + "\n",
        text + "\n" + kDash + base64_encode(Bytes(68)) + "\n",
        text + "\n- a " + base64_encode(Bytes(68)) + "\n"}) {
    EXPECT_EQ(code_of(parse_checkpoint(note)), "malformed-checkpoint") << note;
  }
}

TEST(Checkpoint, Signatures_AreOneToSixteen) {
  const std::string line = kDash + "w " + base64_encode(Bytes(68, 2)) + "\n";
  std::string note = checkpoint_text(sample()) + "\n";
  EXPECT_FALSE(parse_checkpoint(note));
  for (int i = 0; i < 16; ++i) {
    note += line;
    EXPECT_TRUE(parse_checkpoint(note)) << i;
  }
  EXPECT_EQ(code_of(parse_checkpoint(note + line)), "malformed-checkpoint");
}

TEST(NoteKey, VerifierKey_IsTheOneOfTheVectors) {
  const Json vectors = test::load_vectors("log.json");
  const Bytes spki = test::ed25519_spki(test::from_hex(vectors["public"]));
  EXPECT_EQ(note_verifier_key(vectors["origin"].get<std::string>(), spki),
            vectors["verifier_key"].get<std::string>());
  EXPECT_EQ(hex_encode(*note_key_hash(vectors["origin"].get<std::string>(), spki)), "be0dd2b1");
}

TEST(NoteKey, OtherKeysAndNames_AreRefused) {
  const Bytes spki = test::ed25519_spki(Bytes(32, 5));
  EXPECT_EQ(code_of(note_key_hash("a", Bytes(44, 0))), "unsupported-key");
  EXPECT_EQ(code_of(note_key_hash("a", Bytes(spki.begin(), spki.end() - 1))), "unsupported-key");
  EXPECT_EQ(code_of(note_key_spki(Bytes(33, 2))), "unsupported-key");
  EXPECT_EQ(code_of(note_key_spki(Bytes(32, 1))), "unsupported-key");
  Bytes note_key = {1};
  note_key.resize(33, 5);
  EXPECT_EQ(note_key_spki(note_key), spki);
  for (const char* name : {"", "a b", "a+b", "a\u2003b", "a\nb", "\xFF"}) {
    EXPECT_FALSE(note_verifier_key(name, spki)) << name;
  }
}

TEST(SignCheckpoint, Note_CarriesHashAndSignature) {
  const FakeSigner signer(test::ed25519_spki(Bytes(32, 5)));
  const auto note = sign_checkpoint(sample(), signer);
  ASSERT_TRUE(note);
  const auto parsed = parse_checkpoint(*note);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->signatures[0].key_hash, *note_key_hash(sample().origin, signer.public_key()));
  EXPECT_EQ(parsed->signatures[0].signature, Bytes(64, 9));
}

TEST(SignCheckpoint, WhatNoReaderTakes_IsNotSigned) {
  const FakeSigner signer(test::ed25519_spki(Bytes(32, 5)));
  EXPECT_EQ(code_of(sign_checkpoint(sample(), FakeSigner(Bytes(91, 1)))), "unsupported-key");
  Checkpoint checkpoint = sample();
  checkpoint.origin = "two words";
  EXPECT_EQ(code_of(sign_checkpoint(checkpoint, signer)), "malformed-checkpoint");
  checkpoint = sample();
  checkpoint.size = 0;
  EXPECT_EQ(code_of(sign_checkpoint(checkpoint, signer)), "malformed-checkpoint");
}

}  // namespace
}  // namespace assay
