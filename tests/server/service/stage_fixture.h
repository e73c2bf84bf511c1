// SPDX-License-Identifier: Apache-2.0
// A model that was trained from a collected dataset, a policy on its lineage, and evidence of the
// training that a simulator makes.
#pragma once

#include "attestation/dsse.h"
#include "schemas/stage_evidence.h"
#include "server/service/documents/accept.h"
#include "server/service/nodes/reappraise.h"
#include "server/service/nodes/stage_evidence.h"
#include "tests/server/service/lineage_policy.h"
#include "tests/server/service/node_fixture.h"

namespace assay::server::test {

class StageTest : public LineagePolicyTest<NodeTest> {
 protected:
  StageTest() {
    Appraisal training = simulator_appraisal();
    training.stage = "train";
    const auto applied =
        change_trust({AddKey{trainer_.record}, AddKey{curator_.record}, PutAppraisal{training}});
    EXPECT_TRUE(applied) << to_string(applied.error());
    EXPECT_TRUE(accept_manifest(*services_, signed_manifest(trained_), actor_));
    state("collect", corpus_, {}, curator_);
  }

  // Stores a statement; its id. `comment` tells statements apart.
  StatementId state(const std::string& stage, const Manifest& about,
                    const std::vector<Manifest>& inputs, const TestKey& key,
                    const std::string& comment = {}) {
    const Bytes bytes =
        statement_envelope(lifecycle(stage, about, inputs, comment, std::nullopt), {&key});
    const auto accepted = accept_attestation(*services_, bytes, actor_);
    EXPECT_TRUE(accepted) << to_string(accepted.error());
    return accepted->row.id;
  }
  Statement lifecycle(const std::string& stage, const Manifest& about,
                      const std::vector<Manifest>& inputs, const std::string& comment,
                      std::optional<Json> freshness) {
    Lifecycle made = lifecycle_from(stage, inputs, comment);
    made.freshness = std::move(freshness);
    return to_statement(made, {subject_of(about)}).value();
  }
  StatementId train(const std::string& comment = "first") {
    return state("train", trained_, {corpus_}, trainer_, comment);
  }

  // Evidence for the statement by the trainer, signed and sent by the trainer.
  Result<AcceptedStageEvidence> attest(
      const StatementId& statement, const Change<attestation::tdx::SimulationSpec>& change = {}) {
    const StageEvidence document{
        statement, trainer_.record.id,
        evidence_for(statement_report_data(statement, trainer_.record.public_key), change)};
    return accept_stage_evidence(
        *services_,
        envelope(kStageEvidencePayloadType, canonical_json(to_json(document)).value(), {&trainer_}),
        actor_);
  }
  void appraise_again() {
    for (std::size_t done = 1; done > 0;) {
      const auto count = reappraise(*services_, 10);
      ASSERT_TRUE(count) << to_string(count.error());
      done = *count;
    }
  }

  // Evidence for trainings under the simulator's root; `more` are further demands.
  void require_attested_training(const Json& more = Json::object()) {
    Json evidence = {{"anchors", {anchor().text()}}};
    evidence.update(more);
    require_lineage(
        {{"edges",
          {{{"stage", "train"}, {"signers", {{"at_least", 1}}}, {"evidence", evidence}}}}});
  }
  // The digest of the simulator's root.
  Anchor anchor() {
    const auto appraised = attestation::built_in_verifiers().appraise(
        evidence_for({}), simulator_appraisal(), attestation::Purpose::kInspect, {}, clock_.now());
    EXPECT_TRUE(appraised && appraised->anchor);
    return *appraised->anchor;
  }

  DecisionRequest request() { return request_about(trained_); }
  Decision decide_now() { return decide_about(trained_); }
  std::vector<Reason> reasons() { return decide_now().verdict.reasons; }

  TestKey trainer_ = make_key(KeyPurpose::kSigner, "tina", {role("train")});
  TestKey curator_ = make_key(KeyPurpose::kSigner, "cora", {role("collect")});
  Manifest trained_ = manifest("trained");
  Manifest corpus_ = manifest("corpus", "acme/corpus");
};

}  // namespace assay::server::test
