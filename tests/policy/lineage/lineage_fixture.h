// SPDX-License-Identifier: Apache-2.0
// Builders for tests of lineages: acme/demo was trained from acme/corpus, which was collected.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "policy/lineage.h"
#include "schemas/core/sha.h"
#include "schemas/lifecycle.h"
#include "schemas/manifest.h"
#include "tests/policy/fixture.h"

namespace assay::policy::test {

// A digest that follows from `label`.
inline std::string digest_of(std::string_view label) {
  return "sha256:" + sha256(as_bytes(label)).hex();
}

// The id of an artifact that follows from `label`.
inline std::string tree_of(std::string_view label) {
  return "assay-tree-v1-sha256:" + sha256(as_bytes(label)).hex();
}

inline LineageInput input(std::string_view role, std::string_view label, std::string name = {}) {
  return {std::string(role), std::move(name), {digest_of(label)}};
}

inline LineageStatement about(std::uint64_t number, std::string_view stage, std::string_view digest,
                              std::string_view name, std::vector<LineageInput> inputs,
                              std::vector<TrustedKey> keys) {
  LineageStatement made{statement(number, stage, nullptr, std::move(keys)),
                        false,
                        {{std::string(digest), {std::string(name)}}},
                        std::move(inputs)};
  made.fact.names.clear();
  return made;
}

inline LineageStatement joins(std::uint64_t number, std::vector<std::string> digests,
                              std::string_view name, std::vector<TrustedKey> keys) {
  LineageStatement made{manifest(number, name, std::move(keys)).statement, true, {}, {}};
  made.fact.names.clear();
  std::sort(digests.begin(), digests.end());
  for (std::string& digest : digests) {
    made.subjects.push_back({std::move(digest), {std::string(name)}});
  }
  return made;
}

inline TrustedKey maker(std::string_view who, std::string_view stage) {
  return signer(std::string(who) + "-1", who, stage);
}

using Made = std::vector<LineageStatement>;

// The model, from a dataset; the dataset, collected under Apache-2.0.
inline Made valid_lineage() {
  Made made = {
      about(12, "train", artifact().text(), "acme/demo",
            {input("dataset", "corpus", "acme/corpus")}, {maker("trainer", "train")}),
      about(11, "collect", digest_of("corpus"), "acme/corpus", {}, {maker("curator", "collect")})};
  made[1].licence = "Apache-2.0";
  return made;
}

inline std::shared_ptr<const Lineage> lineage_of(const Made& made,
                                                 std::vector<std::string> reached = {},
                                                 LineageRest rest = {}) {
  Lineage::Statements statements;
  for (const LineageStatement& one : made) {
    statements.push_back(std::make_shared<const LineageStatement>(one));
  }
  return Lineage::make(artifact().text(), std::move(statements), std::move(reached),
                       std::move(rest));
}

inline Facts facts_with(const Made& made, std::vector<std::string> reached = {}) {
  Facts facts = valid_facts();
  facts.lineage = lineage_of(made, std::move(reached));
  return facts;
}

inline ConditionResult judge_lineage(const LineageCondition& condition, const Made& made) {
  return judge_alone(condition, facts_with(made));
}

inline ConditionResult judge_not(const LineageCondition& asked, const Facts& facts) {
  NotCondition negation;
  negation.of.push_back(condition("inner", asked));
  return judge_alone(std::move(negation), facts);
}

// Outcome and code, as one value to compare.
struct Judgement {
  Outcome outcome;
  std::optional<Reason> code;
  bool operator==(const Judgement&) const = default;
  friend void PrintTo(const Judgement& one, std::ostream* out) {
    *out << name(one.outcome) << " " << (one.code ? info(*one.code).code : "");
  }
};
inline Judgement brief(const ConditionResult& result) { return {result.outcome, result.code}; }
inline const Judgement kPassed{Outcome::kPass, std::nullopt};

}  // namespace assay::policy::test
