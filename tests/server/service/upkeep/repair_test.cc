// SPDX-License-Identifier: Apache-2.0
// Rows of nodes and jobs that `assayd repair` made again: nothing counts that counted because of
// what was lost, and everything goes on.
#include <array>

#include <sqlite3.h>

#include "server/service/documents/accept.h"
#include "server/service/jobs/precedence.h"
#include "server/service/upkeep/rebuild.h"
#include "tests/server/service/node_fixture.h"
#include "tests/support/kept_triggers.h"

namespace assay::server::test {
namespace {

class RepairedTest : public NodeTest {
 protected:
  RepairedTest() {
    enrol_ok(worker_);
    store_model(model_);
    new_job(model_, "gpu-1");
    const JobLease leased = lease(worker_);
    EXPECT_TRUE(send_report(worker_, leased, report(leased, model_)));
    job_ = leased.job;
  }
  // Damages rows of the closed store, repairs it, and opens it again.
  storage::Repaired repair_after(const std::string& sql) {
    services_.reset();
    store_.reset();
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open((directory_ / "assay.db").c_str(), &database), SQLITE_OK);
    const assay::test::KeptTriggers triggers(database);
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database);
    triggers.put_back();
    sqlite3_close(database);
    storage::SqliteOptions options;
    options.rules = &kReportRules;
    options.path = directory_ / "assay.db";
    options.origin = "example.com/log";
    options.anchor_path = directory_ / "anchor";
    const auto repaired = storage::repair_sqlite(
        options, *log_key_, {rebuild_statement, rebuild_decision, rebuild_node, rebuild_job},
        [](auto, auto) {});
    EXPECT_TRUE(repaired) << to_string(repaired.error());
    reopen();
    return repaired.value_or(storage::Repaired());
  }

  std::string job_;
};

TEST_F(RepairedTest, Node_IsEnded_AndEnrolsAgain) {
  const Json before = node_row("gpu-1").value();
  const auto repaired = repair_after("UPDATE nodes SET expires_at = expires_at + 1000000");
  EXPECT_EQ(repaired.made, (std::map<std::string, std::uint64_t>{{"nodes", 1}}));
  const Json after = node_row("gpu-1").value();
  EXPECT_EQ(after["state"], "ended");
  EXPECT_EQ(after["worker_measured"], false);
  for (const char* same : {"principal", "key_id", "platform", "enrolled_at", "expires_at",
                           "devices", "enrolment", "registration", "log_index"}) {
    EXPECT_EQ(after[same], before[same]) << same;
  }
  enrol_ok(worker_);
  EXPECT_EQ(node_row("gpu-1")->at("state"), "enrolled");
}

TEST_F(RepairedTest, Job_HasFailed_AndTheNextReportCounts) {
  ASSERT_TRUE(report_seen(worker_, model_));
  const auto repaired = repair_after(
      "DROP TRIGGER jobs_stay_finished; UPDATE jobs SET read_since = read_since + 1000000;"
      "CREATE TRIGGER jobs_stay_finished BEFORE UPDATE ON jobs WHEN OLD.finished = 1 "
      "BEGIN SELECT RAISE(ABORT, 'a finished job is kept as it is'); END");
  EXPECT_EQ(repaired.made, (std::map<std::string, std::uint64_t>{{"jobs", 1}}));
  EXPECT_EQ(job_row(job_).result, "failed");
  EXPECT_EQ(job_row(job_).detail["code"], "data-loss");
  EXPECT_FALSE(report_seen(worker_, model_));
  new_job(model_, "gpu-1");
  const JobLease leased = lease(worker_);
  EXPECT_TRUE(send_report(worker_, leased, report(leased, model_)));
  EXPECT_EQ(report_seen(worker_, model_)->job, leased.job);
}

// What signers have stored is counted from what they signed, also where a statement came back.
TEST_F(RepairedTest, UsageOfSigners_IsCountedAgain) {
  const Manifest one = manifest("one");
  store_good_model(one);
  ASSERT_TRUE(accept_manifest(*services_, signed_manifest(manifest("two")), actor_));
  const storage::Topic name{storage::TopicKind::kName, one.name};
  const storage::Topic artifact{storage::TopicKind::kArtifact, id_of(one).text()};
  const auto counts = [&] {
    std::vector<std::array<std::uint64_t, 3>> all;
    const auto snapshot = store_->snapshot().value();
    for (const storage::Topic& topic : {name, artifact}) {
      for (const char* identity : {"release", "eva", "anna", "nobody"}) {
        const auto usage = snapshot->usage(topic, identity).value();
        all.push_back({usage.statements, usage.manifests, usage.bytes});
      }
    }
    return all;
  };
  const auto before = counts();
  EXPECT_EQ(before[0][0], 3U) << "with the model of the job";
  const auto repaired = repair_after(
      "DROP TRIGGER signer_usage_only_rises; DROP TRIGGER signer_usage_keep_delete;"
      "UPDATE signer_usage SET statements = 0, bytes = 1 WHERE identity = 'release' AND kind = 2;"
      "DELETE FROM signer_usage WHERE identity = 'anna';"
      "INSERT INTO signer_usage VALUES (2, 'acme/demo', 'nobody', 9, 9, 9);"
      "DELETE FROM statement_signers WHERE log_index = (SELECT max(log_index) FROM statements)");
  EXPECT_EQ(repaired.made,
            (std::map<std::string, std::uint64_t>{{"signer_usage", 3}, {"statements", 1}}));
  EXPECT_EQ(counts(), before);
  EXPECT_TRUE(repair_after("SELECT 1").made.empty());
}

}  // namespace
}  // namespace assay::server::test
