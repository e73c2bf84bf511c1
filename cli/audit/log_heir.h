// SPDX-License-Identifier: Apache-2.0
// The key that signs the log now, for somebody who knows the key that it replaced
// (docs/rotation.md). Without it every checkpoint after a rotation would look forged.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "attestation/signed_note.h"
#include "cli/audit/verify.h"
#include "schemas/core/bytes.h"
#include "schemas/core/error.h"
#include "schemas/core/ids.h"

namespace assay::cli {

// A record of the log with the proof that the log has it.
struct ProvenRecord {
  Bytes record;  // canonical JSON
  Receipt receipt;
};

// Claims of the service about rotations. Nothing of them is believed.
struct RotationSource {
  // Returns the places of all records of rotations, in order.
  std::function<Result<std::vector<LeafIndex>>()> places;
  std::function<Result<ProvenRecord>(LeafIndex place)> prove;
};

struct CurrentVerifier {
  attestation::NoteVerifier verifier;
  std::vector<HandOver> hand_overs;  // that led to it; empty: it is the key that was known
};

// Returns the key that signed the checkpoint `note`: `known`, or the last one of its heirs. Each
// heir is named by a record that the key before signed, and that the log has under the newest key.
// Asks `source` only when `known` did not sign. Errors: those of verify_checkpoint(), also when no
// heir signed the note; those of `source`; log-inconsistent.
[[nodiscard]] Result<CurrentVerifier> current_verifier(std::string_view note,
                                                       const attestation::NoteVerifier& known,
                                                       const RotationSource& source);

}  // namespace assay::cli
