// SPDX-License-Identifier: Apache-2.0
// Checkpoints of Rekor: a C2SP signed note with the origin, size and root of a log, and possibly
// further lines. Unlike the checkpoints of our own log (schemas/checkpoint.h), they are signed with
// ECDSA or Ed25519, often by several parties.
// Source: https://c2sp.org/signed-note, https://c2sp.org/tlog-checkpoint
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attestation/sigstore/trusted_root.h"
#include "schemas/checkpoint.h"
#include "schemas/core/digest.h"
#include "schemas/core/error.h"

namespace assay::attestation::sigstore {

inline constexpr std::size_t kMaxNoteSignatures = 32;

struct LogCheckpoint {
  std::string origin;
  std::uint64_t size = 0;
  Digest root;
  std::string text;  // what is signed
  std::vector<NoteSignature> signatures;
};

// Parses a note without verifying it. Errors: malformed-checkpoint.
[[nodiscard]] Result<LogCheckpoint> parse_log_checkpoint(std::string_view note);

// Verifies that `log` signed the checkpoint: a signature under the log's name and key hash. The
// name is the host of the log's address, and the origin is the name, or begins with it and " - "
// (Rekor v1). Signatures by others, witnesses among them, are passed over, whatever their place.
// Errors: signature-missing when the log has none; signature-invalid when one of its signatures
// does not verify; unsupported-key.
[[nodiscard]] Status verify_log_checkpoint(const LogCheckpoint& checkpoint, const Log& log);

}  // namespace assay::attestation::sigstore
