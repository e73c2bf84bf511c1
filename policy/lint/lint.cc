// SPDX-License-Identifier: Apache-2.0
// Lint of a policy as a whole, and of its conditions one by one.
#include "policy/lint.h"

#include <algorithm>
#include <array>
#include <set>

#include "policy/conditions.h"
#include "policy/conditions/boot.h"
#include "policy/conditions/stage_evidence.h"
#include "policy/lineage_condition.h"
#include "policy/lint/formats.h"
#include "policy/lint/logic.h"
#include "policy/lint/predicates.h"
#include "policy/lint/workloads.h"
#include "schemas/anchor.h"
#include "schemas/core/artifact.h"
#include "schemas/core/sha.h"
#include "schemas/lifecycle.h"
#include "schemas/manifest.h"

namespace assay::policy {
namespace {

// Statuses that an appraisal of TDX evidence comes to.
constexpr std::array<std::string_view, 9> kTcbStatuses = {"UpToDate",
                                                          "SWHardeningNeeded",
                                                          "ConfigurationNeeded",
                                                          "ConfigurationAndSWHardeningNeeded",
                                                          "OutOfDate",
                                                          "OutOfDateConfigurationNeeded",
                                                          "TDRelaunchAdvised",
                                                          "TDRelaunchAdvisedConfigurationNeeded",
                                                          "Revoked"};

class Linter {
 public:
  Linter(std::vector<Finding>& findings, Comparisons& comparisons)
      : findings_(findings), comparisons_(comparisons) {}

  void whole(const PolicyDocument& policy);
  void condition(const Condition& condition, int depth, LintPlace place);

 private:
  void warn(std::string text, std::string code = "advice") {
    if (text.find("cannot pass") != std::string::npos) {
      code = "never-passes";
    } else if (text.starts_with("cannot fail")) {
      code = "never-fails";
    }
    findings_.push_back({Finding::Level::kWarning, id_, std::move(text), std::move(code), where_});
  }
  void note(std::string text) {
    findings_.push_back({Finding::Level::kNote, id_, std::move(text), "advice", where_});
  }

  void take(std::vector<Finding> found) {
    for (Finding& finding : found) {
      finding.condition = id_;
      finding.where = where_ + finding.where;
      findings_.push_back(std::move(finding));
    }
  }

  void unpublished(const PolicyDocument& policy);
  void signers(const SignerRequirement& signers);
  void leaf(const Condition& condition, const LintPlace& place);
  void combined(const Condition& condition, const std::vector<Condition>& parts);
  void statement(const StatementCondition& statement, const LintPlace& place);
  void parameters(const ParametersCondition& parameters);
  void node(const NodeCondition& node);
  void report(const ReportCondition& report);
  void memory(const ReportCondition& report);
  void request(const RequestCondition& request);

  std::vector<Finding>& findings_;
  Comparisons& comparisons_;
  std::string id_;
  std::string where_;
  bool asks_for_step_ = false;
};

// True when a condition of this kind must pass, whatever else does.
template <typename Kind>
bool always_requires(const std::vector<Condition>& conditions, int depth) {
  return std::any_of(conditions.begin(), conditions.end(), [&](const Condition& condition) {
    if (std::holds_alternative<Kind>(condition.kind)) {
      return true;
    }
    // Only `all` needs each of its parts.
    const auto* all = std::get_if<AllCondition>(&condition.kind);
    return all != nullptr && depth < kMaxConditionDepth &&
           always_requires<Kind>(all->of, depth + 1);
  });
}

bool asks_for_report(const std::vector<Condition>& conditions, int depth) {
  return std::any_of(conditions.begin(), conditions.end(), [&](const Condition& condition) {
    const std::vector<Condition>* parts = parts_of(condition);
    return parts == nullptr ? std::holds_alternative<ReportCondition>(condition.kind)
                            : depth < kMaxConditionDepth && asks_for_report(*parts, depth + 1);
  });
}

// A manifest condition that is not below a `not`.
bool has_manifest(const std::vector<Condition>& conditions, int depth) {
  return std::any_of(conditions.begin(), conditions.end(), [&](const Condition& condition) {
    const std::vector<Condition>* parts = parts_of(condition);
    if (parts == nullptr) {
      return std::holds_alternative<ManifestCondition>(condition.kind);
    }
    return !std::holds_alternative<NotCondition>(condition.kind) && depth < kMaxConditionDepth &&
           has_manifest(*parts, depth + 1);
  });
}

// A location counts only from manifests whose signers meet the manifest condition.
void Linter::unpublished(const PolicyDocument& policy) {
  if (policy.mode == PolicyMode::kEnforce && !has_manifest(policy.require, 1)) {
    findings_.push_back({Finding::Level::kError, id_,
                         "no manifest condition: no location is bound, and every pod is denied",
                         "no-manifest", "/require"});
    return;
  }
  warn(
      "no manifest condition is always required: nobody needs to have published the model, and "
      "without a manifest that the policy believes only signer roles for every name count");
}

void Linter::whole(const PolicyDocument& policy) {
  asks_for_step_ = asks_for_step(policy.require, 1);
  lint_workloads(policy, findings_);
  if (policy.mode == PolicyMode::kWarn) {
    warn("mode warn: nothing is denied; where no other policy enforces, everything is allowed");
  } else if (policy.mode == PolicyMode::kShadow) {
    warn("mode shadow: the policy only watches and selects no workload");
  }
  if (policy.mode != PolicyMode::kEnforce && !policy.node_affinity.empty()) {
    warn("node_affinity adds nothing: only policies in mode enforce steer pods");
  }
  if (policy.names.rule == NameRule::kRelease && !has_manifest(policy.require, 1)) {
    findings_.push_back(
        {Finding::Level::kError, id_,
         "names: release without a manifest condition: nobody's release counts, and "
         "every bare name is refused",
         "no-manifest", "/names"});
  }
  if (policy.require.empty()) {
    warn("requires nothing: every model passes");
  } else if (!always_requires<ManifestCondition>(policy.require, 1)) {
    unpublished(policy);
  }
  if (asks_for_report(policy.require, 1) && !always_requires<NodeCondition>(policy.require, 1)) {
    warn(
        "no node condition is always required beside the report: reports count under every anchor "
        "that the service enrols");
  }
}

void Linter::signers(const SignerRequirement& signers) {
  const std::set<std::string> distinct(signers.identities.begin(), signers.identities.end());
  if (!distinct.empty() && signers.at_least > distinct.size()) {
    warn("cannot pass: asks for " + std::to_string(signers.at_least) + " identities and lists " +
         std::to_string(distinct.size()));
  }
  if (distinct.size() < signers.identities.size()) {
    warn("lists an identity twice; it counts once");
  }
  if (signers.at_least == 0) {
    warn("at_least 0 is read as 1");
  }
}

void Linter::statement(const StatementCondition& statement, const LintPlace& place) {
  const bool lifecycle = statement.predicate_type == kLifecyclePredicateType;
  if (statement.predicate_type == kManifestPredicateType) {
    warn("cannot pass: manifests are no statements here; use a manifest condition");
  } else if (lifecycle && statement.stage.empty()) {
    warn("cannot pass: every lifecycle statement has a stage; name it");
  } else if (!lifecycle && !statement.stage.empty()) {
    warn("cannot pass: only lifecycle statements have a stage");
  }
  signers(statement.signers);
  lint_predicates(statement, place, findings_, comparisons_);
  const auto& listed = statement.signers.identities;
  const auto& considered = statement.considered;
  if (!considered.empty() && !listed.empty() &&
      std::none_of(listed.begin(), listed.end(), [&](const std::string& one) {
        return std::find(considered.begin(), considered.end(), one) != considered.end();
      })) {
    warn("cannot pass: no listed identity is considered");
  } else if (!considered.empty() && statement.signers.at_least > considered.size()) {
    warn("cannot pass: asks for more identities than are considered");
  }
  if (place.negated && !statement.signers.none_of.empty()) {
    warn("below a not, none_of leaves out people who may have refused", "relation-weak");
  }
  if (statement.quantifier == Quantifier::kAny && !statement.where.empty()) {
    note("any: a statement that does not pass is ignored when enough others do");
  }
  if (statement.quantifier == Quantifier::kLatest && statement.signers.at_least > 1) {
    note("latest: all identities must have signed the one newest statement");
  }
  if (statement.max_age_seconds && *statement.max_age_seconds == 0) {
    warn("cannot pass: max_age_seconds is 0");
  }
  for (std::string& text : lint_evidence(statement.evidence)) {
    warn(std::move(text));
  }
}

void Linter::parameters(const ParametersCondition& parameters) {
  if (parameters.hash.empty() && parameters.chunk_size.empty() && !parameters.ignore &&
      !parameters.objects && parameters.formats.empty()) {
    warn("cannot fail: constrains neither hash nor chunk_size, ignore, objects or formats");
  }
  if (parameters.ignore) {
    for (const std::string& pattern : *parameters.ignore) {
      if (pattern.find_first_of("*?") != std::string::npos) {
        warn(
            "accepts models that leave out every file that the pattern matches, whatever is in "
            "it: " +
            pattern);
      }
    }
  }
  if (parameters.objects == Objects::kTensors) {
    note(
        "tensors alone say nothing of configuration or code: such a model never verifies a "
        "directory");
  }
  const auto known_hash = [](const std::string& hash) {
    return hash_algorithm_from(hash).has_value();
  };
  const auto known_size = [](std::uint32_t size) {
    return check(TreeParameters{HashAlgorithm::kSha256, size}).has_value();
  };
  if (!parameters.hash.empty() &&
      std::none_of(parameters.hash.begin(), parameters.hash.end(), known_hash)) {
    warn("cannot pass: no tree has one of these hashes");
  }
  if (!parameters.chunk_size.empty() &&
      std::none_of(parameters.chunk_size.begin(), parameters.chunk_size.end(), known_size)) {
    warn("cannot pass: no tree has one of these chunk sizes");
  }
}

void Linter::node(const NodeCondition& node) {
  if (node.max_evidence_age_seconds && *node.max_evidence_age_seconds == 0) {
    warn("cannot pass: max_evidence_age_seconds is 0");
  }
  const auto known = [](const std::string& status) {
    return std::find(kTcbStatuses.begin(), kTcbStatuses.end(), status) != kTcbStatuses.end();
  };
  if (!node.tcb_status.empty() &&
      std::none_of(node.tcb_status.begin(), node.tcb_status.end(), known)) {
    warn("cannot pass: no evidence has one of these statuses");
  }
  for (const std::string& anchor : node.anchors) {
    warn(
        Anchor::parse(anchor)
            ? "accepts evidence under an anchor beside the vendor's, which proves nothing about "
              "hardware: " +
                  anchor
            : "an anchor is the digest of a certificate (sha256:...), of a plug-in (plugin:...) or "
              "of a key set (jwks:...): " +
                  anchor);
  }
  for (const std::string& warning : lint_boot(node.boot)) {
    warn(warning);
  }
  if (!node.worker_measured) {
    note(node.max_evidence_age_seconds || !node.tcb_status.empty()
             ? "max_evidence_age_seconds and tcb_status need evidence, worker_measured or not"
             : "asks for an enrolled node, measured or not");
  }
}

void Linter::report(const ReportCondition& report) {
  if (report.scope == kDeviceMemoryScope) {
    memory(report);
  } else if (report.scope != kFilesScope) {
    warn("cannot pass: no report has this scope");
  }
  if (report.at_serve) {
    note("is judged at serve: whoever asks then orders a job on the pod's own mount before");
  }
  if (report.device_attested && report.scope != kDeviceMemoryScope) {
    warn("cannot pass: device_attested is about the devices that read memory");
  }
  if (!report.max_age_seconds) {
    note("without max_age_seconds a report counts however old it is");
  } else if (*report.max_age_seconds == 0) {
    warn("cannot pass: max_age_seconds is 0");
  }
  if (!report.worker_measured) {
    note("a report by a worker without evidence is the word of whoever runs the node");
  }
}

void Linter::memory(const ReportCondition& report) {
  note("whoever asks at serve orders a job on the pod's instance before");
  if (report.min_spot_checks) {
    warn("cannot pass: device memory is hashed in full and not spot-checked");
  }
  if (!report.memory.watched) {
    note("watched is false: what changes in memory after the report is not seen");
  }
  if (!report.memory.min_device_percent) {
    note(
        "without min_device_percent a process may compute with memory of its device that it did "
        "not register");
  }
  if (!report.memory.max_uncovered_bytes) {
    note("without max_uncovered_bytes a process may keep any buffers unregistered");
  }
  if (!report.memory.in_place) {
    note("without in_place the process may hand over copies of what it computes with");
  }
}

void Linter::request(const RequestCondition& request) {
  if (!request.users.empty() || !request.groups.empty()) {
    note(
        "users and groups are those of the request that creates the pod: for pods of a Deployment "
        "or Job that is a controller");
  }
  if (!request.principals.empty() &&
      (!request.users.empty() || !request.groups.empty() || !request.service_accounts.empty())) {
    warn("cannot pass: only requests without a pod have a principal, and they have nothing else");
  }
}

void Linter::leaf(const Condition& condition, const LintPlace& place) {
  const bool negated = place.negated;
  if (condition.open_set) {
    return;  // said already; its lists are not what is judged
  }
  if (const auto* manifest = std::get_if<ManifestCondition>(&condition.kind)) {
    signers(manifest->signers);
  } else if (const auto* one = std::get_if<StatementCondition>(&condition.kind)) {
    statement(*one, place);
  } else if (const auto* tree = std::get_if<ParametersCondition>(&condition.kind)) {
    parameters(*tree);
  } else if (const auto* asked = std::get_if<NodeCondition>(&condition.kind)) {
    node(*asked);
  } else if (const auto* wanted = std::get_if<ReportCondition>(&condition.kind)) {
    report(*wanted);
  } else if (const auto* who = std::get_if<RequestCondition>(&condition.kind)) {
    request(*who);
  } else if (const auto* lineage = std::get_if<LineageCondition>(&condition.kind)) {
    if (const auto step = step_of_edges(*lineage); step && !negated && !asks_for_step_) {
      warn(
          "edges says who signs a step, and nothing says that there was one: a model of which "
          "somebody signed the stage collect alone passes; add \"stages\", such as [\"" +
          *step + "\"]");
    }
    take(lint_lineage(*lineage, negated));
  }
  const auto* own = std::get_if<ParametersCondition>(&condition.kind);
  take(own != nullptr ? lint_formats(*own, negated) : std::vector<Finding>());
  if (negated && own == nullptr) {
    note("below a not: when nothing of the kind is known, that is an error, not a pass");
  } else if (negated && own->ignore) {
    warn("below a not: ignore does not say here which patterns are acceptable; the default holds");
  }
}

void Linter::combined(const Condition& condition, const std::vector<Condition>& parts) {
  if (std::holds_alternative<AllCondition>(condition.kind) && parts.empty()) {
    warn("cannot fail: all of nothing");
  } else if (std::holds_alternative<AnyCondition>(condition.kind) && parts.empty()) {
    warn("cannot pass: any of nothing");
  } else if (std::holds_alternative<NotCondition>(condition.kind) && parts.size() != 1) {
    warn("cannot pass: not takes exactly one condition");
  } else if (const auto* at_least = std::get_if<AtLeastCondition>(&condition.kind)) {
    if (at_least->count == 0) {
      warn("cannot fail: at least 0 conditions");
    } else if (at_least->count > parts.size()) {
      warn("cannot pass: asks for " + std::to_string(at_least->count) + " of " +
           std::to_string(parts.size()) + " conditions");
    }
  }
}

// The member that holds the parts, and whether it is an array.
std::pair<const char*, bool> member_of(const Condition& condition) {
  if (std::holds_alternative<AllCondition>(condition.kind)) {
    return {"/all", true};
  }
  if (std::holds_alternative<AnyCondition>(condition.kind)) {
    return {"/any", true};
  }
  return std::holds_alternative<NotCondition>(condition.kind) ? std::pair("/not", false)
                                                              : std::pair("/at_least/of", true);
}

void Linter::condition(const Condition& condition, int depth, LintPlace place) {
  id_ = place.id = condition.id;
  where_ = place.where;
  note("decided at " + std::string(assay::name(point_of(condition))));
  const std::vector<Condition>* parts = parts_of(condition);
  if (parts == nullptr) {
    leaf(condition, place);
    return;
  }
  combined(condition, *parts);
  if (depth >= kMaxConditionDepth) {
    warn("cannot pass: nested too deeply");
    return;
  }
  const auto [member, is_array] = member_of(condition);
  for (std::size_t i = 0; i < parts->size(); ++i) {
    const std::string where =
        place.where + member + (is_array ? "/" + std::to_string(i) : std::string());
    this->condition(
        (*parts)[i], depth + 1,
        {{}, where, place.negated || std::holds_alternative<NotCondition>(condition.kind)});
  }
}

// Sets for which there are no values.
void lint_sets(const PolicyDocument& document, const ReferenceSets& sets,
               std::vector<Finding>& findings) {
  for (const OpenPlace& open : open_places(document, sets)) {
    const bool missing = open.code == Reason::kReferenceSetMissing;
    findings.push_back({missing ? Finding::Level::kWarning : Finding::Level::kError, open.condition,
                        set_entry(open.set) + (missing ? " is not known here: the condition is an "
                                                         "error where the set is not in force"
                                                       : " is of another kind than this list"),
                        std::string(info(open.code).code), open.where});
  }
}

// Whether the place is in a condition that must pass, and not one among several of a combination or
// in a test of the items of an array.
bool must_pass(std::string_view where) {
  const auto skip = [&where](std::string_view member) {
    if (!where.starts_with(member)) {
      return false;
    }
    where.remove_prefix(member.size());
    where.remove_prefix(std::min(where.find('/'), where.size()));
    return true;
  };
  if (where == "/require" || !skip("/require/")) {
    return where == "/require";
  }
  while (skip("/all/")) {
  }
  constexpr std::array<std::string_view, 3> kCombinations = {"/any", "/not", "/at_least"};
  return std::ranges::none_of(kCombinations,
                              [&](std::string_view one) { return where.starts_with(one); }) &&
         where.find("/where") == where.rfind("/where");
}

// A condition that must pass, and never does or always does, is nothing that anybody means.
void raise_contradictions(std::vector<Finding>& findings) {
  constexpr std::array<std::string_view, 3> kCodes = {"contradiction", "never-fails",
                                                      "never-passes"};
  for (Finding& finding : findings) {
    if (std::ranges::find(kCodes, finding.code) != kCodes.end() && must_pass(finding.where)) {
      finding.level = Finding::Level::kError;
    }
  }
}

}  // namespace

std::string_view name(Finding::Level level) {
  switch (level) {
    case Finding::Level::kNote:
      return "note";
    case Finding::Level::kWarning:
      return "warning";
    case Finding::Level::kError:
      return "error";
  }
  return "error";
}

std::vector<Finding> lint(const PolicyDocument& document, const ReferenceSets& sets) {
  std::vector<Finding> findings;
  Comparisons comparisons;
  Linter linter(findings, comparisons);
  const ActivePolicy resolved =
      with_sets(StatementId(sha256({})), document, sets);  // its id is not looked at
  const PolicyDocument& policy = resolved.document;
  linter.whole(policy);
  lint_sets(document, sets, findings);
  for (std::size_t i = 0; i < policy.require.size(); ++i) {
    linter.condition(policy.require[i], 1, {{}, "/require/" + std::to_string(i), false});
  }
  lint_logic(policy, findings, comparisons);
  raise_contradictions(findings);
  return findings;
}

}  // namespace assay::policy
