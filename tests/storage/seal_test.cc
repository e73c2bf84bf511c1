// SPDX-License-Identifier: Apache-2.0
// Rows that something else than the store changed, while it runs: data-loss, never another answer.
#include <gtest/gtest.h>

#include "tests/storage/sqlite_files.h"

namespace assay::storage {
namespace {

class SealTest : public SqliteTest {
 protected:
  void SetUp() override {
    store_ = open().value();
    const auto done = store_->write([&](Transaction& t) -> Status {
      ASSAY_ASSIGN(const StatementRow row, put(t, make_statement("acme/a")));
      statement_ = row.id;
      StatementRow placed = make_statement("acme/b");
      placed.locations = {"pvc://prod/b"};
      ASSAY_TRY(put(t, placed));
      ASSAY_TRY(put(t, make_decision("allowed")));
      DecisionRow denied = make_decision("denied");
      denied.allowed = false;
      denied.reasons = {"key-revoked"};
      denied.name_space = "dev";
      ASSAY_TRY(put(t, denied));
      ASSAY_TRY(t.put_challenge({Bytes(32, 1), "p", "enrol", "n", "", Timestamp(), {}}));
      ASSAY_TRY(t.consume_challenge(Bytes(32, 1)));
      ASSAY_TRY(t.put_claim({"kube", "prod", "claim", "uid", "volume-1"}));
      return t.raise_high_water("tdx", 5, {});
    });
    ASSERT_TRUE(done) << to_string(done.error());
  }
  template <typename T>
  static ErrorCode code(const Result<T>& result) {
    return result ? ErrorCode{} : result.error().code;
  }
  // Changes rows past their triggers, while the store is closed.
  void change(const std::string& sql) {
    store_.reset();
    tamper(sql);
    store_ = open().value();
  }
  std::unique_ptr<Snapshot> view() { return store_->snapshot().value(); }

  std::unique_ptr<Store> store_;
  std::optional<StatementId> statement_;
};

TEST_F(SealTest, Statement_EachColumnAndList_IsDataLoss) {
  ASSERT_TRUE(view()->statement(*statement_));
  const std::string drop = "DROP TRIGGER IF EXISTS statements_keep_update;";
  for (const char* sql :
       {"UPDATE statements SET name = 'acme/c'", "UPDATE statements SET time = 1",
        "UPDATE statement_subjects SET subject = 'x'", "DELETE FROM statement_subjects",
        "INSERT INTO statement_signers VALUES (0, 0, zeroblob(32), 0, 0, '')"}) {
    change(drop + sql);
    EXPECT_EQ(code(view()->statement(*statement_)), ErrorCode::kDataLoss) << sql;
    EXPECT_EQ(code(view()->statements({})), ErrorCode::kDataLoss) << sql;
  }
}

TEST_F(SealTest, Decision_TurnedIntoAnAllow_IsDataLoss) {
  ASSERT_TRUE(view()->decision("denied"));
  change("DROP TRIGGER decisions_keep_update; UPDATE decisions SET allowed = 1");
  EXPECT_EQ(code(view()->decision("denied")), ErrorCode::kDataLoss);
  EXPECT_TRUE(view()->decision("allowed")) << "the honest neighbour";
}

TEST_F(SealTest, Decision_WithoutItsReason_IsDataLoss) {
  tamper("DELETE FROM decision_reasons");
  EXPECT_EQ(code(view()->decision("denied")), ErrorCode::kDataLoss);
}

// Reasons and subjects stand in a table of texts.
TEST_F(SealTest, Decision_WithAnotherReason_IsDataLoss) {
  change("UPDATE texts SET text = 'key-expired' WHERE text = 'key-revoked'");
  EXPECT_EQ(code(view()->decision("denied")), ErrorCode::kDataLoss);
}

TEST_F(SealTest, Decision_AboutAnotherModel_IsDataLoss) {
  change(
      "UPDATE texts SET text = text || 'x' WHERE number = (SELECT subject FROM decision_subjects)");
  EXPECT_EQ(code(view()->decision("denied")), ErrorCode::kDataLoss);
}

TEST_F(SealTest, Decision_OfAnotherNamespace_IsDataLoss) {
  change("UPDATE texts SET text = 'test' WHERE text = 'dev'");
  EXPECT_EQ(code(view()->decision("denied")), ErrorCode::kDataLoss);
  change("DELETE FROM texts WHERE text = 'test'");
  EXPECT_EQ(code(view()->decision("denied")), ErrorCode::kDataLoss);
  EXPECT_TRUE(view()->decision("allowed")) << "the honest neighbour";
}

TEST_F(SealTest, SpentNonce_IsNotGoodAgain) {
  change("DROP TRIGGER challenges_stay_used; UPDATE challenges SET used_at = NULL");
  const auto again = store_->write([](Transaction& t) -> Status {
    ASSAY_TRY(t.consume_challenge(Bytes(32, 1)));
    return {};
  });
  EXPECT_EQ(code(again), ErrorCode::kDataLoss);
}

TEST_F(SealTest, ClaimAndMark_AreDataLoss) {
  tamper("UPDATE claims SET volume = 'volume-2'; UPDATE high_waters SET value = 9");
  EXPECT_EQ(code(view()->claim("kube", "prod", "claim")), ErrorCode::kDataLoss);
  EXPECT_EQ(code(view()->high_water("tdx")), ErrorCode::kDataLoss);
}

TEST_F(SealTest, NameOfAMark_IsDataLossInTheList) {
  EXPECT_EQ(view()->high_waters("", 9), std::vector<std::string>{"tdx"});
  change("UPDATE high_waters SET name = 'tdz'");
  EXPECT_EQ(code(view()->high_waters("", 9)), ErrorCode::kDataLoss);
}

TEST_F(SealTest, Decision_WithTheSealOfAnother_IsDataLoss) {
  change(
      "DROP TRIGGER decisions_keep_update; UPDATE decisions SET seal = (SELECT seal FROM "
      "decisions ORDER BY log_index LIMIT 1)");
  EXPECT_EQ(code(view()->decision("denied")), ErrorCode::kDataLoss);
  EXPECT_TRUE(view()->decision("allowed")) << "the honest neighbour";
}

TEST_F(SealTest, MediaTypeOfADocument_IsDataLoss) {
  const DocumentId id = view()->decision("allowed")->envelope;
  change("DROP TRIGGER documents_keep_update; UPDATE documents SET media_type = 'text/html'");
  EXPECT_EQ(code(view()->document(id)), ErrorCode::kDataLoss);
}

TEST_F(SealTest, LogAnswers_ThatDoNotLeadToTheRoot_AreDataLoss) {
  append(*store_, 6);
  ASSERT_TRUE(view()->tile(0, 0, 8));
  change(
      "DROP TRIGGER log_nodes_keep_update; UPDATE log_nodes SET hashes = "
      "CAST(zeroblob(32) || substr(hashes, 33) AS BLOB) WHERE leaf = 1");
  EXPECT_EQ(code(view()->tile(0, 0, 8)), ErrorCode::kDataLoss);
  EXPECT_EQ(code(view()->inclusion_proof(0, 10)), ErrorCode::kDataLoss);
  EXPECT_EQ(code(view()->inclusion_proof(0, 2)), ErrorCode::kDataLoss);
  EXPECT_TRUE(view()->inclusion_proof(5, 10)) << "needs another digest";
}

TEST_F(SealTest, Reopened_EverySealHolds) {
  store_.reset();
  store_ = open().value();
  EXPECT_TRUE(view()->decision("allowed"));
  EXPECT_TRUE(view()->statement(*statement_));
}

}  // namespace
}  // namespace assay::storage
