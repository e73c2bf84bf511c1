// SPDX-License-Identifier: Apache-2.0
#include "cli/decisions/proven_log.h"

#include <optional>
#include <utility>

#include "attestation/key_rotation.h"
#include "schemas/core/json_at.h"
#include "schemas/core/merkle.h"
#include "schemas/tlog_proof.h"

namespace assay::cli {
namespace {

std::string entry_name(LeafIndex index) { return "log entry " + std::to_string(index); }

Error in_entry(Error error, LeafIndex index) {
  error.where = entry_name(index) + (error.where.empty() ? "" : ": " + error.where);
  return error;
}

// Reads entries and proofs; the checkpoint of all of them is `note`.
Result<std::vector<TlogProof>> read_entries(const DecisionExport& file, ProvenLog& log,
                                            std::string& note) {
  std::vector<TlogProof> proofs;
  for (const ExportedEntry& entry : file.entries) {
    ASSAY_ASSIGN(TlogProof proof, parse_tlog_proof(entry.proof));
    if (!proofs.empty() && proof.index <= proofs.back().index) {
      return fail(ErrorCode::kExportInconsistent, "the entries are not in the order of the log",
                  entry_name(proof.index));
    }
    if (!proofs.empty() && proof.checkpoint != note) {
      return fail(ErrorCode::kExportInconsistent, "the proofs are under several checkpoints",
                  entry_name(proof.index));
    }
    note = proof.checkpoint;
    auto record = parse_log_record(as_bytes(entry.record));
    if (!record) {
      return std::unexpected(in_entry(std::move(record).error(), proof.index));
    }
    if (record->type == event::kLogReopened) {
      log.renamed.emplace_back(proof.index, text_at(record->detail, "previous_origin"));
    }
    log.entries.push_back({proof.index, *std::move(record),
                           merkle_leaf(HashAlgorithm::kSha256, as_bytes(entry.record))});
    proofs.push_back(std::move(proof));
  }
  return proofs.empty() ? Result<std::vector<TlogProof>>(
                              fail(ErrorCode::kExportInconsistent, "the file has no log entry"))
                        : std::move(proofs);
}

// The key that signs checkpoints of this size: that of the caller, or its newest heir.
Result<Checkpoint> open_checkpoint(const ProvenLog& log, const std::string& note,
                                   const attestation::NoteVerifier& first) {
  ASSAY_ASSIGN(const SignedCheckpoint parsed, parse_checkpoint(note));
  std::optional<attestation::NoteVerifier> heir;
  const auto newest = [&]() -> const attestation::NoteVerifier& { return heir ? *heir : first; };
  for (const ProvenEntry& entry : log.entries) {
    if (entry.record.type != event::kKeyRotated || entry.index >= parsed.checkpoint.size) {
      continue;
    }
    ASSAY_ASSIGN(const attestation::KeyRotation rotation, attestation::rotation_from(entry.record));
    if (rotation.kind != attestation::RotatedKind::kLog || rotation.old_key != newest().key.der()) {
      continue;
    }
    ASSAY_TRY(attestation::verify_rotation(rotation, log.origin_at(entry.index), entry.index));
    ASSAY_ASSIGN(attestation::PublicKey next, attestation::PublicKey::from_der(rotation.new_key));
    heir.emplace(first.key_name, std::move(next));
  }
  return attestation::verify_checkpoint(note, newest());
}

}  // namespace

const std::string& ProvenLog::origin_at(LeafIndex index) const {
  for (const auto& [at, before] : renamed) {
    if (index < at) {
      return before;
    }
  }
  return checkpoint.origin;
}

Result<ProvenLog> prove_entries(const DecisionExport& file,
                                const attestation::NoteVerifier& verifier) {
  ProvenLog log{{verifier.key_name, 0, merkle_empty(HashAlgorithm::kSha256)}, {}, {}};
  std::string note;
  ASSAY_ASSIGN(const std::vector<TlogProof> proofs, read_entries(file, log, note));
  ASSAY_ASSIGN(log.checkpoint, open_checkpoint(log, note, verifier));
  for (std::size_t i = 0; i < proofs.size(); ++i) {
    const Status proven =
        verify_inclusion(log.entries[i].leaf, proofs[i].index, log.checkpoint.size, proofs[i].path,
                         log.checkpoint.root);
    if (!proven) {
      return std::unexpected(in_entry(proven.error(), proofs[i].index));
    }
  }
  return log;
}

}  // namespace assay::cli
