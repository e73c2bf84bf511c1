// SPDX-License-Identifier: Apache-2.0
// Cases as they were stored once (tests/vectors/cases) are judged as they were then, or not at all.
// Each file has the documents of one case, the policies and reference sets that it names, and what
// came of it. ASSAY_WRITE_CASES=FOLDER writes the cases of today.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "schemas/core/sha.h"
#include "schemas/release.h"
#include "server/service/decisions/judge_case.h"
#include "server/service/governance/policies.h"
#include "server/service/governance/withdrawals.h"
#include "tests/server/service/stage_fixture.h"
#include "tests/support/vectors.h"

namespace assay::server::test {
namespace {

class StoredCases : public StageTest {
 protected:
  // --- reading

  void store_signed(const Json& texts, std::string_view type) {
    for (const Json& text : texts) {
      const auto accepted =
          accept_policy(*services_, envelope(type, text.get<std::string>(), {&author_}), actor_);
      ASSERT_TRUE(accepted) << to_string(accepted.error());
    }
  }
  void store(const Json& vector) {
    store_signed(vector["policies"], kPolicyPayloadType);
    store_signed(vector["sets"], kReferenceSetPayloadType);
    const auto work = [&](storage::Transaction& transaction) -> Status {
      for (const Json& text : vector["documents"]) {
        ASSAY_TRY(transaction.put_document("application/json",
                                           as_bytes(text.get_ref<const std::string&>())));
      }
      return {};
    };
    ASSERT_TRUE(store_->write(work));
  }
  // The replay digest of the case and its answer, or the code with which it is refused.
  Result<std::string> judged(const Json& vector) {
    const auto snapshot = store_->snapshot().value();
    ASSAY_ASSIGN(const DocumentId id, DocumentId::parse(vector["case"].get<std::string>()));
    ASSAY_ASSIGN(const Timestamp now, parse_rfc3339(vector["evaluated_at"].get<std::string>()));
    ASSAY_ASSIGN(const CaseFile file, load_case(*snapshot, id));
    ASSAY_ASSIGN(const Policies policies, stored_policies(*snapshot, file.policies, file.sets));
    ASSAY_ASSIGN(const Verdict verdict, evaluate_case(*snapshot, file, policies, now, nullptr));
    ASSAY_ASSIGN(const Digest digest, replay_digest(verdict, id, now));
    return std::string(verdict.allowed ? "allow " : "deny ") + digest.text();
  }

  // --- writing

  // The document and all that it names, as far as it is stored.
  void collect(storage::Snapshot& snapshot, const Json& json, std::map<std::string, Json>& found) {
    if (json.is_string()) {
      const auto id = DocumentId::parse(json.get_ref<const std::string&>());
      if (!id || found.contains(id->text())) {
        return;
      }
      if (const auto document = snapshot.document(*id)) {
        found[id->text()] = std::string(as_text(document->bytes));
        collect(snapshot, parse_json(document->bytes).value_or(nullptr), found);
      }
      return;
    }
    for (const auto& [name, part] : json.items()) {
      if (json.is_structured()) {
        collect(snapshot, part, found);
      }
    }
  }
  Json payloads(storage::Snapshot& snapshot, const std::vector<StatementId>& ids) {
    Json texts = Json::array();
    for (const StatementId& id : ids) {
      const auto row = snapshot.statement(id).value();
      const auto document = snapshot.document(row.envelopes.front()).value();
      texts.push_back(
          std::string(as_text(attestation::parse_envelope(document.bytes).value().payload)));
    }
    return texts;
  }
  Json vector_of(const Decision& decision) {
    const auto snapshot = store_->snapshot().value();
    const CaseFile file = load_case(*snapshot, decision.facts).value();
    std::map<std::string, Json> found;
    collect(*snapshot, decision.facts.text(), found);
    Json documents = Json::array();
    for (const auto& [id, text] : found) {
      documents.push_back(text);
    }
    return {{"source", "stored_cases_test.cc with ASSAY_WRITE_CASES"},
            {"format", kDecisionFormat},
            {"evaluator", kEvaluator},
            {"case", decision.facts.text()},
            {"evaluated_at", to_rfc3339(decision.evaluated_at)},
            {"judged", std::string(decision.verdict.allowed ? "allow " : "deny ") +
                           decision.replay_digest.text()},
            {"policies", payloads(*snapshot, file.policies)},
            {"sets", payloads(*snapshot, file.sets)},
            {"documents", std::move(documents)}};
  }
  void activate(const Bytes& bytes) {
    const StatementId id = accept_policy(*services_, bytes, actor_)->row.id;
    const std::uint64_t next = store_->snapshot().value()->epochs()->policy + 1;
    ASSERT_TRUE(apply_policy_approval(*services_, PolicyApproval::Action::kActivate, id,
                                      policy_approval(id, next, policy_approver_), actor_));
  }
  // The story, with its approvers in a reference set and one statement looked at.
  Decision decided() {
    store_good_model(manifest("good"));
    const Json set = {
        {"name", "managers"}, {"version", 1}, {"kind", "identities"}, {"values", {"anna", "ben"}}};
    activate(envelope(kReferenceSetPayloadType, canonical_json(set).value(), {&author_}));
    Json document = parse_json(attestation::parse_envelope(policy())->payload).value();
    document["require"][2]["statement"]["signers"]["identities"] = {"set:managers"};
    activate(envelope(kPolicyPayloadType, canonical_json(document).value(), {&author_}));
    const DecisionRequest request{.point = DecisionPoint::kCreate,
                                  .models = {"acme/demo@" + id_of(manifest("good")).text()},
                                  .workload = {"inference", {}, {"nvidia.com/gpu"}},
                                  .context = Json::object(),
                                  .principal = "tester"};
    return *decide(*services_, request)->decision;
  }
  // A release that was trained from a collected dataset, with evidence of the training, and a
  // second statement on the dataset that was taken back. What the policy denies is not there.
  Decision decided_on_lineage() {
    EXPECT_TRUE(attest(train()));
    take_back(state("collect", corpus_, {trained_}, curator_, "again"));
    const Release release{"acme/demo", "1.0.0", id_of(trained_), {}};
    EXPECT_TRUE(accept_attestation(
        *services_, statement_envelope(to_statement(release).value(), {&publisher_}), actor_));
    const Json rule = {{"stage", "train"},
                       {"signers", {{"at_least", 1}, {"identities", {"tina"}}}},
                       {"evidence", {{"anchors", {anchor().text()}}}}};
    const Json document = {
        {"name", "lineage"},
        {"version", 1},
        {"mode", "enforce"},
        {"match", {{"resources", {"nvidia.com/gpu"}}}},
        {"names", {{"resolve", "release"}}},
        {"require",
         {{{"id", "published"}, {"manifest", {{"signers", {{"identities", {"release"}}}}}}},
          {{"id", "origins"},
           {"lineage",
            {{"roles", {"dataset", "base-model"}},
             {"edges", {rule}},
             {"stages", {"collect", "train"}},
             {"deny", {{"names", {"leaked/*"}}, {"digests", {"sha256:" + std::string(64, 'd')}}}},
             {"max_depth", 3}}}}}}};
    activate(envelope(kPolicyPayloadType, canonical_json(document).value(), {&author_}));
    const DecisionRequest request{.point = DecisionPoint::kCreate,
                                  .models = {"acme/demo"},
                                  .workload = {"inference", {}, {"nvidia.com/gpu"}},
                                  .context = Json::object(),
                                  .principal = "tester"};
    return *decide(*services_, request)->decision;
  }
  void take_back(const StatementId& id) {
    const std::string payload =
        canonical_json(to_json(Withdrawal{id, "incorrect", "not ours", {}})).value();
    EXPECT_TRUE(accept_withdrawal(*services_,
                                  envelope(kWithdrawalPayloadType, payload, {&curator_}), actor_));
  }
  void expect_read_back(const Decision& decision, const std::string& suffix) {
    ASSERT_TRUE(decision.verdict.allowed) << to_json(decision.verdict).dump(1);
    const Json vector = vector_of(decision);
    EXPECT_EQ(Json(judged(vector).value()), vector["judged"]);
    if (const char* const folder = std::getenv("ASSAY_WRITE_CASES")) {
      const std::string name = "format-" + std::to_string(kDecisionFormat) + "-evaluator-" +
                               std::to_string(kEvaluator) + suffix + ".json";
      std::ofstream(std::filesystem::path(folder) / name) << vector.dump(1) << "\n";
    }
  }
};

TEST_F(StoredCases, CaseOfToday_ReadsBackFromItsVector) { expect_read_back(decided(), ""); }

TEST_F(StoredCases, CaseWithALineage_ReadsBackFromItsVector) {
  expect_read_back(decided_on_lineage(), "-lineage");
}

TEST_F(StoredCases, EveryStoredCase_IsJudgedAsThenOrRefused) {
  const std::filesystem::path folder =
      std::filesystem::path(ASSAY_SOURCE_DIR) / "tests" / "vectors" / "cases";
  int same = 0;
  int lineages = 0;  // of these
  int refused = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const Json vector = ::assay::test::load_vectors("cases/" + entry.path().filename().string());
    store(vector);
    const auto answer = judged(vector);
    const bool present = vector["format"] == kDecisionFormat && vector["evaluator"] == kEvaluator;
    if (present) {
      ASSERT_TRUE(answer) << entry.path() << to_string(answer.error());
      EXPECT_EQ(*answer, vector["judged"]) << entry.path();
      ++same;
      lineages += entry.path().stem().string().ends_with("-lineage") ? 1 : 0;
    } else {
      EXPECT_EQ(refusal(answer), ErrorCode::kCaseUnsupported) << entry.path();
      ++refused;
    }
  }
  EXPECT_GT(same, 0) << "no stored case of this format and evaluator: write one";
  EXPECT_GT(lineages, 0) << "none of them has a lineage: write one";
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace assay::server::test
