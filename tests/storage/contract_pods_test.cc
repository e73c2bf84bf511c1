// SPDX-License-Identifier: Apache-2.0
// Contract of storage/node_store.h: admitted pods, claims, and the versions of what decisions read.
#include "schemas/core/json.h"
#include "schemas/core/sha.h"
#include "storage/large_workload.h"
#include "storage/lineage_reads.h"
#include "tests/storage/store_contract.h"

namespace assay::storage {
namespace {

constexpr std::chrono::milliseconds kInstant{1};
// After the clock of the tests, so that nothing is forgotten by itself.
constexpr Timestamp kLater(std::chrono::hours(24 * 365 * 100));

PodRow make_pod(const std::string& uid, const std::string& cluster = "east") {
  return {.cluster = cluster,
          .uid = uid,
          .name_space = "prod",
          .name = "llm-0",
          .nodes = {},
          .settled = {},
          .decision = "decision-1",
          .models = {{ArtifactId(digest_of("base")), "acme/base"},
                     {ArtifactId(digest_of("adapter")), ""}},
          .workload = {{"namespace", "prod"}, {"labels", {{"app", "chat"}}}},
          .admitted_at = kLater};
}

TEST_P(StoreContract, Pod_PutAndGet_EveryFieldKept) {
  PodRow pod = make_pod("uid-1");
  write([&](Transaction& transaction) { return transaction.put_pod(pod); });
  reopen();
  EXPECT_EQ(snapshot()->pod("east", "uid-1"), pod);
  pod.nodes = {"gpu-2", "gpu-1"};
  pod.settled = "gpu-1";
  pod.decision = "decision-2";
  pod.models.clear();
  pod.workload = {{"namespace", "prod"}};
  write([&](Transaction& transaction) { return transaction.put_pod(pod); });
  EXPECT_EQ(snapshot()->pod("east", "uid-1"), pod);
}

TEST_P(StoreContract, Pods_AreListedByClusterAndUid) {
  write([&](Transaction& transaction) -> Status {
    ASSAY_TRY(transaction.put_pod(make_pod("uid-2")));
    ASSAY_TRY(transaction.put_pod(make_pod("uid-1", "west")));
    return transaction.put_pod(make_pod("uid-1"));
  });
  const auto uids = [&](const PodKey& after, std::size_t limit) {
    std::string text;
    const auto pods = snapshot()->pods(after, limit);
    for (const PodRow& pod : pods.value()) {
      text += pod.cluster + "/" + pod.uid + " ";
    }
    return text;
  };
  EXPECT_EQ(uids({}, 1000), "east/uid-1 east/uid-2 west/uid-1 ");
  EXPECT_EQ(uids({}, 2), "east/uid-1 east/uid-2 ");
  EXPECT_EQ(uids({"east", "uid-2"}, 2), "west/uid-1 ");
  EXPECT_EQ(uids({"west", "uid-1"}, 2), "");
  EXPECT_EQ(snapshot()->pods({}, 1), (std::vector{snapshot()->pod("east", "uid-1").value()}));
  EXPECT_EQ(snapshot()->pods({}, 0).error().code, ErrorCode::kInvalidParameter);
  EXPECT_EQ(snapshot()->pods({}, 1001).error().code, ErrorCode::kInvalidParameter);
}

// The long workload of a template is kept once, however many pods it has.
// It would be read as the id of a document, of anybody's choice.
TEST_P(StoreContract, Pods_WhoseWorkloadIsAText_AreRefused) {
  PodRow pod = make_pod("uid-1");
  pod.workload = DocumentId(sha256(as_bytes("somebody's"))).text();
  EXPECT_EQ(write_error([&](Transaction& transaction) { return transaction.put_pod(pod); }),
            ErrorCode::kInvalidParameter);
  EXPECT_FALSE(snapshot()->pod("east", "uid-1"));
}

TEST_P(StoreContract, Pods_OfALongWorkload_ShareIt) {
  PodRow pod = make_pod("uid-1");
  pod.workload["labels"]["app"] = "";
  const std::size_t rest = canonical_json(pod.workload)->size();
  pod.workload["labels"]["app"] = std::string(kMaxWorkloadInRow - rest, 'x');
  const auto id_of = [](const PodRow& row) {
    return DocumentId(sha256(as_bytes(canonical_json(row.workload).value())));
  };
  PodRow longer = make_pod("uid-2");
  longer.workload["labels"]["app"] = std::string(kMaxWorkloadInRow - rest + 1, 'x');
  PodRow same = longer;
  same.uid = "uid-3";
  write([&](Transaction& transaction) -> Status {
    ASSAY_TRY(transaction.put_pod(pod));
    ASSAY_TRY(transaction.put_pod(longer));
    return transaction.put_pod(same);
  });
  reopen();
  EXPECT_EQ(snapshot()->pod("east", "uid-1"), pod);
  EXPECT_EQ(snapshot()->pod("east", "uid-2"), longer);
  EXPECT_EQ(snapshot()->pod("east", "uid-3"), same);
  EXPECT_EQ(snapshot()->has_document(id_of(pod)), false);
  EXPECT_EQ(snapshot()->has_document(id_of(longer)), true);
}

// A name is used again, and a uid means something in its own cluster only.
TEST_P(StoreContract, Pods_OfOneNameOrOneUid_AreKeptApart) {
  const PodRow waiting = make_pod("uid-1");
  PodRow refused = make_pod("uid-2");
  refused.decision = "decision-2";
  PodRow elsewhere = make_pod("uid-1", "west");
  elsewhere.models.clear();
  write([&](Transaction& transaction) -> Status {
    ASSAY_TRY(transaction.put_pod(waiting));
    ASSAY_TRY(transaction.put_pod(refused));
    return transaction.put_pod(elsewhere);
  });
  EXPECT_EQ(snapshot()->pod("east", "uid-1"), waiting);
  EXPECT_EQ(snapshot()->pod("east", "uid-2"), refused);
  EXPECT_EQ(snapshot()->pod("west", "uid-1"), elsewhere);
  EXPECT_EQ(snapshot()->pod("west", "uid-2").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(snapshot()->pod("", "uid-1").error().code, ErrorCode::kNotFound);
}

TEST_P(StoreContract, Pod_Removed_IsGoneAlone) {
  write([&](Transaction& transaction) -> Status {
    ASSAY_TRY(transaction.put_pod(make_pod("uid-1")));
    ASSAY_TRY(transaction.put_pod(make_pod("uid-1", "west")));
    return transaction.put_pod(make_pod("uid-2"));
  });
  for (int i = 0; i < 2; ++i) {
    write([](Transaction& transaction) { return transaction.remove_pod("east", "uid-1"); });
    EXPECT_EQ(snapshot()->pod("east", "uid-1").error().code, ErrorCode::kNotFound);
  }
  EXPECT_TRUE(snapshot()->pod("west", "uid-1"));
  EXPECT_TRUE(snapshot()->pod("east", "uid-2"));
}

TEST_P(StoreContract, Pods_AdmittedLongAgo_AreForgottenWhenAnotherComes) {
  PodRow waiting = make_pod("waiting");
  waiting.admitted_at = clock_.now();
  PodRow running = make_pod("running");
  running.admitted_at = clock_.now();
  running.nodes = {"gpu-1"};
  write([&](Transaction& transaction) -> Status {
    ASSAY_TRY(transaction.put_pod(waiting));
    return transaction.put_pod(running);
  });
  const auto another = [&] {
    PodRow pod = make_pod("another");
    pod.admitted_at = clock_.now();
    write([&](Transaction& transaction) { return transaction.put_pod(pod); });
  };
  clock_.advance(kKeepUnboundPod);
  another();
  EXPECT_TRUE(snapshot()->pod("east", "waiting")) << "its time is not over";
  clock_.advance(kInstant);
  another();
  EXPECT_FALSE(snapshot()->pod("east", "waiting"));
  EXPECT_TRUE(snapshot()->pod("east", "running"));
  clock_.advance(kKeepBoundPod - kKeepUnboundPod);
  another();
  EXPECT_FALSE(snapshot()->pod("east", "running"));
  EXPECT_TRUE(snapshot()->pod("east", "another"));
}

TEST_P(StoreContract, Pods_ToForget_GoAFewAtATime) {
  constexpr int kPods = 100;
  write([&](Transaction& transaction) -> Status {
    for (int i = 0; i < kPods; ++i) {
      PodRow pod = make_pod("old-" + std::to_string(i));
      pod.admitted_at = transaction.now();
      ASSAY_TRY(transaction.put_pod(pod));
    }
    return {};
  });
  clock_.advance(kKeepUnboundPod + kInstant);
  PodRow pod = make_pod("new");
  pod.admitted_at = clock_.now();
  write([&](Transaction& transaction) { return transaction.put_pod(pod); });
  int left = 0;
  for (int i = 0; i < kPods; ++i) {
    left += snapshot()->pod("east", "old-" + std::to_string(i)) ? 1 : 0;
  }
  EXPECT_GT(left, 0);
  EXPECT_LT(left, kPods - 1);
}

// --- claims

TEST_P(StoreContract, Claim_OfAnotherUid_ReplacesAndIsNotRemovedByTheFormer) {
  const Timestamp now = clock_.now();
  const ClaimRow first{"east", "prod", "models", "uid-1", "pv-1", now};
  const ClaimRow second{"east", "prod", "models", "uid-2", "", now};
  const ClaimRow elsewhere{"west", "prod", "models", "uid-1", "pv-9", now};
  write([&](Transaction& transaction) -> Status {
    ASSAY_TRY(transaction.put_claim(first));
    return transaction.put_claim(elsewhere);
  });
  reopen();
  EXPECT_EQ(snapshot()->claim("east", "prod", "models"), first);
  write([&](Transaction& transaction) { return transaction.put_claim(second); });
  EXPECT_EQ(snapshot()->claim("east", "prod", "models"), second);
  write([](Transaction& t) { return t.remove_claim("east", "prod", "models", "uid-1"); });
  EXPECT_EQ(snapshot()->claim("east", "prod", "models"), second);
  write([](Transaction& t) { return t.remove_claim("east", "prod", "models", "uid-2"); });
  EXPECT_EQ(snapshot()->claim("east", "prod", "models").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(snapshot()->claim("west", "prod", "models"), elsewhere);
  EXPECT_EQ(snapshot()->claim("west", "test", "models").error().code, ErrorCode::kNotFound);
}

TEST_P(StoreContract, Claim_SaidAgain_IsKnownSinceTheFirstTime) {
  const Timestamp first = clock_.now();
  const auto said = [&](const std::string& volume) {
    write([&](Transaction& t) { return t.put_claim({"east", "prod", "models", "uid-1", volume}); });
    return snapshot()->claim("east", "prod", "models")->since;
  };
  EXPECT_EQ(said("pv-1"), first);
  clock_.advance(std::chrono::hours(48));
  EXPECT_EQ(said("pv-1"), first);
  EXPECT_EQ(said("pv-2"), clock_.now());
}

TEST_P(StoreContract, Claims_NotHeardOfForLong_AreForgottenWhenAnotherComes) {
  const auto say = [&](const std::string& name) {
    write([&](Transaction& t) { return t.put_claim({"east", "prod", name, "uid", "pv"}); });
  };
  const auto known = [&](const std::string& name) {
    return snapshot()->claim("east", "prod", name).has_value();
  };
  say("silent");
  say("used");
  clock_.advance(std::chrono::hours(48));
  say("used");
  clock_.advance(kKeepClaim - std::chrono::hours(48));
  say("another");
  EXPECT_TRUE(known("silent")) << "its time is not over";
  clock_.advance(kInstant);
  say("another");
  EXPECT_FALSE(known("silent"));
  EXPECT_TRUE(known("used"));
  EXPECT_TRUE(known("another"));
}

// --- versions

TEST_P(StoreContract, SubjectVersion_RisesWithStatementsAndSignatures) {
  const ArtifactId artifact(digest_of("artifact"));
  const ArtifactId other(digest_of("other"));
  EXPECT_EQ(snapshot()->subject_version(artifact), 0U);
  StatementRow row = make_statement("one");
  row.subjects = {artifact.text(), "sha256:" + digest_of("file").hex()};
  write([&](Transaction& transaction) -> Status {
    ASSAY_ASSIGN(row, put(transaction, row));
    return {};
  });
  EXPECT_EQ(snapshot()->subject_version(artifact), 1U);
  write([&](Transaction& transaction) -> Status {
    ASSAY_ASSIGN(const DocumentId envelope, transaction.put_document("x", as_bytes("second")));
    ASSAY_ASSIGN(const LeafIndex record, transaction.append(make_record("test.signed")));
    return transaction.add_envelope(row.id, envelope, {make_key(9).id}, record);
  });
  reopen();
  EXPECT_EQ(snapshot()->subject_version(artifact), 2U);
  EXPECT_EQ(snapshot()->subject_version(other), 0U);
  EXPECT_EQ(snapshot()->node_version(artifact.text()), 0U);
}

TEST_P(StoreContract, Lineages_FindStatementsByTheirDigests) {
  StatementRow first = make_statement("one");
  StatementRow second = make_statement("two");
  second.subjects.push_back(first.subjects.front());
  first.inputs = {"sha256:00", "sha256:01"};
  write([&](Transaction& transaction) -> Status {
    ASSAY_ASSIGN(first, put(transaction, first));
    ASSAY_ASSIGN(second, put(transaction, second));
    return {};
  });
  const auto view = snapshot();
  const std::vector<LeafIndex> both = {first.log_index, second.log_index};
  EXPECT_EQ(view->lineage().about(first.subjects.front()), both);
  EXPECT_EQ(view->lineage().about(second.subjects.front()), std::vector{second.log_index});
  EXPECT_EQ(view->lineage().from("sha256:01"), std::vector{first.log_index});
  EXPECT_TRUE(view->lineage().from(first.subjects.front())->empty());
}

// Who remembers what statements said at a version learns which of them are others since.
TEST_P(StoreContract, Changes_NameTheStatementsThatGotSignatures) {
  StatementRow first = make_statement("one");
  StatementRow second = make_statement("two");
  write([&](Transaction& transaction) -> Status {
    ASSAY_ASSIGN(first, put(transaction, first));
    ASSAY_ASSIGN(second, put(transaction, second));
    return {};
  });
  const std::uint64_t before = snapshot()->statements_version().value();
  EXPECT_EQ(before, 2U);
  EXPECT_TRUE(snapshot()->lineage().changes_since(0, 10)->empty()) << "new ones are no changes";
  for (const StatementRow& row : {second, first, second}) {
    write([&](Transaction& transaction) -> Status {
      const std::string text = "envelope " + std::to_string(transaction.log_state()->size);
      ASSAY_ASSIGN(const DocumentId envelope, transaction.put_document("x", as_bytes(text)));
      ASSAY_ASSIGN(const LeafIndex record, transaction.append(make_record("test.signed")));
      return transaction.add_envelope(row.id, envelope, {make_key(9).id}, record);
    });
  }
  reopen();
  const auto view = snapshot();
  EXPECT_EQ(view->statements_version(), before + 3);
  const std::vector<LeafIndex> all = {second.log_index, first.log_index, second.log_index};
  EXPECT_EQ(view->lineage().changes_since(before, 10), all);
  EXPECT_EQ(view->lineage().changes_since(before, 2)->size(), 2U);
  EXPECT_EQ(view->lineage().changes_since(before + 2, 10), std::vector{second.log_index});
}

TEST_P(StoreContract, Version_OfAWriteThatFails_StaysWhatItWas) {
  const ArtifactId artifact(digest_of("artifact"));
  EXPECT_EQ(write_error([&](Transaction& transaction) -> Status {
              StatementRow row = make_statement("one");
              row.subjects = {artifact.text()};
              ASSAY_TRY(put(transaction, row));
              EXPECT_EQ(transaction.subject_version(artifact), 1U);
              return fail(ErrorCode::kConflict, "after it");
            }),
            ErrorCode::kConflict);
  EXPECT_EQ(snapshot()->subject_version(artifact), 0U);
}

NodeRow make_node(const DocumentId& enrolment) {
  const TestSigner key(1);
  return {.name = "gpu-1",
          .principal = "worker-1",
          .key = key.key_id(),
          .public_key = key.public_key(),
          .platform = "00",
          .enrolled_at = Timestamp(),
          .held_since = Timestamp(),
          .expires_at = Timestamp(std::chrono::hours(24)),
          .revoked = std::nullopt,
          .devices = Json::array(),
          .enrolment = enrolment,
          .measured = std::nullopt,
          .log_index = 0};
}

TEST_P(StoreContract, NodeVersion_RisesWithEveryRowOfTheNode) {
  append(1);
  EXPECT_EQ(snapshot()->node_version("gpu-1"), 0U);
  for (std::uint64_t i = 1; i <= 2; ++i) {
    write([](Transaction& transaction) -> Status {
      ASSAY_ASSIGN(const DocumentId id, transaction.put_document("x", as_bytes("enrolment")));
      return transaction.put_node(make_node(id));
    });
    EXPECT_EQ(snapshot()->node_version("gpu-1"), i);
  }
  EXPECT_EQ(snapshot()->node_version("gpu-2"), 0U);
}

}  // namespace
}  // namespace assay::storage
