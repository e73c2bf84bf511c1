// SPDX-License-Identifier: Apache-2.0
// What `assayd repair` gives back of each damaged table, as the table of docs/recovery.md has it.
#include <algorithm>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "storage/inspect.h"
#include "tests/storage/sqlite_files.h"

namespace assay::storage {
namespace {

using Counts = std::map<std::string, std::uint64_t>;

class RepairTest : public SqliteTest {
 protected:
  void SetUp() override {
    const auto store = open().value();
    const auto done = store->write([&](Transaction& t) { return fill(t); });
    ASSERT_TRUE(done) << to_string(done.error());
  }

  Status fill(Transaction& t) {
    ASSAY_ASSIGN(const DocumentId document, t.put_document("x", as_bytes("content")));
    ASSAY_TRY(t.append({.type = "node.enrolled",
                        .time = t.now(),
                        .actor = "p",
                        .subjects = {"node:gpu-1"},
                        .documents = {document},
                        .detail = {{"node", "gpu-1"}, {"key_id", key_.key_id().text()}}}));
    ASSAY_TRY(t.put_node(node(document, 0)));
    ASSAY_TRY(t.append({.type = "outline.accepted",
                        .time = t.now(),
                        .actor = "p",
                        .subjects = {artifact_.text()},
                        .documents = {document},
                        .detail = Json::object()}));
    ASSAY_TRY(t.put_outline(artifact_, document));
    ASSAY_TRY(t.append({.type = "job.created",
                        .time = t.now(),
                        .actor = "ci",
                        .subjects = {artifact_.text()},
                        .documents = {},
                        .detail = {{"job", "job-1"}}}));
    JobRow verified = job("job-1", document);
    verified.result = "verified";
    ASSAY_TRY(t.put_job(verified));
    ASSAY_TRY(t.put_challenge({Bytes(32, 1), "p", "enrol", "gpu-1", "", Timestamp(), {}}));
    ASSAY_TRY(t.put_claim({"kube", "prod", "claim", "uid", "volume-1"}));
    ASSAY_TRY(t.put_pod({.cluster = "kube",
                         .uid = "uid",
                         .name_space = "prod",
                         .name = "pod",
                         .decision = "decision",
                         .admitted_at = t.now()}));
    ASSAY_TRY(t.raise_high_water("tdx", 5, {}));
    return t.put_evidence({.subject = "node:gpu-1",
                           .node = "gpu-1",
                           .type = "tdx",
                           .evidence = document,
                           .expected = Bytes(64, 1),
                           .platform = "",
                           .policy = document,
                           .error = "",
                           .appraisal = document,
                           .appraised_at = t.now(),
                           .tcb_status = "UpToDate",
                           .anchor = {},
                           .marks = {{"tdx", 5}}});
  }

  NodeRow node(const DocumentId& enrolment, LeafIndex index) const {
    return {.name = "gpu-1",
            .principal = "p",
            .key = key_.key_id(),
            .public_key = key_.public_key(),
            .platform = "",
            .enrolled_at = Timestamp(),
            .held_since = Timestamp(),
            .expires_at = Timestamp(std::chrono::hours(1)),
            .revoked = {},
            .enrolment = enrolment,
            .measured = {},
            .log_index = index,
            .ended = {}};
  }
  JobRow job(const std::string& id, const std::optional<DocumentId>& report) const {
    JobRow row{.id = id,
               .artifact = artifact_,
               .model_name = "m",
               .scope = "files",
               .node = "gpu-1",
               .location = kPlace.location,
               .created_by = "ci",
               .created_at = Timestamp(),
               .state = JobState::kDone,
               .lease_expires_at = {},
               .pending = Json(),
               .result = "failed",
               .report = report,
               .finished_at = Timestamp()};
    if (report) {
      row.read_since = Timestamp();
    }
    return row;
  }
  Rebuilders rebuilders() {
    Rebuilders made;
    made.node = [this](const DocumentReader&, const EventRow& event) -> Result<NodeRow> {
      NodeRow row = node(event.record.documents.front(), event.index);
      row.ended = Revocation{Timestamp(), "lost"};
      return row;
    };
    made.job = [this](const EventRow& event) -> Result<JobRow> {
      JobRow row = job(event.record.detail["job"].get<std::string>(), {});
      row.detail = {{"code", "data-loss"}};
      return row;
    };
    return made;
  }

  std::vector<std::string> findings() {
    const auto inspection = Inspection::open(options(), signer_, clock_).value();
    std::vector<std::string> found;
    const auto damages = inspection->find(true, [](auto, auto) {});
    EXPECT_TRUE(damages) << to_string(damages.error());
    for (const Damage& damage : *damages) {
      found.push_back(damage.check + " " + damage.id + ": " + damage.detail);
    }
    return found;
  }
  Repaired repair() {
    const auto repaired = repair_sqlite(options(), signer_, rebuilders(), [](auto, auto) {});
    EXPECT_TRUE(repaired) << to_string(repaired.error());
    EXPECT_EQ(findings(), std::vector<std::string>());
    return repaired.value_or(Repaired());
  }
  // Damages, sees that it is found, repairs, and opens.
  std::unique_ptr<Snapshot> repaired_after(const std::string& sql, const Counts& made,
                                           const Counts& dropped) {
    tamper(sql);
    EXPECT_NE(findings(), std::vector<std::string>()) << sql;
    const Repaired repaired = repair();
    EXPECT_EQ(repaired.made, made) << sql;
    EXPECT_EQ(repaired.dropped, dropped) << sql;
    store_ = open().value();
    return store_->snapshot().value();
  }

  const ReportPlace kPlace{"pvc://prod/m"};
  const TestSigner key_{1};
  const ArtifactId artifact_{digest_of("artifact")};
  std::unique_ptr<Store> store_;
};

TEST_F(RepairTest, Nothing_IsMadeOrDropped) {
  EXPECT_EQ(findings(), std::vector<std::string>());
  const Repaired repaired = repair();
  EXPECT_EQ(repaired.made, Counts());
  EXPECT_EQ(repaired.dropped, Counts());
}

TEST_F(RepairTest, Node_ComesBackEnded) {
  const auto view = repaired_after("UPDATE nodes SET principal = 'q'", {{"nodes", 1}}, {});
  const NodeRow row = view->node("gpu-1").value();
  EXPECT_EQ(row.principal, "p");
  EXPECT_TRUE(row.ended);
  EXPECT_FALSE(view->evidence("node:gpu-1")) << "it stands on nothing";
}

TEST_F(RepairTest, NodeThatIsGone_ComesBackEnded) {
  const auto view = repaired_after(
      "DROP TRIGGER nodes_keep_delete; DELETE FROM nodes;"
      "CREATE TRIGGER nodes_keep_delete BEFORE DELETE ON nodes "
      "BEGIN SELECT RAISE(ABORT, 'nodes are kept'); END",
      {{"nodes", 1}}, {});
  EXPECT_TRUE(view->node("gpu-1")->ended);
}

TEST_F(RepairTest, NodeThatNobodyEnrolled_Goes) {
  const auto view = repaired_after(
      "INSERT INTO nodes SELECT 'gpu-2', principal, zeroblob(32), public_key, platform, "
      "enrolled_at, held_since, expires_at, revoked_at, revoked_reason, devices, enrolment, "
      "appraisal, "
      "appraised_at, evidence_type, tcb_status, anchor, anchor_is_vendor, log_index, registration, "
      "ended_at, ended_reason, superseded, superseded_at, superseded_key, device_evidence FROM "
      "nodes",
      {}, {});
  EXPECT_EQ(view->node("gpu-2").error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(view->node("gpu-1")->ended) << "the honest neighbour";
}

TEST_F(RepairTest, KeyOfANode_StaysTheNodes) {
  const auto view = repaired_after(
      "DROP TRIGGER node_keys_keep_update; UPDATE node_keys SET node = 'gpu-2';"
      "CREATE TRIGGER node_keys_keep_update BEFORE UPDATE ON node_keys "
      "BEGIN SELECT RAISE(ABORT, 'keys of nodes are remembered'); END",
      {{"node_keys", 1}}, {});
  EXPECT_EQ(view->key_owner(key_.key_id()).value(), "gpu-1");
}

TEST_F(RepairTest, Job_IsReplaced_AndItsPlaceIsToBeReportedAgain) {
  auto view = repaired_after(
      "DROP TRIGGER jobs_stay_finished; UPDATE jobs SET worker_measured = 1;"
      "CREATE TRIGGER jobs_stay_finished BEFORE UPDATE ON jobs WHEN OLD.finished = 1 "
      "BEGIN SELECT RAISE(ABORT, 'a finished job is kept as it is'); END",
      {{"jobs", 1}}, {});
  EXPECT_EQ(view->job("job-1")->result, "failed");
  EXPECT_EQ(view->newest_report("gpu-1", artifact_, "files", kPlace).error().code,
            ErrorCode::kNotFound);
  view.reset();
  store_.reset();
  EXPECT_EQ(repair().made, Counts()) << "once";
}

TEST_F(RepairTest, LostJob_TakesEarlierReportsOfItsPlaceAlong_AlsoTheSecondTime) {
  {
    const auto store = open().value();
    ASSERT_TRUE(store->write([&](Transaction& t) -> Status {
      ASSAY_TRY(t.append({.type = "job.created",
                          .time = t.now(),
                          .actor = "ci",
                          .subjects = {artifact_.text()},
                          .documents = {},
                          .detail = {{"job", "job-2"}}}));
      JobRow open = job("job-2", {});
      open.state = JobState::kOutline;
      open.result = "";
      open.finished_at.reset();
      open.token = 1;
      open.lease_expires_at = t.now();
      return t.put_job(open);
    }));
  }
  const auto code = [&] {
    const auto found =
        store_->snapshot().value()->newest_report("gpu-1", artifact_, "files", kPlace);
    return found ? ErrorCode{} : found.error().code;
  };
  repaired_after("UPDATE jobs SET model_name = 'n' WHERE id = 'job-2'", {{"jobs", 1}}, {});
  EXPECT_EQ(code(), ErrorCode::kNotFound) << "the mismatch was in the row alone";
  store_.reset();
  repair();
  store_ = open().value();
  EXPECT_EQ(code(), ErrorCode::kNotFound);
}

TEST_F(RepairTest, ReportThatWasReadBeforeAJobWasLost_CountsForNothing) {
  repaired_after(
      "DROP TRIGGER jobs_stay_finished; UPDATE jobs SET worker_measured = 1;"
      "CREATE TRIGGER jobs_stay_finished BEFORE UPDATE ON jobs WHEN OLD.finished = 1 "
      "BEGIN SELECT RAISE(ABORT, 'a finished job is kept as it is'); END",
      {{"jobs", 1}}, {});
  const Timestamp lost = clock_.now();
  const auto reported = [&](const std::string& id, Timestamp read_since) {
    EXPECT_TRUE(store_->write([&](Transaction& t) -> Status {
      ASSAY_ASSIGN(const DocumentId document, t.put_document("x", as_bytes(id)));
      JobRow row = job(id, document);
      row.result = "verified";
      row.read_since = read_since;
      row.finished_at = lost + std::chrono::hours(1);
      return t.put_job(row);
    }));
    return store_->snapshot().value()->newest_report("gpu-1", artifact_, "files", kPlace);
  };
  EXPECT_EQ(reported("job-8", lost - std::chrono::milliseconds(1)).error().code,
            ErrorCode::kNotFound);
  EXPECT_TRUE(reported("job-9", lost));
}

TEST_F(RepairTest, PlacesMadeAgain_KnowWhatSpokeAgainstTheBytes) {
  const auto put = [&](const std::string& id, const char* result, Timestamp read_since) {
    EXPECT_TRUE(store_->write([&](Transaction& t) -> Status {
      ASSAY_ASSIGN(const DocumentId document, t.put_document("x", as_bytes(id)));
      ASSAY_TRY(t.append({.type = "job.created",
                          .time = t.now(),
                          .actor = "ci",
                          .subjects = {artifact_.text()},
                          .documents = {},
                          .detail = {{"job", id}}}));
      JobRow row = job(id, document);
      row.result = result;
      row.read_since = read_since;
      row.finished_at = read_since;
      return t.put_job(row);
    }));
  };
  const auto newest = [&] {
    return store_->snapshot().value()->newest_report("gpu-1", artifact_, "files", kPlace)->id;
  };
  const Timestamp found = clock_.now() + std::chrono::hours(1);
  store_ = open().value();
  put("job-8", "mismatch", found);
  put("job-9", "verified", found - std::chrono::milliseconds(1));
  EXPECT_EQ(newest(), "job-8");
  store_.reset();
  repaired_after("UPDATE newest_reports SET against = NULL", {{"newest_reports", 1}}, {});
  EXPECT_EQ(newest(), "job-8");
}

TEST_F(RepairTest, Places_AreMadeFromTheJobs) {
  const auto view =
      repaired_after("UPDATE newest_reports SET newest = NULL", {{"newest_reports", 1}}, {});
  EXPECT_EQ(view->newest_report("gpu-1", artifact_, "files", kPlace)->id, "job-1");
  EXPECT_EQ(view->report_places("gpu-1", artifact_, "files", "", 9)->size(), 1U);
}

TEST_F(RepairTest, CountOfPlaces_IsMadeFromTheJobs) {
  const auto view =
      repaired_after("UPDATE report_groups SET places = 2", {{"report_groups", 1}}, {});
  EXPECT_EQ(view->report_places("gpu-1", artifact_, "files", "", 9)->size(), 1U);
}

TEST_F(RepairTest, Outline_ComesBack) {
  const auto view = repaired_after(
      "DROP TRIGGER outlines_keep_delete; DELETE FROM outlines;"
      "CREATE TRIGGER outlines_keep_delete BEFORE DELETE ON outlines "
      "BEGIN SELECT RAISE(ABORT, 'the first outline stays'); END",
      {{"outlines", 1}}, {});
  EXPECT_TRUE(view->outline(artifact_));
}

TEST_F(RepairTest, OutlineThatIsGone_IsNamed_AndComesBack) {
  const auto view = repaired_after("DROP TRIGGER outlines_keep_delete; DELETE FROM outlines",
                                   {{"outlines", 1}}, {});
  EXPECT_TRUE(view->outline(artifact_));
}

TEST_F(RepairTest, PodsClaimsAndNonces_AreForgotten) {
  const auto view = repaired_after(
      "UPDATE pods SET name = 'other'; UPDATE claims SET volume = 'other';"
      "UPDATE challenges SET principal = 'other'",
      {}, {{"pods", 1}, {"claims", 1}, {"challenges", 1}});
  EXPECT_EQ(view->pod("kube", "uid").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(view->claim("kube", "prod", "claim").error().code, ErrorCode::kNotFound);
}

TEST_F(RepairTest, Evidence_IsForgotten) {
  const auto view = repaired_after("UPDATE evidence SET error = 'x'", {}, {{"evidence", 1}});
  EXPECT_FALSE(view->evidence("node:gpu-1"));
  EXPECT_EQ(view->high_water("tdx").value(), 5U) << "the honest neighbour";
}

TEST_F(RepairTest, HighWaterMark_IsWhatEvidenceSays) {
  const auto view = repaired_after(
      "DROP TRIGGER high_waters_never_fall; UPDATE high_waters SET value = 3;"
      "CREATE TRIGGER high_waters_never_fall BEFORE UPDATE ON high_waters "
      "WHEN NEW.value < OLD.value "
      "BEGIN SELECT RAISE(ABORT, 'a high-water mark never falls'); END",
      {{"high_waters", 1}}, {{"high_waters", 1}});
  EXPECT_EQ(view->high_water("tdx").value(), 5U);
}

TEST_F(RepairTest, MarksThatAreGone_AreNamed_AndWhatRecordsAndEvidenceSay) {
  store_ = open().value();
  const auto kept = [&](std::uint64_t mark) {
    return store_->write([&](Transaction& t) -> Status {
      ASSAY_ASSIGN(const DocumentId part,
                   t.put_document("x", as_bytes("part " + std::to_string(mark))));
      ASSAY_TRY(t.raise_high_water("crl", mark, part));
      ASSAY_TRY(t.append({.type = "collateral.accepted",
                          .time = t.now(),
                          .actor = "ci",
                          .subjects = {"crl"},
                          .documents = {part},
                          .detail = {{"parts", {{{"name", "crl"}, {"mark", mark}}}}}}));
      return {};
    });
  };
  ASSERT_TRUE(kept(7));
  ASSERT_TRUE(kept(9));
  const DocumentId newest = store_->snapshot().value()->high_water_collateral("crl").value();
  store_.reset();
  ASSERT_EQ(findings(), std::vector<std::string>());
  const auto view = repaired_after("DELETE FROM high_waters", {{"high_waters", 2}}, {});
  EXPECT_EQ(view->high_water("tdx").value(), 5U);
  EXPECT_EQ(view->high_water("crl").value(), 9U);
  EXPECT_EQ(view->high_water_collateral("crl").value(), newest);
}

TEST_F(RepairTest, GenerationOfEvidence_IsNewerThanAllOfIt) {
  const auto view =
      repaired_after("UPDATE evidence_generation SET value = 0", {{"evidence_generation", 1}}, {});
  EXPECT_EQ(view->stale_evidence(9)->size(), 1U) << "appraised again";
}

TEST_F(RepairTest, SubjectsOfTheLog_AreMadeFromIt) {
  const auto view = repaired_after("DELETE FROM log_subjects", {}, {});
  EventQuery query;
  query.subject = "node:gpu-1";
  EXPECT_EQ(view->events(query)->items.size(), 1U);
}

TEST_F(RepairTest, TextsThatWereAltered_AreMadeAgain) {
  const auto view =
      repaired_after("UPDATE texts SET text = text || '!' WHERE text = 'node:gpu-1'", {}, {});
  EventQuery query;
  query.subject = "node:gpu-1";
  EXPECT_EQ(view->events(query)->items.size(), 1U);
}

TEST_F(RepairTest, MarksOfTheFile_AreNamedAndMadeAgain) {
  repaired_after("PRAGMA user_version = 1", {{"sqlite_schema", 1}}, {});
  store_.reset();
  repaired_after("PRAGMA user_version = 99", {{"sqlite_schema", 1}}, {});
  store_.reset();
  repaired_after("PRAGMA application_id = 7", {{"sqlite_schema", 1}}, {});
}

// The page has a row for each table that there is.
TEST_F(RepairTest, EveryTable_IsInTheRecoveryPage) {
  std::ifstream file(std::string(ASSAY_SOURCE_DIR) + "/docs/recovery.md");
  std::stringstream page;
  page << file.rdbuf();
  const std::string tables = look(
      "SELECT group_concat(name, ' ') FROM sqlite_schema WHERE type = 'table' "
      "AND name NOT LIKE 'sqlite%'");
  std::istringstream names(tables);
  std::size_t count = 0;
  for (std::string name; names >> name; ++count) {
    EXPECT_NE(page.str().find("`" + name + "`"), std::string::npos) << name;
  }
  EXPECT_GT(count, 30U);
}

}  // namespace
}  // namespace assay::storage
