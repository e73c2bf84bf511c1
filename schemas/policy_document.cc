// SPDX-License-Identifier: Apache-2.0
// long-file: the codec of one document, whose parts call each other.
// Policies. Checks what policy.schema.json cannot say: unique ids, depth, number of conditions.
#include "schemas/policy_document.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "schemas/challenge.h"
#include "schemas/members.h"
#include "schemas/policy_relations.h"
#include "schemas/validate.h"

namespace assay {
namespace {

constexpr std::size_t kMaxLevels = 32;
constexpr std::size_t kMaxConditions = 1024;
constexpr std::size_t kMaxPatterns = 1024;
// Of a policy. Its values are copied some times before it is in force, which takes longer than to
// read them.
constexpr std::size_t kMaxPolicyMemory = 4U << 20;
constexpr JsonLimits kPolicyLimits{.max_bytes = 1U << 20, .max_memory = kMaxPolicyMemory};

template <typename E, std::size_t N>
using Names = std::array<std::pair<E, std::string_view>, N>;

constexpr Names<PolicyMode, 3> kModes = {{{PolicyMode::kEnforce, "enforce"},
                                          {PolicyMode::kWarn, "warn"},
                                          {PolicyMode::kShadow, "shadow"}}};
constexpr Names<DecisionPoint, 3> kPoints = {{{DecisionPoint::kCreate, "create"},
                                              {DecisionPoint::kBind, "bind"},
                                              {DecisionPoint::kServe, "serve"}}};
constexpr Names<MountRule, 2> kMountRules = {
    {{MountRule::kExact, "exact"}, {MountRule::kWithin, "within"}}};
constexpr Names<Quantifier, 3> kQuantifiers = {
    {{Quantifier::kEvery, "every"}, {Quantifier::kAny, "any"}, {Quantifier::kLatest, "latest"}}};
template <typename E, std::size_t N>
std::string_view name_in(const Names<E, N>& names, E wanted) {
  for (const auto& [value, text] : names) {
    if (value == wanted) {
      return text;
    }
  }
  return "unknown";
}

template <typename E, std::size_t N>
Result<E> value_in(const Names<E, N>& names, std::string_view text, const char* what) {
  for (const auto& [value, known] : names) {
    if (known == text) {
      return value;
    }
  }
  return fail(ErrorCode::kInvalidParameter, std::string("there is no such ") + what);
}

// --- reading, after validation

class Reader {
 public:
  explicit Reader(PatternBudget& budget) : budget_(budget) {}
  Result<std::vector<Condition>> conditions(const Json& list, const std::string& where,
                                            std::size_t level);

 private:
  Result<Condition> condition(const Json& json, const std::string& where, std::size_t level);
  Result<Condition> combined(const Json& json, std::string id, const std::string& where,
                             std::size_t level);

  std::set<std::string> ids_;
  std::size_t patterns_ = 0;
  PatternBudget& budget_;
};

std::unexpected<Error> invalid(std::string why, std::string where) {
  return fail(ErrorCode::kPolicyInvalid, std::move(why), std::move(where));
}

SignerRequirement read_signers(const Json& json) {
  const Json none = Json::object();
  const Json& signers = members::child(json, "signers", none);
  return {members::number(signers, "at_least", 1), members::texts(signers, "identities"),
          members::texts(signers, "none_of")};
}

// How many patterns these tests compile. Each takes up to Pattern::kMaxMemory.
std::size_t patterns_in(const Json& tests) {
  const Json none = Json::array();
  std::size_t patterns = 0;
  for (const Json& test : tests) {
    patterns += members::text(test, "op") == "matches" ? 1U : 0U;
    patterns += patterns_in(members::child(test, "where", none));
  }
  return patterns;
}

Result<StatementCondition> read_statement(const Json& json, const std::string& where,
                                          PatternBudget& budget) {
  StatementCondition condition;
  condition.predicate_type = members::text(json, "predicate_type");
  condition.stage = members::text(json, "stage");
  condition.signers = read_signers(json);
  const Json none = Json::array();
  for (const Json& test : members::child(json, "where", none)) {
    ASSAY_ASSIGN(PredicateTest read,
                 predicate_test_from_json(
                     test, where + "/where/" + std::to_string(condition.where.size()), budget));
    condition.where.push_back(std::move(read));
  }
  if (json.contains("quantifier")) {
    ASSAY_ASSIGN(condition.quantifier,
                 value_in(kQuantifiers, members::text(json, "quantifier"), "quantifier"));
  }
  if (json.contains("max_age_seconds")) {
    condition.max_age_seconds = members::number(json, "max_age_seconds");
  }
  const Json nobody = Json::object();
  condition.considered = members::texts(members::child(json, "considered", nobody), "identities");
  if (json.contains("evidence")) {
    condition.evidence = read_evidence_demands(json["evidence"]);
  }
  return condition;
}

Result<ParametersCondition> read_parameters(const Json& json, const std::string& where) {
  ParametersCondition condition{members::texts(json, "hash"), {}};
  const Json none = Json::array();
  for (const Json& size : members::child(json, "chunk_size", none)) {
    condition.chunk_size.push_back(size.get<std::uint32_t>());
  }
  if (json.contains("ignore")) {
    condition.ignore = members::texts(json, "ignore");
    for (const std::string& pattern : *condition.ignore) {
      if (auto status = check_ignore_pattern(pattern); !status) {
        return invalid(std::move(status).error().detail, where + "/ignore");
      }
    }
  }
  if (json.contains("objects")) {
    ASSAY_ASSIGN(condition.objects, parse_objects(members::text(json, "objects")));
  }
  return condition;
}

std::optional<std::uint64_t> optional_number(const Json& json, std::string_view name) {
  return json.contains(name) ? std::optional(members::number(json, name)) : std::nullopt;
}

NodeCondition read_node(const Json& json) {
  return {.max_evidence_age_seconds = optional_number(json, "max_evidence_age_seconds"),
          .worker_measured = json.value("worker_measured", true),
          .tcb_status = members::texts(json, "tcb_status"),
          .anchors = members::texts(json, "anchors"),
          .boot = json.contains("boot") ? std::optional(read_boot_demands(json["boot"]))
                                        : std::nullopt};
}

Result<ReportCondition> read_report(const Json& json, const std::string& where) {
  ReportCondition condition;
  if (json.contains("scope")) {
    condition.scope = members::text(json, "scope");
  }
  condition.at_serve = members::text(json, "at") == "serve";
  condition.max_age_seconds = optional_number(json, "max_age_seconds");
  condition.worker_measured = json.value("worker_measured", true);
  condition.device_attested = json.value("device_attested", false);
  condition.min_spot_checks = optional_number(json, "min_spot_checks");
  condition.memory = {.watched = json.value("watched", true),
                      .in_place = json.value("in_place", false),
                      .max_uncovered_bytes = optional_number(json, "max_uncovered_bytes"),
                      .min_device_percent = optional_number(json, "min_device_percent"),
                      .min_redrawn = optional_number(json, "min_redrawn")};
  for (const char* member :
       {"watched", "in_place", "max_uncovered_bytes", "min_device_percent", "min_redrawn"}) {
    if (json.contains(member) && condition.scope != kDeviceMemoryScope) {
      return invalid("only a report of scope device-memory has this", where + "/" + member);
    }
  }
  return condition;
}

Result<std::vector<Condition>> Reader::conditions(const Json& list, const std::string& where,
                                                  std::size_t level) {
  std::vector<Condition> out;
  for (const Json& item : list) {
    const std::string place = where + "/" + std::to_string(out.size());
    ASSAY_ASSIGN(Condition read, condition(item, place, level));
    out.push_back(std::move(read));
  }
  return out;
}

Result<Condition> Reader::condition(const Json& json, const std::string& where, std::size_t level) {
  if (level > kMaxLevels) {
    return invalid("conditions are nested deeper than 32 levels", where);
  }
  std::string id = members::text(json, "id");
  if (std::find(kReservedIds.begin(), kReservedIds.end(), id) != kReservedIds.end()) {
    return invalid("what every policy demands has this id", where + "/id");
  }
  if (!ids_.insert(id).second) {
    return invalid("two conditions of the policy have this id", where + "/id");
  }
  if (ids_.size() > kMaxConditions) {
    return invalid("a policy has at most 1024 conditions", where);
  }
  if (const auto kind = json.find("manifest"); kind != json.end()) {
    return Condition{std::move(id), ManifestCondition{read_signers(*kind)}};
  }
  if (const auto kind = json.find("statement"); kind != json.end()) {
    const Json none = Json::array();
    patterns_ += patterns_in(members::child(*kind, "where", none));
    if (patterns_ > kMaxPatterns) {
      return invalid("a policy has at most 1024 tests with `matches`", where + "/statement/where");
    }
    ASSAY_ASSIGN(StatementCondition statement,
                 read_statement(*kind, where + "/statement", budget_));
    return Condition{std::move(id), std::move(statement)};
  }
  if (const auto kind = json.find("parameters"); kind != json.end()) {
    ASSAY_ASSIGN(ParametersCondition parameters, read_parameters(*kind, where + "/parameters"));
    return Condition{std::move(id), std::move(parameters)};
  }
  if (const auto kind = json.find("node"); kind != json.end()) {
    return Condition{std::move(id), read_node(*kind)};
  }
  if (const auto kind = json.find("report"); kind != json.end()) {
    ASSAY_ASSIGN(ReportCondition report, read_report(*kind, where + "/report"));
    return Condition{std::move(id), std::move(report)};
  }
  if (const auto kind = json.find("request"); kind != json.end()) {
    return Condition{std::move(id), request_condition_from_json(*kind)};
  }
  if (const auto kind = json.find("window"); kind != json.end()) {
    ASSAY_ASSIGN(const TimeWindow window, time_window_from_json(*kind, where + "/window"));
    return Condition{std::move(id), WindowCondition{window}};
  }
  if (const auto kind = json.find("lineage"); kind != json.end()) {
    ASSAY_ASSIGN(LineageCondition lineage, lineage_condition_from(*kind, where + "/lineage"));
    return Condition{std::move(id), std::move(lineage)};
  }
  return combined(json, std::move(id), where, level);
}

Result<Condition> Reader::combined(const Json& json, std::string id, const std::string& where,
                                   std::size_t level) {
  if (const auto kind = json.find("all"); kind != json.end()) {
    ASSAY_ASSIGN(std::vector<Condition> of, conditions(*kind, where + "/all", level + 1));
    return Condition{std::move(id), AllCondition{std::move(of)}};
  }
  if (const auto kind = json.find("any"); kind != json.end()) {
    ASSAY_ASSIGN(std::vector<Condition> of, conditions(*kind, where + "/any", level + 1));
    return Condition{std::move(id), AnyCondition{std::move(of)}};
  }
  if (const auto kind = json.find("not"); kind != json.end()) {
    ASSAY_ASSIGN(Condition part, condition(*kind, where + "/not", level + 1));
    NotCondition negation;
    negation.of.push_back(std::move(part));
    return Condition{std::move(id), std::move(negation)};
  }
  const auto kind = json.find("at_least");
  if (kind == json.end()) {
    return invalid("the condition has no known kind", where);
  }
  const Json none = Json::array();
  ASSAY_ASSIGN(std::vector<Condition> of,
               conditions(members::child(*kind, "of", none), where + "/at_least/of", level + 1));
  const std::uint64_t count = members::number(*kind, "count");
  if (count == 0 || count > of.size()) {
    return invalid("at_least asks for more conditions than it lists", where + "/at_least/count");
  }
  return Condition{std::move(id), AtLeastCondition{count, std::move(of)}};
}

// --- node affinity

// A part of a label: at most 63 letters, digits, '-', '_' and '.', ends in letters or digits.
bool is_label_name(std::string_view text) {
  constexpr std::size_t kMaxLabelName = 63;
  const auto alphanumeric = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !text.empty() && text.size() <= kMaxLabelName && alphanumeric(text.front()) &&
         alphanumeric(text.back()) && std::all_of(text.begin(), text.end(), [&](char c) {
           return alphanumeric(c) || c == '-' || c == '_' || c == '.';
         });
}

// [prefix/]name, the prefix a DNS subdomain, as Kubernetes has it.
bool is_label(std::string_view label) {
  const std::size_t slash = label.find('/');
  if (slash == std::string_view::npos) {
    return is_label_name(label);
  }
  return check_node_name(label.substr(0, slash)).has_value() &&
         is_label_name(label.substr(slash + 1));
}

Result<std::map<std::string, std::vector<std::string>>> read_affinity(const Json& json) {
  std::map<std::string, std::vector<std::string>> affinity;
  const Json none = Json::object();
  const Json& labels = members::child(json, "node_affinity", none);
  for (const auto& [label, values] : labels.items()) {
    if (!is_label(label)) {
      return invalid("labels look like name or prefix.example/name", "/node_affinity");
    }
    affinity.emplace(label, members::texts(labels, label));
  }
  return affinity;
}

// The kubelet puts variables of the container, which the pod gives, in the place of "$(NAME)": a
// list with one binds nothing.
Result<std::optional<std::vector<std::string>>> read_run_list(const Json& json, const char* member,
                                                              const std::string& where) {
  if (!json.contains(member)) {
    return std::optional<std::vector<std::string>>();
  }
  std::vector<std::string> list = members::texts(json, member);
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].find("$(") != std::string::npos) {
      return invalid("what a pod puts in the place of $(NAME) is not bound: write the value",
                     where + "/" + member + "/" + std::to_string(i));
    }
  }
  return list;
}

Result<std::vector<Filler>> read_fillers(const Json& json,
                                         const std::vector<std::string>& fill_at_run) {
  std::vector<Filler> fillers;
  static const Json kNone = Json::array();
  for (const Json& item : members::child(json, "fillers", kNone)) {
    const std::string where = "/fillers/" + std::to_string(fillers.size());
    Filler filler{members::text(item, "image")};
    if (std::ranges::find(fill_at_run, filler.image) == fill_at_run.end()) {
      return invalid("the image of a filler is one of fill_at_run", where + "/image");
    }
    ASSAY_ASSIGN(filler.command, read_run_list(item, "command", where));
    ASSAY_ASSIGN(filler.args, read_run_list(item, "args", where));
    if (!filler.command && !filler.args) {
      return invalid("a filler has command, args or both", where);
    }
    fillers.push_back(std::move(filler));
  }
  return fillers;
}

Status read_pod_members(const Json& json, PolicyDocument& policy) {
  ASSAY_ASSIGN(policy.node_affinity, read_affinity(json));
  policy.other_volumes = members::texts(json, "other_volumes");
  policy.images = members::texts(json, "images");
  policy.mount_paths = members::texts(json, "mount_paths");
  if (json.contains("mounts")) {
    ASSAY_ASSIGN(policy.mounts,
                 value_in(kMountRules, members::text(json, "mounts"), "rule for mounts"));
  }
  policy.writable_mounts = json.value("writable_mounts", false);
  policy.fill_at_run = members::texts(json, "fill_at_run");
  ASSAY_ASSIGN(policy.fillers, read_fillers(json, policy.fill_at_run));
  return {};
}

// --- writing

template <typename T>
void put_list(Json& json, const char* name, const std::vector<T>& list) {
  if (!list.empty()) {
    json[name] = list;
  }
}

Json to_json(const SignerRequirement& signers) {
  Json json = {{"at_least", signers.at_least}};
  put_list(json, "identities", signers.identities);
  put_list(json, "none_of", signers.none_of);
  return json;
}

Json to_json(const StatementCondition& condition) {
  Json json = {{"predicate_type", condition.predicate_type},
               {"signers", to_json(condition.signers)},
               {"quantifier", name(condition.quantifier)}};
  if (!condition.stage.empty()) {
    json["stage"] = condition.stage;
  }
  for (const PredicateTest& test : condition.where) {
    json["where"].push_back(to_json(test));
  }
  if (condition.max_age_seconds) {
    json["max_age_seconds"] = *condition.max_age_seconds;
  }
  if (!condition.considered.empty()) {
    json["considered"] = {{"identities", condition.considered}};
  }
  if (condition.evidence) {
    json["evidence"] = to_json(*condition.evidence);
  }
  return json;
}

Json to_json(const ParametersCondition& condition) {
  Json json = Json::object();
  put_list(json, "hash", condition.hash);
  put_list(json, "chunk_size", condition.chunk_size);
  if (condition.ignore) {
    json["ignore"] = *condition.ignore;
  }
  if (condition.objects) {
    json["objects"] = name(*condition.objects);
  }
  return json;
}

Json to_json(const NodeCondition& condition) {
  Json json = {{"worker_measured", condition.worker_measured}};
  if (condition.max_evidence_age_seconds) {
    json["max_evidence_age_seconds"] = *condition.max_evidence_age_seconds;
  }
  put_list(json, "tcb_status", condition.tcb_status);
  put_list(json, "anchors", condition.anchors);
  if (condition.boot) {
    json["boot"] = to_json(*condition.boot);
  }
  return json;
}

Json to_json(const ReportCondition& condition) {
  Json json = {{"scope", condition.scope},
               {"worker_measured", condition.worker_measured},
               {"device_attested", condition.device_attested}};
  if (condition.at_serve) {
    json["at"] = "serve";
  }
  if (condition.max_age_seconds) {
    json["max_age_seconds"] = *condition.max_age_seconds;
  }
  if (condition.min_spot_checks) {
    json["min_spot_checks"] = *condition.min_spot_checks;
  }
  if (condition.scope == kDeviceMemoryScope) {
    json["watched"] = condition.memory.watched;
    json["in_place"] = condition.memory.in_place;
  }
  if (condition.memory.max_uncovered_bytes) {
    json["max_uncovered_bytes"] = *condition.memory.max_uncovered_bytes;
  }
  if (condition.memory.min_device_percent) {
    json["min_device_percent"] = *condition.memory.min_device_percent;
  }
  if (condition.memory.min_redrawn) {
    json["min_redrawn"] = *condition.memory.min_redrawn;
  }
  return json;
}

Json to_json(const Condition& condition);

Json to_json(const std::vector<Condition>& conditions) {
  Json out = Json::array();
  for (const Condition& condition : conditions) {
    out.push_back(to_json(condition));
  }
  return out;
}

Json to_json(const Condition& condition) {
  Json json = {{"id", condition.id}};
  if (const auto* manifest = std::get_if<ManifestCondition>(&condition.kind)) {
    json["manifest"] = {{"signers", to_json(manifest->signers)}};
  } else if (const auto* statement = std::get_if<StatementCondition>(&condition.kind)) {
    json["statement"] = to_json(*statement);
  } else if (const auto* parameters = std::get_if<ParametersCondition>(&condition.kind)) {
    json["parameters"] = to_json(*parameters);
  } else if (const auto* node = std::get_if<NodeCondition>(&condition.kind)) {
    json["node"] = to_json(*node);
  } else if (const auto* report = std::get_if<ReportCondition>(&condition.kind)) {
    json["report"] = to_json(*report);
  } else if (const auto* request = std::get_if<RequestCondition>(&condition.kind)) {
    json["request"] = to_json(*request);
  } else if (const auto* window = std::get_if<WindowCondition>(&condition.kind)) {
    json["window"] = to_json(window->window);
  } else if (const auto* lineage = std::get_if<LineageCondition>(&condition.kind)) {
    json["lineage"] = to_json(*lineage);
  } else if (const auto* all = std::get_if<AllCondition>(&condition.kind)) {
    json["all"] = to_json(all->of);
  } else if (const auto* any = std::get_if<AnyCondition>(&condition.kind)) {
    json["any"] = to_json(any->of);
  } else if (const auto* negation = std::get_if<NotCondition>(&condition.kind)) {
    json["not"] = negation->of.empty() ? Json() : to_json(negation->of.front());
  } else if (const auto* at_least = std::get_if<AtLeastCondition>(&condition.kind)) {
    json["at_least"] = {{"count", at_least->count}, {"of", to_json(at_least->of)}};
  }
  return json;
}

// What a policy says about the pods that it matches.
void write_pod_members(const PolicyDocument& policy, Json& json) {
  if (!policy.node_affinity.empty()) {
    json["node_affinity"] = policy.node_affinity;
  }
  for (const auto& [member, patterns] :
       {std::pair{"other_volumes", &policy.other_volumes}, std::pair{"images", &policy.images},
        std::pair{"mount_paths", &policy.mount_paths},
        std::pair{"fill_at_run", &policy.fill_at_run}}) {
    if (!patterns->empty()) {
      json[member] = *patterns;
    }
  }
  for (const Filler& filler : policy.fillers) {
    Json item = {{"image", filler.image}};
    for (const auto& [member, list] :
         {std::pair{"command", &filler.command}, std::pair{"args", &filler.args}}) {
      if (*list) {
        item[member] = **list;
      }
    }
    json["fillers"].push_back(std::move(item));
  }
  if (policy.mounts != MountRule::kExact) {
    json["mounts"] = name(policy.mounts);
  }
  if (policy.writable_mounts) {
    json["writable_mounts"] = true;
  }
  if (Json names = to_json(policy.names); !names.is_null()) {
    json["names"] = std::move(names);
  }
}

}  // namespace

std::string_view name(PolicyMode mode) { return name_in(kModes, mode); }
std::string_view name(DecisionPoint point) { return name_in(kPoints, point); }
std::string_view name(MountRule rule) { return name_in(kMountRules, rule); }
std::string_view name(Quantifier quantifier) { return name_in(kQuantifiers, quantifier); }

Result<DecisionPoint> decision_point_from(std::string_view name) {
  return value_in(kPoints, name, "decision point: use create, bind or serve");
}

Result<PolicyDocument> parse_policy(ByteView payload) {
  PatternBudget budget;
  return parse_policy(payload, budget);
}

Result<PolicyDocument> parse_policy(ByteView payload, PatternBudget& budget) {
  ASSAY_ASSIGN(const Json json, parse_json(payload, kPolicyLimits));
  ASSAY_TRY(validate("policy", json));
  PolicyDocument policy;
  policy.name = members::text(json, "name");
  policy.version = members::number(json, "version");
  policy.description = members::text(json, "description");
  ASSAY_ASSIGN(policy.mode, value_in(kModes, members::text(json, "mode"), "mode"));
  policy.match = match_from_json(json["match"]);
  ASSAY_TRY(read_pod_members(json, policy));
  ASSAY_ASSIGN(policy.names, names_from_json(json));
  ASSAY_ASSIGN(policy.require, Reader(budget).conditions(json["require"], "/require", 1));
  ASSAY_TRY(check_relations(policy.require));
  ASSAY_TRY(mark_sets(policy.require, "/require"));
  return policy;
}

Json to_json(const PolicyDocument& policy) {
  Json json = {{"name", policy.name},
               {"version", policy.version},
               {"mode", name(policy.mode)},
               {"match", to_json(policy.match)},
               {"require", to_json(policy.require)}};
  if (!policy.description.empty()) {
    json["description"] = policy.description;
  }
  write_pod_members(policy, json);
  return json;
}

}  // namespace assay
