// SPDX-License-Identifier: Apache-2.0
#include "attestation/snp/reference_values.h"

#include <algorithm>
#include <utility>

namespace assay::attestation::snp {
namespace {

constexpr std::string_view kOwnSource = "appraisal";

SnpError mismatch_of(Reference reference) {
  return static_cast<SnpError>(std::to_underlying(SnpError::kMeasurementMismatch) +
                               std::to_underlying(reference));
}
static_assert(std::to_underlying(SnpError::kImageIdMismatch) ==
                  std::to_underlying(SnpError::kMeasurementMismatch) + kReferenceCount - 1,
              "errors and references are in the same order");

bool has(const References& values, ByteView value) {
  return std::ranges::any_of(values,
                             [&](const Bytes& one) { return std::ranges::equal(one, value); });
}

bool applies(const ReferenceSet& set, const Report& report, Timestamp now) {
  if ((set.not_before && now < *set.not_before) || (set.not_after && now > *set.not_after)) {
    return false;
  }
  for (std::size_t i = 0; i < kReferenceCount; ++i) {
    if (!set.values[i].empty() &&
        !has(set.values[i], value_of(report, static_cast<Reference>(i)))) {
      return false;
    }
  }
  return true;
}

}  // namespace

ReferenceMatch::ReferenceMatch(const Report& report, const AppraisalPolicy& policy, Timestamp now)
    : report_(report), policy_(policy) {
  for (const ReferenceSet& set : policy.imported) {
    if (applies(set, report, now)) {
      applying_.push_back(&set);
    }
  }
}

bool ReferenceMatch::is_own(Reference reference) const {
  return has(policy_.references(reference), value_of(report_, reference));
}

std::vector<const ReferenceSet*> ReferenceMatch::sets_for(Reference reference) const {
  std::vector<const ReferenceSet*> sets;
  for (const ReferenceSet* set : applying_) {
    if (!set->values[std::to_underlying(reference)].empty()) {
      sets.push_back(set);
    }
  }
  return sets;
}

Outcome ReferenceMatch::check(Reference reference) const {
  if (!policy_.constrains(reference) || is_own(reference) || !sets_for(reference).empty()) {
    return {};
  }
  std::size_t values = policy_.references(reference).size();
  for (const ReferenceSet& set : policy_.imported) {
    values += set.values[std::to_underlying(reference)].size();
  }
  return reject(mismatch_of(reference), "one of " + std::to_string(values) + " reference values",
                hex_encode(value_of(report_, reference)));
}

std::vector<MatchedReference> ReferenceMatch::matched() const {
  std::vector<MatchedReference> matched;
  for (std::size_t i = 0; i < kReferenceCount; ++i) {
    const auto reference = static_cast<Reference>(i);
    if (is_own(reference)) {
      matched.push_back({reference, std::string(kOwnSource)});
    }
    for (const ReferenceSet* set : sets_for(reference)) {
      matched.push_back({reference, set->name});
    }
  }
  return matched;
}

// Of several sets that bring the same value, the one that lasts longest is enough.
std::optional<Timestamp> ReferenceMatch::valid_until() const {
  std::optional<Timestamp> earliest;
  for (std::size_t i = 0; i < kReferenceCount; ++i) {
    const auto reference = static_cast<Reference>(i);
    const auto sets = sets_for(reference);
    if (is_own(reference) || sets.empty() ||
        std::ranges::any_of(sets, [](const auto* set) { return !set->not_after; })) {
      continue;
    }
    const auto* longest = *std::ranges::max_element(
        sets, {}, [](const ReferenceSet* set) { return *set->not_after; });
    earliest = earliest ? std::min(*earliest, *longest->not_after) : *longest->not_after;
  }
  return earliest;
}

}  // namespace assay::attestation::snp
