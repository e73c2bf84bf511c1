// SPDX-License-Identifier: Apache-2.0
// Lending read connections, and pinning what they see.
#include "storage/sqlite/snapshot.h"

#include <algorithm>

namespace assay::storage::sqlite {
namespace {

constexpr int kAttempts = 3;

// The first read pins the state that the whole transaction sees.
Result<LogState> begin(Connection& connection, const LogState& anchored, SchemaInUse* schema) {
  ASSAY_TRY(connection.query(Sql::kBeginRead).run());
  if (schema != nullptr) {
    ASSAY_TRY(schema->check(connection));
  }
  ASSAY_ASSIGN(auto state, load_checkpoint(connection));
  if (!state || state->size < anchored.size) {
    return fail(ErrorCode::kDataLoss, "the newest checkpoint is missing");
  }
  if (state->note != anchored.note) {
    const auto parsed = parse_checkpoint(state->note);
    if (!parsed || parsed->checkpoint.size != state->size ||
        parsed->checkpoint.root != state->root) {
      return fail(ErrorCode::kDataLoss, "the newest checkpoint differs from its signed text");
    }
  } else if (state->size != anchored.size || state->root != anchored.root) {
    return fail(ErrorCode::kDataLoss, "the newest checkpoint differs from its signed text");
  }
  return std::move(*state);
}

}  // namespace

Result<std::shared_ptr<ReaderPool>> ReaderPool::open(
    const std::string& path, std::size_t readers, std::chrono::milliseconds wait,
    const std::shared_ptr<const SecretBytes>& seal_key, const ReportRules& rules,
    Connection::Index index) {
  std::shared_ptr<ReaderPool> pool(new ReaderPool(wait));
  for (std::size_t i = 0; i < std::max<std::size_t>(readers, 1); ++i) {
    ASSAY_ASSIGN(auto connection, Connection::open(path, Connection::Mode::kReadOnly, index));
    connection->set_seal_key(seal_key);
    connection->set_rules(rules);
    pool->give_back(std::move(connection));
  }
  return pool;
}

Result<std::unique_ptr<Connection>> ReaderPool::take() {
  std::unique_lock lock(mutex_);
  if (!returned_.wait_for(lock, wait_, [&] { return !idle_.empty(); })) {
    return fail(ErrorCode::kUnavailable, "every reader of the database is busy; retry later");
  }
  auto connection = std::move(idle_.back());
  idle_.pop_back();
  return connection;
}

void ReaderPool::give_back(std::unique_ptr<Connection> connection) {
  {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(connection));
  }
  returned_.notify_one();
}

Result<std::unique_ptr<Snapshot>> SqliteSnapshot::open(std::shared_ptr<ReaderPool> pool,
                                                       const Believe& believe, LogState anchored,
                                                       Timestamp now) {
  ASSAY_ASSIGN(auto connection, pool->take());
  const auto end = [](Connection& used) {
    if (used.in_transaction()) {
      static_cast<void>(used.query(Sql::kRollback).run());
    }
  };
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    auto held = begin(*connection, anchored, pool->schema());
    auto believed = held ? believe(*connection, *held) : std::unexpected(held.error());
    if (!believed) {
      end(*connection);
      pool->give_back(std::move(connection));
      return std::unexpected(std::move(believed).error());
    }
    if (*believed) {
      connection->map().trust(std::move((*believed)->map));
      return std::unique_ptr<Snapshot>(new SqliteSnapshot(std::move(pool), std::move(connection),
                                                          std::move(anchored), std::move(*held),
                                                          std::move((*believed)->governance), now));
    }
    end(*connection);  // much was written since this state was pinned
  }
  pool->give_back(std::move(connection));
  return fail(ErrorCode::kUnavailable, "the database keeps changing; retry");
}

SqliteSnapshot::~SqliteSnapshot() {
  if (owned_->in_transaction()) {
    static_cast<void>(owned_->query(Sql::kRollback).run());
  }
  static_cast<void>(owned_->take_failure());
  pool_->give_back(std::move(owned_));
}

}  // namespace assay::storage::sqlite
