// SPDX-License-Identifier: Apache-2.0
// Making rows again from the log and its documents: docs/recovery.md.
#include <algorithm>
#include <set>
#include <utility>

#include "storage/anchor.h"
#include "storage/inspect.h"
#include "storage/sqlite/alone.h"
#include "storage/sqlite/decision_tables.h"
#include "storage/sqlite/derived.h"
#include "storage/sqlite/documents.h"
#include "storage/sqlite/events.h"
#include "storage/sqlite/evidence_tables.h"
#include "storage/sqlite/file_age.h"
#include "storage/sqlite/governance_tables.h"
#include "storage/sqlite/head.h"
#include "storage/sqlite/job_tables.h"
#include "storage/sqlite/log_tables.h"
#include "storage/sqlite/map_table.h"
#include "storage/sqlite/node_tables.h"
#include "storage/sqlite/remake.h"
#include "storage/sqlite/schema.h"
#include "storage/sqlite/sealed_rows.h"
#include "storage/sqlite/seals.h"
#include "storage/sqlite/start_checks.h"
#include "storage/sqlite/statement_tables.h"

namespace assay::storage {
namespace sqlite {
namespace {

class Repairer {
 public:
  // `anchored`: of the record map, at the anchor.
  Repairer(Connection& connection, const Rebuilders& rebuilders, const LogState& state,
           std::optional<MapState> anchored)
      : connection_(connection),
        rebuilders_(rebuilders),
        state_(state),
        size_(state.size),
        anchored_(anchored) {}

  Status run(const Progress& progress) {
    ASSAY_ASSIGN(const std::uint64_t differed, remake_schema(connection_));
    if (differed > 0) {
      repaired_.made["sqlite_schema"] = differed;
    }
    ASSAY_TRY(connection_.execute("REINDEX"));
    ASSAY_ASSIGN(governance_, load_governance(connection_));
    ASSAY_TRY(trust_map());
    DerivedRemaker derived(connection_, governance_, repaired_);
    ASSAY_TRY(derived.before());
    Remaker rows(connection_, repaired_);
    ASSAY_TRY(rows.drop_damaged());
    for (LeafIndex index = 0; index < size_; ++index) {
      ASSAY_ASSIGN(const EventRow event, load_event(connection_, index));
      ASSAY_TRY(repair(event));
      if (index % 1000 == 0) {
        progress("records", index);
      }
    }
    ASSAY_TRY(rows.finish());
    ASSAY_TRY(derived.after());
    ASSAY_TRY(collect_map(connection_));
    ASSAY_TRY(store_map());
    return make_keepers(connection_);
  }
  [[nodiscard]] const Repaired& repaired() const { return repaired_; }
  // The map that was made.
  [[nodiscard]] const MapState& map() const { return made_; }

 private:
  Status repair(const EventRow& event) {
    high_ = std::max(high_, event.record.time);
    ASSAY_ASSIGN(const bool written, remake_columns(connection_, event));
    if (written) {
      ++repaired_.made["log_records"];
    }
    for (const std::string& subject : event.record.subjects) {
      ASSAY_TRY(put_log_subject(connection_, subject, event.index));
    }
    if (const auto id = statement_of(event.record)) {
      return statement(*id, event);
    }
    if (const auto id = decision_of(event.record)) {
      return decision(*id, event);
    }
    if (const auto id = created_job_of(event.record)) {
      return job(*id, event);
    }
    if (const auto enrolled = enrolled_of(event.record)) {
      return node(*enrolled, event);
    }
    return event.record.type == event::kOutlineAccepted ? outline(event) : Status();
  }

  Status outline(const EventRow& event) {
    if (event.record.subjects.empty() || event.record.documents.empty()) {
      return {};
    }
    ASSAY_ASSIGN(const ArtifactId artifact, ArtifactId::parse(event.record.subjects.front()));
    if (load_outline(connection_, artifact)) {
      return {};
    }
    ++repaired_.made["outlines"];
    return put_outline(connection_, artifact, event.record.documents.front());
  }

  Status decision(const std::string& id, const EventRow& event) {
    const auto row = load_decision(connection_, id);
    if (row && row->log_index == event.index) {
      return {};
    }
    ASSAY_ASSIGN(const DecisionRow made, rebuilders_.decision(documents(), event));
    ++repaired_.made["decisions"];
    return replace_decision(connection_, made);
  }

  Status job(const std::string& id, const EventRow& event) {
    if (load_job(connection_, id)) {
      return {};
    }
    ASSAY_ASSIGN(JobRow made, rebuilders_.job(event));
    // Its report may have come in as late as the last write, and may have spoken against the bytes:
    // only a lease that begins after the repair counts again (report_tables.cc).
    if (head_) {
      made.finished_at = std::max(made.finished_at, std::optional(head_->last.time));
    }
    ++repaired_.made["jobs"];
    return put_job(connection_, made, size_);
  }

  // The newest enrolment counts: a row that was made again is made again by each later record.
  Status node(const EnrolledNode& enrolled, const EventRow& event) {
    const auto owner = load_key_owner(connection_, enrolled.key);
    if (!owner || *owner != enrolled.node) {
      ASSAY_TRY(replace_key_owner(connection_, enrolled.key, enrolled.node));
      ++repaired_.made["node_keys"];
    }
    if (!nodes_.contains(enrolled.node) && load_node(connection_, enrolled.node)) {
      return {};
    }
    ASSAY_ASSIGN(NodeRow made, rebuilders_.node(documents(), event));
    made.revoked = governance_.revocation_of(made.name);
    if (nodes_.insert(made.name).second) {
      ++repaired_.made["nodes"];
    }
    ASSAY_TRY(drop_sealed(connection_, Sealed::kNode, made.name));
    ASSAY_TRY(forget_evidence(connection_, "node:" + made.name));
    return put_node(connection_, made, size_);
  }

  Status statement(const StatementId& id, const EventRow& event) {
    if (event.record.documents.empty()) {
      return {};
    }
    const DocumentId& envelope = event.record.documents.front();
    const auto row = load_statement(connection_, id);
    if (row &&
        (row->log_index == event.index || std::find(row->envelopes.begin(), row->envelopes.end(),
                                                    envelope) != row->envelopes.end())) {
      return {};
    }
    ASSAY_ASSIGN(const StatementRow made, rebuilders_.statement(documents(), event));
    ++repaired_.made["statements"];
    if (row) {  // a further envelope of a statement that is there
      return add_envelope(connection_, governance_, id, envelope, made.signers);
    }
    return replace_statement(connection_, made);
  }

  // A map that is not whole, or older than the anchor's, says nothing of any row: an old row may
  // stand beside its old bucket.
  Status trust_map() {
    if (auto head = load_head(connection_, state_)) {
      head_ = *std::move(head);
    }
    ASSAY_ASSIGN(StoredMap stored, load_map(connection_));
    const MapHash root = stored.map.root();
    const bool newer =
        head_ && root == head_->map && (!anchored_ || head_->number > anchored_->number);
    if (stored.damaged.empty() && (newer || (anchored_ && root == anchored_->root))) {
      connection_.map().trust(std::move(stored.map));
      return {};
    }
    ++repaired_.made["record_map"];
    connection_.map().trust({});
    return connection_.execute("DELETE FROM record_map");
  }

  // The number is one that nothing had before, so that no earlier file passes for this one.
  Status store_map() {
    connection_.map().keep_work();
    ASSAY_ASSIGN(const RecordMap map, connection_.map().store());
    if (!head_) {
      ++repaired_.made["last_write"];
    }
    const std::uint64_t last =
        std::max({kFirstNumber, head_ ? head_->number : 0, anchored_ ? anchored_->number : 0});
    made_ = {last + 1, map.root()};
    return store_head(connection_,
                      {head_ ? head_->last : LastWrite{high_, high_}, made_.number, made_.root},
                      state_, kFirstNumber);
  }

  DocumentReader documents() {
    return [this](const DocumentId& id) { return load_document(connection_, id); };
  }

  Connection& connection_;
  const Rebuilders& rebuilders_;
  const LogState& state_;
  const TreeSize size_;
  const std::optional<MapState> anchored_;
  Governance governance_;  // a start holds it against the chain of trust
  Repaired repaired_;
  MapState made_;
  std::optional<Head> head_;     // of the newest write, unless it is damaged
  Timestamp high_;               // the greatest time of a record so far
  std::set<std::string> nodes_;  // whose rows were made again
};

}  // namespace
}  // namespace sqlite

Result<Repaired> repair_sqlite(const SqliteOptions& options, const Signer& log_signer,
                               const Rebuilders& rebuilders, const Progress& progress) {
  ASSAY_ASSIGN(const sqlite::Opened opened, sqlite::open_alone(options, log_signer));
  ASSAY_TRY(sqlite::check_checkpoint(opened.state, options.origin, log_signer));
  sqlite::Connection& connection = *opened.connection;
  ASSAY_TRY(connection.query(sqlite::Sql::kBeginWrite).run());
  Anchor anchor(options.anchor_path);
  const auto anchored = anchor.load();
  sqlite::Repairer repairer(connection, rebuilders, opened.state,
                            anchored ? std::optional(anchored->map) : std::nullopt);
  Status done = repairer.run(progress);
  if (done) {
    done = connection.query(sqlite::Sql::kCommit).run();
  }
  if (!done) {
    if (connection.in_transaction()) {
      static_cast<void>(connection.query(sqlite::Sql::kRollback).run());
    }
    Error error = done.error();
    error.detail +=
        "; nothing was changed: what cannot be read cannot be repaired, restore a backup";
    return std::unexpected(std::move(error));
  }
  ASSAY_TRY(connection.make_durable());
  // From now on each file of before is an old one. A log that is behind the anchor is refused as it
  // is, and must not lock out a newer copy that is found later.
  if (anchored && opened.state.size >= anchored->checkpoint.size) {
    ASSAY_TRY(anchor.save(anchored->note, anchored->epochs, anchored->head, repairer.map()));
  }
  return repairer.repaired();
}

std::optional<StatementId> statement_of(const LogRecord& record) {
  if (record.type != event::kManifestAccepted && record.type != event::kAttestationAccepted &&
      record.type != event::kPolicyAccepted) {
    return std::nullopt;
  }
  for (const std::string& subject : record.subjects) {
    if (auto id = StatementId::parse(subject)) {
      return std::move(*id);
    }
  }
  return std::nullopt;
}

std::optional<std::string> decision_of(const LogRecord& record) {
  if (record.type != event::kDecisionMade || !record.detail.contains("decision_id") ||
      !record.detail["decision_id"].is_string()) {
    return std::nullopt;
  }
  return record.detail["decision_id"].get<std::string>();
}

std::optional<std::string> created_job_of(const LogRecord& record) {
  if (record.type != event::kJobCreated || !record.detail.contains("job") ||
      !record.detail["job"].is_string()) {
    return std::nullopt;
  }
  return record.detail["job"].get<std::string>();
}

std::optional<EnrolledNode> enrolled_of(const LogRecord& record) {
  const Json& detail = record.detail;
  if (record.type != event::kNodeEnrolled || !detail.contains("node") ||
      !detail["node"].is_string() || !detail.contains("key_id") || !detail["key_id"].is_string()) {
    return std::nullopt;
  }
  auto key = KeyId::parse(detail["key_id"].get<std::string>());
  return key ? std::optional(EnrolledNode{detail["node"].get<std::string>(), *std::move(key)})
             : std::nullopt;
}

}  // namespace assay::storage
