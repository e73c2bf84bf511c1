// SPDX-License-Identifier: Apache-2.0
// The checkpoint with two signatures, and the time of the last write.
#include "storage/handover.h"

#include <memory>

#include "schemas/checkpoint.h"
#include "storage/anchor.h"
#include "storage/sqlite/database_file.h"
#include "storage/sqlite/head.h"
#include "storage/sqlite/schema.h"
#include "storage/sqlite/seals.h"
#include "storage/sqlite/writer.h"

namespace assay::storage {
namespace sqlite {
namespace {

// `note` must be what `current` alone, or both of them, signed.
Result<std::string> note_of_both(const LogState& state, const std::string& origin,
                                 const Signer& current, const Signer& next) {
  const Checkpoint checkpoint{origin, state.size, state.root};
  ASSAY_ASSIGN(const std::string old_note, sign_checkpoint(checkpoint, current));
  ASSAY_ASSIGN(const std::string new_note, sign_checkpoint(checkpoint, next));
  std::string both = old_note + new_note.substr(checkpoint_text(checkpoint).size() + 1);
  if (state.note != old_note && state.note != both) {
    return fail(ErrorCode::kInvalidConfig, "the log was signed with another key than configured");
  }
  return both;
}

Status add_signature(const SqliteOptions& options, const Signer& current, const Signer& next) {
  ASSAY_ASSIGN(const FileLock lock, FileLock::acquire(options.path));
  ASSAY_ASSIGN(auto connection, Connection::open(options.path, Connection::Mode::kReadWrite));
  ASSAY_TRY(check_schema(*connection));
  ASSAY_ASSIGN(Committed committed, load_committed(*connection));
  LogState& state = committed.state;
  ASSAY_ASSIGN(state.note, note_of_both(state, options.origin, current, next));
  ASSAY_ASSIGN(const SecretBytes seal_key, seal_key_of(*connection, current));
  ASSAY_TRY(connection->query(Sql::kBeginWrite).run());
  ASSAY_TRY(store_checkpoint(*connection, state));
  ASSAY_TRY(hand_over_seals(*connection, seal_key.view(), next));
  ASSAY_TRY(connection->query(Sql::kCommit).run());
  ASSAY_TRY(connection->make_durable());
  if (options.anchor_path.empty()) {
    return {};
  }
  // The rest of it does not change: the store was opened a moment ago, and wrote it.
  Anchor anchor(options.anchor_path);
  ASSAY_ASSIGN(const Anchor::State known, anchor.load());
  return anchor.save(state.note, known.epochs, known.head, known.map);
}

Result<std::optional<LastWrite>> latest(const SqliteOptions& options, const Signer& signer) {
  ASSAY_ASSIGN(auto connection, Connection::open(options.path, Connection::Mode::kReadOnly));
  ASSAY_ASSIGN(SecretBytes key, seal_key_of(*connection, signer));
  connection->set_seal_key(std::make_shared<const SecretBytes>(std::move(key)));
  ASSAY_ASSIGN(const auto state, load_checkpoint(*connection));
  const auto head = state ? load_head(*connection, *state)
                          : Result<Head>(fail(ErrorCode::kDataLoss, "there is no checkpoint"));
  return head && head->last != LastWrite{} ? std::optional(head->last) : std::nullopt;
}

}  // namespace
}  // namespace sqlite

Status add_log_signature(const SqliteOptions& options, const Signer& current, const Signer& next) {
  return sqlite::add_signature(options, current, next);
}

Result<std::optional<LastWrite>> last_write(const SqliteOptions& options,
                                            const Signer& log_signer) {
  return sqlite::latest(options, log_signer);
}

}  // namespace assay::storage
