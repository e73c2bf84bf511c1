// SPDX-License-Identifier: Apache-2.0
// `assayd check --deep` follows what decisions rest on: each document of a case that is missing or
// damaged is named.
#include <algorithm>
#include <set>

#include <sqlite3.h>

#include "server/service/decisions/decide.h"
#include "server/service/upkeep/check_store.h"
#include "tests/server/service/fixture.h"
#include "tests/support/kept_triggers.h"

namespace assay::server::test {
namespace {

class CheckTest : public ServiceTest {
 protected:
  CheckTest() {
    put_policy_in_force();
    store_good_model(model_);
    const std::set<std::string> before = documents();
    const auto answer =
        decide(*services_, {.point = DecisionPoint::kCreate,
                            .models = {model_.name},
                            .workload = {"inference", {{"app", "chat"}}, {"nvidia.com/gpu"}},
                            .context = {{"uid", "1"}},
                            .principal = "kube-apiserver"});
    EXPECT_TRUE(answer) << to_string(answer.error());
    for (const std::string& id : documents()) {
      if (!before.contains(id)) {
        made_.insert(id);
      }
    }
  }

  // As somebody with the file in hand could; the store is closed meanwhile.
  std::vector<std::string> on_file(const std::string& sql) {
    services_.reset();
    store_.reset();
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open((directory_ / "assay.db").c_str(), &database), SQLITE_OK);
    const assay::test::KeptTriggers triggers(database);
    std::vector<std::string> rows;
    const auto take = [](void* out, int, char** columns, char**) {
      static_cast<std::vector<std::string>*>(out)->emplace_back(columns[0]);
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), take, &rows, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database);
    triggers.put_back();
    sqlite3_close(database);
    reopen();
    return rows;
  }
  std::set<std::string> documents() {
    const auto rows = on_file("SELECT 'sha256:' || lower(hex(id)) FROM documents");
    return {rows.begin(), rows.end()};
  }
  std::vector<std::string> findings(bool deep = true) {
    std::vector<std::string> found;
    const auto checked = check_store(*store_->snapshot().value(), deep);
    EXPECT_TRUE(checked) << to_string(checked.error());
    for (const Finding& finding : *checked) {
      found.push_back(finding.check + " " + finding.id);
    }
    return found;
  }
  static std::string blob(const std::string& id) { return "x'" + id.substr(7) + "'"; }

  const Manifest model_ = manifest("m");
  std::set<std::string> made_;  // documents that the decision is made of, its envelope too
};

TEST_F(CheckTest, WholeCase_HasNoFindings) {
  EXPECT_GT(made_.size(), 6U);
  EXPECT_EQ(findings(), std::vector<std::string>());
}

TEST_F(CheckTest, EachPartThatIsMissing_IsNamed) {
  for (const std::string& id : made_) {
    on_file(
        "PRAGMA foreign_keys = OFF; DROP TRIGGER IF EXISTS documents_keep_delete;"
        "ATTACH '" +
        (directory_ / "kept.db").string() +
        "' AS aside;"
        "DROP TABLE IF EXISTS aside.kept;"
        "CREATE TABLE aside.kept AS SELECT * FROM documents WHERE id = " +
        blob(id) +
        ";"
        "DELETE FROM documents WHERE id = " +
        blob(id));
    const std::vector<std::string> found = findings();
    EXPECT_NE(std::ranges::find(found, "case-part " + id), found.end()) << id;
    EXPECT_EQ(findings(false), std::vector<std::string>()) << "only a deep look shows it";
    on_file("ATTACH '" + (directory_ / "kept.db").string() +
            "' AS aside;"
            "INSERT INTO documents SELECT * FROM aside.kept");
    EXPECT_EQ(findings(), std::vector<std::string>());
  }
}

TEST_F(CheckTest, EachPartThatIsDamaged_IsNamed) {
  for (const std::string& id : made_) {
    on_file(
        "DROP TRIGGER IF EXISTS documents_keep_update;"
        "UPDATE documents SET bytes = CAST(bytes || ' ' AS BLOB) WHERE id = " +
        blob(id));
    const std::vector<std::string> found = findings();
    EXPECT_NE(std::ranges::find(found, "case-part " + id), found.end()) << id;
    on_file(
        "DROP TRIGGER documents_keep_update; UPDATE documents SET bytes = substr(bytes, 1, "
        "length(bytes) - 1) WHERE id = " +
        blob(id));
  }
}

// No column that repeats the record hides the decision from those who look.
TEST_F(CheckTest, CaseOfADecisionThatIsFoundByNoType_IsNamed) {
  on_file(
      "DROP TRIGGER log_records_keep_columns;"
      "UPDATE log_records SET type = 'x', time = 0 WHERE type = 'decision.made'");
  const auto statement = on_file(
      "SELECT 'sha256:' || lower(hex(document)) FROM statement_envelopes WHERE log_index = "
      "(SELECT min(log_index) FROM statements WHERE kind = 2)");
  on_file(
      "PRAGMA foreign_keys = OFF; DROP TRIGGER IF EXISTS documents_keep_delete;"
      "DELETE FROM documents WHERE id = " +
      blob(statement.front()));
  EXPECT_EQ(findings(), (std::vector<std::string>{"case-part " + statement.front()}));
}

TEST_F(CheckTest, EnvelopeThatReplayReads_IsNamed) {
  const auto statement = on_file(
      "SELECT 'sha256:' || lower(hex(document)) FROM statement_envelopes WHERE log_index = "
      "(SELECT min(log_index) FROM statements WHERE kind = 2)");
  ASSERT_EQ(statement.size(), 1U);
  on_file(
      "PRAGMA foreign_keys = OFF; DROP TRIGGER IF EXISTS documents_keep_delete;"
      "DELETE FROM documents WHERE id = " +
      blob(statement.front()));
  EXPECT_EQ(findings(), (std::vector<std::string>{"case-part " + statement.front()}));
}

}  // namespace
}  // namespace assay::server::test
