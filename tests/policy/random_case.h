// SPDX-License-Identifier: Apache-2.0
// Random policies and facts over a small universe, so that they meet: few identities, names,
// stages, members and times, with wrong ones among them. The same seed gives the same case.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "tests/policy/fixture.h"
#include "tests/policy/lineage/random_lineage.h"
#include "tests/policy/random_sets.h"

namespace assay::policy::test {

struct RandomOptions {
  bool negation = true;
  std::vector<Quantifier> quantifiers = {Quantifier::kEvery, Quantifier::kAny, Quantifier::kLatest};
  std::vector<PredicateTest> always{};  // in every statement condition
  bool nodes = true;                    // conditions on node and reports, too
  bool ignore = true;                   // ignore rules and kinds of entries, too
  // One leaf in so many is about the node, and of the others about its reports.
  std::size_t one_leaf_in = 12;
  bool honest = false;     // wrong things are rarer, so that more is allowed
  bool relations = false;  // signers who do not count because they signed elsewhere
  // One statement condition in so many demands stage evidence.
  std::size_t evidence_in = 4;
  // One policy in so many names reference sets, and one leaf in so many is about the lineage.
  std::size_t sets_in = 6;
  std::size_t lineage_in = 24;
};

class RandomCase {
 public:
  explicit RandomCase(std::uint64_t seed, RandomOptions options = {})
      : engine_(seed),
        memory_engine_(seed + 1),
        names_engine_(seed + 2),
        extra_engine_(seed + 3),
        evidence_engine_(seed + 4),
        sets_engine_(seed + 5),
        releases_engine_(seed + 7),
        lineage_(seed + 6),
        sets_(random_sets(sets_engine_)),
        options_(std::move(options)) {}

  [[nodiscard]] Facts facts();
  // One or two of them, on the same node.
  [[nodiscard]] std::vector<Facts> models();
  [[nodiscard]] PlacementFact placement(std::uint64_t number);
  // Makes the workload a pod with a few containers, mounts and images.
  void add_pod(Workload& workload);
  [[nodiscard]] std::vector<ActivePolicy> policies();
  [[nodiscard]] PolicyDocument policy();
  [[nodiscard]] StatementFact statement(std::uint64_t number);
  [[nodiscard]] std::optional<WithdrawnFact> withdrawn();
  [[nodiscard]] NodeFact node();
  [[nodiscard]] ReportFact report(std::uint64_t number);
  [[nodiscard]] NodeCondition node_condition();
  [[nodiscard]] PredicateTest items_test();  // of random_predicates.cc
  [[nodiscard]] ReportCondition report_condition();
  [[nodiscard]] Requester requester();
  // Those of policies().
  [[nodiscard]] const ReferenceSets& sets() const { return sets_; }
  // The policy with the values of sets(), some of which it names.
  [[nodiscard]] ActivePolicy with_named_sets(PolicyDocument policy);
  // 0 to `limit` - 1.
  [[nodiscard]] std::size_t below(std::size_t limit);

 private:
  [[nodiscard]] bool one_in(std::size_t n) { return below(n) == 0; }
  // Something is wrong.
  [[nodiscard]] bool wrong_in(std::size_t n) { return one_in(options_.honest ? 4 * n : n); }
  template <typename T>
  [[nodiscard]] T pick(std::vector<T> choices) {
    return choices.at(below(choices.size()));
  }
  [[nodiscard]] SignerFact signed_by(bool publisher, Timestamp at);
  [[nodiscard]] std::string location();
  [[nodiscard]] ManifestFact own_manifest(std::uint64_t number);
  [[nodiscard]] std::vector<ClaimFact> claims();
  [[nodiscard]] std::vector<InstanceFact> instances();
  void make_memory(ReportFact& report);
  void spoil(MemoryFact& memory);
  void demand_memory(MemoryDemands& demands);
  [[nodiscard]] Json predicate();
  [[nodiscard]] Json value();
  [[nodiscard]] SignerRequirement requirement();
  [[nodiscard]] PredicateTest test();
  void add_pod_members(PolicyDocument& policy);
  [[nodiscard]] Mount mount();
  // A part of a volume, or a volume of which little is known.
  void add_part(Mount& one);
  [[nodiscard]] ConditionKind leaf();
  // Of random_predicates.cc.
  void enrich(Json& predicate);
  void enrich(StatementCondition& statement);
  [[nodiscard]] std::optional<std::vector<ModelFormat>> formats();
  [[nodiscard]] ParametersCondition parameters();
  [[nodiscard]] PredicateTest typed_test();
  [[nodiscard]] std::optional<ConditionKind> rare_leaf();
  [[nodiscard]] Condition condition(int depth);

  std::mt19937_64 engine_;
  std::mt19937_64 memory_engine_;    // in its place for what is about memory
  std::mt19937_64 names_engine_;     // and for names, and for parts of volumes
  std::mt19937_64 extra_engine_;     // and for random_predicates.cc
  std::mt19937_64 evidence_engine_;  // and for stage evidence
  std::mt19937_64 sets_engine_;      // and for reference sets
  std::mt19937_64 releases_engine_;  // and for how names are resolved
  RandomLineage lineage_;            // with an engine of its own
  ReferenceSets sets_;
  RandomOptions options_;
  int next_id_ = 0;
};

}  // namespace assay::policy::test
