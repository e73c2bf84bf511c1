// SPDX-License-Identifier: Apache-2.0
// Verification of a mirror of the log (schemas/log.md section 6.2) without the service. Reads files
// through a function, so that it can be tried on anything.
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

// Bytes of a file of the mirror by its path below it; nothing when there is no such file.
using ReadMirror = std::function<Result<std::optional<Bytes>>(const std::string& path)>;

// A promise that the service made when something was stored.
struct Receipt {
  std::string name;  // for messages: where it was read
  std::string origin;
  LeafIndex index;
  Digest leaf_hash;
  TreeSize tree_size;
  std::string checkpoint;  // note
  std::vector<Digest> inclusion;
};

// Reads a receipt; exactly the members of section 5. schema-violation, invalid-digest.
[[nodiscard]] Result<Receipt> receipt_from_json(const Json& json, const std::string& name);

// Checks what a receipt says by itself: the log's signature over its checkpoint, and that its path
// leads from its leaf to that checkpoint's root.
[[nodiscard]] Status check_receipt(const Receipt& receipt,
                                   const attestation::NoteVerifier& verifier);

struct LogVerifyOptions {
  std::vector<std::string> older_checkpoints;  // notes that the mirror must extend
  std::vector<Receipt> receipts;
  std::function<void(TreeSize done, TreeSize total)> progress{};
  // Every record in order. Nothing that it was told counts before all is verified.
  std::function<Status(LeafIndex index, const LogRecord& record)> visit{};
};

// The log's key was replaced.
struct HandOver {
  LeafIndex index;           // of the record that says so
  std::string verifier_key;  // what clients check checkpoints with from then on
};

struct VerifiedLog {
  Checkpoint checkpoint;
  std::map<std::string, std::uint64_t> types;  // entries by event type
  std::uint64_t tiles_checked = 0;             // files of hashes
  std::uint64_t tiles_missing = 0;             // allowed: the entries prove the root
  std::vector<TreeSize> consistent_from;       // sizes of the older checkpoints, in order given
  std::vector<HandOver> hand_overs;            // from the key of `verifier` on
};

// Checks everything there is: the checkpoint's signature, every record, every hash tile, the root;
// that each older checkpoint is a prefix; that each receipt's entry is in this log. Memory does not
// grow with the log. When the log says, signed by the key of `verifier`, that another key follows
// at an entry, checkpoints beyond it count only when the other key signed them. Errors name the
// file, entry or receipt in `where`: those of verify_checkpoint, log-inconsistent, proof-invalid.
[[nodiscard]] Result<VerifiedLog> verify_log(const ReadMirror& read,
                                             const attestation::NoteVerifier& verifier,
                                             const LogVerifyOptions& options);

}  // namespace assay::cli
