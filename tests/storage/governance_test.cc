// SPDX-License-Identifier: Apache-2.0
// Rows of trust and policy that somebody changed: refused at the start, without effect meanwhile.
#include <atomic>
#include <filesystem>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "schemas/core/merkle.h"
#include "storage/anchor.h"
#include "storage/inspect.h"
#include "tests/storage/sqlite_files.h"

namespace assay::storage {
namespace {

namespace fs = std::filesystem;

class GovernanceTest : public SqliteTest {
 protected:
  void SetUp() override {
    auto store = open().value();
    append(*store, 3);
    change(*store, [&](Transaction& t) -> Status {
      ASSAY_TRY(t.put_key(key_));
      ASSAY_TRY(t.put_key(make_key(2)));
      ASSAY_TRY(t.put_principal(make_principal("alice")));
      ASSAY_TRY(t.put_appraisal({"tdx", Json::object(), {}, false}));
      return t.put_registration({"own", "gpu-1", "agent", {"00"}, 2, {}});
    });
    append(*store, 5);
    change(*store, [&](Transaction& t) -> Status {
      ASSAY_TRY(t.activate_policy({StatementId(digest_of("p")), "gate", 1, {1, 2}}));
      return t.set_epochs({{1, 1}, 1});
    });
    append(*store, 2);
    fs::copy_file(path(), path() + ".trusting");
    key_.revoked = Revocation{clock_.now(), "stolen"};
    change(*store, [&](Transaction& t) { return t.put_key(key_); });
    append(*store, 2);
  }
  // A change of trust with its record.
  static void change(Store& store, const std::function<Status(Transaction&)>& work) {
    const auto done = store.write([&](Transaction& t) -> Status {
      ASSAY_TRY(work(t));
      ASSAY_TRY(t.append(make_record("trust.changed")));
      return {};
    });
    ASSERT_TRUE(done) << to_string(done.error());
  }
  TrustedKey key_ = make_key(1);
};

TEST_F(GovernanceTest, Untouched_OpensAndIsAsItWas) {
  const auto store = open().value();
  const auto view = store->snapshot().value();
  EXPECT_EQ(view->key(key_.id), key_);
  EXPECT_EQ(view->principals()->size(), 1U);
  EXPECT_EQ(view->appraisals()->size(), 1U);
  EXPECT_EQ(view->registrations()->size(), 1U);
  EXPECT_EQ(view->active_policies()->size(), 1U);
  EXPECT_EQ(*view->epochs(), (Epochs{{1, 1}, 1}));
}

// The bodies still fit the chain, but no change or removal would find the rows.
TEST_F(GovernanceTest, ColumnsThatAreNotThoseOfTheBody_RefuseTheStart_AndAreMadeAgain) {
  for (const auto& [sql, table] : std::vector<std::pair<std::string, std::string>>{
           {"UPDATE registrations SET id = 'zzz'", "registrations"},
           {"UPDATE registrations SET node = 'gpu-9'", "registrations"},
           {"UPDATE appraisals SET name = 'td0'", "appraisals"}}) {
    SCOPED_TRACE(sql);
    tamper(sql);
    EXPECT_EQ(open_error(), ErrorCode::kDataLoss);
    {
      const auto inspection = Inspection::open(options(), signer_, clock_).value();
      const auto found = inspection->find(false, [](auto, auto) {}).value();
      ASSERT_EQ(found.size(), 1U);
      EXPECT_EQ(found[0].check, "trust");
      EXPECT_TRUE(found[0].id.starts_with(table)) << found[0].id;
    }
    const auto repaired = repair_sqlite(options(), signer_, {}, [](auto, auto) {});
    ASSERT_TRUE(repaired) << to_string(repaired.error());
    EXPECT_EQ(repaired->made, (std::map<std::string, std::uint64_t>{{table, 1}}));
    const auto store = open();
    ASSERT_TRUE(store) << to_string(store.error());
    EXPECT_TRUE((*store)->snapshot().value()->registration_of("gpu-1"));
  }
}

// Steps of SQLite's virtual machine in all statements of connections that are opened while this
// lives: what they read and write, whatever the machine.
class CountedSteps {
 public:
  CountedSteps() {
    steps_ = 0;
    sqlite3_auto_extension(reinterpret_cast<void (*)()>(&watch));
  }
  CountedSteps(const CountedSteps&) = delete;
  CountedSteps& operator=(const CountedSteps&) = delete;
  ~CountedSteps() { sqlite3_reset_auto_extension(); }
  [[nodiscard]] std::uint64_t count() const { return steps_; }

 private:
  static int watch(sqlite3* database, char** /*message*/, const void* /*api*/) {
    return sqlite3_trace_v2(database, SQLITE_TRACE_PROFILE, &add, nullptr);
  }
  static int add(unsigned /*event*/, void* /*context*/, void* statement, void* /*nanoseconds*/) {
    steps_ += static_cast<std::uint64_t>(
        sqlite3_stmt_status(static_cast<sqlite3_stmt*>(statement), SQLITE_STMTSTATUS_VM_STEP, 1));
    return 0;
  }
  static inline std::atomic<std::uint64_t> steps_ = 0;
};

// The start follows the chain of trust and reads no other records. Its inclusion proofs grow by a
// node when the log doubles.
TEST_F(GovernanceTest, Start_DoesNotReadTheRestOfTheLog) {
  const auto steps_of_a_start = [this] {
    const CountedSteps steps;
    EXPECT_TRUE(open());
    return steps.count();
  };
  const auto grow = [this](int from, int to) {
    const auto done = open().value()->write([&](Transaction& t) -> Status {
      for (int i = from; i < to; ++i) {
        ASSAY_TRY(put(t, make_decision("d" + std::to_string(i))));
        ASSAY_TRY(put(t, make_statement("acme/" + std::to_string(i))));
      }
      return {};
    });
    ASSERT_TRUE(done) << to_string(done.error());
  };
  grow(0, 50);
  const std::uint64_t few = steps_of_a_start();
  grow(50, 1000);
  const std::uint64_t many = steps_of_a_start();
  EXPECT_GT(few, 100U) << "nothing was counted";
  EXPECT_LT(many, few + 1000) << "20 times the records: " << few << " steps before";
}

TEST_F(GovernanceTest, RowsChangedWhileStopped_RefuseTheStart) {
  const std::string whole = path() + ".whole";
  fs::copy_file(path(), whole);
  for (const char* sql : {
           "UPDATE keys SET revoked_at = NULL, revoked_reason = NULL",
           "UPDATE keys SET purpose = 'operator'",
           "UPDATE keys SET not_after = not_after + 1",
           "UPDATE key_roles SET name_space = '*' WHERE ordinal = 0",
           "DELETE FROM key_roles",
           "UPDATE principals SET not_after = NULL",
           "INSERT INTO principal_roles VALUES ('alice', 'admin')",
           "UPDATE credentials SET sha256 = zeroblob(32) WHERE ordinal = 0",
           "INSERT INTO principals VALUES ('mallory', NULL)",
           "UPDATE epochs SET trust = 2",
           "UPDATE epochs SET revocation = 2",
           "UPDATE epochs SET policy = 2",
           "DELETE FROM active_policies",
           "UPDATE active_policies SET payload = x'01'",
           "UPDATE active_policies SET version = 2",
           "DELETE FROM registrations",
           "DELETE FROM appraisals",
           "INSERT INTO reference_values SELECT 'tdx', 'acme/os', "
           "'{\"appraisal\":\"tdx\",\"constrains\":[],\"document\":\"sha256:' || hex(zeroblob(32)) "
           "|| "
           "'\",\"imported_at\":\"2026-01-01T00:00:00Z\",\"sets\":[],\"tag_id\":\"acme/os\","
           "\"version\":1}'",
       }) {
    tamper(sql);
    EXPECT_EQ(open_error(), ErrorCode::kDataLoss) << sql;
    fs::copy_file(whole, path(), fs::copy_options::overwrite_existing);
  }
  EXPECT_TRUE(open());
}

TEST_F(GovernanceTest, RowsChangedWhileRunning_ChangeNothing) {
  const auto store = open().value();
  tamper("UPDATE keys SET revoked_at = NULL, revoked_reason = NULL");
  tamper("INSERT INTO principal_roles VALUES ('alice', 'admin')");
  tamper("DELETE FROM active_policies");
  EXPECT_EQ(store->snapshot().value()->key(key_.id)->revoked, key_.revoked);
  EXPECT_EQ(store->snapshot().value()->principals()->front(), make_principal("alice"));
  EXPECT_EQ(store->snapshot().value()->active_policies()->size(), 1U);
  change(*store, [](Transaction& t) { return t.set_epochs({{2, 1}, 1}); });
  EXPECT_EQ(store->snapshot().value()->key(key_.id)->revoked, key_.revoked);
}

// The database as it was when the key still counted, with the anchor of today.
TEST_F(GovernanceTest, DatabaseFromBeforeTheRevocation_IsRefused) {
  fs::copy_file(path() + ".trusting", path(), fs::copy_options::overwrite_existing);
  EXPECT_EQ(open_error(), ErrorCode::kStoreBehindAnchor);
}

// Withdraws a new statement, and returns its id.
StatementId withdraw_one(Store& store) {
  const StatementRow row = make_statement("acme/withdrawn");
  const auto done = store.write([&](Transaction& t) -> Status {
    ASSAY_TRY(put(t, row));
    ASSAY_TRY(t.put_withdrawal({row.id, "other", "wrong", t.now(), t.now(), {"eva"}, false}));
    ASSAY_TRY(t.append(make_record("statement.withdrawn")));
    return {};
  });
  EXPECT_TRUE(done) << to_string(done.error());
  return row.id;
}

TEST_F(GovernanceTest, Withdrawal_IsKept) {
  std::optional<StatementId> id;
  {
    const auto store = open().value();
    id = withdraw_one(*store);
    EXPECT_EQ(store->snapshot().value()->withdrawal(*id)->value().by,
              (std::vector<std::string>{"eva"}));
    const auto again = [&](const std::vector<std::string>& by, bool by_operators) {
      const auto done = store->write([&](Transaction& t) -> Status {
        ASSAY_TRY(t.put_withdrawal({*id, "other", "again", t.now(), t.now(), by, by_operators}));
        ASSAY_TRY(t.append(make_record("statement.withdrawn")));
        return {};
      });
      return done ? std::string("ok") : std::string(info(done.error().code).code);
    };
    EXPECT_EQ(again({"eva"}, false), "conflict");
    EXPECT_EQ(again({"adam", "bob"}, false), "conflict") << "eva's does not go away";
    EXPECT_EQ(again({"adam", "eva"}, false), "ok") << "more signers withdraw";
    EXPECT_EQ(again({"adam", "eva"}, false), "conflict");
    EXPECT_EQ(again({"olga"}, true), "ok") << "operators withdraw for everybody";
    EXPECT_EQ(again({"adam", "eva", "olga"}, false), "conflict");
    EXPECT_EQ(again({"olga", "omar"}, true), "conflict");
    const auto unknown = store->write([&](Transaction& t) {
      return t.put_withdrawal(
          {StatementId(digest_of("none")), "other", "x", t.now(), t.now(), {"olga"}, true});
    });
    EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
  }
  const auto store = open().value();
  EXPECT_EQ(store->snapshot().value()->withdrawals()->size(), 1U);
  EXPECT_EQ(store->snapshot().value()->withdrawal(*id)->value().text, "again");
  EXPECT_TRUE(store->snapshot().value()->withdrawal(*id)->value().by_operators);
  EXPECT_FALSE(store->snapshot().value()->withdrawal(StatementId(digest_of("none"))).value());
}

TEST_F(GovernanceTest, WithdrawalThatIsGone_StopsTheStart) {
  withdraw_one(*open().value());
  const std::string whole = path() + ".withdrawn";
  fs::copy_file(path(), whole);
  for (const char* sql : {
           "DROP TRIGGER withdrawals_keep_delete; DELETE FROM withdrawals",
           "DROP TRIGGER withdrawals_keep_update; UPDATE withdrawals SET statement = zeroblob(32)",
           "DROP TRIGGER withdrawals_keep_update; UPDATE withdrawals SET body = replace(body, "
           "'eva', 'adam')",
           "DROP TRIGGER withdrawals_keep_update; UPDATE withdrawals SET body = '{}'",
       }) {
    tamper(sql);
    EXPECT_EQ(open_error(), ErrorCode::kDataLoss) << sql;
    fs::copy_file(whole, path(), fs::copy_options::overwrite_existing);
  }
  EXPECT_TRUE(open());
}

TEST_F(GovernanceTest, WithdrawalWithoutARecord_IsRefusedAndUndone) {
  const auto store = open().value();
  const StatementRow row = make_statement("acme/silent");
  const auto silent = store->write([&](Transaction& t) -> Status {
    ASSAY_TRY(put(t, row));
    return t.put_withdrawal({row.id, "other", "x", t.now(), t.now(), {"eva"}, false});
  });
  EXPECT_EQ(silent.error().code, ErrorCode::kInternal);
  EXPECT_FALSE(store->snapshot().value()->withdrawal(row.id).value());
}

TEST_F(GovernanceTest, ChangeWithoutARecord_IsRefusedAndUndone) {
  const auto store = open().value();
  const auto state = store->snapshot().value()->log_state().value();
  const auto done =
      store->write([](Transaction& t) { return t.put_principal(make_principal("bob")); });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kInternal);
  EXPECT_EQ(store->snapshot().value()->principals()->size(), 1U);
  EXPECT_EQ(store->snapshot().value()->log_state()->note, state.note);
  change(*store, [](Transaction& t) { return t.put_principal(make_principal("bob")); });
  EXPECT_EQ(store->snapshot().value()->principals()->size(), 2U);
}

TEST_F(GovernanceTest, Rows_WithoutAnyRecordInTheLog_AreRefused) {
  fs::remove(path());
  fs::remove(anchor_path());
  open().value().reset();
  tamper("INSERT INTO principals VALUES ('mallory', NULL)");
  EXPECT_EQ(open_error(), ErrorCode::kDataLoss);
}

TEST_F(GovernanceTest, Records_NameTheOneBeforeAndTheAnchorTheNewest) {
  const auto store = open().value();
  const auto view = store->snapshot().value();
  EventQuery query;
  query.type = "trust.changed";
  const auto page = view->events(query).value();
  ASSERT_EQ(page.items.size(), 3U);
  std::optional<std::pair<LeafIndex, Digest>> before;
  Json newest;
  for (const EventRow& event : page.items) {
    const ChainLink link = link_of(event.record).value();
    EXPECT_EQ(link.previous, before);
    const Bytes bytes = view->log_record(event.index).value();
    before.emplace(event.index, merkle_leaf(HashAlgorithm::kSha256, bytes));
    newest = event.record.detail["chain"];
  }
  const auto anchored = Anchor(anchor_path()).load().value().head;
  ASSERT_TRUE(anchored);
  EXPECT_EQ(anchored->index, before->first);
  EXPECT_EQ(anchored->leaf, before->second);
  EXPECT_EQ(newest["trust"], anchored->state.trust.text());
}

// An index that hides the newest change of trust, so that an older state seems to be the newest.
TEST_F(GovernanceTest, NewestRecordHidden_IsRefused) {
  tamper(
      "DROP TRIGGER log_records_keep_columns;"
      "UPDATE log_records SET type = 'test.hidden' WHERE idx = "
      "(SELECT max(idx) FROM log_records WHERE type = 'trust.changed')");
  tamper("UPDATE keys SET revoked_at = NULL, revoked_reason = NULL");
  EXPECT_EQ(open_error(), ErrorCode::kStoreBehindAnchor);
}

}  // namespace
}  // namespace assay::storage
