// SPDX-License-Identifier: Apache-2.0
// Contract of storage/node_store.h: challenges, enrolled nodes, outlines, appraisals, high-water
// marks. Jobs: contract_jobs_test.cc; pods, claims and versions: contract_pods_test.cc.
#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "schemas/anchor.h"
#include "tests/storage/store_contract.h"

namespace assay::storage {

namespace {

constexpr std::chrono::hours kDay{24};

// --- challenges

Bytes nonce_of(std::uint8_t first) {
  Bytes nonce(32, 0x77);
  nonce[0] = first;
  return nonce;
}

ChallengeRow make_challenge(std::uint8_t first, Timestamp expires_at) {
  return {.nonce = nonce_of(first),
          .principal = "worker-1",
          .purpose = "report",
          .node = "gpu-1",
          .job = "job-1",
          .expires_at = expires_at,
          .used_at = std::nullopt};
}

// Consumes in an own write; `row` is what the store said of it.
ErrorCode consume(Store& store, const Bytes& nonce, ChallengeRow* row = nullptr) {
  const auto done = store.write([&](Transaction& transaction) -> Status {
    ASSAY_ASSIGN(const ChallengeRow found, transaction.consume_challenge(nonce));
    if (row != nullptr) {
      *row = found;
    }
    return {};
  });
  return done ? ErrorCode{} : done.error().code;
}

TEST_P(StoreContract, Challenge_ConsumedTwice_SecondTimeIsShownAsUsed) {
  const ChallengeRow challenge = make_challenge(1, clock_.now() + std::chrono::minutes(2));
  write([&](Transaction& transaction) { return transaction.put_challenge(challenge); });
  ChallengeRow row{};
  ASSERT_EQ(consume(store(), challenge.nonce, &row), ErrorCode{});
  EXPECT_EQ(row.nonce, challenge.nonce);
  EXPECT_EQ(row.principal, "worker-1");
  EXPECT_EQ(row.purpose, "report");
  EXPECT_EQ(row.node, "gpu-1");
  EXPECT_EQ(row.job, "job-1");
  EXPECT_EQ(row.expires_at, challenge.expires_at);
  EXPECT_EQ(row.issued_at, clock_.now()) << "the time of the write";
  EXPECT_FALSE(row.used_at);
  const Timestamp first_use = clock_.now();
  clock_.advance(std::chrono::seconds(5));
  reopen();
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(consume(store(), challenge.nonce, &row), ErrorCode{});
    EXPECT_EQ(row.used_at, first_use);
  }
}

TEST_P(StoreContract, Challenge_ConsumedByMany_OneSeesItUnused) {
  const ChallengeRow challenge = make_challenge(2, clock_.now() + std::chrono::minutes(2));
  write([&](Transaction& transaction) { return transaction.put_challenge(challenge); });
  std::atomic<int> winners = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] {
      ChallengeRow row{};
      if (consume(store(), challenge.nonce, &row) == ErrorCode{} && !row.used_at) {
        ++winners;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(winners, 1);
}

TEST_P(StoreContract, Challenge_NeverIssued_IsUnknown) {
  EXPECT_EQ(consume(store(), nonce_of(3)), ErrorCode::kChallengeUnknown);
  EXPECT_EQ(consume(store(), Bytes()), ErrorCode::kChallengeUnknown);
  EXPECT_EQ(consume(store(), Bytes(31, 0x77)), ErrorCode::kChallengeUnknown);
}

TEST_P(StoreContract, Challenge_ConsumedInAWriteThatFails_IsStillUnused) {
  const ChallengeRow challenge = make_challenge(4, clock_.now());
  write([&](Transaction& transaction) { return transaction.put_challenge(challenge); });
  EXPECT_EQ(write_error([&](Transaction& transaction) -> Status {
              EXPECT_TRUE(transaction.consume_challenge(challenge.nonce));
              return fail(ErrorCode::kConflict, "after it");
            }),
            ErrorCode::kConflict);
  ChallengeRow row{};
  ASSERT_EQ(consume(store(), challenge.nonce, &row), ErrorCode{});
  EXPECT_FALSE(row.used_at);
}

TEST_P(StoreContract, Challenge_IssuedTwice_IsAConflict) {
  const ChallengeRow challenge = make_challenge(5, clock_.now() + kDay);
  write([&](Transaction& transaction) { return transaction.put_challenge(challenge); });
  EXPECT_EQ(write_error([&](Transaction& t) { return t.put_challenge(challenge); }),
            ErrorCode::kConflict);
  ASSERT_EQ(consume(store(), challenge.nonce), ErrorCode{});
  EXPECT_EQ(write_error([&](Transaction& t) { return t.put_challenge(challenge); }),
            ErrorCode::kConflict);
}

TEST_P(StoreContract, Challenge_OfAnotherLength_IsRefused) {
  for (const std::size_t size : {0U, 31U, 33U}) {
    ChallengeRow challenge = make_challenge(6, clock_.now());
    challenge.nonce.resize(size);
    EXPECT_EQ(write_error([&](Transaction& t) { return t.put_challenge(challenge); }),
              ErrorCode::kInvalidParameter);
  }
}

TEST_P(StoreContract, Challenge_LongExpired_IsForgottenWhenANewOneComes) {
  const Timestamp start = clock_.now();
  write([&](Transaction& transaction) -> Status {
    ASSAY_TRY(transaction.put_challenge(make_challenge(7, start)));
    return transaction.put_challenge(make_challenge(8, start + kDay));
  });
  clock_.advance(kDay);
  write([&](Transaction& t) { return t.put_challenge(make_challenge(9, start + kDay)); });
  EXPECT_EQ(consume(store(), nonce_of(7)), ErrorCode{}) << "a day is not over";
  clock_.advance(std::chrono::milliseconds(1));
  write([&](Transaction& t) { return t.put_challenge(make_challenge(10, start + kDay)); });
  EXPECT_EQ(consume(store(), nonce_of(7)), ErrorCode::kChallengeUnknown);
  EXPECT_EQ(consume(store(), nonce_of(8)), ErrorCode{});
}

// --- nodes

// A row whose documents and record are stored by put().
NodeRow make_node(const std::string& name, std::uint8_t key) {
  const TestSigner signer(key);
  return {.name = name,
          .principal = "worker-1",
          .key = signer.key_id(),
          .public_key = signer.public_key(),
          .platform = "00ff",
          .enrolled_at = Timestamp(std::chrono::hours(10)),
          .held_since = Timestamp(std::chrono::hours(8)),
          .expires_at = Timestamp(std::chrono::hours(34)),
          .revoked = std::nullopt,
          .devices = {{{"id", "cpu"}}},
          .enrolment = DocumentId(digest_of("unset")),
          .measured = std::nullopt,
          .log_index = 0};
}

NodeRow::Measured make_measured() {
  return {.appraisal = DocumentId(digest_of("unset")),
          .appraised_at = Timestamp(std::chrono::hours(9)),
          .evidence_type = "tdx",
          .tcb_status = "UpToDate",
          .anchor = Anchor::root(digest_of("anchor")),
          .anchor_is_vendor = false};
}

Result<NodeRow> put(Transaction& transaction, NodeRow row) {
  ASSAY_ASSIGN(row.enrolment, transaction.put_document("application/json", as_bytes("enrolment")));
  if (row.measured) {
    ASSAY_ASSIGN(row.measured->appraisal,
                 transaction.put_document("application/json", as_bytes("appraisal")));
  }
  ASSAY_ASSIGN(row.log_index, transaction.append(make_record("node.enrolled")));
  ASSAY_TRY(transaction.put_node(row));
  return row;
}

// The row as it was stored, or the code of the refusal.
Result<NodeRow> store_node(Store& store, const NodeRow& row) {
  Result<NodeRow> stored = row;
  const auto done = store.write([&](Transaction& transaction) -> Status {
    stored = put(transaction, row);
    if (stored && row.revoked) {
      ASSAY_TRY(transaction.append(make_record("trust.changed")));
    }
    return stored ? Status() : std::unexpected(stored.error());
  });
  return done ? stored : Result<NodeRow>(std::unexpected(done.error()));
}

ErrorCode refusal(Store& store, const NodeRow& row) {
  const auto stored = store_node(store, row);
  EXPECT_FALSE(stored);
  return stored ? ErrorCode{} : stored.error().code;
}

TEST_P(StoreContract, Node_PutAndGet_EveryFieldKept) {
  append(3);
  NodeRow measured = make_node("gpu-1", 1);
  measured.measured = make_measured();
  const auto first = store_node(store(), measured);
  const auto second = store_node(store(), make_node("gpu-2", 2));
  ASSERT_TRUE(first && second);
  reopen();
  const auto view = snapshot();
  EXPECT_EQ(view->node("gpu-1"), *first);
  EXPECT_EQ(view->node("gpu-2"), *second);
  EXPECT_EQ(view->node("gpu-3").error().code, ErrorCode::kNotFound);
}

TEST_P(StoreContract, Node_EnrolledAgainWithoutEvidence_IsNoLongerMeasured) {
  NodeRow row = make_node("gpu-1", 1);
  row.measured = make_measured();
  ASSERT_TRUE(store_node(store(), row));
  row.measured.reset();
  row.enrolled_at += kDay;
  row.devices = Json::array();
  const auto again = store_node(store(), row);
  ASSERT_TRUE(again);
  EXPECT_EQ(snapshot()->node("gpu-1"), *again);
}

TEST_P(StoreContract, Node_WithANewKey_KeepsTheOldOneForItself) {
  const NodeRow before = make_node("gpu-1", 1);
  NodeRow after = make_node("gpu-1", 2);
  ASSERT_TRUE(store_node(store(), before));
  EXPECT_EQ(snapshot()->key_owner(before.key), "gpu-1");
  EXPECT_EQ(snapshot()->key_owner(after.key).error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(store_node(store(), after));
  reopen();
  EXPECT_EQ(snapshot()->key_owner(before.key), "gpu-1");
  EXPECT_EQ(snapshot()->key_owner(after.key), "gpu-1");
  // Neither the present nor the former key is for another node; the node itself may go back.
  EXPECT_EQ(refusal(store(), make_node("gpu-2", 1)), ErrorCode::kKeyNotUnique);
  EXPECT_EQ(refusal(store(), make_node("gpu-2", 2)), ErrorCode::kKeyNotUnique);
  EXPECT_EQ(snapshot()->node("gpu-2").error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(store_node(store(), before));
}

TEST_P(StoreContract, Node_Revoked_StaysRevoked) {
  NodeRow row = make_node("gpu-1", 1);
  ASSERT_TRUE(store_node(store(), row));
  NodeRow revoked = row;
  revoked.revoked = Revocation{clock_.now(), "sold"};
  const auto stored = store_node(store(), revoked);
  ASSERT_TRUE(stored);
  reopen();
  EXPECT_EQ(refusal(store(), row), ErrorCode::kConflict);
  NodeRow other_key = make_node("gpu-1", 2);
  EXPECT_EQ(refusal(store(), other_key), ErrorCode::kConflict);
  NodeRow other_time = revoked;
  other_time.revoked->at += kDay;
  EXPECT_EQ(refusal(store(), other_time), ErrorCode::kConflict);
  EXPECT_EQ(snapshot()->node("gpu-1"), *stored);
  EXPECT_EQ(snapshot()->key_owner(other_key.key).error().code, ErrorCode::kNotFound);
}

TEST_P(StoreContract, Node_ThatRefersToNothing_IsRefused) {
  const NodeRow row = make_node("gpu-1", 1);
  EXPECT_EQ(write_error([&](Transaction& t) { return t.put_node(row); }),
            ErrorCode::kInvalidParameter)
      << "no record";
  append(1);
  EXPECT_EQ(write_error([&](Transaction& t) { return t.put_node(row); }), ErrorCode::kNotFound)
      << "no envelope";
  EXPECT_EQ(write_error([&](Transaction& transaction) -> Status {
              NodeRow measured = row;
              ASSAY_ASSIGN(measured.enrolment, transaction.put_document("x", as_bytes("e")));
              measured.measured = make_measured();
              return transaction.put_node(measured);
            }),
            ErrorCode::kNotFound)
      << "no appraisal";
  EXPECT_EQ(snapshot()->node("gpu-1").error().code, ErrorCode::kNotFound);
}

TEST_P(StoreContract, Nodes_ArePagedByName) {
  for (const std::uint8_t number : std::to_array<std::uint8_t>({3, 1, 2})) {
    ASSERT_TRUE(store_node(store(), make_node("gpu-" + std::to_string(number), number)));
  }
  const auto view = snapshot();
  const auto names = [&](const std::string& after, std::size_t limit) {
    std::vector<std::string> out;
    const auto nodes = view->nodes(after, limit).value();
    std::transform(nodes.begin(), nodes.end(), std::back_inserter(out),
                   [](const NodeRow& row) { return row.name; });
    return out;
  };
  EXPECT_EQ(names("", 10), (std::vector<std::string>{"gpu-1", "gpu-2", "gpu-3"}));
  EXPECT_EQ(names("", 2), (std::vector<std::string>{"gpu-1", "gpu-2"}));
  EXPECT_EQ(names("gpu-2", 2), (std::vector<std::string>{"gpu-3"}));
  EXPECT_EQ(names("gpu-3", 2), std::vector<std::string>());
  EXPECT_EQ(view->nodes("", 0).error().code, ErrorCode::kInvalidParameter);
  EXPECT_EQ(view->nodes("", 1001).error().code, ErrorCode::kInvalidParameter);
}

// --- outlines

TEST_P(StoreContract, Outline_First_Stays) {
  const ArtifactId artifact(digest_of("artifact"));
  const DocumentId missing(digest_of("not stored"));
  EXPECT_EQ(snapshot()->outline(artifact).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(write_error([&](Transaction& t) { return t.put_outline(artifact, missing); }),
            ErrorCode::kNotFound);
  const auto put = [&](const char* content) {
    return store().write([&](Transaction& transaction) -> Status {
      ASSAY_ASSIGN(const DocumentId id, transaction.put_document("x", as_bytes(content)));
      return transaction.put_outline(artifact, id);
    });
  };
  ASSERT_TRUE(put("one"));
  ASSERT_TRUE(put("one"));
  const auto refused = put("two");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
  reopen();
  EXPECT_EQ(snapshot()->outline(artifact), DocumentId(digest_of("one")));
}

// --- appraisals and high-water marks

TEST_P(StoreContract, Appraisal_Put_ReplacesThatOfItsType) {
  EXPECT_EQ(snapshot()->appraisal("tdx").error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(snapshot()->appraisals()->empty());
  Appraisal tdx{"tdx", {{"allow_debug", true}}, {to_bytes("DER"), to_bytes("other")}, true};
  const Appraisal other{"snp", Json::object(), {}, false};
  write([&](Transaction& transaction) -> Status {
    ASSAY_TRY(transaction.put_appraisal(tdx));
    return transaction.put_appraisal(other);
  });
  EXPECT_EQ(snapshot()->appraisal("tdx"), tdx);
  tdx.dangerous_anchors.clear();
  tdx.dangerous_allow_missing_reference_values = false;
  write([&](Transaction& transaction) -> Status {
    ASSAY_TRY(transaction.put_appraisal(tdx));
    ASSAY_TRY(transaction.append(make_record("trust.changed")));
    return {};
  });
  reopen();
  EXPECT_EQ(snapshot()->appraisal("tdx"), tdx);
  EXPECT_EQ(snapshot()->appraisals(), (std::vector{other, tdx}));
}

TEST_P(StoreContract, ReferenceTag_WidensItsAppraisal_AndStaysInItsId) {
  const Appraisal tdx{"tdx", Json::object(), {}, false};
  ReferenceTag tag{"tdx", "acme/os", 2, DocumentId(digest_of("corim"))};
  tag.sets = {{"acme/os@2:Intel TDX#1", {{"mrtd", {"00"}}}}};
  tag.constrains = {"mrtd", "rtmr0"};
  EXPECT_EQ(write_error([&](Transaction& t) { return t.put_reference_tag(tag); }),
            ErrorCode::kNotFound);
  write([&](Transaction& t) { return t.put_appraisal(tdx); });
  const DocumentId bare = *snapshot()->appraisal_id("tdx");
  write([&](Transaction& transaction) -> Status {
    ASSAY_TRY(transaction.put_reference_tag(tag));
    ASSAY_TRY(transaction.append(make_record("trust.changed")));
    return {};
  });
  reopen();
  EXPECT_EQ(snapshot()->reference_tags(), std::vector{tag});
  EXPECT_EQ(snapshot()->appraisals(), std::vector{tdx}) << "as it was put";
  EXPECT_EQ(snapshot()->appraisal("tdx")->imported, tag.sets);
  EXPECT_EQ(snapshot()->appraisal("tdx")->constrained, tag.constrains);
  const DocumentId widened = *snapshot()->appraisal_id("tdx");
  EXPECT_NE(widened, bare);
  tag.removed = "a hole";
  write([&](Transaction& transaction) -> Status {
    ASSAY_TRY(transaction.put_reference_tag(tag));
    ASSAY_TRY(transaction.append(make_record("trust.changed")));
    return {};
  });
  EXPECT_TRUE(snapshot()->appraisal("tdx")->imported.empty());
  EXPECT_EQ(snapshot()->appraisal("tdx")->constrained, tag.constrains);
  EXPECT_NE(*snapshot()->appraisal_id("tdx"), widened);
  EXPECT_NE(*snapshot()->appraisal_id("tdx"), bare);
}

TEST_P(StoreContract, HighWater_NeverFalls) {
  const auto raise = [&](const char* name, std::uint64_t value) {
    write([&](Transaction& t) { return t.raise_high_water(name, value, {}); });
  };
  EXPECT_EQ(snapshot()->high_water("tdx/a"), 0U);
  raise("tdx/a", 17);
  raise("tdx/b", 3);
  raise("tdx/a", 16);
  EXPECT_EQ(snapshot()->high_water("tdx/a"), 17U);
  raise("tdx/a", 18);
  reopen();
  EXPECT_EQ(snapshot()->high_water("tdx/a"), 18U);
  EXPECT_EQ(snapshot()->high_water("tdx/b"), 3U);
  using Names = std::vector<std::string>;
  EXPECT_EQ(snapshot()->high_waters("", 10), (Names{"tdx/a", "tdx/b"}));
  EXPECT_EQ(snapshot()->high_waters("", 1), Names{"tdx/a"});
  EXPECT_EQ(snapshot()->high_waters("tdx/a", 10), Names{"tdx/b"});
  EXPECT_EQ(snapshot()->high_waters("tdx/b", 10), Names{});
  EXPECT_EQ(write_error([](Transaction& t) { return t.raise_high_water("x", UINT64_MAX, {}); }),
            ErrorCode::kInvalidParameter);
}

TEST_P(StoreContract, HighWater_KeepsTheNewestCollateralOfItsValue) {
  std::vector<DocumentId> ids;
  write([&](Transaction& t) -> Status {
    ids.clear();
    for (const char* text : {"a", "b", "c"}) {
      ASSAY_ASSIGN(DocumentId id, t.put_document("x", as_bytes(text)));
      ids.push_back(std::move(id));
    }
    return t.raise_high_water("tdx/a", 2, ids[0]);
  });
  EXPECT_EQ(snapshot()->high_water_collateral("tdx/a"), ids[0]);
  EXPECT_EQ(snapshot()->high_water_collateral("tdx/b").error().code, ErrorCode::kNotFound);
  write([&](Transaction& t) { return t.raise_high_water("tdx/a", 1, ids[1]); });
  EXPECT_EQ(snapshot()->high_water_collateral("tdx/a"), ids[0]);
  write([&](Transaction& t) { return t.raise_high_water("tdx/a", 2, ids[2]); });
  EXPECT_EQ(snapshot()->high_water_collateral("tdx/a"), ids[2]);
  EXPECT_EQ(write_error([](Transaction& t) {
              return t.raise_high_water("tdx/a", 3, DocumentId(digest_of("nowhere")));
            }),
            ErrorCode::kNotFound);
}

// --- platforms

TEST_P(StoreContract, NodesOn_AreThoseOfThePlatformThatCount) {
  const Timestamp now{std::chrono::hours(12)};
  write([&](Transaction& t) -> Status {
    NodeRow other = make_node("other", 3);
    other.platform = "01";
    NodeRow ended = make_node("ended", 4);
    ended.ended = Revocation{now, "moved"};
    ended.registration = "pool";
    NodeRow over = make_node("over", 5);
    over.expires_at = now;
    NodeRow revoked = make_node("revoked", 6);
    revoked.revoked = Revocation{now, "sold"};
    for (const NodeRow& row : {make_node("a", 1), make_node("b", 2), other, ended, over, revoked}) {
      ASSAY_TRY(put(t, row));
    }
    ASSAY_TRY(t.append(make_record("trust.changed")));
    return {};
  });
  reopen();
  const auto nodes = snapshot()->nodes_on("00ff", now);
  ASSERT_TRUE(nodes);
  ASSERT_EQ(nodes->size(), 2U);
  EXPECT_EQ((*nodes)[0].name, "a");
  EXPECT_EQ((*nodes)[1].name, "b");
  const auto ended = snapshot()->node("ended");
  EXPECT_EQ(ended->ended, (Revocation{now, "moved"}));
  EXPECT_EQ(ended->registration, "pool");
  EXPECT_FALSE((*nodes)[0].ended);
}

// --- registrations

TEST_P(StoreContract, Registration_OfANode_IsItsOwnBeforeAPattern) {
  const Json jwks = {{"keys", {{{"kty", "EC"}, {"kid", "1"}}}}};
  const ServiceAccountIssuer issuer{"https://kube", "system:serviceaccount:a:b", jwks};
  const Registration own{"own", "gpu-1", "agent", {"00"}, 2, {}};
  const Registration pool{"pool", "gpu-*", "agent", {}, 1, issuer};
  EXPECT_EQ(snapshot()->registration_of("gpu-1").error().code, ErrorCode::kNotFound);
  write([&](Transaction& t) -> Status {
    ASSAY_TRY(t.put_registration(pool));
    ASSAY_TRY(t.put_registration(own));
    ASSAY_TRY(t.append(make_record("trust.changed")));
    return {};
  });
  reopen();
  EXPECT_EQ(snapshot()->registration_of("gpu-1"), own);
  EXPECT_EQ(snapshot()->registration_of("gpu-2"), pool);
  EXPECT_EQ(snapshot()->registration_of("cpu-2").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(snapshot()->registration_of("gpu-*").error().code, ErrorCode::kNotFound)
      << "a pattern is nobody's name";
  EXPECT_EQ(snapshot()->registrations(), (std::vector{own, pool}));
  const Registration second{"second", "gpu-1", "other", {}, 1, {}};
  EXPECT_EQ(write_error([&](Transaction& t) { return t.put_registration(second); }),
            ErrorCode::kConflict);
  write([](Transaction& t) -> Status {
    ASSAY_TRY(t.remove_registration("own"));
    ASSAY_TRY(t.append(make_record("trust.changed")));
    return {};
  });
  EXPECT_EQ(snapshot()->registration_of("gpu-1"), pool);
  EXPECT_EQ(write_error([](Transaction& t) { return t.remove_registration("own"); }),
            ErrorCode::kNotFound);
}

}  // namespace
}  // namespace assay::storage
