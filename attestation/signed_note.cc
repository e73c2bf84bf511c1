// SPDX-License-Identifier: Apache-2.0
// Signed checkpoints against the key of their log (schemas/log.md section 3.2).
#include "attestation/signed_note.h"

namespace assay::attestation {
namespace {

std::unexpected<Error> malformed() {
  return fail(ErrorCode::kInvalidEncoding, "a verifier key looks like name+hash+key");
}

}  // namespace

Result<NoteVerifier> parse_verifier_key(std::string_view text) {
  const std::size_t first = text.find('+');
  const std::size_t second = first == std::string_view::npos ? first : text.find('+', first + 1);
  if (second == std::string_view::npos) {
    return malformed();
  }
  const auto key = base64_decode(text.substr(second + 1));
  if (!key) {
    return malformed();
  }
  ASSAY_ASSIGN(const Bytes spki, note_key_spki(*key));
  ASSAY_ASSIGN(PublicKey public_key, PublicKey::from_der(spki));
  const std::string_view name = text.substr(0, first);
  const auto expected = note_verifier_key(name, public_key.der());
  if (!expected || *expected != text) {
    return malformed();  // not a key name, or the hash is of another key
  }
  return NoteVerifier{std::string(name), std::move(public_key)};
}

Result<Checkpoint> verify_checkpoint(std::string_view note, const NoteVerifier& verifier) {
  ASSAY_ASSIGN(SignedCheckpoint parsed, parse_checkpoint(note));
  if (parsed.checkpoint.origin != verifier.key_name) {
    return fail(ErrorCode::kMalformedCheckpoint,
                "the checkpoint is of the log " + parsed.checkpoint.origin +
                    ", and the verifier key is of the log " + verifier.key_name);
  }
  ASSAY_ASSIGN(const Bytes key_hash, note_key_hash(verifier.key_name, verifier.key.der()));
  bool found = false;
  for (const NoteSignature& signature : parsed.signatures) {
    if (signature.key_name != verifier.key_name || signature.key_hash != key_hash) {
      continue;  // a witness, or a key that is not known here
    }
    ASSAY_TRY(verifier.key.verify(as_bytes(parsed.text), signature.signature));
    found = true;
  }
  if (!found) {
    return fail(ErrorCode::kSignatureMissing, "the log's key has not signed the checkpoint");
  }
  return std::move(parsed.checkpoint);
}

}  // namespace assay::attestation
