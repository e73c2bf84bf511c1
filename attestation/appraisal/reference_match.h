// SPDX-License-Identifier: Apache-2.0
// Reference values: the lists of the appraisal policy, which are alternatives value by value, and
// imported sets of values that belong together. For each type of evidence with its own report,
// policy and enumeration of references.
#pragma once

#include <algorithm>
#include <expected>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attestation/appraisal/failure.h"
#include "schemas/core/bytes.h"
#include "schemas/core/clock.h"
#include "schemas/core/json.h"

namespace assay::attestation::appraisal {

// A source of reference values that matched.
template <typename Reference>
struct MatchedReference {
  Reference reference;
  std::string source;  // "appraisal" for the policy's own lists, or the name of a set
  bool operator==(const MatchedReference&) const = default;
};

// Returns {NAME: [SOURCE, ..]}.
template <typename Reference>
[[nodiscard]] Json matched_json(const std::vector<MatchedReference<Reference>>& matched) {
  Json json = Json::object();
  for (const auto& one : matched) {
    json[std::string(name(one.reference))].push_back(one.source);
  }
  return json;
}

// The reference values that apply to one report. The type's namespace has value_of(report,
// reference), and mismatch_of(reference), the error of a value that is not among the accepted ones.
template <typename Report, typename Policy, typename Reference>
class ReferenceMatch {
 public:
  using Outcome = std::expected<void, Failure<decltype(mismatch_of(Reference{}))>>;
  using Matched = MatchedReference<Reference>;

  // A set applies when it is valid at `now` and the report has one of the values for each of what
  // it names. So no mixture of two sets is accepted that neither of them describes. Report and
  // policy must outlive this object.
  ReferenceMatch(const Report& report, const Policy& policy, Timestamp now)
      : report_(report), policy_(policy) {
    for (const Set& set : policy.imported) {
      if (applies(set, now)) {
        applying_.push_back(&set);
      }
    }
  }

  // Checks one value: it must be in the policy's own list, or in a set that applies. A value that
  // is not constrained passes. Errors: mismatch_of(reference).
  [[nodiscard]] Outcome check(Reference reference) const {
    if (!policy_.constrains(reference) || is_own(reference) || !sets_for(reference).empty()) {
      return {};
    }
    std::size_t values = policy_.references(reference).size();
    for (const Set& set : policy_.imported) {
      values += set.values[std::to_underlying(reference)].size();
    }
    return reject(mismatch_of(reference), "one of " + std::to_string(values) + " reference values",
                  hex_encode(value_of(report_, reference)));
  }

  // Returns what matched: for each constrained value every source.
  [[nodiscard]] std::vector<Matched> matched() const {
    std::vector<Matched> matched;
    for (std::size_t i = 0; i < policy_.reference_values.size(); ++i) {
      const auto reference = static_cast<Reference>(i);
      if (is_own(reference)) {
        matched.push_back({reference, "appraisal"});
      }
      for (const Set* set : sets_for(reference)) {
        matched.push_back({reference, set->name});
      }
    }
    return matched;
  }

  // Returns the end of the validity of sets without which a value would not have passed. Of several
  // sets that bring the same value, the one that lasts longest is enough.
  [[nodiscard]] std::optional<Timestamp> valid_until() const {
    std::optional<Timestamp> earliest;
    for (std::size_t i = 0; i < policy_.reference_values.size(); ++i) {
      const auto reference = static_cast<Reference>(i);
      const auto sets = sets_for(reference);
      if (is_own(reference) || sets.empty() ||
          std::ranges::any_of(sets, [](const Set* set) { return !set->not_after; })) {
        continue;
      }
      const Set* longest =
          *std::ranges::max_element(sets, {}, [](const Set* set) { return *set->not_after; });
      earliest = earliest ? std::min(*earliest, *longest->not_after) : *longest->not_after;
    }
    return earliest;
  }

 private:
  using Set = typename decltype(Policy::imported)::value_type;

  [[nodiscard]] bool has(const auto& values, Reference reference) const {
    return std::ranges::any_of(values, [&](const auto& value) {
      return std::ranges::equal(value, value_of(report_, reference));
    });
  }
  [[nodiscard]] bool applies(const Set& set, Timestamp now) const {
    if ((set.not_before && now < *set.not_before) || (set.not_after && now > *set.not_after)) {
      return false;
    }
    for (std::size_t i = 0; i < set.values.size(); ++i) {
      if (!set.values[i].empty() && !has(set.values[i], static_cast<Reference>(i))) {
        return false;
      }
    }
    return true;
  }
  [[nodiscard]] bool is_own(Reference reference) const {
    return has(policy_.references(reference), reference);
  }
  [[nodiscard]] std::vector<const Set*> sets_for(Reference reference) const {
    std::vector<const Set*> sets;
    for (const Set* set : applying_) {
      if (!set->values[std::to_underlying(reference)].empty()) {
        sets.push_back(set);
      }
    }
    return sets;
  }

  const Report& report_;
  const Policy& policy_;
  std::vector<const Set*> applying_;
};

}  // namespace assay::attestation::appraisal
