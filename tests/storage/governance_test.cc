// SPDX-License-Identifier: Apache-2.0
// Documents of trust and policy that somebody changed: refused at the start, without effect
// meanwhile. Their limits.
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
    trusting_ = look("SELECT hex(document) FROM governance WHERE part = 'trust'");
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
  std::string trusting_;  // the document of trust before the revocation, in hex
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

// The start follows the chain of trust and reads no other records of the log. Its inclusion proofs
// grow by a node when the log doubles. (It reads the record map, which has no decisions and
// events.)
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
        ASSAY_TRY(t.append(make_record("test.appended")));
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

// In one of the two documents.
std::string replace_in(const std::string& part, const std::string& from, const std::string& to) {
  return "UPDATE governance SET document = CAST(replace(CAST(document AS TEXT), '" + from + "', '" +
         to + "') AS BLOB) WHERE part = '" + part + "'";
}

TEST_F(GovernanceTest, DocumentsChangedWhileStopped_RefuseTheStart) {
  const std::string whole = path() + ".whole";
  fs::copy_file(path(), whole);
  for (const std::string& sql : {
           replace_in("trust", "\"reason\":\"stolen\"", "\"reason\":\"stolem\""),
           replace_in("trust", "\"auditor\"", "\"admin\""),
           replace_in("trust", "\"epochs\":[1,1]", "\"epochs\":[2,1]"),
           replace_in("trust", "\"epochs\":[1,1]", "\"epochs\":[1,2]"),
           replace_in("trust", "gpu-1", "gpu-9"),
           replace_in("policies", "\"epoch\":1", "\"epoch\":2"),
           replace_in("policies", "\"version\":1", "\"version\":2"),
           replace_in("policies", "AQI=", "AQE="),
           replace_in("policies", "\"epoch\"", " \"epoch\""),
           std::string("DELETE FROM governance"),
           std::string("DELETE FROM governance WHERE part = 'policies'"),
           std::string("UPDATE governance SET document = x'' WHERE part = 'trust'"),
           std::string("UPDATE governance SET document = "
                       "(SELECT document FROM governance WHERE part = 'trust')"),
       }) {
    SCOPED_TRACE(sql);
    tamper(sql);
    EXPECT_EQ(open_error(), ErrorCode::kDataLoss);
    const auto inspection = Inspection::open(options(), signer_, clock_).value();
    const auto found = inspection->find(false, [](auto, auto) {}).value();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].check, "trust");
    fs::copy_file(whole, path(), fs::copy_options::overwrite_existing);
  }
  EXPECT_TRUE(open());
}

TEST_F(GovernanceTest, DocumentsChangedWhileRunning_ChangeNothing) {
  const auto store = open().value();
  tamper("DELETE FROM governance");
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
  fs::copy_file(path(), path() + ".before");
  withdraw_one(*open().value());
  tamper("ATTACH '" + path() + ".before' AS old;" +
         "UPDATE governance SET document = (SELECT document FROM old.governance AS o "
         "WHERE o.part = governance.part)");
  EXPECT_EQ(open_error(), ErrorCode::kDataLoss);
}

Withdrawn withdrawal_of(int number, std::size_t bytes, bool by_operators) {
  const Timestamp at;
  return {StatementId(digest_of("s" + std::to_string(number))),
          "other",
          std::string(bytes, 'x'),
          at,
          at,
          {"eva"},
          by_operators};
}

// Whoever signs much could otherwise fill the document, and nobody could be revoked any more.
TEST(GovernanceLimits, WithdrawalsBySignersLeaveRoomForOperators) {
  constexpr std::size_t kPart = kMaxWithdrawnBytes / 32;
  Governance governance;
  int kept = 0;
  Status status;
  while ((status = governance.put_withdrawal(withdrawal_of(kept, kPart, false)))) {
    ++kept;
  }
  EXPECT_EQ(status.error().code, ErrorCode::kLimitExceeded);
  EXPECT_EQ(kept, 31);
  EXPECT_TRUE(governance.put_withdrawal(withdrawal_of(kept, kPart, true))) << "by operators";
  EXPECT_TRUE(governance.put_withdrawal(withdrawal_of(0, kPart, true)));
  EXPECT_TRUE(governance.put_withdrawal(withdrawal_of(kept + 1, kPart, false)))
      << "one of the signers is one of operators now";
  const auto documents = governance.documents();
  ASSERT_TRUE(documents);
  EXPECT_EQ(Governance::from_documents(*documents)->withdrawals(), governance.withdrawals());
  EXPECT_FALSE(
      Governance::from_documents(*documents)->put_withdrawal(withdrawal_of(kept + 2, kPart, false)))
      << "what was read counts as well";
}

TEST(GovernanceLimits, Document_IsTakenUpToTheLimitAndNotOnePast) {
  Governance governance;
  const auto with_payload = [&](std::size_t bytes) {
    EXPECT_TRUE(
        governance.activate_policy({StatementId(digest_of("p")), "gate", 1, Bytes(bytes, 'x')}));
    return governance.documents();
  };
  // Base64 makes four bytes of three.
  const std::size_t rest = kMaxGovernanceBytes - with_payload(0)->policies.size();
  ASSERT_TRUE(with_payload(rest / 4 * 3));
  EXPECT_GT(with_payload(rest / 4 * 3)->policies.size(), kMaxGovernanceBytes - 4);
  EXPECT_EQ(with_payload(rest / 4 * 3 + 3).error().code, ErrorCode::kLimitExceeded);
}

// An inspection reads what no digest vouches for.
TEST_F(GovernanceTest, DocumentsOfAnyBytes_AreReadOrRefused) {
  const auto store = open().value();
  Governance whole;
  ASSERT_TRUE(whole.put_key(key_));
  ASSERT_TRUE(whole.put_principal(make_principal("alice")));
  ASSERT_TRUE(whole.put_registration({"own", "gpu-1", "agent", {"00"}, 2, {}}));
  ASSERT_TRUE(whole.activate_policy({StatementId(digest_of("p")), "gate", 1, {1, 2}}));
  whole.revoke_node("gpu-1", {clock_.now(), "sold"});
  const GovernanceDocuments documents = whole.documents().value();
  const auto same = Governance::from_documents(documents);
  ASSERT_TRUE(same);
  EXPECT_EQ(digests_of(same->documents().value()), digests_of(documents));
  for (std::string GovernanceDocuments::* part :
       {&GovernanceDocuments::trust, &GovernanceDocuments::policies}) {
    for (std::size_t i = 0; i < (documents.*part).size(); ++i) {
      for (const char byte : {'\0', '"', '[', '9', 'x'}) {
        GovernanceDocuments changed = documents;
        (changed.*part)[i] = byte;
        const auto read = Governance::from_documents(changed);
        EXPECT_TRUE(read || read.error().code == ErrorCode::kDataLoss) << i << " " << byte;
      }
      GovernanceDocuments cut = documents;
      (cut.*part).resize(i);
      EXPECT_FALSE(Governance::from_documents(cut)) << i;
    }
  }
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

TEST_F(GovernanceTest, Document_WithoutAnyRecordInTheLog_IsRefused) {
  fs::remove(path());
  fs::remove(anchor_path());
  open().value().reset();
  tamper("INSERT INTO governance VALUES ('trust', x'7b7d')");
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
  tamper("UPDATE governance SET document = x'" + trusting_ + "' WHERE part = 'trust'");
  EXPECT_EQ(open_error(), ErrorCode::kStoreBehindAnchor);
}

}  // namespace
}  // namespace assay::storage
