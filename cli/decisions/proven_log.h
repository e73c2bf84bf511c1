// SPDX-License-Identifier: Apache-2.0
// The log records of an exported decision, proven to be in the log of a key.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "attestation/signed_note.h"
#include "schemas/checkpoint.h"
#include "schemas/decision_export.h"
#include "schemas/log_record.h"

namespace assay::cli {

struct ProvenEntry {
  LeafIndex index;
  LogRecord record;
  Digest leaf;  // leaf hash of the record
};

struct ProvenLog {
  Checkpoint checkpoint;
  std::vector<ProvenEntry> entries;  // ascending by index
  // Indexes at which the log got another origin, each with the origin before.
  std::vector<std::pair<LeafIndex, std::string>> renamed;

  // Returns the origin that the log had at an entry.
  [[nodiscard]] const std::string& origin_at(LeafIndex index) const;
};

// Verifies that each entry is in the log under one checkpoint, which the key of `verifier` signed,
// or a key that follows it by records among the entries (schemas/log.md section 2.4). Errors:
// export-inconsistent for entries out of order or under several checkpoints; proof-invalid; those
// of verify_checkpoint(), verify_rotation() and parse_log_record().
[[nodiscard]] Result<ProvenLog> prove_entries(const DecisionExport& file,
                                              const attestation::NoteVerifier& verifier);

}  // namespace assay::cli
