// SPDX-License-Identifier: Apache-2.0
// Reviews of policies and of their approvals.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "cli/review/review.h"
#include "cli/review/text.h"
#include "schemas/device_demands.h"

namespace assay::cli {

namespace {

using Words = std::pair<std::string_view, std::string_view>;

constexpr std::array<Words, 3> kModes = {{
    {"enforce", "a workload that does not pass is denied"},
    {"warn", "a workload that does not pass runs all the same, with a warning"},
    {"shadow", "a workload that does not pass runs all the same; only the log says so"},
}};

constexpr std::array<Words, 12> kKinds = {{
    {"manifest", "publishers signed a manifest of the model"},
    {"statement", "signers stated this about the model"},
    {"parameters", "the model's tree was made with these parameters"},
    {"node", "the node is enrolled, and its evidence is as asked"},
    {"report", "the node has verified the model"},
    {"request", "these people or services asked for the workload"},
    {"window", "the workload is started in this window of time"},
    {"lineage", "everything that the model was made from is known"},
    {"all", "all of these"},
    {"any", "at least one of these"},
    {"not", "this does not hold"},
    {"at_least", "so many of these"},
}};

// What a difference in a list lets in that was kept out before.
// kSelection: an empty list selects all. kAccepted: one of these, an empty list takes everything.
// kExempt: these are left out, or taken without a check.
enum class ListKind { kSelection, kAccepted, kExempt };
struct ListRule {
  std::string_view member;
  ListKind kind;
  std::string_view words;
};
constexpr std::array kLists = {
    ListRule{"namespaces", ListKind::kSelection, "workloads in some namespaces are judged no more"},
    ListRule{"resources", ListKind::kSelection, "workloads with some resources are judged no more"},
    ListRule{"nodes", ListKind::kSelection, "workloads on some nodes are judged no more"},
    ListRule{"identities", ListKind::kAccepted, "the word of more people counts"},
    ListRule{"users", ListKind::kAccepted, "more people may ask"},
    ListRule{"groups", ListKind::kAccepted, "more people may ask"},
    ListRule{"service_accounts", ListKind::kAccepted, "more workloads may run"},
    ListRule{"principals", ListKind::kAccepted, "more services may ask"},
    ListRule{"days", ListKind::kAccepted, "the window is open on more days"},
    ListRule{"tcb_status", ListKind::kAccepted, "more states of a platform are taken"},
    ListRule{"images", ListKind::kAccepted, "more images are taken"},
    ListRule{"mount_paths", ListKind::kAccepted, "models may be mounted at more paths"},
    ListRule{"vendor", ListKind::kAccepted, "devices of more vendors are taken"},
    ListRule{"architecture", ListKind::kAccepted, "devices of more kinds are taken"},
    ListRule{"mode", ListKind::kAccepted, "devices in more modes are taken"},
    ListRule{"allow", ListKind::kAccepted, "more licences are taken"},
    ListRule{"hash", ListKind::kAccepted, "more kinds of tree are taken"},
    ListRule{"chunk_size", ListKind::kAccepted, "more kinds of tree are taken"},
    ListRule{"formats", ListKind::kAccepted, "files of more formats are taken"},
    ListRule{"objects", ListKind::kAccepted, "more kinds of tree are taken"},
    ListRule{"exclude_namespaces", ListKind::kExempt, "workloads there are judged no more"},
    ListRule{"harmless_resources", ListKind::kExempt,
             "these resources select no workload any more"},
    ListRule{"other_volumes", ListKind::kExempt, "these volumes are mounted without a check"},
    ListRule{"fill_at_run", ListKind::kExempt, "these images bring the model when the pod runs"},
    ListRule{"ignore", ListKind::kExempt, "files of these names may differ from what was signed"},
    ListRule{"anchors", ListKind::kExempt, "evidence under these roots counts"},
};

// Lists of demands: one more of them lets in nothing.
constexpr std::array<std::string_view, 6> kDemands = {"require", "all",     "where",
                                                      "edges",   "none_of", "node_affinity"};
// A value of these is the looser one, whatever it was before.
struct LooseValue {
  std::string_view member;
  std::string_view value;  // as JSON
  std::string_view words;
};
constexpr std::array kLoose = {
    LooseValue{"worker_measured", "false", "less evidence is asked"},
    LooseValue{"device_attested", "false", "less evidence is asked"},
    LooseValue{"all", "false", "one device is enough"},
    LooseValue{"measurements", "\"waived\"", "differences that were waived are taken"},
    LooseValue{"watched", "false", "changes after the report go unseen"},
    LooseValue{"in_place", "false", "copies that the owner made count"},
    LooseValue{"secure_boot", "false", "less evidence is asked"},
    LooseValue{"writable_mounts", "true", "containers may change the model"},
};

constexpr std::string_view kUnknown = "whether more is let in is not known here";

bool added(const Difference& one) { return one.before.is_null(); }
bool removed(const Difference& one) { return one.after.is_null(); }

std::string list_flag(const Difference& one) {
  if (one.path.find(".considered.") != std::string::npos) {
    return "other people are heard, and others no more";
  }
  const std::string member = last_member(one.path);
  if (one.path.find(".deny.") != std::string::npos || member == "deny") {
    return removed(one) ? "denied before, and no more" : "";
  }
  const auto* rule = std::find_if(kLists.begin(), kLists.end(),
                                  [&](const ListRule& each) { return each.member == member; });
  if (rule == kLists.end()) {
    const bool demand = std::find(kDemands.begin(), kDemands.end(), member) != kDemands.end();
    return removed(one)                                  ? "asked before, and no more"
           : !demand && one.path.starts_with("require[") ? std::string(kUnknown)
                                                         : "";
  }
  bool looser = added(one);
  if (rule->kind == ListKind::kSelection) {
    looser = added(one) ? one.size_before == 0 : one.size_after > 0;
  } else if (rule->kind == ListKind::kAccepted) {
    looser = added(one) ? one.size_before > 0 : one.size_after == 0;
  }
  return looser ? std::string(rule->words) : "";
}

double number_or(const Json& value, double absent) {
  return value.is_number() ? value.get<double>() : absent;
}

// Why another number or version lets in more. Less of a least value does, or none at all; and more
// of a greatest one, or none. Nullopt: the member is neither.
std::optional<std::string> bound_flag(const std::string& member, const Difference& one) {
  constexpr double kEver = 1e300;
  constexpr int kDecimal = 10;
  constexpr int kHex = 16;
  if (member.starts_with("min_") && (one.before.is_string() || one.after.is_string())) {
    const bool tighter =
        !removed(one) &&
        (added(one) || is_older_version(one.before.get<std::string>(), one.after.get<std::string>(),
                                        member == "min_vbios" ? kHex : kDecimal) == true);
    return tighter ? "" : "older versions are taken";
  }
  if (member.starts_with("min_") || member == "at_least" || member == "count") {
    return number_or(one.after, 0) < number_or(one.before, 0) ? "less is asked" : "";
  }
  if (member.starts_with("max_")) {
    const bool looser = number_or(one.after, kEver) > number_or(one.before, kEver);
    return !looser ? "" : member.ends_with("_seconds") ? "older things count" : "more is taken";
  }
  return std::nullopt;
}

std::string scalar_flag(const Difference& one) {
  const std::string member = last_member(one.path);
  const std::string after = one.after.is_string() ? one.after.get<std::string>() : "";
  if (one.path == "mode") {
    return after == "enforce" ? "" : "nothing is denied by it";
  }
  if (const auto words = bound_flag(member, one)) {
    return *words;
  }
  if (member == "quantifier") {
    return after == "any" || after == "latest" ? "statements that disagree may be passed over" : "";
  }
  if (one.path.find(".window.") != std::string::npos) {
    return "the window of time is another one";
  }
  if (member == "mounts" && after == "within") {
    return "what is mounted may be a part of what was signed for";
  }
  if (const auto* loose =
          std::find_if(kLoose.begin(), kLoose.end(),
                       [&](const LooseValue& each) { return each.member == member; });
      loose != kLoose.end()) {
    return removed(one)                       ? std::string(kUnknown)
           : one.after.dump() == loose->value ? std::string(loose->words)
                                              : "";
  }
  if (one.path.starts_with("match.labels.")) {
    return removed(one) ? "" : "workloads with other labels are judged no more";
  }
  const bool condition = one.path.starts_with("require[");
  if (removed(one) &&
      (condition || one.path.starts_with("match.") || one.path.starts_with("node_affinity"))) {
    return "asked before, and no more";
  }
  return condition && !added(one) ? std::string(kUnknown) : "";
}

// Parts of `any`: one more is one more way to pass.
std::string flag_of(const Difference& one) {
  if (one.path.starts_with("fillers")) {
    return "what fills volumes may run something else";
  }
  const bool in_any = one.path.find(".any[") != std::string::npos;
  if (in_any && added(one)) {
    return "one more way to pass";
  }
  if (one.path.find(".not.") != std::string::npos || one.path.find(".not[") != std::string::npos) {
    return "below a `not`, where more is less";
  }
  return one.path.ends_with(']') ? list_flag(one) : scalar_flag(one);
}

bool is_set(const Json& document) { return document.contains("values"); }

std::string title_of(const Json& policy) {
  return std::string(is_set(policy) ? "reference set " : "policy ") +
         quoted(policy.value("name", Json())) + " version " +
         quoted(policy.value("version", Json()));
}

void say_condition(const Json& condition, std::size_t depth, std::size_t limit,
                   std::vector<std::string>& says) {
  const std::string indent(2 * depth, ' ');
  for (const auto& [member, value] : condition.items()) {
    if (member == "id") {
      continue;
    }
    const std::string kind = member;
    const auto* words = std::find_if(kKinds.begin(), kKinds.end(),
                                     [&](const Words& each) { return each.first == kind; });
    const std::string phrase = words == kKinds.end() ? kind : std::string(words->second);
    says.push_back(indent + quoted(condition.value("id", Json())) + " (" + kind + "): " + phrase);
    const Json parts = kind == "not"                               ? Json::array({value})
                       : value.is_object() && value.contains("of") ? value.at("of")
                       : value.is_array()                          ? value
                                                                   : Json::array();
    for (const Json& part : parts) {
      if (part.is_object()) {
        say_condition(part, depth + 1, limit, says);
      }
    }
    if (kind == "not" || value.is_array()) {
      continue;
    }
    for (const auto& [name, part] : value.items()) {
      if (name != "of") {
        for (const std::string& line : leaves(part, name, limit)) {
          says.push_back(indent + "    " + line);
        }
      }
    }
  }
}

std::vector<ReviewChange> changes_of(const Json& before, const Json& after) {
  std::vector<ReviewChange> changes;
  for (const Difference& one : differences(before, after)) {
    const std::string flag =
        is_set(after) ? "every policy that names the set is judged by it" : flag_of(one);
    changes.push_back({one.path, one.before, one.after, flag});
  }
  return changes;
}

void compare_policies(const Json& document, const InForce& in_force, Review& review) {
  if (!in_force.policy) {
    return;
  }
  const Json& before = *in_force.policy;
  if (before.is_null()) {
    review.against = std::string("nothing: no ") + (is_set(document) ? "set " : "policy ") +
                     quoted(document.value("name", Json())) + " is in force, says " +
                     in_force.source;
    return;
  }
  review.against = title_of(before) + ", in force, says " + in_force.source;
  review.changes = changes_of(before, document);
}

Review review_set(const Json& document, const InForce& in_force, bool all) {
  Review review;
  review.title = title_of(document);
  const Json& values = list_of(document, "values");
  review.says.push_back(std::to_string(values.size()) + " " + text_of(document, "kind"));
  for (const std::string& line : leaves(document, "", all ? SIZE_MAX : kShownItems)) {
    review.says.push_back(line.starts_with('.') ? line.substr(1) : line);
  }
  compare_policies(document, in_force, review);
  return review;
}

}  // namespace

Review review_policy(const Json& document, const InForce& in_force, bool all) {
  if (is_set(document)) {
    return review_set(document, in_force, all);
  }
  const std::size_t limit = all ? SIZE_MAX : kShownItems;
  Review review;
  review.title = title_of(document);
  const std::string mode = text_of(document, "mode");
  const auto* words = std::find_if(kModes.begin(), kModes.end(),
                                   [&](const Words& each) { return each.first == mode; });
  review.says.push_back("mode " + quoted(Json(mode)) +
                        (words == kModes.end() ? "" : ": " + std::string(words->second)));
  if (mode != "enforce") {
    review.flags.push_back("mode " + quoted(Json(mode)) + ": nothing is denied by it");
  }
  const Json match = document.value("match", Json::object());
  review.says.push_back(match.empty() ? "selects every workload" : "selects workloads by");
  for (const std::string& line :
       match.empty() ? std::vector<std::string>() : leaves(match, "match", limit)) {
    review.says.push_back("    " + line);
  }
  review.says.push_back("requires all of");
  for (const Json& condition : document.value("require", Json::array())) {
    say_condition(condition, 1, limit, review.says);
  }
  for (const auto& [member, value] : document.items()) {
    constexpr std::array kSaid = {"name", "version", "mode", "match", "require"};
    if (std::find(kSaid.begin(), kSaid.end(), member) == kSaid.end()) {
      for (std::string& line : leaves(value, member, limit)) {
        review.says.push_back(std::move(line));
      }
    }
  }
  compare_policies(document, in_force, review);
  return review;
}

Review review_approval(const Json& document, const InForce& in_force, bool all) {
  const bool activate = text_of(document, "action") == "activate";
  Review review;
  if (in_force.approved) {
    review = review_policy(*in_force.approved, in_force, all);
    if (!activate) {
      review.changes.clear();
    }
  }
  const std::string policy = in_force.approved ? review.title : "a policy that is not shown here";
  review.title = (activate ? "puts into force: " : "takes out of force: ") + policy;
  std::vector<std::string> says = leaves(document, "", all ? SIZE_MAX : kShownItems);
  for (std::string& line : says) {
    line = line.starts_with('.') ? line.substr(1) : line;
  }
  review.says.insert(review.says.begin(), says.begin(), says.end());
  if (!in_force.approved) {
    review.flags.push_back("what the policy says is not shown: give --server, or --document FILE");
  }
  if (!activate) {
    review.flags.push_back("workloads that it selects are judged by it no more");
  }
  const Json sequence = document.value("sequence", Json());
  if (in_force.policy_epoch && sequence != Json(*in_force.policy_epoch + 1)) {
    review.flags.push_back("made for policy epoch " + quoted(sequence) + ", the service is at " +
                           std::to_string(*in_force.policy_epoch) +
                           ": it will not be taken as things are");
  }
  return review;
}

}  // namespace assay::cli
