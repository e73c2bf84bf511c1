// SPDX-License-Identifier: Apache-2.0
// What only repeats records and statements, altered while the store is closed: `assayd check` names
// it, `repair` makes it again, and what refuses or allows by it answers data-loss until then.
#include <map>

#include "storage/inspect.h"
#include "storage/lineage_reads.h"
#include "storage/sqlite/connection.h"
#include "storage/sqlite/lists.h"
#include "tests/storage/sqlite_files.h"

namespace assay::storage {
namespace {

using Counts = std::map<std::string, std::uint64_t>;

class DerivedTest : public SqliteTest {
 protected:
  void SetUp() override {
    const auto store = open().value();
    const auto done = [&](const std::function<Status(Transaction&)>& work) {
      const auto written = store->write(work);
      ASSERT_TRUE(written) << to_string(written.error());
    };
    done([&](Transaction& t) { return fill_trust(t); });
    for (int i = 0; i < 4; ++i) {
      clock_.advance(std::chrono::hours(1));
      done([&](Transaction& t) { return fill(t, std::to_string(i)); });
    }
    clock_.advance(std::chrono::hours(1));
    done([&](Transaction& t) { return fill_more(t); });
  }

  Status fill_trust(Transaction& t) {
    ASSAY_TRY(t.put_key(make_key(1)));
    ASSAY_TRY(t.put_key(make_key(2)));
    ASSAY_TRY(t.set_epochs({{1, 1}, 1}));
    ASSAY_TRY(t.append(make_record("trust.changed")));
    return {};
  }

  Status fill(Transaction& t, const std::string& number) {
    StatementRow row = make_statement("acme/a");
    row.id = StatementId(digest_of("statement " + number));
    row.locations = {"pvc://prod/a"};
    ASSAY_ASSIGN(const DocumentId envelope, t.put_document("x", as_bytes("envelope " + number)));
    row.envelopes = {envelope};
    ASSAY_ASSIGN(row.log_index, t.append({.type = "manifest.accepted",
                                          .time = t.now(),
                                          .actor = "ci",
                                          .subjects = {row.id.text()},
                                          .documents = {envelope},
                                          .detail = Json::object()}));
    row.accepted_at = t.now();
    row.signers = {{make_key(1).id, t.now(), row.log_index}};
    ASSAY_TRY(t.put_statement(row));
    statements_.insert_or_assign(row.log_index, row);
    DecisionRow decision = make_decision("d" + number);
    ASSAY_ASSIGN(decision.envelope, t.put_document("x", as_bytes(decision.id)));
    ASSAY_ASSIGN(decision.log_index, t.append({.type = "decision.made",
                                               .time = t.now(),
                                               .actor = "kube",
                                               .subjects = {},
                                               .documents = {decision.envelope},
                                               .detail = {{"decision_id", decision.id}}}));
    // The last one was judged long before it was written.
    decision.evaluated_at = t.now() - std::chrono::minutes(number == "3" ? 90 : 0);
    ASSAY_TRY(t.put_decision(decision));
    decisions_.insert_or_assign(decision.log_index, decision);
    return {};
  }

  // One more signature, and what has times and versions of its own.
  Status fill_more(Transaction& t) {
    ASSAY_ASSIGN(const DocumentId envelope, t.put_document("x", as_bytes("one more")));
    ASSAY_ASSIGN(const LeafIndex record, t.append(make_record("test.appended")));
    ASSAY_TRY(
        t.add_envelope(StatementId(digest_of("statement 1")), envelope, {make_key(2).id}, record));
    ASSAY_TRY(t.put_claim({"kube", "prod", "claim", "uid", "volume-1"}));
    ASSAY_TRY(t.put_pod({.cluster = "kube",
                         .uid = "uid",
                         .name_space = "prod",
                         .name = "pod",
                         .decision = "d0",
                         .admitted_at = t.now()}));
    ASSAY_ASSIGN(const LeafIndex enrolled,
                 t.append({.type = "node.enrolled",
                           .time = t.now(),
                           .actor = "p",
                           .subjects = {"node:gpu-1"},
                           .documents = {envelope},
                           .detail = {{"node", "gpu-1"}, {"key_id", key_.key_id().text()}}}));
    return t.put_node({.name = "gpu-1",
                       .principal = "p",
                       .key = key_.key_id(),
                       .public_key = key_.public_key(),
                       .platform = "",
                       .enrolled_at = Timestamp(),
                       .held_since = Timestamp(),
                       .expires_at = Timestamp(std::chrono::hours(1)),
                       .revoked = {},
                       .enrolment = envelope,
                       .measured = {},
                       .log_index = enrolled,
                       .ended = {}});
  }

  // "check id", each.
  std::vector<std::string> findings(bool deep = true) {
    const auto inspection = Inspection::open(options(), signer_, clock_).value();
    const auto damages = inspection->find(deep, [](auto, auto) {});
    EXPECT_TRUE(damages) << to_string(damages.error());
    std::vector<std::string> found;
    for (const Damage& damage : *damages) {
      found.push_back(damage.check + " " + damage.id);
    }
    return found;
  }
  Repaired repair() {
    Rebuilders rebuilders;
    rebuilders.statement = [this](const DocumentReader&, const EventRow& event) {
      return Result<StatementRow>(statements_.at(event.index));
    };
    rebuilders.decision = [this](const DocumentReader&, const EventRow& event) {
      return Result<DecisionRow>(decisions_.at(event.index));
    };
    const auto repaired = repair_sqlite(options(), signer_, rebuilders, [](auto, auto) {});
    EXPECT_TRUE(repaired) << to_string(repaired.error());
    EXPECT_EQ(findings(), std::vector<std::string>());
    return repaired.value_or(Repaired());
  }
  std::unique_ptr<Snapshot> view() {
    store_ = open().value();
    return store_->snapshot().value();
  }

  const Topic kName{TopicKind::kName, "acme/a"};
  const ArtifactId kArtifact{digest_of("artifact acme/a")};
  const TestSigner key_{7};
  std::map<LeafIndex, StatementRow> statements_;
  std::map<LeafIndex, DecisionRow> decisions_;
  std::unique_ptr<Store> store_;
};

// Something that is altered, what check calls it, and what a repair counts.
struct Altered {
  std::string name;
  std::string sql;
  std::vector<std::string> found;
  Counts made;
  Counts dropped = {};
  bool deep = true;  // found only then
};
void PrintTo(const Altered& altered, std::ostream* out) { *out << altered.name; }

std::vector<Altered> columns() {
  const std::string records = "DROP TRIGGER log_records_keep_columns; UPDATE log_records SET ";
  return {
      {"TypeOfARecord",
       records + "type = 'x' WHERE idx = 2",
       {"derived log_records 2"},
       {{"log_records", 1}}},
      {"ActorOfARecord",
       records + "actor = 'x' WHERE idx = 2",
       {"derived log_records 2"},
       {{"log_records", 1}}},
      {"TimeOfARecord",
       records + "time = time - 1 WHERE idx = 3",
       {"derived log_records 3"},
       {{"log_records", 1}}},
  };
}

std::vector<Altered> usages() {
  const std::string usage =
      "DROP TRIGGER signer_usage_only_rises; DROP TRIGGER signer_usage_keep_delete; ";
  return {
      {"UsageThatGoesUp",
       usage + "UPDATE signer_usage SET statements = 4096 WHERE kind = 2 "
               "AND identity = 'team-1'",
       {"row signer_usage team-1 about acme/a"},
       {{"signer_usage", 1}},
       {},
       false},
      {"UsageThatIsGone",
       usage + "DELETE FROM signer_usage WHERE kind = 3 AND identity = 'team-2'",
       {"missing-row signer_usage"},
       {{"signer_usage", 1}},
       {},
       false},
      {"UsageOfNothing",
       usage + "INSERT INTO signer_usage VALUES (2, 'acme/z', 'a', 1, 1, 1)",
       {"row signer_usage a about acme/z"},
       {{"signer_usage", 1}},
       {},
       false},
  };
}

std::vector<Altered> versions() {
  const std::string versions =
      "DROP TRIGGER versions_only_rise; DROP TRIGGER versions_keep_delete; ";
  const std::string artifact = ArtifactId(digest_of("artifact acme/a")).text();
  const std::string changes =
      "DROP TRIGGER statement_changes_keep_update; UPDATE statement_changes SET ";
  return {
      {"VersionOfASubject",
       versions + "UPDATE versions SET value = 1 WHERE kind = 1",
       {"row versions " + artifact},
       {{"versions", 1}},
       {},
       false},
      {"VersionOfASubjectThatIsGone",
       versions + "DELETE FROM versions WHERE kind = 1",
       {"missing-row versions"},
       {{"versions", 1}},
       {},
       false},
      {"VersionOfANode",
       versions + "UPDATE versions SET value = 7 WHERE kind = 2",
       {"row versions gpu-1"},
       {{"versions", 1}},
       {},
       false},
      {"VersionOfANodeThatIsGone",
       versions + "DELETE FROM versions WHERE kind = 2",
       {"missing-row versions"},
       {{"versions", 1}},
       {},
       false},
      {"VersionOfAllStatements",
       versions + "UPDATE versions SET value = -1 WHERE kind = 3",
       {"row versions "},
       {{"versions", 1}},
       {},
       false},
      {"VersionOfAllStatementsThatIsGone",
       versions + "DELETE FROM versions WHERE kind = 3",
       {"missing-row versions"},
       {{"versions", 1}},
       {},
       false},
      {"ChangeOfAnotherStatement",
       changes + "log_index = 1",
       {"row statement_changes 5"},
       {},
       {{"statement_changes", 1}},
       false},
      {"ChangeAtAnotherTime",
       changes + "version = 4",
       {"row statement_changes 4"},
       {},
       {{"statement_changes", 1}},
       false},
  };
}

std::vector<Altered> moved() {
  const std::string loose = "PRAGMA foreign_keys = OFF; ";
  return {
      {"StatementAtAnotherPlace",
       loose + "DROP TRIGGER statements_keep_update; "
               "UPDATE statements SET log_index = 70 WHERE log_index = 7",
       {},
       {{"statements", 1}},
       {},
       false},
      {"StatementBeforeTheLog",
       loose + "DROP TRIGGER statements_keep_update; "
               "UPDATE statements SET log_index = -1 WHERE log_index = 7",
       {},
       {{"statements", 1}},
       {},
       false},
      {"DecisionAtAnotherPlace",
       loose + "DROP TRIGGER decisions_keep_update; "
               "UPDATE decisions SET log_index = 70 WHERE log_index = 2",
       {},
       {{"decisions", 1}},
       {},
       false},
      {"DecisionBeforeTheLog",
       loose + "DROP TRIGGER decisions_keep_update; "
               "UPDATE decisions SET log_index = -1 WHERE log_index = 2",
       {},
       {{"decisions", 1}},
       {},
       false},
  };
}

std::vector<Altered> rows() {
  const std::string loose = "PRAGMA foreign_keys = OFF; ";
  return {
      {"ListOfNoStatement",
       loose + "INSERT INTO statement_subjects VALUES (77, 0, 'sha256:00')",
       {"derived statement_subjects"},
       {}},
      {"ListOfNoDecision",
       loose + "INSERT INTO decision_reasons VALUES (77, 0, 1)",
       {"derived decision_reasons"},
       {}},
      {"SubjectThatARecordDoesNotHave",
       "INSERT INTO log_subjects SELECT number, 2 FROM texts "
       "WHERE text = 'node:gpu-1'",
       {"index log_subjects"},
       {}},
      {"TimeOfTheLastWrite",
       "UPDATE last_write SET time = time + 1",
       {"row last_write"},
       {{"last_write", 1}},
       {},
       false},
      {"WhenAClaimWasSeen",
       "UPDATE claims SET seen_at = seen_at + 1",
       {},
       {},
       {{"claims", 1}},
       false},
      {"WhetherAPodIsBound",
       "PRAGMA ignore_check_constraints = ON; UPDATE pods SET bound = 1",
       {},
       {},
       {{"pods", 1}},
       false},
  };
}

class AlteredTest : public DerivedTest, public ::testing::WithParamInterface<Altered> {};

TEST_P(AlteredTest, IsNamedAndMadeAgain) {
  ASSERT_EQ(findings(), std::vector<std::string>());
  const Altered& altered = GetParam();
  tamper(altered.sql);
  const auto found = findings();
  if (altered.found.empty()) {
    EXPECT_FALSE(found.empty());
  } else {
    EXPECT_EQ(found, altered.found);
  }
  EXPECT_EQ(findings(false).empty(), altered.deep);
  const Repaired repaired = repair();
  EXPECT_EQ(repaired.made, altered.made);
  EXPECT_EQ(repaired.dropped, altered.dropped);
  EXPECT_EQ(repair().made, Counts()) << "once";
}

std::string name_of(const ::testing::TestParamInfo<Altered>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Columns, AlteredTest, ::testing::ValuesIn(columns()), name_of);
INSTANTIATE_TEST_SUITE_P(Usages, AlteredTest, ::testing::ValuesIn(usages()), name_of);
INSTANTIATE_TEST_SUITE_P(Versions, AlteredTest, ::testing::ValuesIn(versions()), name_of);
INSTANTIATE_TEST_SUITE_P(Moved, AlteredTest, ::testing::ValuesIn(moved()), name_of);
INSTANTIATE_TEST_SUITE_P(Rows, AlteredTest, ::testing::ValuesIn(rows()), name_of);

// A flipped bit makes one text of the table another one that is there, too, while the index has
// both as they were: it cannot be made again before they differ.
TEST_F(DerivedTest, TextsThatBecameOne_AreToldApartByARepair) {
  tamper_schema(
      "CREATE TEMP TABLE kept AS SELECT * FROM sqlite_schema WHERE name = 'texts_by_text';"
      "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'texts_by_text';"
      "PRAGMA writable_schema = RESET; UPDATE texts SET text = 'prod' "
      "WHERE number = (SELECT subject FROM decision_subjects LIMIT 1);"
      "PRAGMA writable_schema = ON; INSERT INTO sqlite_schema SELECT * FROM kept;"
      "PRAGMA writable_schema = RESET;"
      "CREATE TRIGGER in_the_way BEFORE UPDATE ON texts BEGIN SELECT RAISE(ABORT, 'no'); END");
  EXPECT_NE(findings(), std::vector<std::string>());
  repair();
  EXPECT_EQ(findings(), std::vector<std::string>());
  DecisionQuery query;
  query.name_space = "prod";
  const auto found = view()->decisions(query);
  ASSERT_TRUE(found) << to_string(found.error());
  EXPECT_EQ(found->items.size(), 4U);
  store_.reset();
  EXPECT_EQ(repair().made, Counts()) << "once";
}

TEST_F(DerivedTest, ListsThatWereShort_AreWholeAfterARepair) {
  EventQuery made;
  made.type = "decision.made";
  EventQuery late;
  late.since = Timestamp(clock_.now() - std::chrono::minutes(150));
  const auto counts = [&] {
    const auto snapshot = view();
    const auto all =
        std::pair(snapshot->events(made)->items.size(), snapshot->events(late)->items.size());
    store_.reset();
    return all;
  };
  const auto before = counts();
  EXPECT_EQ(before, std::pair(std::size_t{4}, std::size_t{6}));
  tamper(
      "DROP TRIGGER log_records_keep_columns;"
      "UPDATE log_records SET type = 'x' WHERE idx = 4;"
      "UPDATE log_records SET time = 0 WHERE idx < 11");
  EXPECT_NE(counts(), before);
  repair();
  EXPECT_EQ(counts(), before);
}

TEST_F(DerivedTest, AlteredCounts_AreDataLossUntilTheRepair) {
  const std::string sql =
      "DROP TRIGGER signer_usage_only_rises; UPDATE signer_usage SET statements = 0;"
      "DROP TRIGGER versions_only_rise; UPDATE versions SET value = value - 1;"
      "DROP TRIGGER statement_changes_keep_update; UPDATE statement_changes SET log_index = 1";
  tamper(sql);
  {
    const auto snapshot = view();
    EXPECT_EQ(snapshot->usage(kName, "team-1").error().code, ErrorCode::kDataLoss);
    EXPECT_EQ(snapshot->subject_version(kArtifact).error().code, ErrorCode::kDataLoss);
    EXPECT_EQ(snapshot->node_version("gpu-1").error().code, ErrorCode::kDataLoss);
    EXPECT_EQ(snapshot->statements_version().error().code, ErrorCode::kDataLoss);
    EXPECT_EQ(snapshot->lineage().changes_since(0, 9).error().code, ErrorCode::kDataLoss);
    const auto written = store_->write([&](Transaction& t) { return fill(t, "9"); });
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, ErrorCode::kDataLoss) << "no limit is judged by it";
  }
  store_.reset();
  repair();
  const auto snapshot = view();
  EXPECT_EQ(snapshot->usage(kName, "team-1")->statements, 4U);
  EXPECT_EQ(snapshot->usage(kName, "team-2")->statements, 1U);
  EXPECT_EQ(snapshot->lineage().changes_since(0, 9), std::vector<LeafIndex>());
  EXPECT_TRUE(store_->write([&](Transaction& t) { return fill(t, "9"); }));
  store_.reset();
  EXPECT_EQ(findings(), std::vector<std::string>());
}

// As an index does whose page is damaged: what it finds lies before what was asked for.
TEST_F(DerivedTest, IndexThatLeadsBack_IsDataLoss) {
  const auto connection =
      sqlite::Connection::open(path(), sqlite::Connection::Mode::kReadOnly).value();
  sqlite::Search search{.list = sqlite::kDecisions,
                        .filters = {{{sqlite::Sql::kDecisionByAllowedDown, std::int64_t{1}}}},
                        .since = {},
                        .until = {},
                        .bounds = {}};
  search.bounds.after = 2;
  const auto found = sqlite::search(*connection, search, 11);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kDataLoss);
  search.filters = {{{sqlite::Sql::kDecisionByAllowed, std::int64_t{1}}}};
  EXPECT_EQ(sqlite::search(*connection, search, 11)->indexes, (std::vector<LeafIndex>{4, 6, 8}));
}

TEST_F(DerivedTest, VersionsThatAreGone_AreDataLoss) {
  tamper("DROP TRIGGER versions_keep_delete; DELETE FROM versions");
  const auto snapshot = view();
  EXPECT_EQ(snapshot->subject_version(kArtifact).error().code, ErrorCode::kDataLoss);
  EXPECT_EQ(snapshot->node_version("gpu-1").error().code, ErrorCode::kDataLoss);
  EXPECT_EQ(snapshot->statements_version().error().code, ErrorCode::kDataLoss);
  EXPECT_EQ(snapshot->node_version("gpu-2"), 0U) << "there is no such node";
  EXPECT_EQ(snapshot->subject_version(ArtifactId(digest_of("nothing"))), 0U);
}

}  // namespace
}  // namespace assay::storage
