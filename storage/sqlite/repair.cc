// SPDX-License-Identifier: Apache-2.0
// The ways out of a refused start: docs/recovery.md.
#include <algorithm>
#include <map>
#include <set>

#include "schemas/core/merkle.h"
#include "storage/anchor.h"
#include "storage/durable_file.h"
#include "storage/inspect.h"
#include "storage/sqlite/database_file.h"
#include "storage/sqlite/decision_tables.h"
#include "storage/sqlite/derived.h"
#include "storage/sqlite/documents.h"
#include "storage/sqlite/events.h"
#include "storage/sqlite/evidence_tables.h"
#include "storage/sqlite/file_age.h"
#include "storage/sqlite/governance_tables.h"
#include "storage/sqlite/job_tables.h"
#include "storage/sqlite/log_tables.h"
#include "storage/sqlite/node_tables.h"
#include "storage/sqlite/remake.h"
#include "storage/sqlite/schema.h"
#include "storage/sqlite/sealed_rows.h"
#include "storage/sqlite/seals.h"
#include "storage/sqlite/start_checks.h"
#include "storage/sqlite/statement_tables.h"
#include "storage/sqlite/writer.h"

namespace assay::storage {
namespace sqlite {
namespace {

// A database for one who changes it alone, with its newest checkpoint.
struct Opened {
  FileLock lock;
  std::unique_ptr<Connection> connection;
  LogState state;
};

Result<Opened> open_alone(const SqliteOptions& options, const Signer& signer) {
  ASSAY_TRY(require_rules(options));
  ASSAY_ASSIGN(FileLock lock, FileLock::acquire(options.path));
  ASSAY_TRY(prepare_file(options.path, false));
  ASSAY_ASSIGN(auto connection, Connection::open(options.path, Connection::Mode::kReadWrite));
  ASSAY_TRY(check_file_age(*connection));
  ASSAY_ASSIGN(SecretBytes key, seal_key_of(*connection, signer));
  connection->set_seal_key(std::make_shared<const SecretBytes>(std::move(key)));
  connection->set_rules(*options.rules);
  ASSAY_TRY(connection->make_durable());
  ASSAY_ASSIGN(auto state, load_checkpoint(*connection));
  if (!state) {
    return fail(ErrorCode::kDataLoss, "the newest checkpoint is missing");
  }
  return Opened{std::move(lock), std::move(connection), std::move(*state)};
}

// The newest record, proven to be in the tree.
Result<LogRecord> newest_record(Connection& connection, const LogState& state) {
  const LeafIndex index = state.size - 1;
  ASSAY_ASSIGN(const Bytes bytes, load_record(connection, index));
  ASSAY_ASSIGN(const auto ranges, inclusion_ranges(index, state.size));
  ASSAY_ASSIGN(const auto path, load_ranges(connection, ranges));
  ASSAY_TRY(verify_inclusion(merkle_leaf(HashAlgorithm::kSha256, bytes), index, state.size, path,
                             state.root));
  return parse_log_record(bytes);
}

Json detail_of(const Loss& loss, const std::string& previous_origin) {
  Json detail = {
      {"previous_origin", previous_origin}, {"size", loss.size}, {"differs", loss.differs}};
  if (loss.signed_size) {
    detail["signed_size"] = *loss.signed_size;
  }
  return detail;
}

// What a restore entered as the newest record.
Result<std::optional<Loss>> entered_loss(Connection& connection, const LogState& state) {
  if (state.size == 0) {
    return std::nullopt;
  }
  ASSAY_ASSIGN(const LogRecord record, newest_record(connection, state));
  if (record.type != event::kLogReopened) {
    return std::nullopt;
  }
  const Json& detail = record.detail;
  const auto origin = detail.find("previous_origin");
  const auto size = detail.find("size");
  const auto differs = detail.find("differs");
  const auto signed_size = detail.find("signed_size");
  if (origin == detail.end() || !origin->is_string() || size == detail.end() ||
      !size->is_number_unsigned() || differs == detail.end() || !differs->is_boolean() ||
      (signed_size != detail.end() && !signed_size->is_number_unsigned())) {
    return fail(ErrorCode::kDataLoss, "the record of a restore cannot be read");
  }
  Loss loss{.origin = origin->get<std::string>(),
            .size = size->get<TreeSize>(),
            .signed_size = {},
            .differs = differs->get<bool>(),
            .revocations = {},
            .trust_changes = {},
            .policy_changes = {},
            .entered = true};
  if (signed_size != detail.end()) {
    loss.signed_size = signed_size->get<TreeSize>();
  }
  return loss;
}

std::uint64_t behind(std::uint64_t known, std::uint64_t then) {
  return then > known ? then - known : 0;
}

Status measure_governance(Connection& connection, const Anchor::State& anchor, Loss& loss) {
  ASSAY_ASSIGN(const Governance rows, load_governance(connection));
  const Epochs known = rows.epochs();
  const Epochs& then = anchor.epochs;
  loss.revocations = behind(known.trust.revocation, then.trust.revocation);
  loss.trust_changes = behind(known.trust.trust, then.trust.trust);
  loss.policy_changes = behind(known.policy, then.policy);
  return {};
}

// Each of them may have taken something back: a key, a token, a principal, a weaker policy.
Status refuse_lost_governance(const Loss& loss) {
  const std::uint64_t revocations = loss.revocations.value_or(0);
  const std::uint64_t trust = loss.trust_changes.value_or(0);
  const std::uint64_t policy = loss.policy_changes.value_or(0);
  if (revocations == 0 && trust == 0 && policy == 0) {
    return {};
  }
  return fail(ErrorCode::kConflict,
              "changes would be lost, and what they took back would count again (revocations: " +
                  std::to_string(revocations) + ", changes of trust: " + std::to_string(trust) +
                  ", changes of policy: " + std::to_string(policy) +
                  "): restore a newer copy of the database");
}

Result<Loss> loss_of(Connection& connection, const LogState& state, const SqliteOptions& options,
                     const Signer& signer) {
  ASSAY_ASSIGN(const SignedCheckpoint parsed, parse_checkpoint(state.note));
  const std::string& origin = parsed.checkpoint.origin;
  ASSAY_TRY(check_checkpoint(state, origin, signer));
  Loss loss{.origin = origin,
            .size = state.size,
            .signed_size = {},
            .differs = false,
            .revocations = {},
            .trust_changes = {},
            .policy_changes = {}};
  const auto anchor = Anchor(options.anchor_path).load();
  if (!anchor) {
    return loss;
  }
  ASSAY_ASSIGN(auto entered, entered_loss(connection, state));
  // The anchor is still the one that the record speaks of, or the one made for the record: any
  // other has seen what this database has not.
  if (entered &&
      (anchor->note == state.note || (anchor->checkpoint.origin == entered->origin &&
                                      anchor->checkpoint.size == entered->signed_size))) {
    entered->finished = anchor->note == state.note;
    ASSAY_TRY(check_note(anchor->note, entered->finished ? origin : entered->origin, signer));
    ASSAY_TRY(measure_governance(connection, *anchor, *entered));
    return *std::move(entered);
  }
  ASSAY_TRY(check_note(anchor->note, origin, signer));
  loss.signed_size = anchor->checkpoint.size;
  loss.differs =
      anchor->checkpoint.size <= state.size && !check_anchored_log(connection, state, *anchor);
  ASSAY_TRY(measure_governance(connection, *anchor, loss));
  return loss;
}

// Whether the log, or the one that it goes on from, ever had this name.
Result<bool> was_called(Connection& connection, const LogState& state, const std::string& origin) {
  ASSAY_ASSIGN(const SignedCheckpoint parsed, parse_checkpoint(state.note));
  if (parsed.checkpoint.origin == origin) {
    return true;
  }
  for (LeafIndex from = 0; from < state.size;) {
    LeafIndex index = 0;
    {
      Query query = connection.query(Sql::kEventByType);
      ASSAY_ASSIGN(const bool found, query.bind(event::kLogReopened).bind(from).next());
      if (!found) {
        return false;
      }
      index = query.count(0);
    }
    ASSAY_ASSIGN(const EventRow event, load_event(connection, index));
    if (event.record.detail.value("previous_origin", Json()) == Json(origin)) {
      return true;
    }
    from = index + 1;
  }
  return false;
}

// What it said of the old origin stays beside it, for whoever wants to know.
Status keep_anchor(const std::string& path) {
  constexpr std::size_t kMaxBytes = 1U << 20;
  const auto bytes = read_file(path, kMaxBytes);
  if (!bytes) {
    return bytes.error().code == ErrorCode::kNotFound ? Status() : std::unexpected(bytes.error());
  }
  return replace_file(path + ".before-restore", *bytes);
}

Status replace_anchor(Connection& connection, const LogState& state, const SqliteOptions& options) {
  ASSAY_ASSIGN(const auto governance,
               verified_governance(connection, state, std::optional<ChainHead>()));
  ASSAY_TRY(keep_anchor(options.anchor_path));
  return Anchor(options.anchor_path).replace(state.note, governance->epochs(), governance->head());
}

// The record that tells the loss, and the checkpoint of the new origin over it.
Result<LogState> enter_loss(Opened& opened, const SqliteOptions& options, const Signer& signer,
                            const Clock& clock, const Loss& loss) {
  Connection& connection = *opened.connection;
  ASSAY_ASSIGN(Committed committed, load_committed(connection));
  ASSAY_ASSIGN(const SignedCheckpoint parsed, parse_checkpoint(committed.state.note));
  ASSAY_ASSIGN(const LastWrite before, least_time(connection, committed.state));
  const Timestamp wall = clock.now();
  const LastWrite last{before.at(wall), std::max(before.wall, wall)};
  ASSAY_TRY(connection.query(Sql::kBeginWrite).run());
  ASSAY_TRY(append_record(connection, committed.tail,
                          {.type = std::string(event::kLogReopened),
                           .time = last.time,
                           .actor = "system",
                           .subjects = {},
                           .documents = {},
                           .detail = detail_of(loss, parsed.checkpoint.origin)}));
  const LogFrontier& frontier = committed.tail.frontier;
  LogState next{frontier.size(), frontier.root(), {}};
  ASSAY_ASSIGN(next.note, sign_checkpoint({options.origin, next.size, next.root}, signer));
  ASSAY_TRY(store_checkpoint(connection, next));
  ASSAY_TRY(store_last_write(connection, last));
  ASSAY_TRY(connection.query(Sql::kCommit).run());
  ASSAY_TRY(connection.make_durable());
  return next;
}

// Everything that can refuse comes before the first change.
Status begin_anew(Opened& opened, const SqliteOptions& options, const Signer& signer,
                  const Clock& clock, const Loss& loss) {
  ASSAY_TRY(verified_governance(*opened.connection, opened.state, std::optional<ChainHead>()));
  ASSAY_TRY(keep_anchor(options.anchor_path));
  ASSAY_ASSIGN(const LogState state, enter_loss(opened, options, signer, clock, loss));
  return replace_anchor(*opened.connection, state, options);
}

class Repairer {
 public:
  Repairer(Connection& connection, const Rebuilders& rebuilders, TreeSize size)
      : connection_(connection), rebuilders_(rebuilders), size_(size) {}

  Status run(const Progress& progress) {
    ASSAY_ASSIGN(const std::uint64_t differed, remake_schema(connection_));
    if (differed > 0) {
      repaired_.made["sqlite_schema"] = differed;
    }
    ASSAY_TRY(connection_.execute("REINDEX"));
    ASSAY_ASSIGN(governance_, load_governance(connection_));
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
    ASSAY_TRY(last_write());
    return make_keepers(connection_);
  }
  [[nodiscard]] const Repaired& repaired() const { return repaired_; }

 private:
  Status repair(const EventRow& event) {
    high_ = std::max(high_, event.record.time);
    ASSAY_ASSIGN(const bool written, remake_columns(connection_, event, high_));
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
    ASSAY_ASSIGN(const auto last, load_last_write(connection_));
    if (last) {
      made.finished_at = std::max(made.finished_at, std::optional(last->time));
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

  // A start believes no other, and then begins with the newest record, too.
  Status last_write() {
    ASSAY_ASSIGN(const auto last, load_last_write(connection_));
    if (last || size_ == 0) {
      return {};
    }
    ++repaired_.made["last_write"];
    return store_last_write(connection_, {high_, high_});
  }

  DocumentReader documents() {
    return [this](const DocumentId& id) { return load_document(connection_, id); };
  }

  Connection& connection_;
  const Rebuilders& rebuilders_;
  const TreeSize size_;
  Governance governance_;  // a start holds it against the chain of trust
  Repaired repaired_;
  Timestamp high_;               // the greatest time of a record so far
  std::set<std::string> nodes_;  // whose rows were made again
};

}  // namespace
}  // namespace sqlite

Result<Loss> measure_loss(const SqliteOptions& options, const Signer& log_signer) {
  ASSAY_ASSIGN(const sqlite::Opened opened, sqlite::open_alone(options, log_signer));
  ASSAY_TRY(sqlite::check_schema(*opened.connection));
  return sqlite::loss_of(*opened.connection, opened.state, options, log_signer);
}

Status restore_sqlite(const SqliteOptions& options, const Signer& log_signer, const Clock& clock) {
  ASSAY_ASSIGN(sqlite::Opened opened, sqlite::open_alone(options, log_signer));
  sqlite::Connection& connection = *opened.connection;
  ASSAY_TRY(sqlite::check_schema(connection));
  ASSAY_ASSIGN(const Loss loss, sqlite::loss_of(connection, opened.state, options, log_signer));
  ASSAY_TRY(sqlite::refuse_lost_governance(loss));
  if (loss.entered && sqlite::check_checkpoint(opened.state, options.origin, log_signer)) {
    return loss.finished ? Status() : sqlite::replace_anchor(connection, opened.state, options);
  }
  ASSAY_ASSIGN(const bool used, sqlite::was_called(connection, opened.state, options.origin));
  if (used) {
    return fail(ErrorCode::kConflict,
                "what was signed under " + options.origin +
                    " is not signed again: give the log a new origin in the configuration");
  }
  return sqlite::begin_anew(opened, options, log_signer, clock, loss);
}

Result<Repaired> repair_sqlite(const SqliteOptions& options, const Signer& log_signer,
                               const Rebuilders& rebuilders, const Progress& progress) {
  ASSAY_ASSIGN(const sqlite::Opened opened, sqlite::open_alone(options, log_signer));
  ASSAY_TRY(sqlite::check_checkpoint(opened.state, options.origin, log_signer));
  sqlite::Connection& connection = *opened.connection;
  ASSAY_TRY(connection.query(sqlite::Sql::kBeginWrite).run());
  sqlite::Repairer repairer(connection, rebuilders, opened.state.size);
  Status done = repairer.run(progress);
  if (done) {
    done = connection.query(sqlite::Sql::kCommit).run();
  }
  if (!done) {
    if (connection.in_transaction()) {
      static_cast<void>(connection.query(sqlite::Sql::kRollback).run());
    }
    return std::unexpected(done.error());
  }
  ASSAY_TRY(connection.make_durable());
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
