// SPDX-License-Identifier: Apache-2.0
#include "server/service/impact/suppose.h"

#include <algorithm>

#include "attestation/dsse.h"
#include "policy/lineage.h"
#include "policy/statement_contents.h"
#include "schemas/statement.h"
#include "server/service/impact/statement_of.h"
#include "server/service/lineage/closure.h"

namespace assay::server {
namespace {

// At any time that a decision was made.
const Revocation kSupposed{Timestamp(), "supposed"};

bool contains(const auto& list, const auto& value) {
  return std::ranges::find(list, value) != list.end();
}

// Also of predicates of other people, which lineages do not read.
NamedInputs inputs_in(const Statement& statement) {
  Json contents = Json::object();
  const std::vector<std::string> read = policy::add_lineage(statement, contents);
  NamedInputs named{{read.begin(), read.end()}, contents.contains("unread")};
  const Json& predicate = statement.predicate;
  if (!predicate.is_object() || !predicate.contains("inputs") || !predicate["inputs"].is_array()) {
    return named;
  }
  for (const Json& input : predicate["inputs"]) {
    if (!input.is_object() || !input.contains("digest") || !input["digest"].is_object()) {
      continue;
    }
    for (const auto& [algorithm, value] : input["digest"].items()) {
      if (value.is_string()) {
        named.digests.insert(algorithm + ":" + value.get<std::string>());
      }
    }
  }
  return named;
}

// A hypothesis, and what it means for the evidence of one model.
struct Supposed {
  const Hypothesis& hypothesis;
  // By their appraisals, the error codes of accepted evidence that a lost level or an advisory
  // takes.
  std::map<DocumentId, std::string> by_level{};
};

bool has_supposed_key(const Hypothesis& hypothesis, const policy::StatementFact& statement) {
  return std::ranges::any_of(statement.signers, [&](const policy::SignerFact& signer) {
    return contains(hypothesis.revoke_keys, signer.key.id);
  });
}

// The error code that evidence with this status and appraisal would have; empty: none.
std::string lost_error(const Supposed& supposed, const std::string& status,
                       const std::optional<DocumentId>& appraisal) {
  if (contains(supposed.hypothesis.tcb_status_lost, status)) {
    return "TCB_STATUS_NOT_ACCEPTED:" + status;
  }
  const auto lost = appraisal ? supposed.by_level.find(*appraisal) : supposed.by_level.end();
  return lost != supposed.by_level.end() ? lost->second : "";
}

std::string lost_error(const Supposed& supposed, const policy::StageEvidenceFact& evidence) {
  return lost_error(supposed, evidence.status_now, evidence.appraisal);
}

bool has_lost_evidence(const Supposed& supposed, const policy::StatementFact& statement) {
  return std::ranges::any_of(statement.evidence, [&](const policy::StageEvidenceFact& evidence) {
    return !lost_error(supposed, evidence).empty();
  });
}

// What was found at the first appraisal stays.
void suppose_evidence(const Supposed& supposed, policy::StatementFact& statement) {
  for (policy::StageEvidenceFact& evidence : statement.evidence) {
    if (evidence.error_now.empty()) {
      evidence.error_now = lost_error(supposed, evidence);
    }
  }
}

void suppose_statement(const Supposed& supposed, bool withdrawn, policy::StatementFact& statement) {
  suppose_evidence(supposed, statement);
  // What some of its signers withdrew can still be withdrawn for all of them.
  if (withdrawn && !(statement.withdrawn && statement.withdrawn->whole)) {
    statement.withdrawn = policy::WithdrawnFact{kSupposed.reason, kSupposed.at, {}};
  }
  for (policy::SignerFact& signer : statement.signers) {
    if (contains(supposed.hypothesis.revoke_keys, signer.key.id)) {
      signer.key.revoked = kSupposed;
    }
  }
}

bool is_touched(const Supposed& supposed, const policy::StatementFact& statement) {
  return has_supposed_key(supposed.hypothesis, statement) || has_lost_evidence(supposed, statement);
}

// Changes those items of a shared list that are touched; the list stays shared when none is.
// `withdrawn` says of an item whether it counts for nothing.
template <typename Item, typename Withdrawn>
Status change(const Supposed& supposed, policy::SharedList<Item>& list,
              const Withdrawn& withdrawn) {
  const policy::SharedList<Item>& read = list;
  std::vector<std::pair<std::size_t, bool>> touched;
  for (std::size_t i = 0; i < read.size(); ++i) {
    ASSAY_ASSIGN(const bool all, withdrawn(statement_of(read[i])));
    if (all || is_touched(supposed, statement_of(read[i]))) {
      touched.emplace_back(i, all);
    }
  }
  for (const auto& [i, all] : touched) {
    suppose_statement(supposed, all, statement_of(list.change()[i]));
  }
  return {};
}

// What is said of an unusable artifact counts for nothing, so whatever was made from it has an
// ancestor of which nothing is known.
bool is_withdrawn(const Hypothesis& hypothesis, const policy::LineageStatement& statement) {
  return contains(hypothesis.withdraw_statements, statement.fact.id) ||
         std::ranges::any_of(statement.subjects, [&](const policy::LineageSubject& subject) {
           return contains(hypothesis.without_artifacts, subject.digest);
         });
}

// Whether it says that something went in which must not be used, or was made from such a thing. A
// policy may accept these as origins that nobody needs to speak of.
bool comes_from(const MadeFrom& made, const policy::LineageStatement& statement, bool& sure) {
  if (made.digests.empty()) {
    return false;
  }
  NamedInputs named;  // what cannot be read is judged by the condition
  for (const policy::LineageInput& input : statement.inputs) {
    named.digests.insert(input.digests.begin(), input.digests.end());
  }
  const std::optional<bool> found = made.has_any(named);
  sure = sure && found.has_value();
  return found.value_or(false);
}

Status suppose_lineage(const Supposed& supposed, StatementInputs& inputs, policy::Facts& facts,
                       bool& sure) {
  if (!facts.lineage) {
    return {};
  }
  const Hypothesis& hypothesis = supposed.hypothesis;
  ASSAY_ASSIGN(const MadeFrom* made, inputs.made_from(hypothesis.without_artifacts));
  policy::Lineage::Statements statements = facts.lineage->statements();
  bool changed = false;
  for (auto& statement : statements) {
    const bool withdrawn =
        is_withdrawn(hypothesis, *statement) || comes_from(*made, *statement, sure);
    if (withdrawn || is_touched(supposed, statement->fact)) {
      auto copy = std::make_shared<policy::LineageStatement>(*statement);
      suppose_statement(supposed, withdrawn, copy->fact);
      statement = std::move(copy);
      changed = true;
    }
  }
  if (changed) {
    facts.lineage = policy::Lineage::make(facts.lineage->start(), std::move(statements),
                                          facts.lineage->reached(), facts.lineage->rest());
  }
  return {};
}

void suppose_node(const Supposed& supposed, policy::Facts& facts) {
  if (!facts.node) {
    return;
  }
  policy::NodeFact& node = *facts.node;
  if (contains(supposed.hypothesis.revoke_nodes, node.name)) {
    node.revoked = node.revoked.value_or(kSupposed);
    facts.reports.clear();
    facts.instances.clear();
  }
  const std::string error =
      node.appraised_at ? lost_error(supposed, node.tcb_status, node.appraisal) : "";
  if (!error.empty()) {
    if (node.appraisal_error.empty()) {
      node.appraisal_error = error;
    }
    node.worker_measured = false;
    for (policy::ReportFact& report : facts.reports) {
      report.worker_measured = false;
    }
  }
}

// Takes down what accepted evidence with this appraisal would be refused for. Sets `sure` to false
// when the appraisal does not say what the level is.
Status look_at_level(TcbLevels& levels, Supposed& supposed,
                     const std::optional<DocumentId>& appraisal, bool& sure) {
  if (!appraisal || supposed.by_level.contains(*appraisal)) {
    sure = sure && appraisal.has_value();
    return {};
  }
  ASSAY_ASSIGN(const FoundTcb found, levels.of(*appraisal));
  sure = sure && found.known;
  if (std::string error = found.known ? lost_by_level(supposed.hypothesis, found) : "";
      !error.empty()) {
    supposed.by_level.emplace(*appraisal, std::move(error));
  }
  return {};
}

// Refused evidence stays refused whatever its level is.
Status look_at_levels(TcbLevels& levels, const policy::Facts& facts, Supposed& supposed,
                      bool& sure) {
  const auto of = [&](const policy::StatementFact& statement) -> Status {
    for (const policy::StageEvidenceFact& evidence : statement.evidence) {
      if (evidence.error_now.empty()) {
        ASSAY_TRY(look_at_level(levels, supposed, evidence.appraisal, sure));
      }
    }
    return {};
  };
  for (const policy::StatementFact& statement : facts.statements) {
    ASSAY_TRY(of(statement));
  }
  if (facts.lineage) {
    for (const auto& statement : facts.lineage->statements()) {
      ASSAY_TRY(of(statement->fact));
    }
  }
  if (facts.node && facts.node->appraised_at && facts.node->appraisal_error.empty()) {
    ASSAY_TRY(look_at_level(levels, supposed, facts.node->appraisal, sure));
  }
  return {};
}

// Adds to `made`, which holds the first digest alone, what these statements say was made from it,
// and what manifests join with it. Looks at each statement once, however long the way is.
Status spread(const policy::Lineage::Statements& statements, const std::function<Status()>& check,
              std::set<std::string>& made, const std::string& start) {
  std::map<std::string_view, std::vector<std::size_t>> leads;  // statements that name a digest
  for (std::size_t s = 0; s < statements.size(); ++s) {
    ASSAY_TRY(check());
    const policy::LineageStatement& statement = *statements[s];
    if (statement.manifest) {
      for (const policy::LineageSubject& subject : statement.subjects) {
        leads[subject.digest].push_back(s);
      }
    } else if (policy::makes_subjects(statement)) {
      for (const policy::LineageInput& input : statement.inputs) {
        for (const std::string& digest : input.digests) {
          leads[digest].push_back(s);
        }
      }
    }
  }
  std::vector<bool> seen(statements.size(), false);
  std::vector<std::string_view> waiting = {start};
  while (!waiting.empty()) {
    const auto found = leads.find(waiting.back());
    waiting.pop_back();
    for (const std::size_t s : found == leads.end() ? std::vector<std::size_t>() : found->second) {
      if (seen[s]) {
        continue;
      }
      seen[s] = true;
      ASSAY_TRY(check());
      for (const policy::LineageSubject& subject : statements[s]->subjects) {
        if (policy::is_strong_digest(subject.digest) && made.insert(subject.digest).second) {
          waiting.push_back(subject.digest);
        }
      }
    }
  }
  return {};
}

}  // namespace

Result<const NamedInputs*> StatementInputs::of(const CaseModel& model,
                                               const policy::StatementFact& statement) {
  if (const auto known = known_.find(statement.id); known != known_.end()) {
    return &known->second;
  }
  ASSAY_TRY(check_());
  const Envelopes& envelopes = model.known ? model.known->envelopes : model.envelopes;
  const auto stored = envelopes.find(statement.id);
  if (stored == envelopes.end()) {
    return fail(ErrorCode::kDataLoss, "nothing says where a statement is stored",
                statement.id.text());
  }
  ASSAY_ASSIGN(const storage::Document document, snapshot_.document(stored->second));
  ASSAY_ASSIGN(const attestation::Envelope envelope, attestation::parse_envelope(document.bytes));
  ASSAY_ASSIGN(const Statement parsed, parse_statement(envelope.payload));
  if (known_.size() >= kMaxKept) {
    known_.clear();
  }
  return &known_.emplace(statement.id, inputs_in(parsed)).first->second;
}

std::optional<bool> MadeFrom::has_any(const NamedInputs& inputs) const {
  if (std::ranges::any_of(inputs.digests,
                          [this](const std::string& input) { return digests.contains(input); })) {
    return true;
  }
  const bool sure = !inputs.unread && (whole || inputs.digests.empty());
  return sure ? std::optional(false) : std::nullopt;
}

Result<const MadeFrom*> StatementInputs::made_from(const std::vector<std::string>& artifacts) {
  if (const auto known = made_from_.find(artifacts); known != made_from_.end()) {
    return &known->second;
  }
  MadeFrom made;
  for (const std::string& artifact : artifacts) {
    made.digests.insert(artifact);
    ASSAY_ASSIGN(const auto lineage, made_from_lineage(snapshot_, artifact, check_));
    made.whole = made.whole && lineage->reached().empty();
    ASSAY_TRY(spread(lineage->statements(), check_, made.digests, artifact));
  }
  return &made_from_.emplace(artifacts, std::move(made)).first->second;
}

Result<bool> StatementInputs::origins_are_read(const ArtifactId& artifact) {
  constexpr std::size_t kMaxDepth = 64;
  if (const auto known = origins_.find(artifact); known != origins_.end()) {
    return known->second;
  }
  ASSAY_ASSIGN(const auto lineage, read_lineage(snapshot_, artifact.text(),
                                                policy::LineageDirection::kUp, kMaxDepth, check_));
  const bool read = lineage->reached().empty() &&
                    std::ranges::none_of(lineage->statements(), [](const auto& statement) {
                      return statement->unread && policy::makes_subjects(*statement);
                    });
  if (origins_.size() >= kMaxKept) {
    origins_.clear();
  }
  return origins_.emplace(artifact, read).first->second;
}

Status can_spread(StatementInputs& inputs, const std::vector<std::string>& artifacts) {
  const auto made =
      artifacts.empty() ? Result<const MadeFrom*>(nullptr) : inputs.made_from(artifacts);
  return !made && made.error().code == ErrorCode::kEvaluationDeadline
             ? Status(std::unexpected(made.error()))
             : Status();
}

Result<Policies> suppose_policies(const Hypothesis& hypothesis,
                                  std::span<const policy::ActivePolicy> policies,
                                  policy::ReferenceSets sets) {
  for (const ReferenceSet& set : hypothesis.sets) {
    ASSAY_ASSIGN(const std::string payload, canonical_json(to_json(set)));
    const StatementId id = attestation::statement_id(kReferenceSetPayloadType, as_bytes(payload));
    sets.insert_or_assign(set.name, policy::ActiveSet{id, set});
  }
  std::map<std::string, policy::ActivePolicy> by_name;
  for (const policy::ActivePolicy& policy : policies) {
    by_name.insert_or_assign(policy.document.name, hypothesis.sets.empty()
                                                       ? policy
                                                       : policy::with_other_sets(policy, sets));
  }
  for (const std::string& name : hypothesis.deactivate) {
    by_name.erase(name);
  }
  for (const PolicyDocument& document : hypothesis.activate) {
    ASSAY_ASSIGN(const std::string payload, canonical_json(to_json(document)));
    const StatementId id = attestation::statement_id(kPolicyPayloadType, as_bytes(payload));
    by_name.insert_or_assign(document.name, policy::with_sets(id, document, sets));
  }
  Policies supposed;
  for (auto& [name, policy] : by_name) {
    supposed.push_back(std::move(policy));
  }
  return supposed;
}

Result<bool> suppose_model(const Hypothesis& hypothesis, StatementInputs& inputs, TcbLevels& levels,
                           CaseModel& model) {
  bool sure = true;
  policy::Facts& facts = model.facts;
  Supposed supposed{hypothesis};
  if (asks_for_levels(hypothesis)) {
    ASSAY_TRY(look_at_levels(levels, std::as_const(facts), supposed, sure));
  }
  const bool unusable =
      facts.artifact && contains(hypothesis.without_artifacts, facts.artifact->text());
  const auto listed = [&](const policy::StatementFact& statement) -> Result<bool> {
    return unusable || contains(hypothesis.withdraw_statements, statement.id);
  };
  const auto from_unusable = [&](const policy::StatementFact& statement) -> Result<bool> {
    ASSAY_ASSIGN(const bool own, listed(statement));
    if (own || hypothesis.without_artifacts.empty()) {
      return own;
    }
    ASSAY_ASSIGN(const NamedInputs* named, inputs.of(model, statement));
    ASSAY_ASSIGN(const MadeFrom* made, inputs.made_from(hypothesis.without_artifacts));
    const std::optional<bool> found = made->has_any(*named);
    sure = sure && found.has_value();
    return found.value_or(false);
  };
  ASSAY_TRY(change(supposed, facts.manifests, listed));
  ASSAY_TRY(change(supposed, facts.placements, listed));
  ASSAY_TRY(change(supposed, facts.statements, from_unusable));
  ASSAY_TRY(suppose_lineage(supposed, inputs, facts, sure));
  if (facts.artifact && !hypothesis.without_artifacts.empty()) {
    ASSAY_ASSIGN(const bool read, inputs.origins_are_read(*facts.artifact));
    sure = sure && read;
  }
  suppose_node(supposed, facts);
  return sure;
}

Result<bool> suppose_facts(const Hypothesis& hypothesis, StatementInputs& inputs, TcbLevels& levels,
                           CaseFile& file) {
  bool sure = true;
  for (CaseModel& model : file.models) {
    ASSAY_ASSIGN(const bool all, suppose_model(hypothesis, inputs, levels, model));
    sure = sure && all;
  }
  return sure;
}

}  // namespace assay::server
