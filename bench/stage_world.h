// SPDX-License-Identifier: Apache-2.0
// A model with a lineage, evidence of its training by a simulator, and a policy that asks for both.
#pragma once

#include <algorithm>
#include <string>

#include "attestation/simulate/simulation.h"
#include "bench/decision_world.h"
#include "schemas/log_record.h"
#include "schemas/stage_evidence.h"
#include "server/service/nodes/stage_evidence.h"

namespace assay::bench {

inline constexpr std::size_t kLineageSteps = 12;

inline ArtifactId lineage_thing(const std::string& name) {
  return ArtifactId(sha256(as_bytes("thing " + name)));
}

inline Lifecycle made_from(const std::string& stage, const ArtifactId& from) {
  Lifecycle made;
  made.stage = stage;
  made.inputs = {{"dataset", "acme/demo", {{std::string(from.digest_name()), from.root().hex()}}}};
  return made;
}

// The dataset that everything was made from.
inline ArtifactId dataset() { return lineage_thing(std::to_string(kLineageSteps - 1)); }

inline attestation::tdx::SimulationSpec simulated_platform(Timestamp now) {
  return attestation::tdx::valid_simulation(as_bytes(std::string_view("impact")), now);
}

// Evidence that signer 0, who signed the statement, had its key in a simulated platform.
inline void attest(World& world, const StatementId& statement) {
  namespace tdx = attestation::tdx;
  tdx::SimulationSpec spec = simulated_platform(world.now());
  const Key& key = world.signer(0);
  std::ranges::copy(statement_report_data(statement, key.record.public_key),
                    spec.quote.report.report_data.begin());
  const tdx::Simulation made = tdx::simulate(spec);
  const StageEvidence document{
      statement,
      key.record.id,
      {std::string(kTdxEvidence), made.quote, made.event_log, tdx::to_json(made.collateral)}};
  const auto accepted = must(server::accept_stage_evidence(
      world.services(),
      sign(kStageEvidencePayloadType, must(canonical_json(to_json(document))), key),
      world.actor()));
  if (!accepted.row.error.empty()) {
    stop({ErrorCode::kInternal, "the evidence was refused: " + accepted.row.error, {}});
  }
}

// How evidence of trainings is appraised; returns the digest of the simulator's root.
inline std::string appraise_trainings(World& world) {
  namespace tdx = attestation::tdx;
  const tdx::SimulationSpec spec = simulated_platform(world.now());
  const tdx::TdReport& report = spec.quote.report;
  const Bytes root = tdx::simulate(spec).root;
  Appraisal appraisal;
  appraisal.evidence_type = std::string(kTdxEvidence);
  appraisal.stage = "train";
  appraisal.policy = {{"reference_values",
                       {{"mrtd", {hex_encode(report.mrtd)}},
                        {"rtmr0", {hex_encode(report.rtmr[0])}},
                        {"rtmr1", {hex_encode(report.rtmr[1])}},
                        {"rtmr2", {hex_encode(report.rtmr[2])}}}}};
  appraisal.dangerous_anchors = {root};
  const auto written =
      world.services().store.write([&](storage::Transaction& transaction) -> Status {
        ASSAY_TRY(transaction.put_appraisal(appraisal));
        ASSAY_TRY(transaction.append({.type = std::string(event::kTrustChanged),
                                      .time = world.now(),
                                      .actor = "bench",
                                      .subjects = {},
                                      .documents = {},
                                      .detail = Json::object()}));
        return {};
      });
  if (!written) {
    stop(written.error());
  }
  return "sha256:" + sha256(root).hex();
}

// kLineageSteps statements from the collected dataset to the model, whose training has evidence,
// and `beside` other things that were made from the dataset, too. Puts a policy in force that asks
// for the lineage, with the evidence.
inline void add_lineage(World& world, std::size_t beside) {
  const std::string anchor = appraise_trainings(world);
  Lifecycle collected;
  collected.stage = "collect";
  world.add_lifecycle(collected, dataset(), 0);
  for (std::size_t i = kLineageSteps - 2; i > 0; --i) {
    world.add_lifecycle(made_from("finetune", lineage_thing(std::to_string(i + 1))),
                        lineage_thing(std::to_string(i)), 0);
  }
  attest(world, world.add_lifecycle(made_from("train", lineage_thing("1")), world.model(), 0));
  for (std::size_t i = 0; i < beside; ++i) {
    world.add_lifecycle(made_from("train", dataset()), lineage_thing("beside " + std::to_string(i)),
                        0);
  }
  const Json edge = {{"stage", "train"},
                     {"signers", {{"identities", {"signer-0"}}}},
                     {"evidence", {{"anchors", {anchor}}}}};
  const Json trained = {{"predicate_type", std::string(kLifecyclePredicateType)},
                        {"stage", "train"},
                        {"signers", {{"at_least", 1}}}};
  world.activate({{"name", "gpu-models"},
                  {"version", 2},
                  {"mode", "enforce"},
                  {"match", {{"resources", {"gpu"}}}},
                  {"require",
                   {{{"id", "published"}, {"manifest", {{"signers", {{"at_least", 1}}}}}},
                    {{"id", "trained"}, {"statement", trained}},
                    {{"id", "lineage"}, {"lineage", {{"edges", {edge}}}}}}}});
}

}  // namespace assay::bench
