// SPDX-License-Identifier: Apache-2.0
// A second evaluator of policies, as slow and plain as possible.
#include "tests/support/policy_reference.h"

#include <algorithm>
#include <cstdlib>
#include <regex>

#include "schemas/manifest.h"

namespace assay::policy::reference {
namespace {

enum class Truth { kNo, kYes, kUnknown };

Truth truth(bool value) { return value ? Truth::kYes : Truth::kNo; }

// One world: every unknown thing, in the order it is asked for, is yes or no.
class World {
 public:
  explicit World(std::uint32_t bits) : bits_(bits) {}
  bool decide(Truth value) {
    if (value != Truth::kUnknown) {
      return value == Truth::kYes;
    }
    if (++unknown_ > 20) {
      std::abort();
    }
    return (bits_ >> (unknown_ - 1) & 1U) != 0;
  }
  [[nodiscard]] int unknown() const { return unknown_; }

 private:
  std::uint32_t bits_;
  int unknown_ = 0;
};

// pass or fail when `holds` says the same in every world, else error.
template <typename Holds>
Outcome in_every_world(Holds holds) {
  World first(0);
  const bool answer = holds(first);
  for (std::uint32_t bits = 1; bits < 1U << first.unknown(); ++bits) {
    World world(bits);
    if (holds(world) != answer) {
      return Outcome::kError;
    }
  }
  return answer ? Outcome::kPass : Outcome::kFail;
}

Answer answer(Outcome outcome, ErrorCode code) {
  return {{}, outcome, outcome == Outcome::kPass ? std::nullopt : std::optional(code), {}};
}

struct Case {
  const Facts& facts;
  const std::string& node;
  DecisionPoint point;
  Timestamp now;

  // --- signatures
  [[nodiscard]] Truth counts(const SignerFact& signer, const SigningContext& context,
                             std::optional<ErrorCode>* why = nullptr) const {
    const Status grant = check_grant(signer.key, context, signer.signed_at, now);
    if (!grant && why != nullptr) {
      *why = grant.error().code;
    }
    if (!grant) {
      return Truth::kNo;
    }
    return signer.signed_at > now ? Truth::kUnknown : Truth::kYes;
  }

  static SigningContext publisher_of(const ManifestFact& manifest) {
    return {KeyPurpose::kPublisher, "", std::string(kManifestPredicateType), manifest.name};
  }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (const ManifestFact& manifest : facts.manifests) {
      for (const SignerFact& signer : manifest.statement.signers) {
        if (counts(signer, publisher_of(manifest)) == Truth::kYes) {
          list.push_back(manifest.name);
        }
      }
    }
    return list.empty() ? std::vector<std::string>{"!"} : list;
  }

  [[nodiscard]] Truth counts(const SignerFact& signer, const StatementFact& statement) const {
    Truth best = Truth::kNo;
    for (const std::string& name : names()) {
      const Truth one =
          counts(signer, {KeyPurpose::kSigner, statement.stage, statement.predicate_type, name});
      best = one == Truth::kNo ? best : one;
    }
    return best;
  }

  // --- conditions
  [[nodiscard]] Answer judge(const ManifestCondition& condition) const;
  [[nodiscard]] Answer judge(const StatementCondition& condition) const;
  [[nodiscard]] Answer judge(const ParametersCondition& condition) const;
  [[nodiscard]] Answer judge(const NodeCondition& condition) const;
  [[nodiscard]] Answer judge(const ReportCondition& condition) const;
  [[nodiscard]] Answer judge(const Condition& condition, bool below_not) const;
};

bool enough(const std::set<std::string>& identities, const SignerRequirement& requirement) {
  std::size_t listed = 0;
  for (const std::string& identity : identities) {
    const auto& list = requirement.identities;
    if (list.empty() || std::find(list.begin(), list.end(), identity) != list.end()) {
      ++listed;
    }
  }
  return listed >= requirement.at_least;
}

bool is_listed(const std::string& identity, const SignerRequirement& requirement) {
  const auto& list = requirement.identities;
  return list.empty() || std::find(list.begin(), list.end(), identity) != list.end();
}

Answer Case::judge(const ManifestCondition& condition) const {
  const Outcome outcome = in_every_world([&](World& world) {
    std::set<std::string> identities;
    for (const ManifestFact& manifest : facts.manifests) {
      for (const SignerFact& signer : manifest.statement.signers) {
        if (world.decide(counts(signer, publisher_of(manifest)))) {
          identities.insert(signer.key.identity);
        }
      }
    }
    return enough(identities, condition.signers);
  });
  if (outcome != Outcome::kFail) {
    return answer(outcome, ErrorCode::kConditionUndecided);
  }
  if (facts.manifests.empty()) {
    return answer(outcome, ErrorCode::kManifestMissing);
  }
  std::set<ErrorCode> reasons;
  for (const ManifestFact& manifest : facts.manifests) {
    for (const SignerFact& signer : manifest.statement.signers) {
      std::optional<ErrorCode> why = ErrorCode::kInternal;  // counts, or might
      (void)counts(signer, publisher_of(manifest), &why);
      if (is_listed(signer.key.identity, condition.signers)) {
        reasons.insert(*why);
      }
    }
  }
  const bool one = reasons.size() == 1 && !reasons.contains(ErrorCode::kInternal);
  return answer(outcome, one ? *reasons.begin() : ErrorCode::kSignersInsufficient);
}

// --- one statement

// The value at an RFC 6901 pointer, by nlohmann's own implementation.
std::optional<Json> find(const Json& document, const std::string& pointer) {
  const Json::json_pointer place(pointer);
  return document.contains(place) ? std::optional(document.at(place)) : std::nullopt;
}

Truth compare(const Json& a, Comparison op, const Json& b) {
  if (op == Comparison::kIn) {
    Truth best = Truth::kUnknown;
    for (const Json& element : b) {
      const Truth one = compare(a, Comparison::kEqual, element);
      if (one == Truth::kYes) {
        return one;
      }
      best = one == Truth::kNo ? one : best;
    }
    return best;
  }
  if (a.is_number() && b.is_number()) {
    const auto x = a.get<long double>();
    const auto y = b.get<long double>();
    const bool holds[] = {x == y, x != y, x<y, x <= y, x> y, x >= y};
    return truth(holds[static_cast<std::size_t>(op)]);
  }
  const bool same = (a.is_string() && b.is_string()) || (a.is_boolean() && b.is_boolean()) ||
                    (a.is_null() && b.is_null());
  if (!same || (op != Comparison::kEqual && op != Comparison::kNotEqual)) {
    return Truth::kUnknown;
  }
  return truth((a.dump() == b.dump()) == (op == Comparison::kEqual));
}

struct Tested {
  Truth holds;
  ErrorCode code;
};

// Everything that is asked of one statement.
std::vector<Tested> tests(const StatementCondition& condition, const StatementFact& statement,
                          Timestamp now) {
  if (statement.accepted_at > now) {
    return {{Truth::kUnknown, ErrorCode::kConditionUndecided}};
  }
  std::vector<Tested> list;
  for (const PredicateTest& test : condition.where) {
    const auto value = find(statement.predicate, test.pointer);
    if (!value) {
      list.push_back({Truth::kUnknown, ErrorCode::kValueMissing});
      continue;
    }
    const Truth holds = compare(*value, test.op, test.value);
    list.push_back({holds, holds == Truth::kUnknown ? ErrorCode::kConditionUndecided
                                                    : ErrorCode::kPredicateMismatch});
  }
  if (condition.max_age_seconds) {
    const auto age = now - statement.accepted_at;
    list.push_back({truth(age <= std::chrono::seconds(*condition.max_age_seconds)),
                    ErrorCode::kStatementStale});
  }
  return list;
}

// The first test with this truth; nullptr when there is none.
const Tested* first(const std::vector<Tested>& list, Truth wanted) {
  for (const Tested& one : list) {
    if (one.holds == wanted) {
      return &one;
    }
  }
  return nullptr;
}

Answer Case::judge(const StatementCondition& condition) const {
  std::vector<StatementFact> statements;
  for (const StatementFact& statement : facts.statements) {
    bool somebody = false;
    for (const SignerFact& signer : statement.signers) {
      somebody = somebody || counts(signer, statement) != Truth::kNo;
    }
    if (somebody && statement.predicate_type == condition.predicate_type &&
        statement.stage == condition.stage) {
      statements.push_back(statement);
    }
  }
  if (statements.empty()) {
    return answer(Outcome::kFail, ErrorCode::kStatementMissing);
  }
  std::sort(statements.begin(), statements.end(),
            [](const auto& a, const auto& b) { return a.log_index < b.log_index; });
  if (condition.quantifier == Quantifier::kLatest) {
    statements = {statements.back()};
  }
  const bool any = condition.quantifier == Quantifier::kAny;
  const Outcome outcome = in_every_world([&](World& world) {
    std::set<std::string> identities;
    bool all = true;
    for (const StatementFact& statement : statements) {
      bool holds = true;
      for (const Tested& test : tests(condition, statement, now)) {
        holds = world.decide(test.holds) && holds;
      }
      all = all && holds;
      for (const SignerFact& signer : statement.signers) {
        if (world.decide(counts(signer, statement)) && holds) {
          identities.insert(signer.key.identity);
        }
      }
    }
    return (any || all) && enough(identities, condition.signers);
  });
  std::optional<ErrorCode> failed;
  std::optional<ErrorCode> unknown;
  bool one_passed = false;
  for (const StatementFact& statement : statements) {
    const auto list = tests(condition, statement, now);
    if (const Tested* no = first(list, Truth::kNo)) {
      failed = failed ? failed : no->code;
    } else if (const Tested* maybe = first(list, Truth::kUnknown)) {
      unknown = unknown ? unknown : maybe->code;
    } else {
      one_passed = true;
    }
  }
  if (outcome == Outcome::kError) {
    return answer(outcome, unknown.value_or(ErrorCode::kConditionUndecided));
  }
  const bool tests_decide = failed && (!any || !one_passed);
  return answer(outcome, tests_decide ? *failed : ErrorCode::kSignersInsufficient);
}

Answer Case::judge(const ParametersCondition& condition) const {
  std::set<std::pair<std::string, std::uint32_t>> found;
  for (const ManifestFact& manifest : facts.manifests) {
    const bool of_this_root =
        facts.artifact && facts.artifact->root().algorithm() == manifest.parameters.hash;
    if (of_this_root) {
      found.emplace(name(manifest.parameters.hash), manifest.parameters.chunk_size);
    }
  }
  if (found.size() != 1) {
    return answer(Outcome::kError, ErrorCode::kConditionUndecided);
  }
  const auto& [hash, size] = *found.begin();
  const auto& h = condition.hash;
  const auto& s = condition.chunk_size;
  const bool fits = (h.empty() || std::count(h.begin(), h.end(), hash) > 0) &&
                    (s.empty() || std::count(s.begin(), s.end(), size) > 0);
  return answer(fits ? Outcome::kPass : Outcome::kFail, ErrorCode::kParametersMismatch);
}

// --- nodes

// The answer to a list of demands: the first that is not met, else the first that is not known.
Answer all_of(const std::vector<Tested>& demands) {
  if (const Tested* no = first(demands, Truth::kNo)) {
    return answer(Outcome::kFail, no->code);
  }
  if (first(demands, Truth::kUnknown) != nullptr) {
    return answer(Outcome::kError, ErrorCode::kConditionUndecided);
  }
  return answer(Outcome::kPass, ErrorCode::kInternal);
}

Truth not_later(Timestamp time, Timestamp now) {
  return time <= now ? Truth::kYes : Truth::kUnknown;
}

Truth young(Timestamp time, std::optional<std::uint64_t> max_age, Timestamp now) {
  return truth(!max_age || time + std::chrono::seconds(*max_age) >= now);
}

bool listed(const std::vector<std::string>& list, const std::string& text) {
  return std::count(list.begin(), list.end(), text) > 0;
}

Answer Case::judge(const NodeCondition& condition) const {
  if (node.empty() || !facts.node) {
    return answer(Outcome::kFail,
                  node.empty() ? ErrorCode::kNodeUnknown : ErrorCode::kNodeNotEnrolled);
  }
  const NodeFact& fact = *facts.node;
  const bool needs_evidence = condition.worker_measured || condition.max_evidence_age_seconds ||
                              !condition.tcb_status.empty();
  std::vector<Tested> demands = {
      {truth(!fact.revoked), ErrorCode::kNodeRevoked},
      {truth(fact.expires_at > now), ErrorCode::kEnrolmentExpired},
      {not_later(fact.enrolled_at, now), ErrorCode::kConditionUndecided},
      {fact.name == node ? Truth::kYes : Truth::kUnknown, ErrorCode::kConditionUndecided},
      {truth(fact.worker_measured || !condition.worker_measured), ErrorCode::kWorkerNotMeasured},
      {truth(fact.appraised_at || !needs_evidence), ErrorCode::kWorkerNotMeasured}};
  if (fact.appraised_at) {
    const bool named = fact.anchor && listed(condition.anchors, fact.anchor->text());
    demands.push_back({not_later(*fact.appraised_at, now), ErrorCode::kConditionUndecided});
    demands.push_back({young(*fact.appraised_at, condition.max_evidence_age_seconds, now),
                       ErrorCode::kEvidenceStale});
    demands.push_back(
        {truth(named || (fact.anchor && fact.anchor_is_vendor)), ErrorCode::kAnchorNotAccepted});
    demands.push_back(
        {truth(condition.tcb_status.empty() || listed(condition.tcb_status, fact.tcb_status)),
         ErrorCode::kTcbNotAccepted});
  } else if (fact.worker_measured) {
    demands.push_back({Truth::kUnknown, ErrorCode::kConditionUndecided});
  }
  return all_of(demands);
}

Answer Case::judge(const ReportCondition& condition) const {
  if (node.empty() || !facts.node) {
    return answer(Outcome::kFail,
                  node.empty() ? ErrorCode::kNodeUnknown : ErrorCode::kNodeNotEnrolled);
  }
  std::vector<ReportFact> reports;
  for (const ReportFact& report : facts.reports) {
    if (report.scope == condition.scope) {
      reports.push_back(report);
    }
  }
  std::sort(reports.begin(), reports.end(), [](const auto& a, const auto& b) {
    return a.reported_at < b.reported_at || (a.reported_at == b.reported_at && a.job < b.job);
  });
  std::vector<Tested> demands = {
      {truth(!facts.node->revoked), ErrorCode::kNodeRevoked},
      {facts.node->name == node ? Truth::kYes : Truth::kUnknown, ErrorCode::kConditionUndecided},
      {truth(!reports.empty()), ErrorCode::kReportMissing}};
  if (!reports.empty()) {
    const ReportFact& report = reports.back();
    const ErrorCode other =
        report.result == "mismatch" ? ErrorCode::kModelMismatch : ErrorCode::kReportMissing;
    demands.push_back({truth(report.result == "verified"), other});
    demands.push_back({not_later(report.reported_at, now), ErrorCode::kConditionUndecided});
    demands.push_back(
        {young(report.reported_at, condition.max_age_seconds, now), ErrorCode::kReportStale});
    demands.push_back({truth(report.worker_measured || !condition.worker_measured),
                       ErrorCode::kWorkerNotMeasured});
    demands.push_back({truth(report.device_attested || !condition.device_attested),
                       ErrorCode::kDeviceNotAttested});
    demands.push_back(
        {truth(!condition.min_spot_checks || report.spot_checks >= *condition.min_spot_checks),
         ErrorCode::kSpotCheckMissing});
  }
  return all_of(demands);
}

// --- combinations

DecisionPoint point_of_kind(const Condition& condition) {
  if (std::holds_alternative<NodeCondition>(condition.kind)) {
    return DecisionPoint::kBind;
  }
  if (const auto* report = std::get_if<ReportCondition>(&condition.kind)) {
    return report->scope == "files" ? DecisionPoint::kBind : DecisionPoint::kServe;
  }
  return DecisionPoint::kCreate;
}

// What a condition below a `not` may not be turned round from.
bool says_that_nothing_is_known(ErrorCode code) {
  switch (code) {
    case ErrorCode::kStatementMissing:
    case ErrorCode::kManifestMissing:
    case ErrorCode::kNodeUnknown:
    case ErrorCode::kNodeNotEnrolled:
    case ErrorCode::kNodeRevoked:
    case ErrorCode::kEnrolmentExpired:
    case ErrorCode::kWorkerNotMeasured:
    case ErrorCode::kEvidenceStale:
    case ErrorCode::kAnchorNotAccepted:
    case ErrorCode::kDeviceNotAttested:
    case ErrorCode::kReportMissing:
    case ErrorCode::kReportStale:
    case ErrorCode::kSpotCheckMissing:
      return true;
    default:
      return false;
  }
}

Answer combine(std::vector<Answer> parts, bool (*holds)(std::size_t, std::size_t, std::size_t),
               std::size_t needed) {
  Outcome outcome = in_every_world([&](World& world) {
    std::size_t passed = 0;
    for (const Answer& part : parts) {
      const bool decided = part.outcome == Outcome::kPass || part.outcome == Outcome::kFail;
      passed += world.decide(decided ? truth(part.outcome == Outcome::kPass) : Truth::kUnknown);
    }
    return holds(passed, parts.size(), needed);
  });
  const bool an_error = std::any_of(parts.begin(), parts.end(), [](const Answer& part) {
    return part.outcome == Outcome::kError;
  });
  if (outcome == Outcome::kError && !an_error) {
    outcome = Outcome::kDeferred;
  }
  const ErrorCode code = outcome == Outcome::kFail    ? ErrorCode::kConditionFailed
                         : outcome == Outcome::kError ? ErrorCode::kConditionUndecided
                                                      : ErrorCode::kConditionDeferred;
  Answer combined = answer(outcome, code);
  combined.parts = std::move(parts);
  return combined;
}

Answer Case::judge(const Condition& condition, bool below_not) const {
  const auto parts = [&](const std::vector<Condition>& of, bool negated) {
    std::vector<Answer> answers;
    for (const Condition& part : of) {
      answers.push_back(judge(part, negated));
    }
    return answers;
  };
  Answer result;
  if (point_of_kind(condition) > point) {
    result = answer(Outcome::kDeferred, ErrorCode::kConditionDeferred);
  } else if (const auto* node_asked = std::get_if<NodeCondition>(&condition.kind)) {
    result = judge(*node_asked);
  } else if (const auto* report = std::get_if<ReportCondition>(&condition.kind)) {
    result = judge(*report);
  } else if (const auto* manifest = std::get_if<ManifestCondition>(&condition.kind)) {
    result = judge(*manifest);
  } else if (const auto* statement = std::get_if<StatementCondition>(&condition.kind)) {
    result = judge(*statement);
  } else if (const auto* parameters = std::get_if<ParametersCondition>(&condition.kind)) {
    result = judge(*parameters);
  } else if (const auto* all = std::get_if<AllCondition>(&condition.kind)) {
    result = combine(
        parts(all->of, below_not),
        [](std::size_t passed, std::size_t of, std::size_t) { return passed == of; }, 0);
  } else if (const auto* any = std::get_if<AnyCondition>(&condition.kind)) {
    result = combine(
        parts(any->of, below_not),
        [](std::size_t passed, std::size_t, std::size_t) { return passed > 0; }, 0);
  } else if (const auto* negation = std::get_if<NotCondition>(&condition.kind)) {
    result = combine(
        parts(negation->of, true),
        [](std::size_t passed, std::size_t, std::size_t) { return passed == 0; }, 0);
  } else if (const auto* at_least = std::get_if<AtLeastCondition>(&condition.kind)) {
    result = combine(
        parts(at_least->of, below_not),
        [](std::size_t passed, std::size_t, std::size_t needed) { return passed >= needed; },
        at_least->count);
  }
  if (below_not && result.code && says_that_nothing_is_known(*result.code)) {
    result.outcome = Outcome::kError;
  }
  result.id = condition.id;
  return result;
}

bool workload_fits(const WorkloadMatch& match, const Workload& workload) {
  bool fits = match.namespaces.empty();
  for (const std::string& pattern : match.namespaces) {
    std::string regex;
    for (const char c : pattern) {
      regex += c == '*' ? std::string(".*") : std::string("[") + c + "]";
    }
    fits = fits || std::regex_match(workload.name_space, std::regex(regex));
  }
  for (const auto& [key, value] : match.labels) {
    fits = fits && workload.labels.contains(key) && workload.labels.at(key) == value;
  }
  bool asks = match.resources.empty();
  for (const std::string& resource : match.resources) {
    asks = asks || std::count(workload.resources.begin(), workload.resources.end(), resource) > 0;
  }
  return fits && asks;
}

// The codes that explain why `answer` is not a pass.
std::vector<ErrorCode> reasons_of(const Answer& answer) {
  std::vector<ErrorCode> codes;
  for (const Answer& part : answer.parts) {
    if (part.outcome == Outcome::kFail || part.outcome == Outcome::kError) {
      for (const ErrorCode code : reasons_of(part)) {
        codes.push_back(code);
      }
    }
  }
  return codes.empty() ? std::vector{*answer.code} : codes;
}

}  // namespace

Decision evaluate(const std::vector<ActivePolicy>& policies, const Workload& workload,
                  const Facts& facts, DecisionPoint point, Timestamp now) {
  Decision decision;
  bool enforce = false;
  bool warn = false;
  std::vector<ErrorCode> reasons;
  for (const ActivePolicy& policy : policies) {
    if (!workload_fits(policy.document.match, workload)) {
      continue;
    }
    decision.policies.emplace_back();
    enforce = enforce || policy.document.mode == PolicyMode::kEnforce;
    warn = warn || policy.document.mode == PolicyMode::kWarn;
    for (const Condition& condition : policy.document.require) {
      Answer one = Case{facts, workload.node, point, now}.judge(condition, false);
      if (policy.document.mode == PolicyMode::kEnforce &&
          (one.outcome == Outcome::kFail || one.outcome == Outcome::kError)) {
        const auto codes = reasons_of(one);
        reasons.insert(reasons.end(), codes.begin(), codes.end());
      }
      decision.policies.back().push_back(std::move(one));
    }
  }
  if (enforce && !facts.artifact) {
    reasons.insert(reasons.begin(), ErrorCode::kModelReferenceMissing);
  }
  if (!enforce && !warn) {
    reasons.push_back(ErrorCode::kNoMatchingPolicy);
  }
  for (const ErrorCode code : reasons) {
    if (std::count(decision.reasons.begin(), decision.reasons.end(), code) == 0) {
      decision.reasons.push_back(code);
    }
  }
  decision.allowed = decision.reasons.empty();
  return decision;
}

}  // namespace assay::policy::reference
