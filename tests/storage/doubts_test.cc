// SPDX-License-Identifier: Apache-2.0
// Indexes of a stopped database that something else than the store emptied: what decisions read of
// reports is the same, or data-loss; never an older report, and never one place less.
#include <gtest/gtest.h>

#include "storage/inspect.h"
#include "tests/storage/sqlite_files.h"

namespace assay::storage {
namespace {

const ReportPlace kPlace{"pvc://prod/demo"};
const ReportPlace kOther{"pvc://prod/other"};

class DoubtsTest : public SqliteTest {
 protected:
  void SetUp() override {
    store_ = open().value();
    append(*store_, 1);
    verified("job-1", kPlace);
    verified("job-2", kOther);
    JobRow open = job("job-3", kPlace);
    put(open);
    open.state = JobState::kOutline;
    open.token = 1;
    open.lease_expires_at = clock_.now() + std::chrono::seconds(60);
    put(open);
  }

  JobRow job(const std::string& id, const ReportPlace& place) {
    return {.id = id,
            .artifact = artifact_,
            .model_name = "acme/demo",
            .scope = "files",
            .node = "gpu-1",
            .location = place.location,
            .created_by = "ci",
            .created_at = clock_.now(),
            .state = JobState::kQueued,
            .lease_expires_at = {},
            .pending = Json(),
            .result = {},
            .report = {},
            .finished_at = {}};
  }
  void put(const JobRow& row) {
    const auto done = store_->write([&](Transaction& t) { return t.put_job(row); });
    ASSERT_TRUE(done) << to_string(done.error());
  }
  void verified(const std::string& id, const ReportPlace& place) {
    JobRow row = job(id, place);
    put(row);
    row.state = JobState::kDone;
    row.result = "verified";
    row.finished_at = clock_.now();
    row.read_since = clock_.now();
    const auto stored = store_->write([&](Transaction& t) -> Status {
      ASSAY_ASSIGN(row.report, t.put_document("x", as_bytes("report " + id)));
      return {};
    });
    ASSERT_TRUE(stored);
    put(row);
  }
  // Each index of the table jobs that can be dropped is there, and has no row.
  void empty_indexes() {
    store_.reset();
    const std::string names = look(
        "SELECT group_concat(name || ' ' || sql, char(10)) FROM sqlite_schema "
        "WHERE type = 'index' AND tbl_name = 'jobs' AND sql IS NOT NULL");
    ASSERT_FALSE(names.empty());
    std::size_t begin = 0;
    while (begin < names.size()) {
      const std::size_t end = std::min(names.find("\nj", begin), names.size());
      const std::string line = names.substr(begin, end - begin);
      const std::string name = line.substr(0, line.find(' '));
      const std::string sql = line.substr(line.find(' ') + 1);
      const std::string none = sql.substr(0, sql.find("WHERE")) + " WHERE seq < 0";
      tamper("DROP INDEX " + name + ";" + none + ";PRAGMA writable_schema = ON;" +
             "UPDATE sqlite_schema SET sql = '" + sql + "' WHERE name = '" + name + "';");
      begin = end + 1;
    }
    store_ = open().value();
  }
  Result<JobRow> newest(const ReportPlace& place) {
    return store_->snapshot().value()->newest_report("gpu-1", artifact_, "files", place);
  }
  Result<std::vector<ReportPlace>> places() {
    return store_->snapshot().value()->report_places("gpu-1", artifact_, "files", "", 9);
  }
  void reopen_after(const std::string& sql) {
    store_.reset();
    tamper(sql);
    store_ = open().value();
  }
  template <typename T>
  static ErrorCode code(const Result<T>& result) {
    return result ? ErrorCode{} : result.error().code;
  }

  const ArtifactId artifact_{digest_of("model")};
  std::unique_ptr<Store> store_;
};

TEST_F(DoubtsTest, IndexesThatForgetEveryJob_HideNoDoubtAndNoPlace) {
  ASSERT_EQ(newest(kPlace)->id, "job-3") << "a mismatch is in";
  empty_indexes();
  JobQuery query;
  query.node = "gpu-1";
  EXPECT_TRUE(store_->snapshot().value()->jobs(query)->empty()) << "the indexes are empty";
  EXPECT_EQ(newest(kPlace)->id, "job-3");
  EXPECT_EQ(newest(kOther)->id, "job-2") << "the honest neighbour";
  EXPECT_EQ(places()->size(), 2U);
}

TEST_F(DoubtsTest, RowOfAPlaceWithoutItsDoubt_IsDataLoss) {
  reopen_after("UPDATE newest_reports SET doubts = '[]'");
  EXPECT_EQ(code(newest(kPlace)), ErrorCode::kDataLoss);
}

TEST_F(DoubtsTest, RowOfAPlaceThatIsGone_IsDataLoss) {
  reopen_after("DELETE FROM newest_reports WHERE doubts <> '[]'");
  EXPECT_EQ(code(newest(kPlace)), ErrorCode::kDataLoss);
  EXPECT_EQ(code(places()), ErrorCode::kDataLoss);
  EXPECT_EQ(newest(kOther)->id, "job-2");
}

TEST_F(DoubtsTest, PlacesThatAreAllGone_AreDataLoss_AlsoForTheNextReport) {
  reopen_after("DELETE FROM newest_reports; DELETE FROM report_groups");
  EXPECT_EQ(code(newest(kPlace)), ErrorCode::kDataLoss);
  EXPECT_EQ(code(places()), ErrorCode::kDataLoss);
  JobRow open = store_->snapshot().value()->job("job-3").value();
  open.token = 2;
  const auto done = store_->write([&](Transaction& t) { return t.put_job(open); });
  ASSERT_FALSE(done) << "a place less would be known";
  EXPECT_EQ(done.error().code, ErrorCode::kDataLoss);
  EXPECT_EQ(code(store_->snapshot().value()->newest_report("gpu-2", artifact_, "files", kPlace)),
            ErrorCode::kNotFound);
}

TEST_F(DoubtsTest, PlacesThatAreGone_AreNamedAndMadeAgain) {
  const auto findings = [&] {
    const auto inspection = Inspection::open(options(), signer_, clock_).value();
    std::vector<std::string> found;
    const auto damages = inspection->find(false, [](auto, auto) {});
    for (const Damage& damage : *damages) {
      EXPECT_EQ(damage.check, "missing-row") << damage.detail;
      found.push_back(damage.id);
    }
    return found;
  };
  const auto tampered = [&](const std::string& sql, const std::vector<std::string>& found,
                            const std::map<std::string, std::uint64_t>& made) {
    SCOPED_TRACE(sql);
    store_.reset();
    EXPECT_EQ(findings(), std::vector<std::string>());
    tamper(sql);
    EXPECT_EQ(findings(), found);
    const auto repaired = repair_sqlite(options(), signer_, {}, [](auto, auto) {});
    ASSERT_TRUE(repaired) << to_string(repaired.error());
    EXPECT_EQ(repaired->made, made);
    EXPECT_EQ(findings(), std::vector<std::string>());
    store_ = open().value();
    EXPECT_EQ(newest(kPlace)->id, "job-3");
    EXPECT_EQ(places()->size(), 2U);
  };
  tampered("DELETE FROM newest_reports; DELETE FROM report_groups",
           {"newest_reports", "report_groups"}, {{"newest_reports", 2}, {"report_groups", 1}});
  tampered("DELETE FROM newest_reports WHERE doubts <> '[]'", {"newest_reports"},
           {{"newest_reports", 1}});
  tampered("DELETE FROM report_groups", {"report_groups"}, {{"report_groups", 1}});
}

TEST_F(DoubtsTest, OpenJobThatIsGone_IsDataLoss) {
  reopen_after("DROP TRIGGER jobs_keep_delete; DELETE FROM jobs WHERE id = 'job-3'");
  EXPECT_EQ(code(newest(kPlace)), ErrorCode::kDataLoss);
}

TEST_F(DoubtsTest, SettledDoubt_IsForgotten) {
  JobRow open = newest(kPlace).value();
  open.state = JobState::kDone;
  open.result = "failed";
  open.lease_expires_at.reset();
  open.finished_at = clock_.now();
  put(open);
  EXPECT_EQ(newest(kPlace)->id, "job-1") << "a job without a report says nothing";
}

}  // namespace
}  // namespace assay::storage
