// SPDX-License-Identifier: Apache-2.0
// Contract of storage/store.h: writes, groups of writes, snapshots.
#include <algorithm>
#include <array>
#include <atomic>
#include <latch>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "schemas/core/merkle.h"
#include "tests/storage/store_contract.h"
#include "tests/support/asleep.h"

namespace assay::storage {
namespace {

TEST_P(StoreContract, Open_EmptyDatabase_HasSignedCheckpointOfSizeZero) {
  const auto state = snapshot()->log_state();
  ASSERT_TRUE(state);
  EXPECT_EQ(state->size, 0U);
  EXPECT_EQ(state->root, merkle_empty(HashAlgorithm::kSha256));
  const Checkpoint expected{kTestOrigin, 0, state->root};
  EXPECT_EQ(state->note, sign_checkpoint(expected, signer_).value());
  EXPECT_TRUE(store().healthy());
}

TEST_P(StoreContract, Write_Append_ReturnsSignedStateThatCoversIt) {
  LeafIndex index = 99;
  const LogState state = write([&](Transaction& transaction) -> Status {
    ASSAY_ASSIGN(index, transaction.append(make_record("test.appended")));
    return {};
  });
  EXPECT_EQ(index, 0U);
  EXPECT_EQ(state.size, 1U);
  EXPECT_EQ(state.note, sign_checkpoint({kTestOrigin, state.size, state.root}, signer_).value());
  const auto view = snapshot();
  EXPECT_EQ(view->log_state()->note, state.note);
  expect_included(*view, index, state);
}

TEST_P(StoreContract, Append_RecordTime_IsThatOfTheTransaction) {
  clock_.advance(std::chrono::milliseconds(17));
  LogRecord record = make_record("test.appended", "someone", {"b", "a"});
  record.time = Timestamp(std::chrono::hours(5));
  record.detail = {{"n", 1}};
  write([&](Transaction& transaction) -> Status {
    EXPECT_EQ(transaction.now(), clock_.now());
    ASSAY_TRY(transaction.append(record));
    return {};
  });
  record.time = clock_.now();
  EXPECT_EQ(snapshot()->log_record(0), to_bytes(encode(record).value()));
}

TEST_P(StoreContract, Append_RecordTooLong_IsRefusedAndChangesNothing) {
  LogRecord record = make_record("test.appended");
  record.detail = {{"fill", std::string(kMaxLogRecordBytes, 'x')}};
  const LogState state = write([&](Transaction& transaction) -> Status {
    const auto refused = transaction.append(record);
    EXPECT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kLimitExceeded);
    ASSAY_TRY(transaction.append(make_record("test.appended")));
    return {};
  });
  EXPECT_EQ(state.size, 1U);
  EXPECT_TRUE(snapshot()->verify_log());
}

TEST_P(StoreContract, Write_ErrorInTheMiddle_UndoesEverything) {
  append(3);
  const auto before = snapshot()->log_state();
  const ErrorCode code = write_error([&](Transaction& transaction) -> Status {
    ASSAY_TRY(put(transaction, make_statement("acme/lost")));
    ASSAY_TRY(put(transaction, make_decision("lost")));
    ASSAY_TRY(transaction.put_key(make_key(1)));
    ASSAY_TRY(transaction.put_principal(make_principal("lost")));
    ASSAY_TRY(transaction.set_epochs({{5, 5}, 5}));
    ASSAY_TRY(transaction.activate_policy({StatementId(digest_of("p")), "lost", 1, {1}}));
    return fail(ErrorCode::kForbidden, "no");
  });
  EXPECT_EQ(code, ErrorCode::kForbidden);
  const auto view = snapshot();
  EXPECT_EQ(view->log_state()->note, before->note);
  EXPECT_EQ(view->statement(make_statement("acme/lost").id).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(view->decision("lost").error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(view->keys()->empty());
  EXPECT_TRUE(view->principals()->empty());
  EXPECT_EQ(*view->epochs(), Epochs());
  EXPECT_TRUE(view->active_policies()->empty());
  EXPECT_TRUE(view->verify_log());
  EXPECT_TRUE(store().healthy()) << "a refused write is no failure of the store";
}

TEST_P(StoreContract, Write_AfterAFailedOne_TakesTheIndexThatWasGivenBack) {
  write_error([&](Transaction& transaction) -> Status {
    ASSAY_TRY(transaction.append(make_record("test.lost")));
    return fail(ErrorCode::kConflict, "no");
  });
  EXPECT_EQ(append(1).size, 1U);
  EXPECT_TRUE(snapshot()->verify_log());
}

TEST_P(StoreContract, Write_ThatThrows_IsAnInternalErrorAndUndone) {
  const ErrorCode code = write_error([&](Transaction& transaction) -> Status {
    ASSAY_TRY(transaction.append(make_record("test.lost")));
    throw std::runtime_error("boom");
  });
  EXPECT_EQ(code, ErrorCode::kInternal);
  EXPECT_EQ(append(1).size, 1U);
}

TEST_P(StoreContract, Write_InsideAWrite_IsRefused) {
  write([&](Transaction&) -> Status {
    const auto inner = store().write([](Transaction&) { return Status(); });
    EXPECT_EQ(inner.error().code, ErrorCode::kInternal);
    return {};
  });
}

TEST_P(StoreContract, Write_WithoutAppend_KeepsTheCheckpoint) {
  const LogState before = append(2);
  const LogState after =
      write([&](Transaction& transaction) { return transaction.put_key(make_key(1)); });
  EXPECT_EQ(after.note, before.note);
  EXPECT_EQ(snapshot()->keys()->size(), 1U);
}

TEST_P(StoreContract, Transaction_Reads_SeeItsOwnWrites) {
  append(1);
  write([&](Transaction& transaction) -> Status {
    EXPECT_FALSE(transaction.log_state()->note.empty());
    ASSAY_ASSIGN(const StatementRow row, put(transaction, make_statement("acme/own")));
    EXPECT_EQ(row.log_index, 1U);
    EXPECT_EQ(transaction.statement(row.id)->name, "acme/own");
    EXPECT_TRUE(transaction.document(row.envelopes.front()));
    const auto state = transaction.log_state();
    EXPECT_EQ(state->size, 2U);
    EXPECT_TRUE(state->note.empty()) << "not signed yet";
    EXPECT_EQ(transaction.log_root(2), state->root);
    expect_included(transaction, 1, *state);
    StatementQuery query;
    query.name = "acme/own";
    const auto page = transaction.statements(query);
    EXPECT_EQ(page->items.size(), 1U);
    EXPECT_EQ(page->tree_size, 2U);
    return {};
  });
}

TEST_P(StoreContract, Snapshot_LaterWrites_AreNotSeen) {
  append(2);
  const auto old_view = snapshot();
  const auto old_state = old_view->log_state();
  write([&](Transaction& transaction) -> Status {
    ASSAY_TRY(put(transaction, make_statement("acme/new")));
    ASSAY_TRY(transaction.put_key(make_key(1)));
    return transaction.set_epochs({{1, 0}, 0});
  });
  EXPECT_EQ(old_view->log_state()->note, old_state->note);
  EXPECT_EQ(old_view->statement(make_statement("acme/new").id).error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(old_view->keys()->empty());
  EXPECT_EQ(*old_view->epochs(), Epochs());
  EXPECT_EQ(old_view->log_record(2).error().code, ErrorCode::kInvalidParameter);
  EXPECT_TRUE(old_view->statements({})->items.empty());
  EXPECT_TRUE(snapshot()->statement(make_statement("acme/new").id));
}

TEST_P(StoreContract, Snapshot_AllReadersBusy_IsUnavailableAndComesBack) {
  open({.folder = {}, .readers = 2, .max_group = 8});
  auto first = snapshot();
  auto second = snapshot();
  EXPECT_EQ(store().snapshot().error().code, ErrorCode::kUnavailable);
  first.reset();
  EXPECT_TRUE(store().snapshot());
}

TEST_P(StoreContract, Snapshot_ReleasedWhileAnotherWaits_IsHandedOver) {
  open({.folder = {}, .readers = 1, .max_group = 8});
  auto first = snapshot();
  test::Asleep waiting;
  std::thread waiter([&] {
    waiting.about_to_wait();
    EXPECT_TRUE(store().snapshot());
  });
  waiting.await();
  first.reset();
  waiter.join();
}

TEST_P(StoreContract, Snapshot_OutlivesTheStore_StillReads) {
  append(1);
  const auto view = snapshot();
  store_.reset();
  EXPECT_TRUE(view->log_record(0));
}

TEST_P(StoreContract, Reopen_EverythingIsThere) {
  const LogState before = append(5);
  write([&](Transaction& transaction) -> Status {
    ASSAY_TRY(put(transaction, make_statement("acme/kept")));
    ASSAY_TRY(transaction.set_epochs({{3, 2}, 1}));
    ASSAY_TRY(transaction.append(make_record("trust.changed")));
    return {};
  });
  reopen();
  const auto view = snapshot();
  EXPECT_EQ(view->log_state()->size, 7U);
  EXPECT_EQ(view->log_root(5), before.root);
  EXPECT_TRUE(view->statement(make_statement("acme/kept").id));
  EXPECT_EQ(*view->epochs(), (Epochs{{3, 2}, 1}));
  EXPECT_EQ(append(1).size, 8U);
  EXPECT_TRUE(snapshot()->verify_log());
}

struct Acknowledged {
  LeafIndex index;
  std::string actor;
  LogState state;
};

TEST_P(StoreContract, Write_FromManyThreads_EachIsAtItsIndexAndProvable) {
  constexpr int kThreads = 64;
  constexpr int kWrites = 12;
  std::mutex mutex;
  std::vector<Acknowledged> acknowledged;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kWrites; ++i) {
        Acknowledged mine{0, "t" + std::to_string(t) + "-" + std::to_string(i),
                          LogState{0, digest_of(""), {}}};
        const bool refuse = i % 4 == 3;
        auto state = store().write([&](Transaction& transaction) -> Status {
          ASSAY_ASSIGN(mine.index, transaction.append(make_record("test.appended", mine.actor)));
          return refuse ? Status(fail(ErrorCode::kConflict, "no")) : Status();
        });
        ASSERT_EQ(state.has_value(), !refuse);
        if (state) {
          mine.state = *state;
          const std::lock_guard lock(mutex);
          acknowledged.push_back(std::move(mine));
        }
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  ASSERT_EQ(acknowledged.size(), static_cast<std::size_t>(kThreads * kWrites * 3 / 4));
  const auto view = snapshot();
  EXPECT_EQ(view->log_state()->size, acknowledged.size()) << "refused writes are not in the log";
  std::set<LeafIndex> indexes;
  std::set<TreeSize> groups;
  for (const Acknowledged& one : acknowledged) {
    EXPECT_LT(one.index, one.state.size);
    EXPECT_EQ(one.state.note,
              sign_checkpoint({kTestOrigin, one.state.size, one.state.root}, signer_).value());
    const auto record = parse_log_record(view->log_record(one.index).value());
    EXPECT_EQ(record->actor, one.actor);
    expect_included(*view, one.index, one.state);
    indexes.insert(one.index);
    groups.insert(one.state.size);
  }
  EXPECT_EQ(indexes.size(), acknowledged.size()) << "no index twice";
  EXPECT_LT(groups.size(), acknowledged.size()) << "several writes share a commit";
  EXPECT_TRUE(view->verify_log());
}

TEST_P(StoreContract, Write_OneGroup_RefusedWriteDoesNotHarmOthers) {
  open({.folder = {}, .readers = 2, .max_group = 64});
  // The first write holds the writer until all others are queued, so that they become one group.
  std::array<test::Asleep, 8> queued;
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  std::latch held(1);
  std::thread holder([&] {
    write([&](Transaction& transaction) -> Status {
      held.count_down();
      for (const test::Asleep& one : queued) {
        one.await();
      }
      ASSAY_TRY(transaction.append(make_record("test.holder")));
      return {};
    });
  });
  held.wait();
  for (std::size_t t = 0; t < queued.size(); ++t) {
    threads.emplace_back([&, t] {
      queued[t].about_to_wait();
      const auto state = store().write([&](Transaction& transaction) -> Status {
        ASSAY_TRY(transaction.append(make_record("test.appended", "t" + std::to_string(t))));
        return t % 2 == 0 ? Status() : Status(fail(ErrorCode::kForbidden, "no"));
      });
      EXPECT_EQ(state.has_value(), t % 2 == 0);
      good += state ? 1 : 0;
    });
  }
  holder.join();
  for (auto& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(good, 4);
  EXPECT_EQ(snapshot()->log_state()->size, 5U);
  EXPECT_TRUE(snapshot()->verify_log());
}

TEST_P(StoreContract, Snapshots_DuringWrites_AreEachConsistent) {
  std::atomic<bool> done = false;
  std::thread reader([&] {
    while (!done) {
      const auto view = store().snapshot();
      ASSERT_TRUE(view);
      const auto state = (*view)->log_state();
      EXPECT_EQ((*view)->log_root(state->size), state->root);
      EXPECT_FALSE((*view)->log_root(state->size + 1));
      // Both change in one transaction; the log shows only what was acknowledged.
      EXPECT_GE((*view)->epochs()->policy, state->size);
    }
  });
  for (std::uint64_t i = 1; i <= 60; ++i) {
    write([&](Transaction& transaction) -> Status {
      ASSAY_TRY(transaction.append(make_record("test.appended")));
      return transaction.set_epochs({{0, 0}, i});
    });
  }
  done = true;
  reader.join();
}

}  // namespace
}  // namespace assay::storage
