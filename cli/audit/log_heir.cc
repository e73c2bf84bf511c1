// SPDX-License-Identifier: Apache-2.0
#include "cli/audit/log_heir.h"

#include <optional>
#include <utility>

#include "attestation/key_rotation.h"
#include "schemas/core/merkle.h"
#include "schemas/log_record.h"

namespace assay::cli {
namespace {

// The heir that the record at `place` names, when it replaces `newest`.
Result<std::optional<attestation::NoteVerifier>> heir_in(ByteView bytes, LeafIndex place,
                                                         const attestation::NoteVerifier& newest) {
  ASSAY_ASSIGN(const LogRecord record, parse_log_record(bytes));
  ASSAY_ASSIGN(const attestation::KeyRotation rotation, attestation::rotation_from(record));
  if (rotation.kind != attestation::RotatedKind::kLog || rotation.old_key != newest.key.der()) {
    return std::nullopt;
  }
  ASSAY_TRY(attestation::verify_rotation(rotation, newest.key_name, place));
  ASSAY_ASSIGN(attestation::PublicKey key, attestation::PublicKey::from_der(rotation.new_key));
  return attestation::NoteVerifier{newest.key_name, std::move(key)};
}

}  // namespace

Result<CurrentVerifier> current_verifier(std::string_view note,
                                         const attestation::NoteVerifier& known,
                                         const RotationSource& source) {
  ASSAY_ASSIGN(attestation::PublicKey own, attestation::PublicKey::from_der(known.key.der()));
  CurrentVerifier current{{known.key_name, std::move(own)}, {}};
  auto signed_by = attestation::verify_checkpoint(note, known);
  if (signed_by || signed_by.error().code != ErrorCode::kSignatureMissing) {
    return signed_by ? Result<CurrentVerifier>(std::move(current))
                     : std::unexpected(std::move(signed_by).error());
  }
  ASSAY_ASSIGN(const std::vector<LeafIndex> places, source.places());
  std::vector<ProvenRecord> used;
  for (const LeafIndex place : places) {
    ASSAY_ASSIGN(ProvenRecord proven, source.prove(place));
    ASSAY_ASSIGN(auto heir, heir_in(proven.record, place, current.verifier));
    if (heir) {
      current.verifier = *std::move(heir);
      ASSAY_ASSIGN(std::string key, note_verifier_key(known.key_name, current.verifier.key.der()));
      current.hand_overs.push_back({place, std::move(key)});
      used.push_back(std::move(proven));
    }
  }
  ASSAY_TRY(attestation::verify_checkpoint(note, current.verifier));
  for (std::size_t i = 0; i < used.size(); ++i) {
    const Receipt& receipt = used[i].receipt;
    if (receipt.index != current.hand_overs[i].index ||
        receipt.leaf_hash != merkle_leaf(HashAlgorithm::kSha256, used[i].record)) {
      return fail(ErrorCode::kLogInconsistent, "The proof is of another record", receipt.name);
    }
    ASSAY_TRY(check_receipt(receipt, current.verifier));
  }
  return current;
}

}  // namespace assay::cli
