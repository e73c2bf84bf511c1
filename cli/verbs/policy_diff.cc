// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/policy_diff.h"

#include <set>
#include <utility>

namespace assay::cli {

namespace {

// Conditions by id, in order; their order in the policy does not change what it says.
std::vector<std::pair<std::string, Json>> conditions_of(const Json& policy) {
  std::vector<std::pair<std::string, Json>> conditions;
  const auto found = policy.find("require");
  if (found == policy.end() || !found->is_array()) {
    return conditions;
  }
  for (const Json& condition : *found) {
    const auto id = condition.is_object() ? condition.find("id") : condition.end();
    const bool named = condition.is_object() && id != condition.end() && id->is_string();
    conditions.emplace_back(named ? id->get<std::string>() : "", condition);
  }
  return conditions;
}

const Json* find(const std::vector<std::pair<std::string, Json>>& conditions,
                 const std::string& id) {
  for (const auto& [name, condition] : conditions) {
    if (name == id) {
      return &condition;
    }
  }
  return nullptr;
}

}  // namespace

std::vector<PolicyChange> compare_policies(const Json& before, const Json& after) {
  std::vector<PolicyChange> changes;
  std::set<std::string> members;
  for (const Json* policy : {&before, &after}) {
    for (const auto& [name, value] : policy->items()) {
      members.insert(name);
    }
  }
  members.erase("require");
  for (const std::string& member : members) {
    const Json old_value = before.value(member, Json());
    const Json new_value = after.value(member, Json());
    if (old_value != new_value) {
      changes.push_back({member, old_value, new_value});
    }
  }
  const auto old_conditions = conditions_of(before);
  const auto new_conditions = conditions_of(after);
  for (const auto& [id, condition] : old_conditions) {
    const Json* now = find(new_conditions, id);
    if (now == nullptr || *now != condition) {
      changes.push_back({"require[" + id + "]", condition, now == nullptr ? Json() : *now});
    }
  }
  for (const auto& [id, condition] : new_conditions) {
    if (find(old_conditions, id) == nullptr) {
      changes.push_back({"require[" + id + "]", Json(), condition});
    }
  }
  return changes;
}

std::string change_line(const PolicyChange& change) {
  if (change.before.is_null()) {
    return "+ " + change.path + " " + change.after.dump();
  }
  if (change.after.is_null()) {
    return "- " + change.path + " " + change.before.dump();
  }
  return "~ " + change.path + " " + change.before.dump() + " -> " + change.after.dump();
}

}  // namespace assay::cli
