// SPDX-License-Identifier: Apache-2.0
// C2SP tlog-checkpoint in a C2SP signed-note. Only Ed25519 note signatures (algorithm byte 0x01).
// Verification with a public key is attestation/signed_note.h.
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
  Bytes signature;  // without the hash
};

struct SignedCheckpoint {
  Checkpoint checkpoint;
  std::string text;  // what is signed, with its final newline
  std::vector<NoteSignature> signatures;
};

// "origin\nsize\nbase64 root\n".
[[nodiscard]] std::string checkpoint_text(const Checkpoint& checkpoint);
// First four bytes of SHA-256(name || "\n" || 0x01 || 32-byte public key). unsupported-key unless
// `public_key` is the SPKI DER of an Ed25519 key.
[[nodiscard]] Result<Bytes> note_key_hash(std::string_view key_name, ByteView public_key);
// SPKI DER of `key`, which is 0x01 and the 32 bytes of an Ed25519 key; unsupported-key otherwise.
[[nodiscard]] Result<Bytes> note_key_spki(ByteView key);
// "name+hash+base64(0x01 || key)": what verifiers are configured with (the C2SP vkey form).
[[nodiscard]] Result<std::string> note_verifier_key(std::string_view key_name, ByteView public_key);
// The whole note with one signature by `signer` (Ed25519) under the key name `checkpoint.origin`.
[[nodiscard]] Result<std::string> sign_checkpoint(const Checkpoint& checkpoint,
                                                  const Signer& signer);
// Parses without verifying. malformed-checkpoint for anything but the exact format; extension lines
// after the root are refused, at most 16 signatures.
[[nodiscard]] Result<SignedCheckpoint> parse_checkpoint(std::string_view note);

}  // namespace assay
