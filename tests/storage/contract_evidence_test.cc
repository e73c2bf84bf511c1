// SPDX-License-Identifier: Apache-2.0
// Contract of storage/node_store.h: stored evidence, when it is stale, when to look at it again.
#include "schemas/anchor.h"
#include "tests/storage/store_contract.h"

namespace assay::storage {
namespace {

EvidenceRow evidence_row(const std::string& subject, const DocumentId& id) {
  return {.subject = subject,
          .node = "gpu-1",
          .type = "tdx",
          .evidence = id,
          .expected = Bytes(64, 7),
          .platform = "00ff",
          .policy = DocumentId(digest_of("policy")),
          .error = {},
          .appraisal = id,
          .appraised_at = Timestamp(std::chrono::seconds(9)),
          .tcb_status = "UpToDate",
          .anchor = assay::Anchor::root(digest_of("root")),
          .anchor_is_vendor = true,
          .marks = {{"tdx/a", 17}}};
}

TEST_P(StoreContract, Evidence_Put_IsFoundAndForgotten) {
  std::optional<DocumentId> id;
  write([&](Transaction& t) -> Status {
    ASSAY_ASSIGN(id, t.put_document("x", as_bytes("evidence")));
    return t.put_evidence(evidence_row("node:gpu-1", *id));
  });
  reopen();
  const auto row = snapshot()->evidence("node:gpu-1");
  ASSERT_TRUE(row);
  EXPECT_EQ(row->expected, Bytes(64, 7));
  EXPECT_EQ(row->marks, (Json{{"tdx/a", 17}}));
  EXPECT_EQ(row->appraised_at, Timestamp(std::chrono::seconds(9)));
  EXPECT_EQ(row->anchor, assay::Anchor::root(digest_of("root")));
  EXPECT_EQ(write_error([&](Transaction& t) {
              EvidenceRow bad = evidence_row("node:gpu-1", *id);
              bad.expected.pop_back();
              return t.put_evidence(bad);
            }),
            ErrorCode::kInvalidParameter);
  write([](Transaction& t) { return t.forget_evidence("node:gpu-1"); });
  write([](Transaction& t) { return t.forget_evidence("node:gpu-1"); });
  EXPECT_EQ(snapshot()->evidence("node:gpu-1").error().code, ErrorCode::kNotFound);
}

TEST_P(StoreContract, Evidence_IsStale_AfterAppraisalsAndRisingMarks) {
  std::optional<DocumentId> id;
  const auto put = [&](const char* subject) {
    write([&](Transaction& t) -> Status {
      ASSAY_ASSIGN(id, t.put_document("x", as_bytes("evidence")));
      return t.put_evidence(evidence_row(subject, *id));
    });
  };
  const auto stale = [&](std::size_t limit = 10) {
    std::vector<std::string> subjects;
    const auto rows = snapshot()->stale_evidence(limit);
    EXPECT_TRUE(rows);
    for (const EvidenceRow& row : *rows) {
      subjects.push_back(row.subject);
    }
    return subjects;
  };
  using Subjects = std::vector<std::string>;
  put("job:a");
  put("node:gpu-1");
  EXPECT_EQ(stale(), Subjects());
  write([](Transaction& t) { return t.put_appraisal({"tdx", Json::object(), {}, false}); });
  EXPECT_EQ(stale(), (Subjects{"job:a", "node:gpu-1"}));
  EXPECT_EQ(stale(1), Subjects{"job:a"});
  put("job:a");
  EXPECT_EQ(stale(), Subjects{"node:gpu-1"});
  put("node:gpu-1");
  write([](Transaction& t) { return t.raise_high_water("tdx/a", 18, {}); });
  EXPECT_EQ(stale().size(), 2U);
  put("job:a");
  put("node:gpu-1");
  write([](Transaction& t) { return t.raise_high_water("tdx/a", 18, {}); });
  write([](Transaction& t) { return t.raise_high_water("tdx/a", 4, {}); });
  EXPECT_EQ(stale(), Subjects());
}

TEST_P(StoreContract, Evidence_IsDue_WhenItsTimeHasCome) {
  const auto at = [](int second) { return Timestamp(std::chrono::seconds(second)); };
  const auto put = [&](const char* subject, std::optional<Timestamp> look_at) {
    write([&](Transaction& t) -> Status {
      ASSAY_ASSIGN(const DocumentId id, t.put_document("x", as_bytes("evidence")));
      EvidenceRow row = evidence_row(subject, id);
      row.valid_until = at(90);
      row.look_at = look_at;
      return t.put_evidence(row);
    });
  };
  const auto due = [&](int now, std::size_t limit = 10) {
    std::vector<std::string> subjects;
    const auto rows = snapshot()->due_evidence(at(now), limit);
    EXPECT_TRUE(rows);
    for (const EvidenceRow& row : *rows) {
      subjects.push_back(row.subject);
    }
    return subjects;
  };
  using Subjects = std::vector<std::string>;
  put("job:a", at(20));
  put("job:b", at(10));
  put("job:c", std::nullopt);
  EXPECT_EQ(due(9), Subjects());
  EXPECT_EQ(due(10), Subjects{"job:b"});
  EXPECT_EQ(due(1000), (Subjects{"job:b", "job:a"}));
  EXPECT_EQ(due(1000, 1), Subjects{"job:b"});
  put("job:b", at(30));
  reopen();
  EXPECT_EQ(due(1000), (Subjects{"job:a", "job:b"}));
  EXPECT_EQ(snapshot()->evidence("job:b")->valid_until, at(90));
  EXPECT_EQ(snapshot()->evidence("job:b")->look_at, at(30));
  EXPECT_EQ(snapshot()->evidence("job:c")->look_at, std::nullopt);
  EXPECT_FALSE(snapshot()->due_evidence(at(1), 0));
  EXPECT_FALSE(snapshot()->due_evidence(at(1), 1001));
}

TEST_P(StoreContract, AppraisalId_IsTheDigestOfItsCanonicalForm) {
  const Appraisal tdx{"tdx", {{"allow_debug", true}}, {to_bytes("DER")}, true};
  EXPECT_EQ(snapshot()->appraisal_id("tdx").error().code, ErrorCode::kNotFound);
  write([&](Transaction& t) { return t.put_appraisal(tdx); });
  EXPECT_EQ(snapshot()->appraisal_id("tdx"), DocumentId(digest_of(*canonical_json(to_json(tdx)))));
}

}  // namespace
}  // namespace assay::storage
