// SPDX-License-Identifier: Apache-2.0
// Verifies a mirror of the log (schemas/log.md section 6.2) without the service. Reads files
// through a function, so that tests can supply any content.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attestation/signed_note.h"
#include "schemas/checkpoint.h"
#include "schemas/core/bytes.h"
#include "schemas/core/error.h"
#include "schemas/core/ids.h"
#include "schemas/core/json.h"
#include "schemas/log_record.h"

namespace assay::cli {

// Returns the bytes of a file by its path below the mirror. Returns nullopt when the file does not
// exist.
using ReadMirror = std::function<Result<std::optional<Bytes>>(const std::string& path)>;

// The service's promise that a stored record is in the log.
struct Receipt {
  std::string name;  // where the receipt was read, for messages
  std::string origin;
  LeafIndex index;
  Digest leaf_hash;
  TreeSize tree_size;
  std::string checkpoint;  // a signed note
  std::vector<Digest> inclusion;
};

// Reads a receipt, which must have exactly the members of schemas/log.md section 5. Errors:
// schema-violation, invalid-digest.
[[nodiscard]] Result<Receipt> receipt_from_json(const Json& json, const std::string& name);

// Checks a receipt without the rest of the log. The log's signature over its checkpoint must be
// valid, and the receipt's inclusion path must lead from its leaf to that checkpoint's root.
[[nodiscard]] Status check_receipt(const Receipt& receipt,
                                   const attestation::NoteVerifier& verifier);

struct LogVerifyOptions {
  std::vector<std::string> older_checkpoints;  // notes; the mirror must extend each of them
  std::vector<Receipt> receipts;
  std::function<void(TreeSize done, TreeSize total)> progress{};
  // Called for every record in order. The records are verified only when verify_log() has
  // succeeded.
  std::function<Status(LeafIndex index, const LogRecord& record)> visit{};
};

// A record by which the log's key was replaced.
struct HandOver {
  LeafIndex index;           // of the record that replaces the key
  std::string verifier_key;  // verifies checkpoints from that record on
};

struct VerifiedLog {
  Checkpoint checkpoint;
  std::map<std::string, std::uint64_t> types;  // entries by event type
  std::uint64_t tiles_checked = 0;             // number of files of hashes
  // Number of files of hashes that the mirror lacks. Missing files are no error, because the root
  // is computed from the entries.
  std::uint64_t tiles_missing = 0;
  std::vector<TreeSize> consistent_from;  // sizes of the older checkpoints, in order given
  std::vector<HandOver> hand_overs;       // replacements of the log's key, in order
};

// Verifies the whole mirror: the checkpoint's signature, every record, every hash tile and the
// root. Also verifies that this log extends the log of each older checkpoint, and that each
// receipt's entry is in this log. Memory does not grow with the log. An entry of the log, signed by
// the key of `verifier`, may replace this key by another key (HandOver). Checkpoints that include
// such an entry are valid only when the new key signed them. Errors, with the file, entry or
// receipt in `where`: those of verify_checkpoint; log-inconsistent; proof-invalid.
[[nodiscard]] Result<VerifiedLog> verify_log(const ReadMirror& read,
                                             const attestation::NoteVerifier& verifier,
                                             const LogVerifyOptions& options);

}  // namespace assay::cli
