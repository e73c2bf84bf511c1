// SPDX-License-Identifier: Apache-2.0
// Opening a store: file, schema, checkpoint, anchor, readers, writer, in this order.
#include "storage/store.h"

#include <atomic>
#include <utility>

#include "storage/anchor.h"
#include "storage/durable_file.h"
#include "storage/sqlite/database_file.h"
#include "storage/sqlite/evidence_tables.h"
#include "storage/sqlite/file_age.h"
#include "storage/sqlite/governance_tables.h"
#include "storage/sqlite/head.h"
#include "storage/sqlite/map_table.h"
#include "storage/sqlite/place.h"
#include "storage/sqlite/schema.h"
#include "storage/sqlite/seals.h"
#include "storage/sqlite/snapshot.h"
#include "storage/sqlite/start_checks.h"
#include "storage/sqlite/writer.h"

namespace assay::storage {
namespace sqlite {
namespace {

// The store with admission's share of the writer.
class AdmissionStore final : public Store {
 public:
  AdmissionStore(Store& store, Writer& writer) : store_(store), writer_(writer) {}
  Result<std::unique_ptr<Snapshot>> snapshot() override { return store_.snapshot(); }
  Result<LogState> write(const std::function<Status(Transaction&)>& work) override {
    return writer_.write(work, WriteClass::kAdmission);
  }
  bool healthy() const override { return store_.healthy(); }

 private:
  Store& store_;
  Writer& writer_;
};

class SqliteStore final : public Store {
 public:
  SqliteStore(FileLock lock, std::shared_ptr<ReaderPool> readers, std::unique_ptr<Writer> writer,
              const Clock& clock)
      : lock_(std::move(lock)),
        readers_(std::move(readers)),
        writer_(std::move(writer)),
        admission_(*this, *writer_),
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
    const auto believe = [&](Connection& connection, const LogState& held) {
      return believed(connection, held, anchored->number);
    };
    auto opened = SqliteSnapshot::open(readers_, believe, anchored->state, clock_.now());
    if (opened || opened.error().code != ErrorCode::kUnavailable) {
      reads_fail_ = !opened;
    }
    return opened;
  }
  Result<LogState> write(const std::function<Status(Transaction&)>& work) override {
    return writer_->write(work, WriteClass::kApi);
  }
  Store& for_admission() override { return admission_; }
  bool healthy() const override { return writer_->healthy() && !reads_fail_; }

 private:
  // A head of before what was acknowledged has its seal, too: somebody put it back.
  Result<std::optional<Believed>> believed(Connection& connection, const LogState& held,
                                           std::uint64_t acknowledged) {
    ASSAY_ASSIGN(const Head head, load_head(connection, held));
    const auto kept = writer_->history().at(head.number);
    if (head.number < acknowledged || (kept && kept->map.root() != head.map)) {
      return fail(ErrorCode::kDataLoss,
                  "the database is older than what was acknowledged; see docs/recovery.md");
    }
    return kept;
  }

  FileLock lock_;
  std::shared_ptr<ReaderPool> readers_;
  std::unique_ptr<Writer> writer_;
  AdmissionStore admission_;
  const Clock& clock_;
  std::atomic<bool> reads_fail_ = false;
};

// A database that has never had a checkpoint gets that of the empty log.
Status ensure_first_checkpoint(Connection& connection, const std::string& origin,
                               const Signer& signer) {
  ASSAY_ASSIGN(const auto state, load_checkpoint(connection));
  ASSAY_ASSIGN(const LogTail tail, load_tail(connection));
  if (state || tail.frontier.size() > 0) {
    return {};
  }
  ASSAY_ASSIGN(const FileAge age, load_file_age(connection));
  ASSAY_TRY(connection.query(Sql::kBeginWrite).run());
  connection.map().trust({});
  ASSAY_TRY(seal_generation(connection));
  connection.map().keep_work();
  ASSAY_ASSIGN(const RecordMap map, connection.map().store());
  const Digest root = tail.frontier.root();
  ASSAY_TRY(store_head(connection, {{}, age.number, map.root()}, {0, root, {}}, age.copied));
  ASSAY_ASSIGN(const std::string note, sign_checkpoint({origin, 0, root}, signer));
  ASSAY_TRY(store_checkpoint(connection, {0, root, note}));
  return connection.query(Sql::kCommit).run();
}

// All buckets are read and hashed: what they say of a row is then believed.
Result<Believed> verified(Connection& connection, const LogState& state,
                          const std::optional<Anchor::State>& anchored) {
  Believed believed;
  ASSAY_ASSIGN(believed.governance,
               verified_governance(connection, state,
                                   anchored ? anchored->head : std::optional<ChainHead>()));
  ASSAY_ASSIGN(const Head head, load_head(connection, state));
  believed.number = head.number;
  ASSAY_ASSIGN(believed.map, verified_map(connection, head.map));
  if (anchored) {
    ASSAY_TRY(check_epochs(believed.governance->epochs(), anchored->epochs));
    ASSAY_TRY(check_map(believed.map_state(), anchored->map));
  }
  return believed;
}

struct OpenedFile {
  std::unique_ptr<Connection> connection;
  Connection::Index index = Connection::Index::kFile;
  bool disk_fails = false;
};

// A disk without room for the index of the write-ahead log can still be read.
Result<OpenedFile> open_file(const std::string& path) {
  auto connection = Connection::open(path, Connection::Mode::kReadWrite);
  if (connection) {
    return OpenedFile{std::move(*connection)};
  }
  if (connection.error().code != ErrorCode::kStorage || !Connection::has_memory_index()) {
    return std::unexpected(connection.error());
  }
  ASSAY_ASSIGN(auto second,
               Connection::open(path, Connection::Mode::kReadWrite, Connection::Index::kMemory));
  return OpenedFile{std::move(second), Connection::Index::kMemory, true};
}

// What can be read must survive a power loss before it is served. Where there is no room to copy it
// into the database it stays in the write-ahead log, synced.
Status make_durable(Connection& connection, const std::string& path, bool& disk_fails) {
  Status durable = connection.make_durable();
  if (!durable && durable.error().code == ErrorCode::kStorage && Connection::has_memory_index()) {
    disk_fails = true;
    durable = sync_file(path + "-wal");
  }
  return durable;
}

bool is_anchored(const Committed& committed, const Anchor::State& anchored) {
  return committed.state.note == anchored.note &&
         committed.believed.governance->epochs() == anchored.epochs &&
         committed.believed.governance->head() == anchored.head &&
         committed.believed.map.root() == anchored.map.root;
}

Result<std::unique_ptr<Store>> open(SqliteOptions options, const Signer& signer,
                                    const Clock& clock) {
  ASSAY_TRY(require_rules(options));
  ASSAY_ASSIGN(FileLock lock, FileLock::acquire(options.path));
  options.path = lock.path();  // a link that is changed later leads nowhere else
  ASSAY_TRY(prepare_file(options.path, options.create));
  ASSAY_ASSIGN(OpenedFile file, open_file(options.path));
  auto connection = std::move(file.connection);
  ASSAY_TRY(migrate(*connection));
  ASSAY_TRY(check_file_age(*connection));
  // A disk without room keeps them: they change no answer.
  static_cast<void>(drop_statistics(*connection));
  ASSAY_ASSIGN(const std::int64_t schema, checked_schema(*connection));
  ASSAY_ASSIGN(SecretBytes seal_key, seal_key_of(*connection, signer));
  const auto shared_key = std::make_shared<const SecretBytes>(std::move(seal_key));
  connection->set_seal_key(shared_key);
  connection->set_rules(*options.rules);
  ASSAY_TRY(ensure_first_checkpoint(*connection, options.origin, signer));
  // Before anything is served or anchored: a process that died may have left a commit unsynced.
  ASSAY_TRY(make_durable(*connection, options.path, file.disk_fails));
  ASSAY_ASSIGN(Committed committed, load_committed(*connection));
  ASSAY_TRY(check_checkpoint(committed.state, options.origin, signer));

  std::unique_ptr<Anchor> anchor;
  std::optional<Anchor::State> anchored;
  if (!options.anchor_path.empty()) {
    ASSAY_ASSIGN(anchored, check_anchor(*connection, committed.state, options, signer));
  }
  ASSAY_ASSIGN(committed.believed, verified(*connection, committed.state, anchored));
  if (!options.anchor_path.empty()) {
    anchor = std::make_unique<Anchor>(options.anchor_path);
  }
  if (anchor && !(anchored && is_anchored(committed, *anchored))) {
    const Believed& believed = committed.believed;
    ASSAY_TRY(anchor->save(committed.state.note, believed.governance->epochs(),
                           believed.governance->head(), believed.map_state()));
  }
  ASSAY_ASSIGN(auto readers, ReaderPool::open(options.path, options.readers, options.reader_wait,
                                              shared_key, *options.rules, file.index));
  readers->pin_schema(schema);
  ASSAY_ASSIGN(Place place, Place::of(options.path));
  ASSAY_ASSIGN(const LastWrite least, least_time(*connection, committed.state));
  ASSAY_ASSIGN(const FileAge age, load_file_age(*connection));
  const std::uint64_t copied = file.disk_fails ? age.copied : age.number;
  auto writer = std::make_unique<Writer>(
      std::move(connection), std::move(committed), std::move(anchor),
      Writer::Options{options.origin, schema, std::move(place), options.max_group,
                      options.probe_interval, least, options.wall, copied, file.disk_fails},
      signer, clock);
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
