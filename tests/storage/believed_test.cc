// SPDX-License-Identifier: Apache-2.0
// Nothing in the database is believed: rows that somebody puts back, takes away or hides from an
// index change no answer that decisions rest on (storage/record_map.h).
#include <filesystem>
#include <set>

#include <gtest/gtest.h>

#include "storage/inspect.h"
#include "storage/lineage_reads.h"
#include "tests/storage/flip_store.h"
#include "tests/storage/sqlite_files.h"

namespace assay::storage {
namespace {

namespace fs = std::filesystem;

// Lists that no decision reads; what they may lose is found by `assayd check` (docs/adr/0021).
bool is_unproven(const std::string& question) {
  static const std::set<std::string> kLists = {
      "stale evidence",   "due evidence",    "marks",           "jobs", "nodes", "pods",
      "newest statement", "changes since 0", "changes since 20"};
  return kLists.contains(question) || question.starts_with("statements") ||
         question.starts_with("events") || question.starts_with("decisions") ||
         question.starts_with("number of ");
}

class BelievedTest : public SqliteTest {
 protected:
  void SetUp() override {
    {
      const auto store = open().value();
      const Status filled = fill_for_flips(*store, clock_);
      ASSERT_TRUE(filled) << to_string(filled.error());
    }
    fs::copy_file(path(), earlier());
    fs::copy_file(anchor_path(), anchor_path() + ".earlier");
    const auto store = open().value();
    clock_.advance(std::chrono::hours(1));
    const auto changed = store->write([](Transaction& t) { return change_everything(t); });
    ASSERT_TRUE(changed) << to_string(changed.error());
    now_ = ask(*store);
  }
  [[nodiscard]] std::string earlier() const { return path() + ".earlier"; }

  // Each kind of row that decisions rest on says something else.
  static Status change_everything(Transaction& t) {
    ASSAY_ASSIGN(const DocumentId id, t.put_document("application/json", as_bytes("later")));
    NodeRow node = t.node("gpu-2").value();
    node.ended = Revocation{t.now(), "moved"};
    ASSAY_TRY(t.put_node(node));
    JobRow job = t.job("job-2").value();
    job.id = "job-later";
    job.result = "mismatch";
    job.finished_at = t.now();
    ASSAY_TRY(t.put_job(job));
    for (const char* subject : {"node:gpu-1"}) {
      EvidenceRow evidence = t.evidence(subject).value();
      evidence.error = "tcb-status-refused";
      ASSAY_TRY(t.put_evidence(evidence));
    }
    EvidenceRow stage = t.stage_evidence(flip_statement(3)).value().front();
    stage.error = "measurement-mismatch";
    ASSAY_TRY(t.put_evidence(stage));
    ASSAY_TRY(t.forget_evidence(t.stage_evidence(flip_statement(6)).value().front().subject));
    PodRow pod = t.pod("kube", "uid-3").value();
    pod.settled = "gpu-2";
    ASSAY_TRY(t.put_pod(pod));
    ASSAY_TRY(t.remove_pod("kube", "uid-6"));
    ASSAY_TRY(t.put_claim({"kube", "prod", "claim-3", "uid-2", "volume-2"}));
    ASSAY_TRY(t.raise_high_water("tdx", 9, id));
    ASSAY_ASSIGN(const LeafIndex record, t.append(make_record("test.appended")));
    ASSAY_TRY(t.add_envelope(flip_statement(12), id, {make_key(5).id}, record));
    for (int i = 0; i < 4; ++i) {
      StatementRow row = make_statement("acme/later-" + std::to_string(i));
      row.name = "acme/" + std::to_string(i);
      row.subjects = {flip_artifact(3 * i)};
      row.inputs = {flip_artifact(3 * i)};
      row.locations = {"pvc://prod/" + std::to_string(3 * i)};
      row.signers = {{make_key(2).id, t.now(), 0}};
      ASSAY_TRY(put(t, row));
    }
    return {};
  }

  [[nodiscard]] std::vector<std::string> tables() const {
    std::vector<std::string> names;
    const std::string text =
        look("SELECT group_concat(name, ' ') FROM sqlite_schema WHERE type = 'table'");
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find(' ', begin), text.size());
      names.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
    return names;
  }
  // Puts these tables back as they were before the last write.
  void put_back(const std::vector<std::string>& names) const {
    std::string sql = look(
                          "SELECT group_concat('DROP TRIGGER ' || name, ';') FROM sqlite_schema "
                          "WHERE type = 'trigger'") +
                      ";ATTACH '" + earlier() + "' AS earlier;BEGIN;";
    for (const std::string& name : names) {
      sql += "DELETE FROM main." + name + ";INSERT INTO main." + name + " SELECT * FROM earlier." +
             name + ";";
    }
    tamper(sql + "COMMIT;DETACH earlier;");
  }
  // No answer that decisions rest on is another one than now; an error is none.
  void expect_none_is_wrong(Store& store) const {
    for (const auto& [question, answer] : ask(store)) {
      if (!is_unproven(question) && !answer.starts_with(kFailed)) {
        EXPECT_EQ(answer, now_.at(question)) << question;
      }
    }
  }
  // Makes an index forget a row of its table.
  void hide_from(const std::string& index, const std::string& row) const {
    const std::string sql = look("SELECT sql FROM sqlite_schema WHERE name = '" + index + "'");
    tamper("DROP INDEX " + index + ";" + sql + " WHERE NOT (" + row +
           ");PRAGMA writable_schema = ON;UPDATE sqlite_schema SET sql = '" + sql +
           "' WHERE name = '" + index + "'");
  }
  template <typename T>
  static ErrorCode code(const Result<T>& result) {
    return result ? ErrorCode{} : result.error().code;
  }

  Answers now_;
};

TEST_F(BelievedTest, Untouched_AnswersAsBefore) {
  const auto store = open().value();
  EXPECT_EQ(ask(*store), now_);
}

TEST_F(BelievedTest, TablesPutBackWhileStopped_ChangeNoAnswer) {
  fs::copy_file(path(), path() + ".now");
  std::size_t refused = 0;
  for (const std::string& table : tables()) {
    for (const std::vector<std::string>& with :
         {std::vector<std::string>{}, {"record_map"}, {"record_map", "last_write"}}) {
      fs::remove(path() + "-wal");
      fs::remove(path() + "-shm");
      fs::copy_file(path() + ".now", path(), fs::copy_options::overwrite_existing);
      std::set<std::string> names(with.begin(), with.end());
      names.insert(table);
      SCOPED_TRACE(table + " with " + std::to_string(with.size()) + " more");
      put_back({names.begin(), names.end()});
      const auto store = open();
      refused += store ? 0U : 1U;
      EXPECT_FALSE(store && names.contains("record_map")) << "an old map was opened";
      if (store) {
        expect_none_is_wrong(**store);
      }
    }
  }
  EXPECT_GT(refused, tables().size()) << "no old map was ever refused";
}

TEST_F(BelievedTest, TablesPutBackWhileRunning_ChangeNoAnswer) {
  fs::copy_file(path(), path() + ".now");
  for (const std::string& table : tables()) {
    if (table == "log_checkpoint" || table == "last_write") {
      continue;  // nothing is read any more
    }
    SCOPED_TRACE(table);
    fs::copy_file(path() + ".now", path(), fs::copy_options::overwrite_existing);
    const auto store = open().value();
    put_back(table == "record_map" ? std::vector<std::string>{table, "nodes", "jobs", "evidence"}
                                   : std::vector<std::string>{table});
    expect_none_is_wrong(*store);
  }
}

TEST_F(BelievedTest, RowsThatAreTakenAway_AreMissed) {
  const std::vector<std::pair<const char*, const char*>> rows = {
      {"DELETE FROM nodes", "gpu-1"},
      {"DELETE FROM node_keys", "owner 7"},
      {"DELETE FROM jobs", "report"},
      {"DELETE FROM newest_reports", "report"},
      {"DELETE FROM report_groups", "places"},
      {"DELETE FROM outlines", "outline"},
      {"DELETE FROM pods", "pod 0"},
      {"DELETE FROM claims", "claim 0"},
      {"DELETE FROM high_waters", "mark"},
      {"DELETE FROM evidence", "evidence"},
      {"DELETE FROM evidence WHERE subject LIKE 'statement:%'", "evidence of 3"},
      {"DELETE FROM versions", "version 0"},
      {"DELETE FROM versions", "version of gpu-1"},
      {"DELETE FROM signer_usage", "usage 0"},
      {"DELETE FROM statement_subjects", "about 0"},
      {"DELETE FROM statements", "statement 0"},
  };
  fs::copy_file(path(), path() + ".now");
  for (const auto& [sql, question] : rows) {
    SCOPED_TRACE(sql);
    fs::copy_file(path() + ".now", path(), fs::copy_options::overwrite_existing);
    ASSERT_FALSE(now_.at(question).starts_with(kFailed));
    tamper(look("SELECT group_concat('DROP TRIGGER ' || name, ';') FROM sqlite_schema "
                "WHERE type = 'trigger'") +
           ";" + sql);
    const auto store = open().value();
    EXPECT_EQ(ask(*store).at(question), kFailed + std::string("data-loss")) << question;
  }
}

// One changed byte of an index was enough to make an allow of a deny.
TEST_F(BelievedTest, MembersThatAnIndexHides_AreMissed) {
  const std::string artifact = flip_artifact(3);
  const struct {
    const char* index;
    std::string row;
    std::function<ErrorCode(Snapshot&)> ask;
  } lists[] = {
      {"statement_subjects_by_subject", "subject = '" + artifact + "' AND log_index > 100",
       [&](Snapshot& view) { return code(view.lineage().about(artifact)); }},
      {"statement_inputs_by_input", "input = '" + artifact + "' AND log_index > 100",
       [&](Snapshot& view) { return code(view.lineage().from(artifact)); }},
      {"statements_by_name", "name = 'acme/1' AND kind = 1 AND log_index > 100",
       [&](Snapshot& view) { return code(view.signed_under("acme/1")); }},
      {"statements_by_name", "name = 'acme/1' AND kind = 2",
       [&](Snapshot& view) { return code(view.releases_under("acme/1")); }},
      {"nodes_by_platform", "name = 'gpu-2'",
       [&](Snapshot& view) { return code(view.nodes_on("00ff", Timestamp())); }},
      {"statement_locations_by_location", "location = 'pvc://prod/3'",
       [&](Snapshot& view) { return code(view.signed_at("pvc://prod/3/x")); }},
  };
  fs::copy_file(path(), path() + ".now");
  for (const auto& list : lists) {
    SCOPED_TRACE(list.index);
    fs::copy_file(path() + ".now", path(), fs::copy_options::overwrite_existing);
    EXPECT_EQ(list.ask(*open().value()->snapshot().value()), ErrorCode{});
    hide_from(list.index, list.row);
    EXPECT_EQ(list.ask(*open().value()->snapshot().value()), ErrorCode::kDataLoss);
  }
}

TEST_F(BelievedTest, WholeDatabaseOfBefore_IsRefused) {
  fs::copy_file(earlier(), path(), fs::copy_options::overwrite_existing);
  EXPECT_EQ(open_error(), ErrorCode::kStoreBehindAnchor);
  fs::copy_file(anchor_path() + ".earlier", anchor_path(), fs::copy_options::overwrite_existing);
  EXPECT_TRUE(open()) << "with the anchor of that time nothing but a witness knows";
}

// The number and the head of an earlier write, with its seal: no row is touched.
TEST_F(BelievedTest, EarlierHeadWhileRunning_IsNotBelieved) {
  const auto store = open().value();
  ASSERT_TRUE(store->write([](Transaction& t) { return t.remove_pod("kube", "uid-9"); }));
  const std::string now = look("SELECT number FROM last_write");
  for (const char* sql :
       {"UPDATE last_write SET number = number - 1", "UPDATE last_write SET number = number + 1"}) {
    tamper(sql);
    EXPECT_EQ(code(store->snapshot()), ErrorCode::kDataLoss) << sql;
    tamper("UPDATE last_write SET number = " + now);
    EXPECT_TRUE(store->snapshot());
  }
  put_back({"last_write"});
  EXPECT_EQ(code(store->snapshot()), ErrorCode::kDataLoss);
  put_back({"last_write", "record_map", "pods", "log_checkpoint"});
  EXPECT_EQ(code(store->snapshot()), ErrorCode::kDataLoss);
  const auto written = store->write([](Transaction& t) { return t.remove_pod("kube", "uid-0"); });
  EXPECT_FALSE(written) << "nor is anything written on top of it";
}

TEST_F(BelievedTest, FileOfBeforeARepair_IsAnOldOne) {
  fs::copy_file(path(), path() + ".before");
  tamper("UPDATE last_write SET number = number + 17592186044416");
  EXPECT_EQ(open_error(), ErrorCode::kDataLoss);
  const auto repaired = repair_sqlite(options(), signer_, {}, [](auto, auto) {});
  ASSERT_TRUE(repaired) << to_string(repaired.error());
  EXPECT_EQ(repaired->made, (std::map<std::string, std::uint64_t>{{"last_write", 1}}));
  EXPECT_TRUE(repaired->dropped.empty()) << "the anchor vouches for the map";
  {
    const auto store = open();
    ASSERT_TRUE(store) << to_string(store.error());
    EXPECT_EQ(ask(**store), now_);
  }
  fs::copy_file(path() + ".before", path(), fs::copy_options::overwrite_existing);
  EXPECT_EQ(open_error(), ErrorCode::kStoreBehindAnchor);
}

// The log is the same, so that only the map tells that it is old: its rows do not count.
TEST_F(BelievedTest, RepairOfAnOlderMap_BelievesNoneOfItsRows) {
  fs::copy_file(path(), path() + ".before");
  {
    const auto store = open().value();
    ASSERT_TRUE(store->write([](Transaction& t) { return t.remove_pod("kube", "uid-9"); }));
  }
  fs::copy_file(path() + ".before", path(), fs::copy_options::overwrite_existing);
  EXPECT_EQ(open_error(), ErrorCode::kStoreBehindAnchor);
  const auto repaired = repair_sqlite(options(), signer_, {}, [](auto, auto) {});
  ASSERT_TRUE(repaired) << to_string(repaired.error());
  EXPECT_EQ(repaired->made.at("record_map"), 1U);
  const auto store = open();
  ASSERT_TRUE(store) << to_string(store.error());
  EXPECT_EQ(code((*store)->snapshot().value()->pod("kube", "uid-9")), ErrorCode::kNotFound);
  EXPECT_EQ(code((*store)->snapshot().value()->evidence("node:gpu-1")), ErrorCode::kNotFound);
}

TEST_F(BelievedTest, RepairOfAnOldCopy_DoesNotLockOutANewerOne) {
  fs::copy_file(path(), path() + ".now");
  fs::copy_file(earlier(), path(), fs::copy_options::overwrite_existing);
  ASSERT_TRUE(repair_sqlite(options(), signer_, {}, [](auto, auto) {}));
  EXPECT_EQ(open_error(), ErrorCode::kStoreBehindAnchor);
  fs::copy_file(path() + ".now", path(), fs::copy_options::overwrite_existing);
  const auto store = open();
  ASSERT_TRUE(store) << to_string(store.error());
  EXPECT_EQ(ask(**store), now_);
}

// A restore goes on with an old copy as a whole, and not with an old map beside a newer log.
TEST_F(BelievedTest, OldMapBesideANewerLog_IsNotRestored) {
  std::vector<std::string> rows;
  for (const std::string& table : tables()) {
    if (!table.starts_with("log_") && table != "documents" && table != "governance") {
      rows.push_back(table);
    }
  }
  put_back(rows);
  SqliteOptions renamed = options();
  renamed.origin = "tests.example/log/2";
  EXPECT_EQ(code(restore_sqlite(renamed, signer_, clock_)), ErrorCode::kDataLoss);
}

// Writes that append no record are anchored as well.
TEST_F(BelievedTest, WriteWithoutARecord_IsAnchored) {
  fs::copy_file(path(), earlier(), fs::copy_options::overwrite_existing);
  {
    const auto store = open().value();
    ASSERT_TRUE(store->write([](Transaction& t) { return t.remove_pod("kube", "uid-9"); }));
  }
  fs::copy_file(earlier(), path(), fs::copy_options::overwrite_existing);
  EXPECT_EQ(open_error(), ErrorCode::kStoreBehindAnchor);
}

}  // namespace
}  // namespace assay::storage
