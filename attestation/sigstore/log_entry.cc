// SPDX-License-Identifier: Apache-2.0
// Promises and proofs of log entries.
#include "attestation/sigstore/log_entry.h"

#include <algorithm>
#include <chrono>

#include "attestation/sigstore/log_checkpoint.h"
#include "schemas/core/json.h"
#include "schemas/core/merkle.h"

namespace assay::attestation::sigstore {
namespace {

constexpr std::uint64_t kLastSecond = 253'402'300'799;  // of the year 9999

// client-spec.md section 4.2.2: the promise signs the canonical JSON of these four.
Status verify_promise(const LogEntry& entry, const Log& log) {
  if (log.key == nullptr) {
    return fail(ErrorCode::kUnsupportedKey,
                "the log's key is of an algorithm that is not supported");
  }
  ASSAY_ASSIGN(const std::string text, canonical_json({{"body", base64_encode(entry.body)},
                                                       {"integratedTime", entry.integrated_time},
                                                       {"logID", hex_encode(entry.log_id)},
                                                       {"logIndex", entry.log_index}}));
  if (!log.key->verify(as_bytes(text), *entry.promise)) {
    return fail(ErrorCode::kSignatureInvalid, "the log's promise of the entry does not verify");
  }
  return {};
}

Status verify_proof(const LogEntry& entry, const Log& log) {
  const InclusionProof& proof = *entry.proof;
  ASSAY_ASSIGN(const LogCheckpoint checkpoint, parse_log_checkpoint(proof.checkpoint));
  ASSAY_TRY(verify_log_checkpoint(checkpoint, log));
  if (checkpoint.size != proof.tree_size || checkpoint.root != proof.root) {
    return fail(ErrorCode::kProofInvalid, "the checkpoint is of another tree than the proof");
  }
  return verify_inclusion(merkle_leaf(HashAlgorithm::kSha256, entry.body), proof.log_index,
                          proof.tree_size, proof.hashes, proof.root);
}

Status check_rekor2(const LogEntry& entry) {
  if (entry.promise || entry.integrated_time != 0 ||
      (entry.proof && entry.proof->log_index != entry.log_index)) {
    return fail(ErrorCode::kMalformedBundle,
                "an entry of Rekor v2 has no promise, no time, and the index of its proof");
  }
  return {};
}

}  // namespace

bool is_rekor2(const LogEntry& entry) {
  return (entry.kind == "hashedrekord" || entry.kind == "dsse") && entry.version == "0.0.2";
}

Result<ProvenEntry> verify_log_entry(const LogEntry& entry, std::span<const Log> logs) {
  const auto log = std::ranges::find(logs, entry.log_id, &Log::id);
  if (log == logs.end()) {
    return fail(ErrorCode::kLogUntrusted,
                "the trusted root has no log with the id " + hex_encode(entry.log_id));
  }
  if (!entry.promise && !entry.proof) {
    return fail(ErrorCode::kLogEntryMissing, "the entry has neither a promise nor a proof");
  }
  if (is_rekor2(entry)) {
    ASSAY_TRY(check_rekor2(entry));
  }
  ProvenEntry proven{&*log, std::nullopt};
  if (entry.promise) {
    if (entry.integrated_time == 0 || entry.integrated_time > kLastSecond) {
      return fail(ErrorCode::kMalformedBundle, "an entry with a promise has a time");
    }
    ASSAY_TRY(verify_promise(entry, *log));
    proven.integrated = Timestamp(std::chrono::seconds(entry.integrated_time));
  }
  if (entry.proof) {
    ASSAY_TRY(verify_proof(entry, *log));
  }
  return proven;
}

}  // namespace assay::attestation::sigstore
