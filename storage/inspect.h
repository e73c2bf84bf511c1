// SPDX-License-Identifier: Apache-2.0
// Looking into a database without believing or changing it, beside the service or without one; and
// what leads out when the service refuses to start (docs/recovery.md).
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

// One thing that is wrong.
struct Damage {
  std::string
      check;       // "anchor", "chain", "trust", "row", "missing-row", "log", "document", "index"
  std::string id;  // of the stored thing
  std::string detail;  // one sentence
};

// What was looked at: `done` things of this kind so far.
using Progress = std::function<void(std::string_view what, std::uint64_t done)>;

class Inspection {
 public:
  // Opens read-only. not-found, invalid-config and data-loss as open_sqlite, where nothing can be
  // read at all.
  [[nodiscard]] static Result<std::unique_ptr<Inspection>> open(const SqliteOptions& options,
                                                                const Signer& log_signer,
                                                                const Clock& clock);
  virtual ~Inspection() = default;

  // Checkpoint, anchor, chain of trust and policy, the rows that they stand for, and the seal of
  // every row. `deep`: also every record and digest of the log, every document, every index of the
  // database, and whether each statement, decision, node and job of the log has its row. At most
  // 1,000 findings. An error only when nothing can be read.
  [[nodiscard]] virtual Result<std::vector<Damage>> find(bool deep, const Progress& progress) = 0;
  // A view of the same state; what it trusts was not verified.
  [[nodiscard]] virtual Result<std::unique_ptr<Snapshot>> snapshot() = 0;
};

// How far a database is behind what was signed.
struct Loss {
  std::string origin;                        // that signed the newest checkpoint
  TreeSize size = 0;                         // of the log that is there
  std::optional<TreeSize> signed_size;       // at the anchor; absent when the anchor cannot be read
  bool differs = false;                      // other records than at the anchor
  std::optional<std::uint64_t> revocations;  // that the anchor knows of and the database does not
  // What a restore has entered into the log as its newest record; the rest is what that one found.
  // Until it is finished the anchor is the old one.
  bool entered = false;
  bool finished = false;
};
// Reads database and anchor; changes nothing.
[[nodiscard]] Result<Loss> measure_loss(const SqliteOptions& options, const Signer& log_signer);

// Goes on with the database as it is, under `options.origin`, which must be a new one: no size that
// an old origin signed is signed again. One transaction enters log.reopened, which tells the loss,
// and its checkpoint; then a new anchor replaces the old one, whose copy stays beside it
// (.before-restore). Interrupted anywhere it can be called again. The record's time is not before
// the last write. conflict for an origin of before, and when revocations would be lost. The chain
// of trust and policy must hold.
[[nodiscard]] Status restore_sqlite(const SqliteOptions& options, const Signer& log_signer,
                                    const Clock& clock);

using DocumentReader = std::function<Result<Document>(const DocumentId&)>;
// The row of what a record speaks of, made again (server/service/upkeep/rebuild.h).
struct Rebuilders {
  std::function<Result<StatementRow>(const DocumentReader&, const EventRow&)> statement;
  std::function<Result<DecisionRow>(const DocumentReader&, const EventRow&)> decision;
  // An enrolment that is over: the node enrols again.
  std::function<Result<NodeRow>(const DocumentReader&, const EventRow&)> node;
  // A finished job without a report, which says that it stands for a lost one.
  std::function<Result<JobRow>(const EventRow&)> job;
};
// How many rows, by the name of their kind.
struct Repaired {
  std::map<std::string, std::uint64_t> made;     // again
  std::map<std::string, std::uint64_t> dropped;  // damaged, and known from nowhere else
};
// While no service runs: makes all indexes anew from their tables, and each row that is missing or
// does not fit its seal from the log and its documents, as far as those hold it; docs/recovery.md
// says what becomes of the others. One transaction.
[[nodiscard]] Result<Repaired> repair_sqlite(const SqliteOptions& options, const Signer& log_signer,
                                             const Rebuilders& rebuilders,
                                             const Progress& progress);

// What a record accepted or decided, when it is of such a type and names it.
[[nodiscard]] std::optional<StatementId> statement_of(const LogRecord& record);
[[nodiscard]] std::optional<std::string> decision_of(const LogRecord& record);
// The job that a record tells of the creation of.
[[nodiscard]] std::optional<std::string> created_job_of(const LogRecord& record);
// The node that a record tells of the enrolment of, and its key.
struct EnrolledNode {
  std::string node;
  KeyId key;
};
[[nodiscard]] std::optional<EnrolledNode> enrolled_of(const LogRecord& record);

}  // namespace assay::storage
