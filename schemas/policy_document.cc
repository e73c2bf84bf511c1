// SPDX-License-Identifier: Apache-2.0
// long-file: the codec of one document, whose parts call each other.
// Policies. Checks what policy.schema.json cannot say: unique ids, depth, number of conditions.
#include "schemas/policy_document.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "schemas/core/json_one_of.h"
#include "schemas/core/names.h"
#include "schemas/document.h"
#include "schemas/members.h"
#include "schemas/policy_relations.h"

namespace assay {
namespace {

constexpr std::size_t kMaxLevels = 32;
constexpr std::size_t kMaxConditions = 1024;
constexpr std::size_t kMaxPatterns = 1024;
// Of a policy. Its values are copied some times before it is in force, which takes longer than to
// read them.
constexpr std::size_t kMaxPolicyMemory = 4U << 20;
constexpr JsonLimits kPolicyLimits{.max_bytes = 1U << 20, .max_memory = kMaxPolicyMemory};

constexpr Names<PolicyMode, 3> kModes = {{{{PolicyMode::kEnforce, "enforce"},
                                           {PolicyMode::kWarn, "warn"},
                                           {PolicyMode::kShadow, "shadow"}}}};
constexpr Names<DecisionPoint, 3> kPoints = {{{{DecisionPoint::kCreate, "create"},
                                               {DecisionPoint::kBind, "bind"},
                                               {DecisionPoint::kServe, "serve"}}}};
constexpr Names<MountRule, 2> kMountRules = {
    {{{MountRule::kExact, "exact"}, {MountRule::kWithin, "within"}}}};
constexpr Names<Quantifier, 3> kQuantifiers = {
    {{{Quantifier::kEvery, "every"}, {Quantifier::kAny, "any"}, {Quantifier::kLatest, "latest"}}}};

template <auto& kNames>
constexpr auto enumeration(const char* what) {
  return json::named([what](std::string_view text) { return kNames.parse(text, what); });
}

std::unexpected<Error> invalid(std::string why, std::string where) {
  return fail(ErrorCode::kPolicyInvalid, std::move(why), std::move(where));
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

Status check_affinity(const std::map<std::string, std::vector<std::string>>& affinity) {
  return std::ranges::all_of(affinity, [](const auto& one) { return is_label(one.first); })
             ? Status()
             : invalid("labels look like name or prefix.example/name", "");
}

// The kubelet puts variables of the container, which the pod gives, in the place of "$(NAME)": a
// list with one binds nothing.
Status check_run_list(const std::optional<std::vector<std::string>>& list) {
  for (std::size_t i = 0; i < list->size(); ++i) {
    if ((*list)[i].find("$(") != std::string::npos) {
      return invalid("what a pod puts in the place of $(NAME) is not bound: write the value",
                     "/" + std::to_string(i));
    }
  }
  return {};
}

Status check_fillers(const PolicyDocument& policy) {
  for (std::size_t i = 0; i < policy.fillers.size(); ++i) {
    const Filler& filler = policy.fillers[i];
    const std::string where = "/fillers/" + std::to_string(i);
    if (std::ranges::find(policy.fill_at_run, filler.image) == policy.fill_at_run.end()) {
      return invalid("the image of a filler is one of fill_at_run", where + "/image");
    }
    if (!filler.command && !filler.args) {
      return invalid("a filler has command, args or both", where);
    }
  }
  return {};
}

Status check_ignored(const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns) {
    if (auto status = check_ignore_pattern(pattern); !status) {
      return invalid(std::move(status).error().detail, "");
    }
  }
  return {};
}

}  // namespace

std::string_view name(PolicyMode mode) { return kModes.of(mode); }
std::string_view name(DecisionPoint point) { return kPoints.of(point); }
std::string_view name(MountRule rule) { return kMountRules.of(rule); }
std::string_view name(Quantifier quantifier) { return kQuantifiers.of(quantifier); }

Result<DecisionPoint> decision_point_from(std::string_view name) {
  return kPoints.parse(name, "there is no such decision point: use create, bind or serve");
}

// --- lists of members

static auto members_of(json::As<SignerRequirement>) {
  using T = SignerRequirement;
  return std::tuple(json::or_default("at_least", &T::at_least),
                    json::if_set("identities", &T::identities),
                    json::if_set("none_of", &T::none_of));
}

static auto members_of(json::As<ManifestCondition>) {
  return std::tuple(json::or_default("signers", &ManifestCondition::signers));
}

static auto members_of(json::As<ParametersCondition>) {
  using T = ParametersCondition;
  return std::tuple(json::if_set("hash", &T::hash), json::if_set("chunk_size", &T::chunk_size),
                    json::if_set("ignore", &T::ignore, json::checked(check_ignored)),
                    json::if_set("objects", &T::objects, json::named(parse_objects)),
                    json::if_set("formats", &T::formats, json::each_named(model_format_from)));
}

static auto members_of(json::As<NodeCondition>) {
  using T = NodeCondition;
  return std::tuple(json::if_set("max_evidence_age_seconds", &T::max_evidence_age_seconds),
                    json::or_default("worker_measured", &T::worker_measured),
                    json::if_set("tcb_status", &T::tcb_status),
                    json::if_set("anchors", &T::anchors), json::if_set("boot", &T::boot),
                    json::if_set("device", &T::device));
}

// What only a report of scope device-memory has.
static auto members_of(json::As<MemoryDemands>) {
  using T = MemoryDemands;
  return std::tuple(
      json::or_default("watched", &T::watched), json::or_default("in_place", &T::in_place),
      json::if_set("max_uncovered_bytes", &T::max_uncovered_bytes),
      json::if_set("min_device_percent", &T::min_device_percent),
      json::if_set("min_redrawn", &T::min_redrawn),
      json::unless_default("layouts", &T::layouts, json::each_named(layout_kind_from)),
      json::if_set("layout_digests", &T::layout_digests));
}
static auto members_of(json::As<ReportCondition>) {
  using T = ReportCondition;
  const auto serve = json::by([](const Json& at) -> Result<bool> { return at == "serve"; },
                              [](bool) { return Json("serve"); });
  return std::tuple(json::or_default("scope", &T::scope), json::if_set("at", &T::at_serve, serve),
                    json::if_set("max_age_seconds", &T::max_age_seconds),
                    json::or_default("worker_measured", &T::worker_measured),
                    json::or_default("device_attested", &T::device_attested),
                    json::if_set("anchors", &T::anchors),
                    json::if_set("min_spot_checks", &T::min_spot_checks));
}
static Json to_json(const ReportCondition& condition) {
  Json json = json::write(condition);
  if (condition.scope == kDeviceMemoryScope) {
    json.update(json::write(condition.memory));
  }
  return json;
}
static Result<ReportCondition> read_json(json::As<ReportCondition> type, const Json& json) {
  ReportCondition condition;
  ASSAY_TRY(json::read_members(json, members_of(type), condition));
  const auto of_memory = members_of(json::As<MemoryDemands>{});
  ASSAY_TRY(json::read_members(json, of_memory, condition.memory));
  std::vector<std::string_view> names;
  std::apply([&](const auto&... entry) { (json::add_names(entry, names), ...); }, of_memory);
  for (const std::string_view name : names) {
    if (condition.scope != kDeviceMemoryScope && json.contains(name)) {
      return invalid("only a report of scope device-memory has this", "/" + std::string(name));
    }
  }
  return condition;
}

static auto members_of(json::As<RequestCondition>) {
  using T = RequestCondition;
  return std::tuple(json::if_set("users", &T::users), json::if_set("groups", &T::groups),
                    json::if_set("service_accounts", &T::service_accounts),
                    json::if_set("principals", &T::principals));
}

static auto members_of(json::As<AtLeastCondition>) {
  return std::tuple(json::always("count", &AtLeastCondition::count),
                    json::always("of", &AtLeastCondition::of));
}

static auto members_of(json::As<Filler>) {
  using T = Filler;
  return std::tuple(json::always("image", &T::image),
                    json::if_set("command", &T::command, json::checked(check_run_list)),
                    json::if_set("args", &T::args, json::checked(check_run_list)));
}

namespace {

// Without `where`, whose patterns are compiled within a budget.
auto of_statement() {
  using T = StatementCondition;
  const auto some = [](const T& condition) { return !condition.considered.empty(); };
  return std::tuple(
      json::always("predicate_type", &T::predicate_type), json::if_set("stage", &T::stage),
      json::or_default("signers", &T::signers),
      json::or_default("quantifier", &T::quantifier,
                       enumeration<kQuantifiers>("there is no such quantifier")),
      json::if_set("max_age_seconds", &T::max_age_seconds),
      json::group("considered", some, std::tuple(json::always("identities", &T::considered))),
      json::if_set("evidence", &T::evidence));
}

// Without names and conditions.
auto of_policy() {
  using T = PolicyDocument;
  return std::tuple(
      json::always("name", &T::name), json::always("version", &T::version),
      json::if_set("description", &T::description),
      json::always("mode", &T::mode, enumeration<kModes>("there is no such mode")),
      json::always("match", &T::match),
      json::if_set("node_affinity", &T::node_affinity, json::checked(check_affinity)),
      json::if_set("other_volumes", &T::other_volumes), json::if_set("images", &T::images),
      json::if_set("mounts", &T::mounts,
                   enumeration<kMountRules>("there is no such rule for mounts")),
      json::if_set("mount_paths", &T::mount_paths),
      json::if_set("writable_mounts", &T::writable_mounts),
      json::if_set("fill_at_run", &T::fill_at_run), json::if_set("fillers", &T::fillers));
}

using Kind = decltype(Condition::kind);
constexpr auto kSimpleKinds = std::tuple(
    json::alternative<ManifestCondition>("manifest"),
    json::alternative<ParametersCondition>("parameters"), json::alternative<NodeCondition>("node"),
    json::alternative<ReportCondition>("report"), json::alternative<RequestCondition>("request"),
    json::alternative("window", &WindowCondition::window),
    json::alternative<LineageCondition>("lineage"));
constexpr auto kKinds =
    std::tuple_cat(kSimpleKinds, std::tuple(json::alternative<StatementCondition>("statement"),
                                            json::alternative("all", &AllCondition::of),
                                            json::alternative("any", &AnyCondition::of),
                                            json::alternative<NotCondition>("not"),
                                            json::alternative<AtLeastCondition>("at_least")));

}  // namespace

static Json to_json(const Condition& condition) {
  Json json = json::write_one(condition.kind, kKinds);
  json["id"] = condition.id;
  return json;
}
static Json to_json(const NotCondition& negation) {
  return negation.of.empty() ? Json() : to_json(negation.of.front());
}
static Json to_json(const StatementCondition& condition) {
  Json json = json::write_object(condition, of_statement());
  for (const PredicateTest& test : condition.where) {
    json["where"].push_back(to_json(test));
  }
  return json;
}

// --- reading, after validation

namespace {

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
  if (auto status = json::read_members(json, of_statement(), condition); !status) {
    return members::under(where, std::move(status).error());
  }
  const Json none = Json::array();
  for (const Json& test : members::child(json, "where", none)) {
    ASSAY_ASSIGN(PredicateTest read,
                 predicate_test_from_json(
                     test, where + "/where/" + std::to_string(condition.where.size()), budget));
    condition.where.push_back(std::move(read));
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
  if (json::is_one(json, kSimpleKinds)) {
    auto kind = json::read_one<Kind>(json, kSimpleKinds);
    if (!kind) {
      return members::under(where, std::move(kind).error());
    }
    return Condition{std::move(id), *std::move(kind)};
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

}  // namespace

Result<PolicyDocument> parse_policy(ByteView payload) {
  PatternBudget budget;
  return parse_policy(payload, budget);
}

Result<PolicyDocument> parse_policy(ByteView payload, PatternBudget& budget) {
  ASSAY_ASSIGN(const Json json, parse_json(payload, kPolicyLimits));
  ASSAY_TRY(validate("policy", json));
  PolicyDocument policy;
  ASSAY_TRY(json::read_members(json, of_policy(), policy));
  ASSAY_TRY(check_fillers(policy));
  ASSAY_ASSIGN(policy.names, names_from_json(json));
  ASSAY_ASSIGN(policy.require, Reader(budget).conditions(json["require"], "/require", 1));
  ASSAY_TRY(check_relations(policy.require));
  ASSAY_TRY(mark_sets(policy.require, "/require"));
  return policy;
}

Json to_json(const PolicyDocument& policy) {
  Json json = json::write_object(policy, of_policy());
  json["require"] = json::put(policy.require);
  if (Json names = to_json(policy.names); !names.is_null()) {
    json["names"] = std::move(names);
  }
  return json;
}

}  // namespace assay
