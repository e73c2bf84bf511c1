// SPDX-License-Identifier: Apache-2.0
// Checkpoints: a C2SP tlog-checkpoint in a C2SP signed-note. Only Ed25519 note signatures
// (algorithm byte 0x01) are supported. attestation/signed_note.h verifies notes with a public key.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/ids.h"
#include "schemas/core/signer.h"

namespace assay {

struct Checkpoint {
  std::string origin;
  TreeSize size;
  Digest root;  // SHA-256
  bool operator==(const Checkpoint&) const = default;
};

struct NoteSignature {
  std::string key_name;
  Bytes key_hash;   // 4 bytes
  Bytes signature;  // without the key hash
};

struct SignedCheckpoint {
  Checkpoint checkpoint;
  std::string text;  // signed text, with its final newline
  std::vector<NoteSignature> signatures;
};

// Returns the text to sign: "origin\nsize\nbase64 root\n".
[[nodiscard]] std::string checkpoint_text(const Checkpoint& checkpoint);
// Returns the first four bytes of SHA-256(name || "\n" || 0x01 || 32-byte public key). Errors:
// unsupported-key unless `public_key` is the SPKI DER of an Ed25519 key.
[[nodiscard]] Result<Bytes> note_key_hash(std::string_view key_name, ByteView public_key);
// Returns the SPKI DER of `key`. Errors: unsupported-key unless `key` is the byte 0x01 followed by
// the 32 bytes of an Ed25519 key.
[[nodiscard]] Result<Bytes> note_key_spki(ByteView key);
// Returns the public key in the C2SP vkey form, with which verifiers are configured:
// "name+hash+base64(0x01 || key)".
[[nodiscard]] Result<std::string> note_verifier_key(std::string_view key_name, ByteView public_key);
// Returns the whole note, with one signature by `signer` (Ed25519) under the key name
// `checkpoint.origin`.
[[nodiscard]] Result<std::string> sign_checkpoint(const Checkpoint& checkpoint,
                                                  const Signer& signer);
// Parses a note without verifying its signatures. Accepts at most 16 signatures and no extension
// lines after the root. Errors: malformed-checkpoint for any other format.
[[nodiscard]] Result<SignedCheckpoint> parse_checkpoint(std::string_view note);

}  // namespace assay
