// SPDX-License-Identifier: Apache-2.0
// EXPLAIN QUERY PLAN of every statement: keyed ones find their rows through an index and in its
// order, so that no query gets slower with the length of the log.
#include "storage/sqlite/connection.h"
#include "storage/sqlite/database_file.h"
#include "tests/storage/sqlite_files.h"

namespace assay::storage::sqlite {
namespace {

std::vector<std::string> plan_of(sqlite3* database, Sql sql) {
  const std::string explain = "EXPLAIN QUERY PLAN " + std::string(sql_text(sql));
  sqlite3_stmt* raw = nullptr;
  EXPECT_EQ(sqlite3_prepare_v2(database, explain.c_str(), -1, &raw, nullptr), SQLITE_OK)
      << sql_text(sql) << ": " << sqlite3_errmsg(database);
  const StatementHandle statement(raw);
  std::vector<std::string> lines;
  while (raw != nullptr && sqlite3_step(raw) == SQLITE_ROW) {
    lines.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(raw, 3)));
  }
  return lines;
}

class QueryPlan : public SqliteTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(prepare_file(path(), true));
    connection_ = Connection::open(path(), Connection::Mode::kReadWrite).value();
    ASSERT_TRUE(migrate(*connection_));
  }
  std::unique_ptr<Connection> connection_;
};

// What a keyed statement must not do. One form of SCAN reads a single row: the end of an index.
bool is_slow(const std::string& line, std::string_view text) {
  const bool last_row = text.find("DESC LIMIT 1") != std::string_view::npos;
  return (line.starts_with("SCAN") && !last_row) || line.find("TEMP B-TREE") != std::string::npos ||
         line.find("AUTOMATIC") != std::string::npos;
}

TEST_F(QueryPlan, KeyedStatements_NeverScanOrSort) {
  for (std::size_t i = 0; i < kSqlCount; ++i) {
    const Sql sql = static_cast<Sql>(i);
    if (reads_whole_table(sql)) {
      continue;
    }
    for (const std::string& line : plan_of(connection_->handle(), sql)) {
      EXPECT_FALSE(is_slow(line, sql_text(sql))) << sql_text(sql) << "\n  " << line;
    }
  }
}

TEST_F(QueryPlan, WholeTables_AreTheDocumentedOnes) {
  std::vector<Sql> whole;
  for (std::size_t i = 0; i < kSqlCount; ++i) {
    if (reads_whole_table(static_cast<Sql>(i))) {
      whole.push_back(static_cast<Sql>(i));
    }
  }
  EXPECT_EQ(whole, (std::vector{Sql::kNodeScan, Sql::kRecordScan, Sql::kMapScan}));
}

TEST_F(QueryPlan, Filters_WalkAnIndexWithTheirValueAndPosition) {
  const Sql first = Sql::kEventByType;
  const Sql last = Sql::kDecisionByReason;
  for (auto i = static_cast<std::size_t>(first); i <= static_cast<std::size_t>(last); ++i) {
    const Sql sql = static_cast<Sql>(i);
    auto plan = plan_of(connection_->handle(), sql);
    // A text is looked up once for its number.
    std::erase_if(plan, [](const std::string& step) {
      return step.starts_with("SCALAR SUBQUERY") ||
             step == "SEARCH texts USING COVERING INDEX texts_by_text (text=?)";
    });
    ASSERT_EQ(plan.size(), 1U) << sql_text(sql);
    EXPECT_TRUE(plan[0].starts_with("SEARCH")) << plan[0];
    if (sql != Sql::kEventNextType) {
      EXPECT_NE(plan[0].find("=? AND "), std::string::npos) << plan[0];
      EXPECT_NE(plan[0].find(">?"), std::string::npos) << plan[0];
    }
  }
}

TEST_F(QueryPlan, JobLists_WalkAnIndexWithAllTheirFilters) {
  const Sql first = Sql::kJobListByNode;
  const Sql last = Sql::kJobListByNodeArtifactFinished;
  for (auto i = static_cast<std::size_t>(first); i <= static_cast<std::size_t>(last); ++i) {
    const Sql sql = static_cast<Sql>(i);
    const auto plan = plan_of(connection_->handle(), sql);
    ASSERT_EQ(plan.size(), 1U) << sql_text(sql);
    EXPECT_TRUE(plan[0].starts_with("SEARCH")) << plan[0];
    EXPECT_NE(plan[0].find("rowid<?"), std::string::npos) << plan[0];
    for (const char* column : {"node", "artifact", "finished"}) {
      const std::string test = std::string(column) + " = ?";
      const std::string used = std::string(column) + "=?";
      EXPECT_EQ(sql_text(sql).find(test) != std::string_view::npos,
                plan[0].find(used) != std::string::npos)
          << plan[0];
    }
  }
}

TEST_F(QueryPlan, EveryStatement_PreparesWithoutATrailingOne) {
  for (std::size_t i = 0; i < kSqlCount; ++i) {
    const std::string_view text = sql_text(static_cast<Sql>(i));
    EXPECT_EQ(text.find(';'), std::string_view::npos) << text;
    const Query query = connection_->query(static_cast<Sql>(i));
    EXPECT_FALSE(connection_->take_failure()) << text;
  }
}

}  // namespace
}  // namespace assay::storage::sqlite
