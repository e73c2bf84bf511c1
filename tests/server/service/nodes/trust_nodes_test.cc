// SPDX-License-Identifier: Apache-2.0
// Changes of trust about nodes: how evidence is appraised, and nodes that are revoked.
#include "schemas/core/sha.h"
#include "schemas/log_record.h"
#include "server/service/jobs/precedence.h"
#include "tests/server/service/node_fixture.h"

namespace assay::server::test {
namespace {

class TrustOfNodes : public NodeTest {
 protected:
  storage::Epochs epochs() { return store_->snapshot().value()->epochs().value(); }
  Result<TrustApplied> change(std::vector<TrustOperation> operations) {
    return apply_trust_change(
        *services_,
        trust_change(epochs().trust.trust + 1, std::move(operations), {&operator1_, &operator2_}),
        actor_);
  }
  LogRecord newest_record() {
    const auto snapshot = store_->snapshot().value();
    const auto bytes = snapshot->log_record(snapshot->log_state()->size - 1).value();
    return parse_log_record(bytes).value();
  }
  Json newest_detail() { return newest_record().detail; }
  // The change is refused with `code`, and neither epochs nor the log nor the appraisal moved.
  void expect_refused(std::vector<TrustOperation> operations, ErrorCode code) {
    const storage::Epochs before = epochs();
    const TreeSize size = log_size();
    EXPECT_EQ(refusal(change(std::move(operations))), code);
    EXPECT_EQ(epochs(), before);
    EXPECT_EQ(log_size(), size);
    EXPECT_EQ(store_->snapshot().value()->appraisal("tdx"), simulator_appraisal());
  }
};

TEST_F(TrustOfNodes, Appraisal_Put_ReplacesAndIsLoggedByDigest) {
  Appraisal appraisal = simulator_appraisal();
  appraisal.policy["min_tcb_evaluation_data_number"] = 5;
  appraisal.dangerous_allow_missing_reference_values = true;
  const std::uint64_t revocations = epochs().trust.revocation;
  ASSERT_TRUE(change({PutAppraisal{appraisal}}));
  EXPECT_EQ(store_->snapshot().value()->appraisal("tdx"), appraisal);
  EXPECT_EQ(epochs().trust.revocation, revocations);
  const Json operation = newest_detail()["operations"][0];
  EXPECT_EQ(operation["op"], "put-appraisal");
  EXPECT_EQ(operation["evidence_type"], "tdx");
  EXPECT_EQ(operation["policy"], sha256(as_bytes(canonical_json(appraisal.policy).value())).text());
  EXPECT_EQ(operation["dangerous_anchors"],
            Json::array({sha256(appraisal.dangerous_anchors[0]).text()}));
  EXPECT_EQ(operation["dangerous_allow_missing_reference_values"], true);
}

TEST_F(TrustOfNodes, Appraisal_ThatCannotBeUsed_IsRefused) {
  Appraisal appraisal = simulator_appraisal();
  appraisal.policy["accept_everything"] = true;
  expect_refused({PutAppraisal{appraisal}}, ErrorCode::kUnknownMember);
  appraisal = simulator_appraisal();
  appraisal.policy["accept_tcb_status"] = {"Revoked"};
  expect_refused({PutAppraisal{appraisal}}, ErrorCode::kSchemaViolation);
  appraisal = simulator_appraisal();
  appraisal.evidence_type = "snp";
  expect_refused({PutAppraisal{appraisal}}, ErrorCode::kEvidenceTypeUnknown);
  appraisal = simulator_appraisal();
  appraisal.dangerous_anchors.push_back(to_bytes("no certificate"));
  EXPECT_TRUE(refusal(change({PutAppraisal{appraisal}})));
  EXPECT_EQ(store_->snapshot().value()->appraisal("tdx"), simulator_appraisal());
}

TEST_F(TrustOfNodes, Appraisal_NeedsTwoPeople) {
  Appraisal appraisal = simulator_appraisal();
  appraisal.policy = Json::object();
  const Bytes one = trust_change(epochs().trust.trust + 1, {PutAppraisal{appraisal}},
                                 {&operator1_, &operator1_second_});
  EXPECT_TRUE(refusal(apply_trust_change(*services_, one, actor_)));
  EXPECT_EQ(store_->snapshot().value()->appraisal("tdx"), simulator_appraisal());
}

TEST_F(TrustOfNodes, Node_Revoked_CarriesTimeAndReasonAndMovesTheEpoch) {
  enrol_ok(worker_);
  enrol_ok(other_);
  const std::uint64_t revocations = epochs().trust.revocation;
  clock_.advance(std::chrono::seconds(7));
  ASSERT_TRUE(change({RevokeNode{worker_.node, "sold"}}));
  auto snapshot = store_->snapshot().value();
  const auto node = snapshot->node(worker_.node).value();
  EXPECT_EQ(node.revoked, (Revocation{clock_.now(), "sold"}));
  EXPECT_EQ(node.key, KeyId(worker_.key->key_id()));
  EXPECT_TRUE(node.measured) << "what was known stays known";
  EXPECT_FALSE(snapshot->node(other_.node)->revoked);
  snapshot.reset();
  EXPECT_EQ(epochs().trust.revocation, revocations + 1);
  const Json operation = newest_detail()["operations"][0];
  EXPECT_EQ(operation["op"], "revoke-node");
  EXPECT_EQ(operation["node"], worker_.node);
  EXPECT_EQ(operation["key_id"], worker_.key->key_id().text());
  EXPECT_EQ(operation["reason"], "sold");
  EXPECT_EQ(newest_record().subjects, std::vector<std::string>{"node:" + worker_.node});
}

TEST_F(TrustOfNodes, Node_RevokedTwiceOrUnknown_IsRefused) {
  enrol_ok(worker_);
  expect_refused({RevokeNode{"gpu-9", "sold"}}, ErrorCode::kNotFound);
  expect_refused({RevokeNode{worker_.node, "sold"}, RevokeNode{worker_.node, "again"}},
                 ErrorCode::kConflict);
  EXPECT_FALSE(store_->snapshot().value()->node(worker_.node)->revoked);
  ASSERT_TRUE(change({RevokeNode{worker_.node, "sold"}}));
  expect_refused({RevokeNode{worker_.node, "again"}}, ErrorCode::kConflict);
}

TEST_F(TrustOfNodes, Bootstrap_WithAppraisals_StoresAllOrNothing) {
  storage::SqliteOptions options;
  options.rules = &kReportRules;
  options.path = directory_ / "second.db";
  options.create = true;
  options.origin = "example.com/log";
  const auto store = storage::open_sqlite(options, *log_key_, clock_).value();
  Services services{*store, *service_key_, clock_, random_, "example.com/log"};
  Bootstrap start;
  start.keys = {operator1_.record, operator2_.record};
  const Credential credential{CredentialKind::kToken, sha256(as_bytes("token"))};
  start.principals = {{"admin", {AccessRole::kAdmin}, {credential}, std::nullopt}};
  start.appraisals = {simulator_appraisal()};
  start.appraisals[0].policy["accept_everything"] = true;
  const auto run = [&] {
    return bootstrap(services, as_bytes(canonical_json(to_json(start)).value()));
  };
  EXPECT_EQ(refusal(run()), ErrorCode::kUnknownMember);
  EXPECT_TRUE(store->snapshot().value()->keys()->empty());
  start.appraisals = {simulator_appraisal()};
  ASSERT_TRUE(run());
  EXPECT_EQ(store->snapshot().value()->appraisals(), start.appraisals);
}

}  // namespace
}  // namespace assay::server::test
