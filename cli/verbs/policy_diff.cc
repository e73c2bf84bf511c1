// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/policy_diff.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace assay::cli {

namespace {

// The items of a list of conditions by their ids, in order; nullopt for any other value. The order
// of conditions does not change what a policy says.
std::optional<std::vector<std::pair<std::string, const Json*>>> conditions_of(const Json& list) {
  std::vector<std::pair<std::string, const Json*>> conditions;
  if (!list.is_array()) {
    return std::nullopt;
  }
  for (const Json& condition : list) {
    const auto id = condition.is_object() ? condition.find("id") : condition.end();
    if (!condition.is_object() || id == condition.end() || !id->is_string()) {
      return std::nullopt;
    }
    conditions.emplace_back(id->get<std::string>(), &condition);
  }
  return conditions;
}

using Conditions = std::vector<std::pair<std::string, const Json*>>;

const Json* find(const Conditions& conditions, const std::string& id) {
  for (const auto& [name, condition] : conditions) {
    if (name == id) {
      return condition;
    }
  }
  return nullptr;
}

void compare(const std::string& path, const Json* before, const Json* after,
             std::vector<PolicyChange>& changes);

void compare_conditions(const std::string& path, const Conditions& before, const Conditions& after,
                        std::vector<PolicyChange>& changes) {
  for (const auto& [id, condition] : before) {
    compare(path + "[" + id + "]", condition, find(after, id), changes);
  }
  for (const auto& [id, condition] : after) {
    if (find(before, id) == nullptr) {
      compare(path + "[" + id + "]", nullptr, condition, changes);
    }
  }
}

void compare_members(const std::string& path, const Json& before, const Json& after,
                     std::vector<PolicyChange>& changes) {
  std::set<std::string> members;
  for (const Json* one : {&before, &after}) {
    for (const auto& [name, value] : one->items()) {
      members.insert(name);
    }
  }
  const auto member = [](const Json& json, const std::string& name) {
    const auto found = json.find(name);
    return found == json.end() ? nullptr : &*found;
  };
  for (const std::string& name : members) {
    compare(path.empty() ? name : path + "." + name, member(before, name), member(after, name),
            changes);
  }
}

// Adds what differs, each with the innermost member or condition that holds the whole difference.
// Null: there is nothing.
void compare(const std::string& path, const Json* before, const Json* after,
             std::vector<PolicyChange>& changes) {
  if (before == nullptr || after == nullptr) {
    changes.push_back(
        {path, before == nullptr ? Json() : *before, after == nullptr ? Json() : *after});
    return;
  }
  if (*before == *after) {
    return;
  }
  const auto old_list = conditions_of(*before);
  const auto new_list = conditions_of(*after);
  if (before->is_object() && after->is_object()) {
    compare_members(path, *before, *after, changes);
  } else if (old_list && new_list) {
    compare_conditions(path, *old_list, *new_list, changes);
  } else {
    changes.push_back({path, *before, *after});
  }
}

}  // namespace

std::vector<PolicyChange> compare_policies(const Json& before, const Json& after) {
  std::vector<PolicyChange> changes;
  if (before.is_object() && after.is_object()) {
    compare_members("", before, after, changes);
    // What the policy is comes before what it requires.
    std::stable_partition(changes.begin(), changes.end(), [](const PolicyChange& change) {
      return !change.path.starts_with("require");
    });
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
