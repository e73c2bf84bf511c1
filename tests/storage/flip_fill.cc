// SPDX-License-Identifier: Apache-2.0
// Some hours of statements, decisions, nodes and trust, small enough to be read as a whole often.
#include "schemas/release.h"
#include "tests/storage/flip_store.h"
#include "tests/storage/store_contract.h"

namespace assay::storage {
namespace {

// Number 7 is revoked; the other one counts.
NodeRow node_row(const DocumentId& document, std::uint8_t number) {
  const TestSigner key(number);
  const bool revoked = number == 7;
  return {.name = revoked ? "gpu-1" : "gpu-2",
          .principal = "agent",
          .key = key.key_id(),
          .public_key = key.public_key(),
          .platform = "00ff",
          .enrolled_at = Timestamp(std::chrono::hours(1)),
          .held_since = Timestamp(std::chrono::hours(1)),
          .expires_at = Timestamp(std::chrono::hours(9)),
          .revoked = revoked ? std::optional(Revocation{Timestamp(std::chrono::hours(2)), "sold"})
                             : std::nullopt,
          .devices = Json::array({{{"kind", "gpu"}, {"name", "GPU-1"}}}),
          .enrolment = document,
          .measured = NodeRow::Measured{document, Timestamp(std::chrono::hours(1)), "tdx",
                                        "UpToDate", Anchor::root(digest_of("root")), true},
          .log_index = 0,
          .registration = "own",
          .ended = revoked ? std::optional(Revocation{Timestamp(std::chrono::hours(3)), "moved"})
                           : std::nullopt};
}

JobRow job_row(int number, const DocumentId& report) {
  return {.id = "job-" + std::to_string(number),
          .artifact = ArtifactId(digest_of("artifact")),
          .model_name = "acme/a",
          .scope = "files",
          .node = "gpu-1",
          .location = "pvc://prod/m",
          .created_by = "ci",
          .created_at = Timestamp(),
          .state = JobState::kDone,
          .token = 3,
          .lease_expires_at = std::nullopt,
          .pending = Json(),
          .result = number % 2 == 0 ? "verified" : "mismatch",
          .detail = {{"why", "x"}},
          .report = report,
          .volume = "pv-1",
          .read_since = Timestamp(std::chrono::hours(number)),
          .finished_at = Timestamp(std::chrono::hours(number))};
}

EvidenceRow evidence_row(const std::string& subject, const DocumentId& id) {
  return {.subject = subject,
          .node = "gpu-1",
          .type = "tdx",
          .evidence = id,
          .expected = Bytes(64, 1),
          .platform = "00ff",
          .policy = id,
          .error = "",
          .appraisal = id,
          .appraised_at = Timestamp(),
          .tcb_status = "UpToDate",
          .anchor = Anchor::root(digest_of("root")),
          .marks = {{"tdx", 5}},
          .matched = {{"mrtd", {"own"}}},
          .boot = MeasuredBoot{.secure_boot = true},
          .valid_until = Timestamp(std::chrono::hours(9)),
          .look_at = Timestamp(std::chrono::hours(8))};
}

Status fill_nodes(Transaction& t) {
  ASSAY_ASSIGN(const DocumentId id, t.put_document("application/json", as_bytes("evidence")));
  ASSAY_TRY(t.put_node(node_row(id, 7)));
  ASSAY_TRY(t.put_node(node_row(id, 8)));
  for (int i = 0; i < 12; ++i) {
    ASSAY_TRY(t.put_job(job_row(i, id)));
    ASSAY_TRY(t.put_claim({"kube", "prod", "claim-" + std::to_string(i), "uid", "volume"}));
    ASSAY_TRY(t.put_pod({.cluster = "kube",
                         .uid = "uid-" + std::to_string(i),
                         .name_space = "prod",
                         .name = "pod",
                         .nodes = {"gpu-1", "gpu-2"},
                         .settled = "gpu-1",
                         .decision = "d0",
                         .models = {{ArtifactId(digest_of("artifact")), "m"}},
                         .workload = {{"namespace", "prod"}},
                         .admitted_at = t.now()}));
  }
  ASSAY_TRY(t.put_outline(ArtifactId(digest_of("artifact")), id));
  ASSAY_TRY(t.put_evidence(evidence_row("node:gpu-1", id)));
  for (int i = 0; i < kFlipStatements; i += 3) {
    EvidenceRow row = evidence_row(stage_subject(flip_statement(i), make_key(1).id, "tdx"), id);
    row.node = "";
    row.stage = {{"key", i}};
    ASSAY_TRY(t.put_evidence(row));
  }
  ASSAY_TRY(t.raise_high_water("tdx", 5, id));
  return t.raise_high_water("tdx-pck", 7, {});
}

Status fill_trust(Transaction& t) {
  for (std::uint8_t i = 1; i < 6; ++i) {
    ASSAY_TRY(t.put_key(make_key(i)));
    ASSAY_TRY(t.put_principal(make_principal("p" + std::to_string(i))));
  }
  ASSAY_TRY(t.put_appraisal({"tdx", Json::object(), {}, false}));
  ASSAY_TRY(t.put_registration({"own", "gpu-1", "agent", {"00"}, 2, {}}));
  ASSAY_TRY(t.activate_policy({StatementId(digest_of("p")), "gate", 1, Bytes(3000, 7)}));
  ASSAY_TRY(t.set_epochs({{1, 1}, 1}));
  ASSAY_TRY(t.append(make_record("trust.changed")));
  return {};
}

// Manifests, of which each is made from the one before, and every fifth one a release.
StatementRow statement_row(int i) {
  const std::string number = std::to_string(i);
  StatementRow row = make_statement("acme/" + number);
  row.name = "acme/" + std::to_string(i % 4);
  row.locations = {"pvc://prod/" + number};
  row.stage = i % 2 == 0 ? "train" : "evaluate";
  row.inputs = {flip_artifact(i - 1), flip_artifact(0)};
  row.signers = {{make_key(static_cast<std::uint8_t>(1 + i % 3)).id, Timestamp(), 0}};
  if (i % 5 == 0) {
    row.kind = StatementKind::kAttestation;
    row.predicate_type = kReleasePredicateType;
    row.locations = {};
  }
  return row;
}

Status fill_statement(Transaction& t, int i) {
  const std::string number = std::to_string(i);
  ASSAY_ASSIGN(const StatementRow row, put(t, statement_row(i)));
  DecisionRow decision = make_decision("d" + number);
  decision.allowed = i % 3 != 0;
  decision.name_space = i % 2 == 0 ? "prod" : "dev";
  decision.reasons = {i % 2 == 0 ? "key-revoked" : "key-expired"};
  ASSAY_TRY(put(t, decision));
  ASSAY_ASSIGN(const LeafIndex record,
               t.append(make_record("test.appended", "actor-" + number, {"s" + number})));
  if (i % 4 != 1) {
    return {};
  }
  ASSAY_ASSIGN(const DocumentId envelope, t.put_document("x", as_bytes("one more " + number)));
  return t.add_envelope(row.id, envelope, {make_key(4).id}, record);
}

Status fill_withdrawal(Transaction& t) {
  ASSAY_TRY(t.put_withdrawal({flip_statement(2), "superseded", "", t.now(), t.now(), {"team-1"}}));
  ASSAY_TRY(t.append(make_record("statement.withdrawn")));
  return {};
}

}  // namespace

StatementId flip_statement(int number) {
  return make_statement("acme/" + std::to_string(number)).id;
}

std::string flip_artifact(int number) {
  return make_statement("acme/" + std::to_string(number)).subjects.front();
}

Status fill_for_flips(Store& store, ManualClock& clock) {
  ASSAY_TRY(store.write([](Transaction& t) { return fill_trust(t); }));
  for (int i = 0; i < kFlipStatements; ++i) {
    clock.advance(std::chrono::minutes(10));
    ASSAY_TRY(store.write([&](Transaction& t) { return fill_statement(t, i); }));
  }
  const auto rest = store.write([](Transaction& t) {
    const Status filled = fill_nodes(t);
    return filled ? fill_withdrawal(t) : filled;
  });
  return rest ? Status() : std::unexpected(rest.error());
}

}  // namespace assay::storage
