// SPDX-License-Identifier: Apache-2.0
// The ways out of a refused start: docs/recovery.md.
#include <algorithm>
#include <cstdio>

#include "storage/anchor.h"
#include "storage/durable_file.h"
#include "storage/inspect.h"
#include "storage/sqlite/database_file.h"
#include "storage/sqlite/decision_tables.h"
#include "storage/sqlite/documents.h"
#include "storage/sqlite/events.h"
#include "storage/sqlite/governance_tables.h"
#include "storage/sqlite/log_tables.h"
#include "storage/sqlite/seals.h"
#include "storage/sqlite/start_checks.h"
#include "storage/sqlite/statement_tables.h"

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
  ASSAY_ASSIGN(FileLock lock, FileLock::acquire(options.path));
  ASSAY_TRY(prepare_file(options.path, false));
  ASSAY_ASSIGN(auto connection, Connection::open(options.path, Connection::Mode::kReadWrite));
  ASSAY_ASSIGN(SecretBytes key, seal_key_of(*connection, signer));
  connection->set_seal_key(std::make_shared<const SecretBytes>(std::move(key)));
  ASSAY_TRY(connection->make_durable());
  ASSAY_ASSIGN(auto state, load_checkpoint(*connection));
  if (!state) {
    return fail(ErrorCode::kDataLoss, "the newest checkpoint is missing");
  }
  return Opened{std::move(lock), std::move(connection), std::move(*state)};
}

Result<Loss> loss_of(Connection& connection, const LogState& state, const SqliteOptions& options,
                     const Signer& signer) {
  ASSAY_ASSIGN(const SignedCheckpoint parsed, parse_checkpoint(state.note));
  Loss loss{.origin = parsed.checkpoint.origin,
            .size = state.size,
            .signed_size = {},
            .differs = false,
            .revocations = {}};
  ASSAY_TRY(check_checkpoint(state, loss.origin, signer));
  const auto anchor = Anchor(options.anchor_path).load();
  if (!anchor) {
    return loss;
  }
  ASSAY_TRY(check_note(anchor->note, loss.origin, signer));
  loss.signed_size = anchor->checkpoint.size;
  loss.differs =
      anchor->checkpoint.size <= state.size && !check_anchored_log(connection, state, *anchor);
  ASSAY_ASSIGN(const Governance rows, load_governance(connection));
  const std::uint64_t known = rows.epochs().trust.revocation;
  const std::uint64_t then = anchor->epochs.trust.revocation;
  loss.revocations = then > known ? then - known : 0;
  return loss;
}

Status begin_anew(Opened& opened, const SqliteOptions& options, const Signer& signer) {
  const LogState& state = opened.state;
  ASSAY_ASSIGN(const LogTail tail, load_tail(*opened.connection));
  if (tail.frontier.size() != state.size || tail.frontier.root() != state.root) {
    return fail(ErrorCode::kLogInconsistent, "the log differs from its newest checkpoint");
  }
  ASSAY_ASSIGN(const auto governance,
               verified_governance(*opened.connection, state, std::optional<ChainHead>()));
  ASSAY_ASSIGN(const std::string note,
               sign_checkpoint({options.origin, state.size, state.root}, signer));
  Connection& connection = *opened.connection;
  ASSAY_TRY(connection.query(Sql::kBeginWrite).run());
  ASSAY_TRY(store_checkpoint(connection, {state.size, state.root, note}));
  ASSAY_TRY(connection.query(Sql::kCommit).run());
  ASSAY_TRY(connection.make_durable());
  // What it said of the old origin stays beside it, for whoever wants to know.
  const std::string kept = options.anchor_path + ".before-restore";
  std::rename(options.anchor_path.c_str(), kept.c_str());
  ASSAY_TRY(sync_folder_of(options.anchor_path));
  return Anchor(options.anchor_path).save(note, governance->epochs(), governance->head());
}

// --- repair

constexpr const char* kUnlock =
    "DROP TRIGGER statements_keep_update; DROP TRIGGER statements_keep_delete;"
    "DROP TRIGGER decisions_keep_update; DROP TRIGGER decisions_keep_delete";

class Repairer {
 public:
  Repairer(Connection& connection, const Rebuilders& rebuilders)
      : connection_(connection), rebuilders_(rebuilders) {}

  Status run(TreeSize size, const Progress& progress) {
    ASSAY_ASSIGN(const auto triggers,
                 connection_.texts("SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND "
                                   "tbl_name IN ('statements', 'decisions')"));
    ASSAY_TRY(connection_.execute("REINDEX"));
    ASSAY_TRY(connection_.execute(kUnlock));
    for (LeafIndex index = 0; index < size; ++index) {
      ASSAY_ASSIGN(const EventRow event, load_event(connection_, index));
      ASSAY_TRY(repair(event));
      if (index % 1000 == 0) {
        progress("records", index);
      }
    }
    for (const std::string& trigger : triggers) {
      ASSAY_TRY(connection_.execute(trigger.c_str()));
    }
    return {};
  }
  [[nodiscard]] const Repaired& repaired() const { return repaired_; }

 private:
  Status repair(const EventRow& event) {
    if (const auto id = statement_of(event.record)) {
      return statement(*id, event);
    }
    if (const auto id = decision_of(event.record)) {
      const auto row = load_decision(connection_, *id);
      if (row && row->log_index == event.index) {
        return {};
      }
      ASSAY_ASSIGN(const DecisionRow made, rebuilders_.decision(documents(), event));
      ++repaired_.decisions;
      return replace_decision(connection_, made);
    }
    return {};
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
    ++repaired_.statements;
    if (row) {  // a further envelope of a statement that is there
      return add_envelope(connection_, id, envelope, made.signers);
    }
    return replace_statement(connection_, made);
  }

  DocumentReader documents() {
    return [this](const DocumentId& id) { return load_document(connection_, id); };
  }

  Connection& connection_;
  const Rebuilders& rebuilders_;
  Repaired repaired_;
};

}  // namespace
}  // namespace sqlite

Result<Loss> measure_loss(const SqliteOptions& options, const Signer& log_signer) {
  ASSAY_ASSIGN(const sqlite::Opened opened, sqlite::open_alone(options, log_signer));
  return sqlite::loss_of(*opened.connection, opened.state, options, log_signer);
}

Status restore_sqlite(const SqliteOptions& options, const Signer& log_signer) {
  ASSAY_ASSIGN(sqlite::Opened opened, sqlite::open_alone(options, log_signer));
  ASSAY_ASSIGN(const Loss loss,
               sqlite::loss_of(*opened.connection, opened.state, options, log_signer));
  if (loss.origin == options.origin) {
    return fail(ErrorCode::kConflict,
                "what was signed under " + loss.origin +
                    " is not signed again: give the log a new origin in the configuration");
  }
  if (loss.revocations.value_or(0) > 0) {
    return fail(ErrorCode::kConflict,
                "revocations would be lost, and what was revoked would count again: restore a "
                "newer copy of the database");
  }
  return sqlite::begin_anew(opened, options, log_signer);
}

Result<Repaired> repair_sqlite(const SqliteOptions& options, const Signer& log_signer,
                               const Rebuilders& rebuilders, const Progress& progress) {
  ASSAY_ASSIGN(const sqlite::Opened opened, sqlite::open_alone(options, log_signer));
  ASSAY_TRY(sqlite::check_checkpoint(opened.state, options.origin, log_signer));
  sqlite::Connection& connection = *opened.connection;
  ASSAY_TRY(connection.query(sqlite::Sql::kBeginWrite).run());
  sqlite::Repairer repairer(connection, rebuilders);
  Status done = repairer.run(opened.state.size, progress);
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

}  // namespace assay::storage
