// SPDX-License-Identifier: Apache-2.0
#include "cli/decisions/verify_export.h"

#include <algorithm>
#include <optional>
#include <set>

#include "attestation/key_rotation.h"
#include "cli/decisions/governed.h"
#include "cli/decisions/rests_on_word.h"
#include "cli/decisions/signed_facts.h"
#include "policy/match_index.h"
#include "policy/reference_sets.h"
#include "schemas/core/json_at.h"
#include "schemas/core/sha.h"
#include "schemas/log_chain.h"

namespace assay::cli {
namespace {

std::unexpected<Error> unfit(const char* why, std::string where = {}) {
  return fail(ErrorCode::kExportInconsistent, why, std::move(where));
}

// The one decision of the file: its record, and its signed document.
struct Found {
  const ProvenEntry* entry;
  attestation::Envelope envelope;
  Json decision;
  DocumentId facts;
  TreeSize known;  // size of the log when the case was read
  Timestamp evaluated_at;
};

Result<const ProvenEntry*> decision_entry(const ProvenLog& log, const std::string& id) {
  const ProvenEntry* found = nullptr;
  for (const ProvenEntry& entry : log.entries) {
    if (entry.record.type == event::kDecisionMade) {
      if (found != nullptr || text_at(entry.record.detail, "decision_id") != id) {
        return unfit("the file has the log entry of another decision",
                     "log entry " + std::to_string(entry.index));
      }
      found = &entry;
    }
  }
  return found != nullptr && found->record.documents.size() == 2
             ? Result<const ProvenEntry*>(found)
             : unfit("the file lacks the log entry of its decision", id);
}

Result<Found> find_decision(const ProvenLog& log, const DecisionExport& file,
                            ExportedDocuments& documents) {
  ASSAY_ASSIGN(const ProvenEntry* entry, decision_entry(log, file.decision));
  ASSAY_ASSIGN(attestation::Envelope envelope, documents.envelope(entry->record.documents[0]));
  ASSAY_ASSIGN(Json decision, parse_json(ByteView(envelope.payload)));
  const Json& known = member_at(decision, "tree_size");
  if (envelope.payload_type != kDecisionPayloadType || !known.is_number_unsigned() ||
      text_at(decision, "id") != file.decision ||
      text_at(decision, "facts") != entry->record.documents[1].text()) {
    return unfit("the log entry of the decision names other documents", file.decision);
  }
  if (known.get<TreeSize>() > entry->index) {
    return unfit("the decision knows entries of the log that came after it", file.decision);
  }
  ASSAY_ASSIGN(const Timestamp evaluated_at, parse_rfc3339(text_at(decision, "evaluated_at")));
  return Found{entry,
               std::move(envelope),
               std::move(decision),
               entry->record.documents[1],
               known.get<TreeSize>(),
               evaluated_at};
}

// The key that signed decisions at an entry, by the records that name and replace it.
Result<attestation::PublicKey> service_key_at(const ProvenLog& log, LeafIndex index) {
  std::optional<Bytes> key;
  for (const ProvenEntry& entry : log.entries) {
    const Json& detail = entry.record.detail;
    if (entry.index >= index) {
      break;
    }
    if (entry.record.type == event::kKeyNamed && text_at(detail, "kind") == "service") {
      if (key) {
        return unfit("the log names a first key of the service twice");
      }
      ASSAY_ASSIGN(key, base64_decode(text_at(detail, "key")));
    } else if (entry.record.type == event::kKeyRotated && text_at(detail, "kind") == "service") {
      ASSAY_ASSIGN(const auto rotation, attestation::rotation_from(entry.record));
      if (key != rotation.old_key) {
        return unfit("a key of the service is replaced that was not in use");
      }
      ASSAY_TRY(attestation::verify_rotation(rotation, log.origin_at(entry.index), entry.index));
      key = rotation.new_key;
    }
  }
  return key ? attestation::PublicKey::from_der(*key)
             : Result<attestation::PublicKey>(
                   unfit("no log entry names the key of the service at this decision"));
}

Status check_signature(const ProvenLog& log, const Found& found) {
  ASSAY_ASSIGN(const attestation::PublicKey key, service_key_at(log, found.entry->index));
  const TrustedKey trusted{.id = key.id(),
                           .algorithm = key.algorithm(),
                           .public_key = key.der(),
                           .purpose = KeyPurpose::kService,
                           .identity = "service",
                           .roles = {},
                           .not_before = {},
                           .not_after = {},
                           .revoked = {}};
  ASSAY_ASSIGN(const auto signatures,
               attestation::verify_signatures(found.envelope, std::span(&trusted, 1)));
  return signatures.empty()
             ? fail(ErrorCode::kUntrustedSigner,
                    "the key of the service at that time has not signed the decision")
             : Status();
}

// Nothing but what a decision rests on.
Status check_entry_types(const ProvenLog& log, TreeSize known) {
  for (const ProvenEntry& entry : log.entries) {
    const std::string& type = entry.record.type;
    const bool anywhere =
        type.starts_with("key.") || type == event::kLogReopened || type == event::kDecisionMade;
    const bool before = type == event::kTrustBootstrapped || type == event::kTrustChanged ||
                        type == event::kPolicyAccepted || type == event::kPolicyActivated ||
                        type == event::kPolicyDeactivated || type == event::kManifestAccepted ||
                        type == event::kAttestationAccepted || type == event::kStatementWithdrawn;
    if (!anywhere && !(before && entry.index < known)) {
      return unfit("the file has a log entry that the decision does not rest on",
                   "log entry " + std::to_string(entry.index));
    }
  }
  return {};
}

Result<std::vector<policy::ActivePolicy>> policies_of(const policy::CaseHead& head,
                                                      const Governed& governed) {
  const auto in_force = [&](const StatementId& id) -> Result<const GovernedPolicy*> {
    const auto policy = governed.policies.find(id);
    if (policy == governed.policies.end()) {
      return unfit("the case names a policy that never came into force", id.text());
    }
    const auto active = governed.in_force.find(policy->second.name);
    return active != governed.in_force.end() && active->second == id
               ? Result<const GovernedPolicy*>(&policy->second)
               : unfit("the case names a policy that was not in force", id.text());
  };
  policy::ReferenceSets sets;
  for (const StatementId& id : head.sets) {
    ASSAY_ASSIGN(const GovernedPolicy* set, in_force(id));
    ASSAY_ASSIGN(ReferenceSet parsed, parse_reference_set(set->payload));
    std::string name = parsed.name;
    sets.emplace(std::move(name), policy::ActiveSet{id, std::move(parsed)});
  }
  std::vector<policy::ActivePolicy> policies;
  for (const StatementId& id : head.policies) {
    ASSAY_ASSIGN(const GovernedPolicy* policy, in_force(id));
    ASSAY_ASSIGN(PolicyDocument document, parse_policy(policy->payload));
    policies.push_back(policy::with_sets(id, std::move(document), sets));
  }
  return policies;
}

// Each policy in force is judged, once. Of very many the service leaves out those that select
// another workload (policy/match_index.h).
Status check_all_policies(const policy::CaseHead& head, const Governed& governed) {
  const std::set<StatementId> judged(head.policies.begin(), head.policies.end());
  if (judged.size() != head.policies.size()) {
    return unfit("the case names a policy twice");
  }
  std::vector<StatementId> left_out;
  std::size_t in_force = 0;
  for (const auto& [name, id] : governed.in_force) {
    if (!named_set(name)) {
      ++in_force;
      if (!judged.contains(id)) {
        left_out.push_back(id);
      }
    }
  }
  if (!left_out.empty() && in_force < policy::kIndexPoliciesFrom) {
    return unfit("the case leaves out a policy that was in force", left_out.front().text());
  }
  for (const StatementId& id : left_out) {
    ASSAY_ASSIGN(const PolicyDocument document, parse_policy(governed.policies.at(id).payload));
    if (policy::matches(document.match, head.workload, head.point)) {
      return unfit("the case leaves out a policy that selects the workload", id.text());
    }
  }
  return {};
}

// No change of trust, of policies or of a withdrawal is left out.
Status check_chain(const ProvenLog& log) {
  LogChain chain;
  for (const ProvenEntry& entry : log.entries) {
    if (const Status linked = chain.take(entry.index, entry.record, entry.leaf); !linked) {
      return unfit("the file leaves out a change of trust, of policies or of a withdrawal",
                   linked.error().where);
    }
  }
  return {};
}

// The log says of the decision what the decision says.
Status check_record(const Found& found, const policy::Workload& workload) {
  const Json& decision = found.decision;
  const Json& verdict = member_at(decision, "verdict");
  std::set<std::string> subjects;
  for (const Json& model : array_at(decision, "models")) {
    subjects.insert(text_at(model, "artifact"));
  }
  const LogRecord& record = found.entry->record;
  Json detail = record.detail;
  detail.erase("chain");
  Json expected = {{"decision_id", member_at(decision, "id")},
                   {"verdict", flag_at(verdict, "allowed") ? "allow" : "deny"},
                   {"reasons", member_at(verdict, "reasons")},
                   {"point", member_at(decision, "point")},
                   {"namespace", workload.name_space}};
  if (!workload.node.empty()) {
    expected["node"] = workload.node;
  }
  constexpr std::size_t kMembers = 14;  // of signed_form() in schemas/decision.h
  const bool is_known = member_at(decision, "format") == Json(kDecisionFormat) &&
                        member_at(decision, "evaluator") == Json(kEvaluator) &&
                        decision.size() == kMembers;
  const bool same = is_known && detail == expected &&
                    record.subjects == std::vector(subjects.begin(), subjects.end()) &&
                    text_at(object_at(decision, "request"), "namespace") == workload.name_space;
  return same ? Status() : unfit("the log entry of the decision says other things than it does");
}

// The decision was made when all that it knows was logged, and before its own record.
Status check_times(const ProvenLog& log, const Found& found) {
  for (const ProvenEntry& entry : log.entries) {
    const bool late = entry.index < found.known
                          ? entry.record.time > found.evaluated_at
                          : &entry == found.entry && entry.record.time < found.evaluated_at;
    if (late) {
      return unfit("the time of the decision is not that of what it knows",
                   "log entry " + std::to_string(entry.index));
    }
  }
  return {};
}

// The decision says what comes out here.
Status check_verdict(const Found& found, const Verdict& verdict, const policy::CaseHead& head,
                     const std::vector<policy::Facts>& models, ExportedDocuments& documents) {
  const Json& decision = found.decision;
  Json answer = to_json(verdict);
  answer.erase("preconditions");
  answer.erase("policies");
  ASSAY_ASSIGN(const std::string results, results_text(verdict));
  const DocumentId results_id(sha256(as_bytes(results)));
  ASSAY_ASSIGN(const Digest replayed, replay_digest(verdict, found.facts, found.evaluated_at));
  if (member_at(decision, "verdict") != answer ||
      text_at(decision, "results") != results_id.text() ||
      text_at(decision, "replay_digest") != replayed.text()) {
    return unfit("the verdict does not follow from the facts under these policies",
                 verdict.allowed ? "it comes out as allow" : "it comes out as deny");
  }
  ASSAY_TRY(documents.bytes(results_id));
  Json listed = Json::array();
  for (const policy::Facts& facts : models) {
    if (facts.artifact) {
      listed.push_back({{"artifact", facts.artifact->text()}});
      if (!facts.name.empty()) {
        listed.back()["name"] = facts.name;
      }
    }
  }
  const bool same = member_at(decision, "models") == listed &&
                    text_at(decision, "point") == name(head.point) &&
                    member_at(decision, "dry_run") == Json(false);
  return same ? Status() : unfit("the decision is about other models than its case");
}

Status check_epochs(const Json& decision, const Governed& governed) {
  const Json& epochs = object_at(decision, "epochs");
  return member_at(epochs, "trust") == Json(governed.trust_epoch) &&
                 member_at(epochs, "policy") == Json(governed.policy_epoch)
             ? Status()
             : unfit("the decision names other epochs of trust or policies than the file leads to");
}

std::string in_words(const policy::ActivePolicy& policy, const Governed& governed) {
  const GovernedPolicy& known = governed.policies.at(policy.id);
  const auto joined = [](const std::set<std::string>& names) {
    std::string text;
    for (const std::string& one : names) {
      text += (text.empty() ? "" : ", ") + one;
    }
    return text;
  };
  return known.name + " " + std::to_string(policy.document.version) + ", written by " +
         joined(known.authors) + ", approved by " + joined(known.approvers);
}

}  // namespace

Result<VerifiedDecision> verify_decision_export(const DecisionExport& file,
                                                const attestation::NoteVerifier& log_key) {
  ExportedDocuments documents(file);
  ASSAY_ASSIGN(const ProvenLog log, prove_entries(file, log_key));
  ASSAY_ASSIGN(Found found, find_decision(log, file, documents));
  ASSAY_TRY(check_entry_types(log, found.known));
  ASSAY_TRY(check_chain(log));
  ASSAY_TRY(check_times(log, found));
  ASSAY_TRY(check_signature(log, found));
  ASSAY_ASSIGN(const Governed governed, follow_governance(log, found.known, documents));
  ASSAY_TRY(check_epochs(found.decision, governed));
  ASSAY_ASSIGN(SignedFacts statements, SignedFacts::open(log, found.known, governed, documents));
  ASSAY_ASSIGN(const policy::CaseHead head, policy::read_case(documents.reader(), found.facts));
  ASSAY_TRY(check_record(found, head.workload));
  std::vector<policy::Facts> models;
  for (const Json& member : head.models) {
    ASSAY_ASSIGN(policy::CaseModelFacts model, policy::read_case_model(documents.reader(), member));
    ASSAY_TRY(statements.check(model.facts));
    models.push_back(std::move(model.facts));
  }
  ASSAY_ASSIGN(const auto policies, policies_of(head, governed));
  ASSAY_TRY(check_all_policies(head, governed));
  Verdict verdict = policy::evaluate(policies, head.workload, models, head.preconditions,
                                     head.point, found.evaluated_at);
  ASSAY_TRY(check_verdict(found, verdict, head, models, documents));
  ASSAY_TRY(statements.check_all_used());
  ASSAY_TRY(documents.check_all_used());
  VerifiedDecision verified{std::move(found.decision),
                            std::move(verdict),
                            log.checkpoint,
                            found.entry->index,
                            governed.trust_epoch,
                            statements.size(),
                            {},
                            rests_on_word(head, models, governed)};
  for (const policy::ActivePolicy& policy : policies) {
    verified.policies.push_back(in_words(policy, governed));
  }
  return verified;
}

}  // namespace assay::cli
