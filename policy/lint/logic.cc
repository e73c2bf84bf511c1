// SPDX-License-Identifier: Apache-2.0
#include "policy/lint/logic.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "policy/conditions.h"

namespace assay::policy {
namespace {

constexpr std::string_view kNeverPasses = "never-passes";
constexpr std::string_view kNeverFails = "never-fails";
constexpr std::string_view kContradiction = "contradiction";
// Conditions of one conjunction that are compared in pairs.
constexpr std::size_t kMaxCompared = 64;

// What is known of a condition before any facts are.
struct Folded {
  bool never_passes = false;
  bool never_fails = false;
};

struct Part {
  const Condition* condition;
  std::string where;
};

// The text of a condition without its id.
std::string shape_of(const Condition& condition) {
  PolicyDocument holder{};
  holder.require = {condition};
  Json json = to_json(holder)["require"][0];
  json.erase("id");
  return json.dump();
}

template <typename T>
bool disjoint(const std::vector<T>& a, const std::vector<T>& b) {
  return !a.empty() && !b.empty() && std::ranges::none_of(a, [&](const T& one) {
    return std::ranges::find(b, one) != b.end();
  });
}

bool exclude(const ParametersCondition& a, const ParametersCondition& b, Comparisons&) {
  return disjoint(a.hash, b.hash) || disjoint(a.chunk_size, b.chunk_size) ||
         disjoint(a.formats, b.formats) || (a.objects && b.objects && *a.objects != *b.objects);
}

bool exclude(const NodeCondition& a, const NodeCondition& b, Comparisons&) {
  return disjoint(a.tcb_status, b.tcb_status);
}

bool exclude(const WindowCondition& a, const WindowCondition& b, Comparisons&) {
  const TimeWindow& one = a.window;
  const TimeWindow& other = b.window;
  bool listed_one = false;
  bool listed_other = false;
  bool common = false;
  for (std::size_t day = 0; day < one.days.size(); ++day) {
    listed_one = listed_one || one.days.at(day);
    listed_other = listed_other || other.days.at(day);
    common = common || (one.days.at(day) && other.days.at(day));
  }
  const auto ends_before = [](const TimeWindow& first, const TimeWindow& second) {
    return first.to_minute <= second.from_minute ||
           (first.not_after && second.not_before && *first.not_after <= *second.not_before);
  };
  return (listed_one && listed_other && !common) || ends_before(one, other) ||
         ends_before(other, one);
}

// A statement that one condition needs is judged by the other, too.
bool exclude(const StatementCondition& a, const StatementCondition& b, Comparisons& comparisons) {
  if (a.predicate_type != b.predicate_type || a.stage != b.stage || a.considered != b.considered) {
    return false;
  }
  const bool shared = a.quantifier == Quantifier::kEvery || b.quantifier == Quantifier::kEvery ||
                      (a.quantifier == Quantifier::kLatest && b.quantifier == Quantifier::kLatest);
  return shared && exclude_each_other(a.where, b.where, comparisons);
}

bool exclude(const Condition& a, const Condition& b, Comparisons& comparisons) {
  return std::visit(
      [&comparisons](const auto& one, const auto& other) {
        if constexpr (std::is_same_v<decltype(one), decltype(other)> &&
                      requires { exclude(one, other, comparisons); }) {
          return exclude(one, other, comparisons);
        } else {
          return false;
        }
      },
      a.kind, b.kind);
}

class Logic {
 public:
  Logic(std::vector<Finding>& findings, Comparisons& comparisons)
      : findings_(findings), comparisons_(comparisons) {
    for (const Finding& finding : findings) {
      if (finding.code == kNeverPasses) {
        // Of a lineage the member is named that never passes.
        never_.insert(finding.where.substr(0, finding.where.rfind("/lineage/")));
      } else if (finding.code == kContradiction) {
        never_.insert(finding.where);
      } else if (finding.code == kNeverFails) {
        always_.insert(finding.where);
      }
    }
  }

  // A list whose conditions must all pass.
  bool conjunction(const std::vector<Condition>& conditions, const std::string& where) {
    std::vector<Part> parts;
    flatten(conditions, where, 1, parts);
    bool never = opposites(parts, "cannot pass");
    const std::size_t compared = std::min(parts.size(), kMaxCompared);
    for (std::size_t i = 0; i < compared; ++i) {
      for (std::size_t k = i + 1; k < compared; ++k) {
        if (exclude(*parts[i].condition, *parts[k].condition, comparisons_)) {
          add(parts[k], kContradiction,
              "cannot pass beside " + parts[i].condition->id + ": they exclude each other");
          never = true;
        }
      }
    }
    return never;
  }

  Folded fold(const Condition& condition, const std::string& where, int depth) {
    const std::vector<Condition>* parts = parts_of(condition);
    if (parts == nullptr || depth >= kMaxConditionDepth) {
      return leaf(where);
    }
    std::vector<Folded> folded;
    for (std::size_t i = 0; i < parts->size(); ++i) {
      folded.push_back(fold((*parts)[i], where_of(condition, where, i), depth + 1));
    }
    const auto passing = static_cast<std::size_t>(
        std::ranges::count_if(folded, [](const Folded& one) { return !one.never_passes; }));
    const auto sure = static_cast<std::size_t>(
        std::ranges::count_if(folded, [](const Folded& one) { return one.never_fails; }));
    Folded whole;
    if (std::holds_alternative<NotCondition>(condition.kind)) {
      whole = folded.size() == 1 ? Folded{folded.front().never_fails, folded.front().never_passes}
                                 : Folded{true, false};
    } else {
      const std::size_t needed = needed_of(condition, parts->size());
      whole = {passing < needed, sure >= needed};
      whole = lists(condition, *parts, where, whole);
    }
    return report(condition, where, whole);
  }

 private:
  static std::size_t needed_of(const Condition& condition, std::size_t parts) {
    if (std::holds_alternative<AllCondition>(condition.kind)) {
      return parts;
    }
    const auto* at_least = std::get_if<AtLeastCondition>(&condition.kind);
    return at_least == nullptr ? 1 : at_least->count;
  }

  // What the parts of an `all` or an `any` have to do with each other.
  Folded lists(const Condition& condition, const std::vector<Condition>& parts,
               const std::string& where, Folded whole) {
    if (std::holds_alternative<AllCondition>(condition.kind)) {
      whole.never_passes = conjunction(parts, where + "/all") || whole.never_passes;
    } else if (std::holds_alternative<AnyCondition>(condition.kind)) {
      std::vector<Part> own;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        own.push_back({&parts[i], where_of(condition, where, i)});
      }
      whole.never_fails = opposites(own, "cannot fail") || whole.never_fails;
    }
    return whole;
  }

  Folded report(const Condition& condition, const std::string& where, Folded whole) {
    if (whole.never_passes && !never_.contains(where)) {
      add({&condition, where}, kNeverPasses, "cannot pass: too few of its parts can");
    } else if (whole.never_fails && !always_.contains(where)) {
      add({&condition, where}, kNeverFails, "cannot fail: enough of its parts always pass");
    }
    return {whole.never_passes || never_.contains(where),
            whole.never_fails || always_.contains(where)};
  }

  // Of tests inside of arrays nothing follows for the condition.
  [[nodiscard]] Folded leaf(const std::string& where) const {
    const auto below = [&](const std::set<std::string>& places) {
      return std::ranges::any_of(places, [&](const std::string& place) {
        if (!place.starts_with(where)) {
          return false;
        }
        const std::string rest = place.substr(where.size());
        const bool inner = rest.find("/where") != rest.rfind("/where");
        return rest.empty() || (rest.front() == '/' && !inner);
      });
    };
    return {below(never_), below(always_)};
  }

  static std::string where_of(const Condition& condition, const std::string& where,
                              std::size_t part) {
    if (std::holds_alternative<NotCondition>(condition.kind)) {
      return where + "/not";
    }
    const char* member = std::holds_alternative<AllCondition>(condition.kind)   ? "/all/"
                         : std::holds_alternative<AnyCondition>(condition.kind) ? "/any/"
                                                                                : "/at_least/of/";
    return where + member + std::to_string(part);
  }

  static void flatten(const std::vector<Condition>& conditions, const std::string& where, int depth,
                      std::vector<Part>& parts) {
    for (std::size_t i = 0; i < conditions.size(); ++i) {
      const std::string place = where + "/" + std::to_string(i);
      const auto* all = std::get_if<AllCondition>(&conditions[i].kind);
      if (all != nullptr && depth < kMaxConditionDepth) {
        flatten(all->of, place + "/all", depth + 1, parts);
      } else {
        parts.push_back({&conditions[i], place});
      }
    }
  }

  // Of each condition once: it may lie in as many lists as there are levels.
  std::string_view shape(const Condition& condition) {
    std::string& known = shapes_[&condition];
    if (known.empty()) {
      known = shape_of(condition);
    }
    return known;
  }

  // A condition beside its own `not`.
  bool opposites(const std::vector<Part>& parts, const std::string& what) {
    std::map<std::string_view, const Part*> plain;
    for (const Part& part : parts) {
      if (parts_of(*part.condition) == nullptr) {
        plain.emplace(shape(*part.condition), &part);
      }
    }
    bool found = false;
    for (const Part& part : parts) {
      const auto* negation = std::get_if<NotCondition>(&part.condition->kind);
      if (negation == nullptr || negation->of.size() != 1 ||
          parts_of(negation->of.front()) != nullptr) {
        continue;
      }
      const auto same = plain.find(shape(negation->of.front()));
      if (same != plain.end()) {
        add(part, kContradiction,
            what + " beside " + same->second->condition->id + ", of which this is the not");
        found = true;
      }
    }
    return found;
  }

  void add(const Part& part, std::string_view code, std::string text) {
    const bool known = std::ranges::any_of(findings_, [&](const Finding& one) {
      return one.where == part.where && one.code == code && one.text == text;
    });
    if (!known) {
      findings_.push_back({Finding::Level::kWarning, part.condition->id, std::move(text),
                           std::string(code), part.where});
    }
  }

  std::vector<Finding>& findings_;
  Comparisons& comparisons_;
  std::map<const Condition*, std::string> shapes_;
  std::set<std::string> never_;
  std::set<std::string> always_;
};

}  // namespace

void lint_logic(const PolicyDocument& policy, std::vector<Finding>& findings,
                Comparisons& comparisons) {
  Logic logic(findings, comparisons);
  logic.conjunction(policy.require, "/require");
  bool always = !policy.require.empty();
  for (std::size_t i = 0; i < policy.require.size(); ++i) {
    const Folded folded = logic.fold(policy.require[i], "/require/" + std::to_string(i), 1);
    always = always && folded.never_fails;
  }
  if (always) {
    findings.push_back({Finding::Level::kWarning, "", "cannot fail: every model meets this policy",
                        std::string(kNeverFails), "/require"});
  }
}

}  // namespace assay::policy
