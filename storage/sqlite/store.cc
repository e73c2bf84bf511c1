// SPDX-License-Identifier: Apache-2.0
// Opening a store: file, schema, checkpoint, anchor, readers, writer, in this order.
#include "storage/store.h"

#include <utility>

#include "storage/anchor.h"
#include "storage/sqlite/database_file.h"
#include "storage/sqlite/snapshot.h"
#include "storage/sqlite/trust_tables.h"
#include "storage/sqlite/writer.h"

namespace assay::storage {
namespace sqlite {
namespace {

class SqliteStore final : public Store {
 public:
  SqliteStore(FileLock lock, std::shared_ptr<ReaderPool> readers, std::unique_ptr<Writer> writer,
              const Clock& clock)
      : lock_(std::move(lock)),
        readers_(std::move(readers)),
        writer_(std::move(writer)),
        clock_(clock) {}
  // Only the last connection empties the write-ahead log into the file, and only if it may write.
  ~SqliteStore() override {
    writer_->stop();
    readers_.reset();
    writer_.reset();
  }
  SqliteStore(const SqliteStore&) = delete;
  SqliteStore& operator=(const SqliteStore&) = delete;

  Result<std::unique_ptr<Snapshot>> snapshot() override {
    // Before the database is looked at: what it shows is never older than this.
    const auto anchored = writer_->anchored();
    return SqliteSnapshot::open(readers_, *anchored, clock_.now());
  }
  Result<LogState> write(const std::function<Status(Transaction&)>& work) override {
    return writer_->write(work);
  }
  bool healthy() const override { return writer_->healthy(); }

 private:
  FileLock lock_;
  std::shared_ptr<ReaderPool> readers_;
  std::unique_ptr<Writer> writer_;
  const Clock& clock_;
};

// A database that has never had a checkpoint gets that of the empty log.
Status ensure_first_checkpoint(Connection& connection, const std::string& origin,
                               const Signer& signer) {
  ASSAY_ASSIGN(const auto state, load_checkpoint(connection));
  ASSAY_ASSIGN(const LogTail tail, load_tail(connection));
  if (state || tail.frontier.size() > 0) {
    return {};
  }
  const Digest root = tail.frontier.root();
  ASSAY_ASSIGN(const std::string note, sign_checkpoint({origin, 0, root}, signer));
  return store_checkpoint(connection, {0, root, note});
}

// Ed25519 is deterministic: the note is ours exactly when signing its text again gives it.
Status check_note(const std::string& note, const std::string& origin, const Signer& signer) {
  const auto parsed = parse_checkpoint(note);
  if (!parsed) {
    return fail(ErrorCode::kDataLoss, "a stored checkpoint is damaged");
  }
  if (parsed->checkpoint.origin != origin) {
    return fail(ErrorCode::kInvalidConfig, "the log has another origin than configured");
  }
  ASSAY_ASSIGN(const std::string expected, sign_checkpoint(parsed->checkpoint, signer));
  if (note == expected) {
    return {};
  }
  ASSAY_ASSIGN(const SignedCheckpoint ours, parse_checkpoint(expected));
  const NoteSignature& own = ours.signatures.front();
  for (const NoteSignature& signature : parsed->signatures) {
    if (signature.key_hash != own.key_hash) {
      continue;
    }
    // The checkpoint at which one key follows another has the signatures of both.
    if (parsed->signatures.size() == 2 && signature.signature == own.signature) {
      return {};
    }
    return fail(ErrorCode::kDataLoss, "the signature of a stored checkpoint does not verify");
  }
  return fail(ErrorCode::kInvalidConfig, "the log was signed with another key than configured");
}

Status check_checkpoint(const LogState& state, const std::string& origin, const Signer& signer) {
  ASSAY_TRY(check_note(state.note, origin, signer));
  ASSAY_ASSIGN(const SignedCheckpoint parsed, parse_checkpoint(state.note));
  if (parsed.checkpoint.size != state.size || parsed.checkpoint.root != state.root) {
    return fail(ErrorCode::kDataLoss, "the newest checkpoint differs from its signed text");
  }
  return {};
}

std::unexpected<Error> behind(const char* what) {
  return fail(ErrorCode::kStoreBehindAnchor,
              std::string(what) + "; was the database restored from an old copy?");
}

Status check_anchor(Connection& connection, const Committed& committed,
                    const SqliteOptions& options, const Signer& signer) {
  const auto anchor = Anchor(options.anchor_path).load();
  if (!anchor && anchor.error().code == ErrorCode::kNotFound) {
    if (committed.state.size > 0 && !options.dangerous_recreate_anchor) {
      return behind("the log has records, but its anchor file is missing");
    }
    return {};
  }
  if (!anchor) {
    return std::unexpected(anchor.error());
  }
  ASSAY_TRY(check_note(anchor->note, options.origin, signer));
  if (committed.state.size < anchor->checkpoint.size) {
    return behind("the log is shorter than at the anchor");
  }
  ASSAY_ASSIGN(const Digest root, load_root(connection, anchor->checkpoint.size));
  if (root != anchor->checkpoint.root) {
    return behind("the log differs from the one at the anchor");
  }
  const Epochs& now = committed.epochs;
  const Epochs& then = anchor->epochs;
  if (now.trust.trust < then.trust.trust || now.trust.revocation < then.trust.revocation ||
      now.policy < then.policy) {
    return behind("trust, revocations or policies are older than at the anchor");
  }
  return {};
}

Result<std::unique_ptr<Store>> open(const SqliteOptions& options, const Signer& signer,
                                    const Clock& clock) {
  ASSAY_ASSIGN(FileLock lock, FileLock::acquire(options.path));
  ASSAY_TRY(prepare_file(options.path, options.create));
  ASSAY_ASSIGN(auto connection, Connection::open(options.path, Connection::Mode::kReadWrite));
  ASSAY_TRY(migrate(*connection));
  ASSAY_TRY(ensure_first_checkpoint(*connection, options.origin, signer));
  // Before anything is served or anchored: a process that died may have left a commit unsynced.
  ASSAY_TRY(connection->make_durable());
  ASSAY_ASSIGN(Committed committed, load_committed(*connection));
  ASSAY_TRY(check_checkpoint(committed.state, options.origin, signer));

  std::unique_ptr<Anchor> anchor;
  if (!options.anchor_path.empty()) {
    ASSAY_TRY(check_anchor(*connection, committed, options, signer));
    anchor = std::make_unique<Anchor>(options.anchor_path);
    ASSAY_TRY(anchor->save(committed.state.note, committed.epochs));
  }
  ASSAY_ASSIGN(auto readers, ReaderPool::open(options.path, options.readers, options.reader_wait));
  auto writer = std::make_unique<Writer>(
      std::move(connection), std::move(committed), std::move(anchor),
      Writer::Options{options.origin, options.max_group, options.probe_interval}, signer, clock);
  return std::make_unique<SqliteStore>(std::move(lock), std::move(readers), std::move(writer),
                                       clock);
}

}  // namespace
}  // namespace sqlite

Result<std::unique_ptr<Store>> open_sqlite(const SqliteOptions& options, const Signer& log_signer,
                                           const Clock& clock) {
  return sqlite::open(options, log_signer, clock);
}

}  // namespace assay::storage
