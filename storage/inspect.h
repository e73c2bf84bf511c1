// SPDX-License-Identifier: Apache-2.0
// Inspects a database without trusting or changing it, beside a running service or without one.
// Also repairs or restores a database that the service refuses to open (docs/recovery.md).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/store.h"

namespace assay::storage {

// One problem that was found.
struct Damage {
  // What was checked: "anchor", "file", "chain", "trust", "row", "missing-row", "derived", "log",
  // "document", "index" or "schema".
  std::string check;
  std::string id;      // id of the damaged object
  std::string detail;  // one sentence
};

// A callback for progress. `what` names the kind of object that is being inspected, and `done` is
// the number of objects of this kind inspected so far.
using Progress = std::function<void(std::string_view what, std::uint64_t done)>;

class Inspection {
 public:
  // Opens the database read-only. Damage that leaves the database readable is no error. Errors:
  // not-found, invalid-config and data-loss as for open_sqlite(), when the database cannot be read
  // at all.
  [[nodiscard]] static Result<std::unique_ptr<Inspection>> open(const SqliteOptions& options,
                                                                const Signer& log_signer,
                                                                const Clock& clock);
  virtual ~Inspection() = default;

  // Checks the newest checkpoint, the anchor (storage/anchor.h), the chain of changes of trust and
  // policy (storage/governance.h) with the documents that it names, the record map
  // (storage/record_map.h), that each row fits its entry and each entry has its row, and the seals
  // of decisions. With `deep`, also checks every record and digest of the log, every document,
  // every index of the database, that each statement, decision, node and job in the log has its
  // row, and all that only repeats records and statements (storage/sqlite/derived.h). Returns at
  // most 1,000 findings. Fails only when the database cannot be read.
  [[nodiscard]] virtual Result<std::vector<Damage>> find(bool deep, const Progress& progress) = 0;
  // Returns a snapshot of the inspected database. The keys, principals and policies in the snapshot
  // are not verified.
  [[nodiscard]] virtual Result<std::unique_ptr<Snapshot>> snapshot() = 0;
};

// How far a database is behind the signed state in the anchor (storage/anchor.h).
struct Loss {
  std::string origin;                   // origin of the newest checkpoint
  TreeSize size = 0;                    // of the log in the database
  std::optional<TreeSize> signed_size;  // of the log in the anchor; absent: no readable anchor
  bool differs = false;                 // the log's records differ from the log in the anchor
  // How many revocations, changes of trust and changes of the policies in force the anchor counts
  // beyond those in the database. A revocation is a change of trust as well. Absent without a
  // readable anchor.
  std::optional<std::uint64_t> revocations;
  std::optional<std::uint64_t> trust_changes;
  std::optional<std::uint64_t> policy_changes;
  // True when the newest log record describes a restore. The members above then have the values
  // that this restore found. The old anchor stays in place until the restore is `finished`.
  bool entered = false;
  bool finished = false;
};
// Compares the database with the anchor; changes neither.
[[nodiscard]] Result<Loss> measure_loss(const SqliteOptions& options, const Signer& log_signer);

// Continues with the database as it is, under `options.origin` (the name of the log). The caller
// must choose a new origin, because the log must never sign two states of one size under one
// origin. One transaction writes a log.reopened record, which describes the loss, and the
// checkpoint that covers the record. After the transaction, a new anchor replaces the old one; a
// copy of the old anchor stays beside it (.before-restore). The caller can repeat an interrupted
// call. The time of the record is not before the time of the last write. Errors: conflict for an
// origin that was used before, and when revocations or other changes of trust or policy would be
// lost; those of open_sqlite() for a damaged chain of trust and policy.
[[nodiscard]] Status restore_sqlite(const SqliteOptions& options, const Signer& log_signer,
                                    const Clock& clock);

using DocumentReader = std::function<Result<Document>(const DocumentId&)>;
// Functions that rebuild the row described by a log record (server/service/upkeep/rebuild.h).
struct Rebuilders {
  std::function<Result<StatementRow>(const DocumentReader&, const EventRow&)> statement;
  std::function<Result<DecisionRow>(const DocumentReader&, const EventRow&)> decision;
  // Returns a node whose enrolment is marked as ended, so that the node must enrol again.
  std::function<Result<NodeRow>(const DocumentReader&, const EventRow&)> node;
  // Returns a finished job without a report. Its detail says that the job replaces a lost one.
  std::function<Result<JobRow>(const EventRow&)> job;
};
// Numbers of rows, by the kind of row.
struct Repaired {
  std::map<std::string, std::uint64_t> made;     // rebuilt
  std::map<std::string, std::uint64_t> dropped;  // removed: damaged, and stored nowhere else
};
// Repairs a database in one transaction, while no service runs. Rebuilds all indexes from their
// tables. Rebuilds rows that are missing or do not fit their seals (storage/sqlite/seals.h), where
// the log and its documents still have the content of the row. docs/recovery.md lists what happens
// to the other rows.
[[nodiscard]] Result<Repaired> repair_sqlite(const SqliteOptions& options, const Signer& log_signer,
                                             const Rebuilders& rebuilders,
                                             const Progress& progress);

// Return the statement whose acceptance a record reports, or the decision that a record reports.
// Return nullopt for records of other types, and when the record names no statement or decision.
[[nodiscard]] std::optional<StatementId> statement_of(const LogRecord& record);
[[nodiscard]] std::optional<std::string> decision_of(const LogRecord& record);
// Returns the job whose creation a record reports; nullopt for other records.
[[nodiscard]] std::optional<std::string> created_job_of(const LogRecord& record);
// A node, and the worker key it enrolled with.
struct EnrolledNode {
  std::string node;
  KeyId key;
};
// Returns the node whose enrolment a record reports; nullopt for other records.
[[nodiscard]] std::optional<EnrolledNode> enrolled_of(const LogRecord& record);

}  // namespace assay::storage
