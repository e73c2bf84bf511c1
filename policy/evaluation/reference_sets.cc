// SPDX-License-Identifier: Apache-2.0
// Puts the values of reference sets in the place of their names.
#include "policy/reference_sets.h"

#include <algorithm>
#include <utility>

#include "policy/conditions.h"

namespace assay::policy {
namespace {

// Visits the conditions without parts, with the JSON pointer of each.
template <typename Visit>
void each_leaf(std::vector<Condition>& conditions, const std::string& where, int depth,
               const Visit& visit) {
  if (depth > kMaxConditionDepth) {
    return;  // evaluation does not go deeper either
  }
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    Condition& condition = conditions[i];
    const bool only = where.ends_with("/not");
    const std::string place = only ? where : where + "/" + std::to_string(i);
    if (auto* all = std::get_if<AllCondition>(&condition.kind)) {
      each_leaf(all->of, place + "/all", depth + 1, visit);
    } else if (auto* any = std::get_if<AnyCondition>(&condition.kind)) {
      each_leaf(any->of, place + "/any", depth + 1, visit);
    } else if (auto* negation = std::get_if<NotCondition>(&condition.kind)) {
      each_leaf(negation->of, place + "/not", depth + 1, visit);
    } else if (auto* at_least = std::get_if<AtLeastCondition>(&condition.kind)) {
      each_leaf(at_least->of, place + "/at_least/of", depth + 1, visit);
    } else {
      visit(condition, place);
    }
  }
}

bool fits(SetKind place, SetKind set) { return place == set || place == SetKind::kValues; }

// The entries of a list that name sets.
std::vector<std::pair<std::size_t, std::string>> names_in(const SetPlace& place) {
  std::vector<std::pair<std::size_t, std::string>> names;
  const auto look = [&](std::size_t i, const std::string& entry) {
    if (const auto name = named_set(entry)) {
      names.emplace_back(i, *name);
    }
  };
  if (place.texts != nullptr) {
    for (std::size_t i = 0; i < place.texts->size(); ++i) {
      look(i, (*place.texts)[i]);
    }
  } else if (place.values->is_array()) {
    for (std::size_t i = 0; i < place.values->size(); ++i) {
      if ((*place.values)[i].is_string()) {
        look(i, (*place.values)[i].get_ref<const std::string&>());
      }
    }
  }
  return names;
}

std::optional<OpenSet> open_set_of(Condition& condition, const ReferenceSets& sets) {
  std::optional<OpenSet> open;
  for_each_set_place(condition, [&](const SetPlace& place) {
    for (const auto& [i, name] : names_in(place)) {
      const auto found = sets.find(name);
      if (!open && found == sets.end()) {
        open = OpenSet{name, Reason::kReferenceSetMissing};
      } else if (!open && !fits(place.kind, found->second.set.kind)) {
        open = OpenSet{name, Reason::kReferenceSetMismatch};
      }
    }
  });
  return open;
}

void replace(const SetPlace& place, const ReferenceSets& sets, std::set<StatementId>& used) {
  if (names_in(place).empty()) {
    return;
  }
  std::vector<Json> entries;
  if (place.texts != nullptr) {
    entries.assign(place.texts->begin(), place.texts->end());
  } else {
    entries.assign(place.values->begin(), place.values->end());
  }
  std::set<Json> known;
  Json values = Json::array();
  const auto add = [&](const Json& value) {
    if (known.insert(value).second) {
      values.push_back(value);
    }
  };
  for (const Json& entry : entries) {
    const auto name = entry.is_string() ? named_set(entry.get_ref<const std::string&>())
                                        : std::optional<std::string_view>();
    if (!name) {
      add(entry);
      continue;
    }
    const ActiveSet& active = sets.find(*name)->second;
    used.insert(active.id);
    for (const Json& value : active.set.values) {
      add(value);
    }
  }
  if (place.texts != nullptr) {
    *place.texts = values.get<std::vector<std::string>>();
  } else {
    *place.values = std::move(values);
  }
}

}  // namespace

std::set<std::string> sets_named_in(const PolicyDocument& document) {
  std::set<std::string> names;
  PolicyDocument copy = document;
  each_leaf(copy.require, "/require", 1, [&](Condition& condition, const std::string&) {
    for_each_set_place(condition, [&](const SetPlace& place) {
      for (auto& [i, name] : names_in(place)) {
        names.insert(std::move(name));
      }
    });
  });
  return names;
}

ActivePolicy with_sets(StatementId id, PolicyDocument document, const ReferenceSets& sets) {
  ActivePolicy policy{std::move(id), std::move(document)};
  std::shared_ptr<const PolicyDocument> written;
  std::set<StatementId> used;
  each_leaf(policy.document.require, "/require", 1, [&](Condition& condition, const std::string&) {
    if (!condition.open_set) {
      return;
    }
    if (!written) {
      written = std::make_shared<const PolicyDocument>(policy.document);
    }
    condition.open_set = open_set_of(condition, sets);
    if (!condition.open_set) {
      for_each_set_place(condition, [&](const SetPlace& place) { replace(place, sets, used); });
    }
  });
  policy.sets.assign(used.begin(), used.end());
  policy.written = std::move(written);
  return policy;
}

ActivePolicy with_other_sets(const ActivePolicy& policy, const ReferenceSets& sets) {
  return policy.written ? with_sets(policy.id, *policy.written, sets) : policy;
}

std::vector<OpenPlace> open_places(const PolicyDocument& document, const ReferenceSets& sets) {
  std::vector<OpenPlace> open;
  PolicyDocument copy = document;
  each_leaf(copy.require, "/require", 1, [&](Condition& condition, const std::string& where) {
    for_each_set_place(condition, [&](const SetPlace& place) {
      for (const auto& [i, name] : names_in(place)) {
        const auto found = sets.find(name);
        if (found == sets.end() || !fits(place.kind, found->second.set.kind)) {
          open.push_back(
              {condition.id, where + place.where + "/" + std::to_string(i), name,
               found == sets.end() ? Reason::kReferenceSetMissing : Reason::kReferenceSetMismatch});
        }
      }
    });
  });
  return open;
}

}  // namespace assay::policy
