// SPDX-License-Identifier: Apache-2.0
// Somebody changed the database file with the store closed: what notices, and when.
#include "tests/storage/sqlite_files.h"

namespace assay::storage {
namespace {

// Changes one byte in the middle of a BLOB or in the first digit of a number.
std::string flip(const std::string& table, const std::string& column, const std::string& where) {
  return "DROP TRIGGER IF EXISTS " + table + "_keep_update; UPDATE " + table + " SET " + column +
         " = CAST(substr(" + column + ", 1, 10) || CASE hex(substr(" + column +
         ", 11, 1)) WHEN '41' THEN x'42' ELSE x'41' END || substr(" + column +
         ", 12) AS BLOB) WHERE " + where;
}

class Tamper : public SqliteTest {
 protected:
  void SetUp() override {
    auto store = open().value();
    append(*store, 20);
    state_ = append(*store, 1);
    const auto written = store->write([&](Transaction& transaction) -> Status {
      ASSAY_ASSIGN(const DocumentId id,
                   transaction.put_document("text/plain", as_bytes("0123456789abcdef")));
      document_ = id;
      return {};
    });
    ASSERT_TRUE(written);
  }
  LogState state_{0, digest_of(""), {}};
  std::optional<DocumentId> document_;
};

TEST_F(Tamper, Nothing_VerifiesAndOpens) {
  const auto store = open().value();
  EXPECT_TRUE(store->snapshot().value()->verify_log());
}

TEST_F(Tamper, EveryRecord_IsNoticedWhereItIsReadAndByTheCheck) {
  for (LeafIndex i = 0; i < state_.size; ++i) {
    const std::string where = "idx = " + std::to_string(i);
    const std::string before = look("SELECT hex(bytes) FROM log_records WHERE " + where);
    tamper(flip("log_records", "bytes", where));
    if (i + 1 == state_.size) {  // whose time is the least that time can be
      EXPECT_EQ(open_error(), ErrorCode::kDataLoss);
    } else {
      const auto store = open().value();
      const auto view = store->snapshot().value();
      EXPECT_EQ(view->log_record(i).error().code, ErrorCode::kDataLoss);
      EXPECT_EQ(view->entry_bundle(0, 21).error().code, ErrorCode::kDataLoss);
      EXPECT_EQ(view->events({}).error().code, ErrorCode::kDataLoss);
      EXPECT_EQ(view->verify_log().error().code, ErrorCode::kDataLoss);
    }
    tamper("DROP TRIGGER log_records_keep_update; UPDATE log_records SET bytes = x'" + before +
           "' WHERE " + where);
  }
}

TEST_F(Tamper, EveryStoredDigest_IsNoticedByTheCheck) {
  std::size_t digests = 0;
  for (int leaf = 0; leaf < 21; ++leaf) {
    const std::string where = "leaf = " + std::to_string(leaf);
    const std::string before = look("SELECT hex(hashes) FROM log_nodes WHERE " + where);
    for (std::size_t at = 0; at < before.size(); at += 64, ++digests) {
      std::string altered = before;
      altered[at] = altered[at] == '0' ? '1' : '0';
      tamper("DROP TRIGGER log_nodes_keep_update; UPDATE log_nodes SET hashes = x'" + altered +
             "' WHERE " + where);
      const auto opened = open();
      if (opened) {
        EXPECT_EQ((*opened)->snapshot().value()->verify_log().error().code, ErrorCode::kDataLoss)
            << leaf;
      } else {  // one of those that make up the root is noticed at once
        EXPECT_EQ(opened.error().code, ErrorCode::kLogInconsistent) << leaf;
      }
    }
    tamper("DROP TRIGGER log_nodes_keep_update; UPDATE log_nodes SET hashes = x'" + before +
           "' WHERE " + where);
  }
  EXPECT_EQ(digests, 2 * 21 - 3);
  EXPECT_TRUE(open().value()->snapshot().value()->verify_log());
}

TEST_F(Tamper, DigestsOfALeafThatAreCutOff_AreNoticed) {
  tamper(
      "DROP TRIGGER log_nodes_keep_update;"
      "UPDATE log_nodes SET hashes = substr(hashes, 1, 32) WHERE leaf = 7");
  const auto store = open().value();
  const auto view = store->snapshot().value();
  EXPECT_EQ(view->verify_log().error().code, ErrorCode::kDataLoss);
  EXPECT_EQ(view->inclusion_proof(8, 21).error().code, ErrorCode::kDataLoss);
}

TEST_F(Tamper, LastRecordRemoved_IsRefusedAtOpen) {
  tamper("DROP TRIGGER log_records_keep_delete; DELETE FROM log_records WHERE idx = 20");
  EXPECT_EQ(open_error(), ErrorCode::kDataLoss);
}

TEST_F(Tamper, LastRecordAndItsDigestsRemoved_IsRefusedAtOpen) {
  tamper(
      "DROP TRIGGER log_records_keep_delete; DELETE FROM log_records WHERE idx = 20;"
      "DROP TRIGGER log_nodes_keep_delete;"
      "DELETE FROM log_nodes WHERE leaf = 20");
  EXPECT_EQ(open_error(), ErrorCode::kLogInconsistent);
}

TEST_F(Tamper, MiddleRecordRemoved_IsNoticedByTheCheck) {
  tamper("DROP TRIGGER log_records_keep_delete; DELETE FROM log_records WHERE idx = 7");
  const auto store = open().value();
  const auto view = store->snapshot().value();
  EXPECT_EQ(view->log_record(7).error().code, ErrorCode::kDataLoss);
  EXPECT_EQ(view->verify_log().error().code, ErrorCode::kDataLoss);
}

TEST_F(Tamper, CheckpointRow_IsRefusedAtOpen) {
  tamper("UPDATE log_checkpoint SET size = 20");
  EXPECT_EQ(open_error(), ErrorCode::kLogInconsistent);
}

TEST_F(Tamper, CheckpointOfAnotherSize_IsRefusedAtOpen) {
  const std::string older = sign_checkpoint({kTestOrigin, 20, state_.root}, signer_).value();
  tamper("UPDATE log_checkpoint SET note = CAST(x'" + hex_encode(as_bytes(older)) + "' AS TEXT)");
  EXPECT_EQ(open_error(), ErrorCode::kDataLoss);
}

TEST_F(Tamper, CheckpointSignature_IsRefusedAtOpen) {
  std::string note = state_.note;
  const std::size_t at = note.size() - 20;
  note[at] = note[at] == 'A' ? 'B' : 'A';
  tamper("UPDATE log_checkpoint SET note = CAST(x'" + hex_encode(as_bytes(note)) + "' AS TEXT)");
  EXPECT_EQ(open_error(), ErrorCode::kDataLoss);
}

TEST_F(Tamper, CheckpointRemoved_IsRefusedAtOpen) {
  tamper("DELETE FROM log_checkpoint");
  EXPECT_EQ(open_error(), ErrorCode::kDataLoss);
}

TEST_F(Tamper, Document_IsDataLossWhenRead) {
  tamper(flip("documents", "bytes", "1"));
  const auto store = open().value();
  EXPECT_EQ(store->snapshot().value()->document(*document_).error().code, ErrorCode::kDataLoss);
}

TEST_F(Tamper, DocumentReadInsideAWrite_UndoesTheWrite) {
  // The database fails in the middle of the work.
  tamper("PRAGMA foreign_keys = OFF; INSERT INTO decision_reasons VALUES (21, 0, 1)");
  const auto store = open().value();
  const auto result = store->write([](Transaction& transaction) -> Status {
    DecisionRow row = make_decision("lost");
    row.reasons = {"one"};
    static_cast<void>(put(transaction, row));  // fails, and the caller does not look
    return {};
  });
  ASSERT_FALSE(result);
  EXPECT_EQ(store->snapshot().value()->log_state()->size, 21U);
  EXPECT_EQ(append(*store, 1).size, 22U);
}

TEST_F(Tamper, PageOfTheFile_IsDataLoss) {
  // The root page of the records: every read and every append meets it.
  const int page = std::stoi(look("SELECT rootpage FROM sqlite_schema WHERE name = 'log_records'"));
  std::FILE* file = std::fopen(path().c_str(), "r+b");
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(std::fseek(file, (page - 1) * 4096L, SEEK_SET), 0);
  const std::string noise(4096, '\xff');
  ASSERT_EQ(std::fwrite(noise.data(), 1, noise.size(), file), noise.size());
  std::fclose(file);
  EXPECT_EQ(open_error(), ErrorCode::kDataLoss);
}

}  // namespace
}  // namespace assay::storage
