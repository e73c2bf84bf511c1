// SPDX-License-Identifier: Apache-2.0
#include "server/service/decisions/decide.h"

#include <algorithm>
#include <set>

#include "attestation/dsse.h"
#include "policy/affinity.h"
#include "schemas/challenge.h"
#include "schemas/claim.h"
#include "schemas/core/sha.h"
#include "schemas/log_record.h"
#include "server/service/decisions/case_file.h"
#include "server/service/decisions/collect_node.h"
#include "server/service/decisions/judge_case.h"
#include "server/service/decisions/order_reports.h"
#include "server/service/documents/store_statement.h"
#include "server/service/lineage/closure.h"
#include "server/service/references/resolve.h"
#include "storage/large_workload.h"

namespace assay::server {

namespace {

// Times that a request is judged when what it rests on changes before its decision is written.
constexpr int kAttempts = 3;

struct Evaluated {
  StoredCase stored;
  SharedPart results;
  Digest replay;
};

// Artifact ids, ascending.
std::vector<std::string> subjects_of(const Decision& decision) {
  std::set<std::string> subjects;
  for (const DecidedModel& model : decision.models) {
    subjects.insert(model.artifact.text());
  }
  return {subjects.begin(), subjects.end()};
}

LogRecord decision_record(const Decision& decision, const DecisionRequest& request,
                          const DocumentId& envelope, Timestamp now) {
  LogRecord record{.type = std::string(event::kDecisionMade),
                   .time = now,
                   .actor = request.principal,
                   .subjects = {},
                   .documents = {envelope, decision.facts},
                   .detail = {{"decision_id", decision.id},
                              {"verdict", decision.verdict.allowed ? "allow" : "deny"},
                              {"point", name(decision.point)},
                              {"namespace", request.workload.name_space}}};
  record.subjects = subjects_of(decision);
  if (!request.workload.node.empty()) {
    record.detail["node"] = request.workload.node;
  }
  Json reasons = Json::array();
  for (const Reason code : decision.verdict.reasons) {
    reasons.push_back(info(code).code);
  }
  record.detail["reasons"] = std::move(reasons);
  return record;
}

storage::DecisionRow decision_row(const Decision& decision, const DecisionRequest& request,
                                  const DocumentId& envelope, LeafIndex index) {
  storage::DecisionRow row{.id = decision.id,
                           .envelope = envelope,
                           .allowed = decision.verdict.allowed,
                           .point = std::string(name(decision.point)),
                           .subjects = subjects_of(decision),
                           .name_space = request.workload.name_space,
                           .reasons = {},
                           .evaluated_at = decision.evaluated_at,
                           .log_index = index};
  for (const Reason code : decision.verdict.reasons) {
    row.reasons.emplace_back(info(code).code);
  }
  return row;
}

Status check_node(const DecisionRequest& request) {
  const std::string& node = request.workload.node;
  if (request.point == DecisionPoint::kBind && node.empty()) {
    return fail(ErrorCode::kInvalidParameter, "the point bind needs a node", "node");
  }
  if (request.point == DecisionPoint::kCreate && !node.empty()) {
    return fail(ErrorCode::kInvalidParameter, "there is no node yet at the point create", "node");
  }
  return node.empty() ? Status() : check_node_name(node);
}

// What a decision rests on, counted: it is written only when all of this is as it was read. A
// revocation, a mismatch or a statement that was answered must not be followed by an allow that did
// not know of it.
struct Versions {
  storage::Epochs epochs;
  std::uint64_t node = 0;                         // of its row and its reports
  std::map<std::string, std::uint64_t> subjects;  // statements about each artifact
  std::vector<policy::ClaimFact> claims;
  bool operator==(const Versions&) const = default;
};

Result<Versions> versions_of(storage::Snapshot& view, const DecisionRequest& request,
                             const std::vector<DecidedModel>& models) {
  Versions versions;
  ASSAY_ASSIGN(versions.epochs, view.epochs());
  if (!request.workload.node.empty()) {
    ASSAY_ASSIGN(versions.node, view.node_version(request.workload.node));
    ASSAY_ASSIGN(versions.claims, known_claims(view, request.workload, request.cluster));
  }
  for (const DecidedModel& model : models) {
    ASSAY_ASSIGN(const std::uint64_t version, view.subject_version(model.artifact));
    versions.subjects[model.artifact.text()] = version;
  }
  return versions;
}

storage::Store& writer_of(Services& services, const DecisionRequest& request) {
  return request.store == nullptr ? services.store : *request.store;
}

// What one snapshot says about a request. The snapshot is given back before anything is written.
struct Judged {
  DecisionAnswer answer;
  std::optional<Evaluated> evaluated;  // absent when no policy selects the workload
  Versions versions = {};
  std::vector<SeenLineage> lineages = {};  // that a policy reads
  std::unique_ptr<NamespaceQuota::Room> room =
      {};  // for what the decision adds; kept once it is written
};

Status require_same_versions(storage::Transaction& transaction, const DecisionRequest& request,
                             const Judged& judged) {
  ASSAY_ASSIGN(const Versions present,
               versions_of(transaction, request, judged.answer.decision->models));
  ASSAY_ASSIGN(const bool current, are_current(transaction, judged.lineages));
  return current && present == judged.versions
             ? Status()
             : fail(ErrorCode::kTrustSequence,
                    "trust, policies or the node changed meanwhile; ask again");
}

// The pod itself is read before the decision begins, so that only its caller can read it again.
Status require_same_pod(const Services& services, storage::Transaction& transaction,
                        const DecisionRequest& request) {
  if (!request.seen) {
    return {};
  }
  const auto waiting = services.unselected.find(request.seen->cluster, request.seen->uid);
  if (waiting) {
    return waiting->row == *request.seen
               ? Status()
               : fail(ErrorCode::kUnavailable, "the pod changed meanwhile; ask again");
  }
  const auto present = transaction.pod(request.seen->cluster, request.seen->uid);
  if (!present) {
    return present.error().code == ErrorCode::kNotFound ? Status()
                                                        : std::unexpected(present.error());
  }
  return *present == *request.seen
             ? Status()
             : fail(ErrorCode::kUnavailable, "the pod changed meanwhile; ask again");
}

// Claims that judged pods are bound with are not forgotten.
Status keep_claims(storage::Transaction& transaction, const std::string& cluster,
                   const std::vector<policy::ClaimFact>& claims) {
  for (const policy::ClaimFact& known : claims) {
    if (const auto claim = claim_in(known.claim)) {
      ASSAY_TRY(transaction.put_claim(
          {cluster, claim->name_space, claim->name, known.uid, known.volume}));
    }
  }
  return {};
}

// Signs, stores and logs; fills in the envelope and the index of the answer. trust-sequence when
// something that the decision rests on changed after the snapshot: nothing is stored then.
Status record(Services& services, const DecisionRequest& request, Judged& judged) {
  DecisionAnswer& answer = judged.answer;
  const Decision& decision = *answer.decision;
  ASSAY_ASSIGN(const std::string payload, canonical_json(signed_form(decision)));
  const Signer* const signers[] = {&services.service_signer};
  ASSAY_ASSIGN(const attestation::Envelope envelope,
               attestation::sign_envelope(kDecisionPayloadType, as_bytes(payload), signers));
  answer.envelope = attestation::encode_envelope(envelope);
  LeafIndex index = 0;
  const auto work = [&](storage::Transaction& transaction) -> Status {
    ASSAY_TRY(check_deadline(services, request.deadline));
    ASSAY_TRY(require_same_versions(transaction, request, judged));
    ASSAY_TRY(put_case(transaction, judged.evaluated->stored));
    ASSAY_TRY(put_part(transaction, *judged.evaluated->results));
    ASSAY_ASSIGN(const DocumentId id,
                 transaction.put_document(kEnvelopeMediaType, as_bytes(answer.envelope)));
    ASSAY_ASSIGN(index,
                 transaction.append(decision_record(decision, request, id, transaction.now())));
    ASSAY_TRY(transaction.put_decision(decision_row(decision, request, id, index)));
    if (request.keeps && decision.verdict.allowed) {
      ASSAY_TRY(require_same_pod(services, transaction, request));
      services.unselected.remove(request.keeps->cluster, request.keeps->uid);
      ASSAY_TRY(keep_claims(transaction, request.cluster, judged.versions.claims));
      return keep_pod(transaction, *request.keeps, &decision);
    }
    return {};
  };
  ASSAY_TRY(writer_of(services, request).write(work));
  if (judged.room) {
    judged.room->keep();
  }
  answer.index = index;
  return {};
}

bool is_unselected(std::span<const policy::ActivePolicy> policies, const DecisionRequest& request) {
  return request.skip_unselected &&
         !(request.workload_known ? policy::selected(policies, request.workload, request.point)
                                  : policy::may_enforce(policies, request.workload.name_space));
}

// The caller's preconditions first; the model only when they pass.
Result<ResolvedReference> resolve_model(Services& services, storage::Snapshot& snapshot,
                                        const DecisionRequest& request,
                                        std::span<const policy::ActivePolicy> policies,
                                        Timestamp now) {
  ResolvedReference resolved{{}, request.preconditions};
  if (std::all_of(resolved.preconditions.begin(), resolved.preconditions.end(),
                  [](const auto& one) { return one.outcome == Outcome::kPass; })) {
    ASSAY_ASSIGN(ResolvedReference found, resolve(services, snapshot,
                                                  {request.models, request.workload, policies,
                                                   request.point, now, request.deadline}));
    found.preconditions.insert(found.preconditions.begin(), resolved.preconditions.begin(),
                               resolved.preconditions.end());
    resolved = std::move(found);
  }
  return resolved;
}

// What no decision brought before has its limits: each denial is kept, and a pod can be made unlike
// all others as often as somebody likes. What is known of artifacts is not counted here: their
// signers have limits of their own.
Result<std::unique_ptr<NamespaceQuota::Room>> reserve_room(Services& services,
                                                           storage::Snapshot& snapshot,
                                                           const DecisionRequest& request,
                                                           const Evaluated& evaluated,
                                                           bool allowed) {
  const StoredCase& stored = evaluated.stored;
  const Part& results = *evaluated.results;
  std::vector<const Part*> parts = {&stored.file, &results};
  std::size_t bytes = stored.file.bytes.size() + results.bytes.size();
  for (const Part& part : stored.parts) {
    parts.push_back(&part);
    bytes += part.bytes.size();
  }
  std::optional<Part> kept;
  if (request.keeps && allowed) {
    ASSAY_ASSIGN(auto large, storage::large_workload(request.keeps->workload));
    if (large) {
      kept = Part{std::move(large->id), std::move(large->bytes)};
    }
  }
  const bool apart =
      kept && std::ranges::find(stored.parts, kept->id, &Part::id) == stored.parts.end();
  if (apart) {
    parts.push_back(&*kept);
    bytes += kept->bytes.size();
  }
  if (request.dry_run || bytes <= kMaxUncountedBytes) {
    return nullptr;
  }
  for (const Part* part : parts) {
    ASSAY_ASSIGN(const bool known, snapshot.has_document(part->id));
    bytes -= known ? part->bytes.size() : 0;
  }
  return services.namespace_quota.reserve(request.cluster + "/" + request.workload.name_space,
                                          bytes, services.clock.now());
}

Result<Judged> judge(Services& services, const DecisionRequest& request,
                     std::unique_ptr<storage::Snapshot> snapshot) {
  if (!snapshot) {
    ASSAY_ASSIGN(snapshot, services.store.snapshot());
  }
  // Read after the snapshot: everything that shows was logged before `now`.
  const Timestamp now = services.clock.now();
  ASSAY_ASSIGN(const storage::LogState log, snapshot->log_state());
  ASSAY_ASSIGN(const auto in_force, policies_in_force(services, *snapshot));
  // Of very many policies only those that match are looked at again, and named in the case.
  const auto index = services.decisions.index_of(in_force);
  const Policies matching = index && request.workload_known
                                ? index->matching(request.workload, request.point)
                                : Policies();
  const Policies& policies = index && request.workload_known ? matching : *in_force;
  if (is_unselected(policies, request)) {
    return Judged{{false, {}, {}, {}}, {}};
  }
  ASSAY_TRY(require_time(services));
  ASSAY_ASSIGN(const ResolvedReference resolved,
               resolve_model(services, *snapshot, request, policies, now));
  ASSAY_ASSIGN(Versions versions, versions_of(*snapshot, request, resolved.models));
  ASSAY_ASSIGN(const CaseFile file,
               open_case(services, *snapshot, request, resolved, policies, now));
  const auto check = [&] { return check_deadline(services, request.deadline); };
  ASSAY_TRY(check());
  ASSAY_ASSIGN(Verdict verdict,
               evaluate_case(*snapshot, file, policies, now, &services.decisions, check));
  weigh_lineages(services, file.lineages);
  ASSAY_ASSIGN(StoredCase stored, encode(file));
  ASSAY_ASSIGN(Digest digest, replay_digest(verdict, stored.file.id, now));
  ASSAY_ASSIGN(std::string results, results_text(verdict));
  Evaluated evaluated{std::move(stored), part_of(std::move(results)), std::move(digest)};
  ASSAY_ASSIGN(auto room, reserve_room(services, *snapshot, request, evaluated, verdict.allowed));
  ASSAY_ASSIGN(std::string id, make_uuid_v7(services.random, now));
  DecisionAnswer answer{true, {}, {}, {}, policy::node_affinity(policies, request.workload).labels};
  answer.decision = Decision{.id = std::move(id),
                             .point = request.point,
                             .verdict = std::move(verdict),
                             .models = resolved.models,
                             .request = request.context,
                             .dry_run = request.dry_run,
                             .evaluated_at = now,
                             .epochs = versions.epochs.trust,
                             .policy_epoch = versions.epochs.policy,
                             .tree_size = log.size,
                             .facts = evaluated.stored.file.id,
                             .results = evaluated.results->id,
                             .replay_digest = evaluated.replay};
  return Judged{std::move(answer), std::move(evaluated), std::move(versions), file.lineages,
                std::move(room)};
}

// The policies of a case, which are mostly those in force: parsing them costs more than judging.
// What is in force under another version of a set is not what the case was judged by.
Result<std::shared_ptr<const Policies>> policies_of_case(Services& services,
                                                         storage::Snapshot& snapshot,
                                                         const CaseFile& file) {
  ASSAY_ASSIGN(auto in_force, policies_in_force(services, snapshot));
  const auto names = [](const auto& policies) {
    std::vector<StatementId> ids;
    std::set<StatementId> sets;
    for (const policy::ActivePolicy& policy : policies) {
      ids.push_back(policy.id);
      sets.insert(policy.sets.begin(), policy.sets.end());
    }
    return std::pair(std::move(ids), std::vector<StatementId>(sets.begin(), sets.end()));
  };
  if (names(*in_force) == std::pair(file.policies, file.sets)) {
    return in_force;
  }
  ASSAY_ASSIGN(Policies stored, stored_policies(snapshot, file.policies, file.sets));
  return std::make_shared<const Policies>(std::move(stored));
}

}  // namespace

Result<DecisionAnswer> decide(Services& services, const DecisionRequest& request,
                              std::unique_ptr<storage::Snapshot> snapshot) {
  ASSAY_TRY(check_node(request));
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    // Whoever may push anything could make every attempt void: for the last one, others wait.
    std::optional<DecisionGate::Pass> alone;
    if (attempt == kAttempts) {
      alone.emplace(services.decision_gate.decide());
    }
    ASSAY_ASSIGN(Judged judged, judge(services, request, std::exchange(snapshot, nullptr)));
    if (!judged.answer.selected || request.dry_run) {
      return std::move(judged.answer);
    }
    const Status recorded = record(services, request, judged);
    alone.reset();
    if (recorded) {
      judged.answer.ordered = order_reports(services, writer_of(services, request), request.cluster,
                                            request.workload.node, *judged.answer.decision);
      return std::move(judged.answer);
    }
    if (recorded.error().code != ErrorCode::kTrustSequence) {
      return std::unexpected(recorded.error());
    }
  }
  return fail(ErrorCode::kUnavailable,
              "trust, policies or the node keep changing; ask again later");
}

Result<Json> load_signed_decision(storage::Snapshot& snapshot, const storage::DecisionRow& row) {
  ASSAY_ASSIGN(const storage::Document document, snapshot.document(row.envelope));
  ASSAY_ASSIGN(const attestation::Envelope envelope, attestation::parse_envelope(document.bytes));
  return parse_json(envelope.payload);
}

Result<Json> load_decision(storage::Snapshot& snapshot, const storage::DecisionRow& row) {
  ASSAY_ASSIGN(Json decision, load_signed_decision(snapshot, row));
  const auto results = decision.is_object() && decision.contains("results") &&
                               decision["results"].is_string() && decision.contains("verdict") &&
                               decision["verdict"].is_object()
                           ? DocumentId::parse(decision["results"].get_ref<const std::string&>())
                           : Result<DocumentId>(fail(ErrorCode::kDataLoss, "no results"));
  if (!results) {
    return fail(ErrorCode::kDataLoss, "a stored decision cannot be read");
  }
  ASSAY_ASSIGN(const Json members, load_part(snapshot, *results));
  if (!members.is_object()) {
    return fail(ErrorCode::kDataLoss, "stored results of a decision cannot be read");
  }
  decision["verdict"].update(members);
  return decision;
}

Status keep_pod(storage::Transaction& transaction, storage::PodRow row, const Decision* decision) {
  if (decision != nullptr) {
    row.decision = decision->id;
    if (!decision->models.empty()) {
      row.models = decision->models;
    }
  }
  if (row.admitted_at == Timestamp()) {
    row.admitted_at = transaction.now();
  }
  return transaction.put_pod(row);
}

Result<ReplayAnswer> replay(Services& services, const std::string& decision_id,
                            std::optional<Timestamp> deadline) {
  ASSAY_ASSIGN(const auto snapshot, services.store.snapshot());
  ASSAY_ASSIGN(const storage::DecisionRow row, snapshot->decision(decision_id));
  ASSAY_ASSIGN(const storage::Document document, snapshot->document(row.envelope));
  ASSAY_ASSIGN(const attestation::Envelope envelope, attestation::parse_envelope(document.bytes));
  ASSAY_ASSIGN(const Json decision, parse_json(envelope.payload));
  for (const char* member : {"facts", "replay_digest", "evaluated_at"}) {
    if (!decision.contains(member) || !decision[member].is_string()) {
      return fail(ErrorCode::kDataLoss, "a stored decision cannot be read");
    }
  }
  ASSAY_ASSIGN(const DocumentId facts, DocumentId::parse(decision["facts"].get<std::string>()));
  ASSAY_ASSIGN(Digest recorded, Digest::parse(decision["replay_digest"].get<std::string>()));
  ASSAY_ASSIGN(const Timestamp now, parse_rfc3339(decision["evaluated_at"].get<std::string>()));
  ASSAY_ASSIGN(const CaseFile file, load_case(*snapshot, facts));
  ASSAY_ASSIGN(const auto policies, policies_of_case(services, *snapshot, file));
  const auto check = [&] { return check_deadline(services, deadline); };
  ASSAY_ASSIGN(Verdict verdict, evaluate_case(*snapshot, file, *policies, now, nullptr, check));
  ASSAY_ASSIGN(Digest recomputed, replay_digest(verdict, facts, now));
  const bool reproduced = recomputed == recorded;
  return ReplayAnswer{reproduced, std::move(recorded), std::move(recomputed), std::move(verdict)};
}

}  // namespace assay::server
