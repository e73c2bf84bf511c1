// SPDX-License-Identifier: Apache-2.0
// Going on with a database that has lost something: docs/recovery.md.
#include <algorithm>
#include <utility>

#include "schemas/core/merkle.h"
#include "storage/anchor.h"
#include "storage/durable_file.h"
#include "storage/inspect.h"
#include "storage/sqlite/alone.h"
#include "storage/sqlite/events.h"
#include "storage/sqlite/file_age.h"
#include "storage/sqlite/governance_tables.h"
#include "storage/sqlite/head.h"
#include "storage/sqlite/log_tables.h"
#include "storage/sqlite/schema.h"
#include "storage/sqlite/start_checks.h"
#include "storage/sqlite/writer.h"

namespace assay::storage {
namespace sqlite {
namespace {

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
  ASSAY_ASSIGN(const Head head, load_head(connection, state));
  return Anchor(options.anchor_path)
      .replace(state.note, governance->epochs(), governance->head(), {head.number, head.map});
}

// The record that tells the loss, and the checkpoint of the new origin over it.
Result<LogState> enter_loss(Opened& opened, const SqliteOptions& options, const Signer& signer,
                            const Clock& clock, const Loss& loss) {
  Connection& connection = *opened.connection;
  ASSAY_ASSIGN(Committed committed, load_committed(connection));
  ASSAY_ASSIGN(const SignedCheckpoint parsed, parse_checkpoint(committed.state.note));
  ASSAY_ASSIGN(const Head head, load_head(connection, committed.state));
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
  const auto anchored = Anchor(options.anchor_path).load();
  const std::uint64_t number = std::max(head.number, anchored ? anchored->map.number : 0) + 1;
  ASSAY_TRY(store_head(connection, {last, number, head.map}, next, kFirstNumber));
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

}  // namespace assay::storage
