// SPDX-License-Identifier: Apache-2.0
#include "tests/policy/random_sets.h"

namespace assay::policy::test {
namespace {

class Namer {
 public:
  explicit Namer(std::mt19937_64& engine) : engine_(engine) {}

  void list(std::vector<Condition>& conditions) {
    for (Condition& condition : conditions) {
      one(condition);
    }
  }

 private:
  bool one_in(std::size_t n) { return engine_() % n == 0; }

  // Instead of what is listed, or beside it.
  void put(std::vector<std::string>& texts, const char* set) {
    if (one_in(3)) {
      texts = {};
    }
    texts.insert(texts.begin(), std::string(kSetPrefix) + set);
  }
  const char* people() { return one_in(2) ? "team" : "cats"; }

  void statement(StatementCondition& statement) {
    if (one_in(4)) {
      put(statement.signers.identities, people());
    }
    if (one_in(8)) {
      put(statement.considered, people());
    }
    for (PredicateTest& test : statement.where) {
      if (!test.items && test.type == ValueType::kPlain && test.value.is_array() &&
          test.op >= Comparison::kIn && one_in(2)) {
        test.value.push_back(one_in(2) ? "set:vals" : "set:team");
      }
    }
    if (statement.evidence && one_in(3)) {
      put(statement.evidence->anchors, "roots");
    }
  }

  void one(Condition& condition) {
    if (auto* manifest = std::get_if<ManifestCondition>(&condition.kind)) {
      if (one_in(4)) {
        put(manifest->signers.identities, people());
      }
    } else if (auto* about = std::get_if<StatementCondition>(&condition.kind)) {
      statement(*about);
    } else if (auto* node = std::get_if<NodeCondition>(&condition.kind)) {
      if (one_in(2)) {
        put(node->anchors, "roots");
      }
    } else if (auto* request = std::get_if<RequestCondition>(&condition.kind)) {
      if (one_in(2)) {
        put(request->groups, "groups");
      }
    } else if (auto* lineage = std::get_if<LineageCondition>(&condition.kind)) {
      if (one_in(2)) {
        put(lineage->deny.identities, people());
      }
    } else if (auto* all = std::get_if<AllCondition>(&condition.kind)) {
      list(all->of);
    } else if (auto* any = std::get_if<AnyCondition>(&condition.kind)) {
      list(any->of);
    } else if (auto* negation = std::get_if<NotCondition>(&condition.kind)) {
      list(negation->of);
    } else if (auto* at_least = std::get_if<AtLeastCondition>(&condition.kind)) {
      list(at_least->of);
    }
  }

  std::mt19937_64& engine_;
};

}  // namespace

ReferenceSets random_sets(std::mt19937_64& engine) {
  const auto one_in = [&](std::size_t n) { return engine() % n == 0; };
  std::vector<ReferenceSet> all = {
      {"team", 1, "", SetKind::kIdentities, {"ann", "ben"}},
      {"cats", 2, "", SetKind::kIdentities, {"cat", "ann"}},
      {"roots", 1, "", SetKind::kDigests, {node_fact().anchor->text(), "sha256:01"}},
      {"groups", 1, "", SetKind::kPatterns, {"x", "ml-*"}},
      {"vals", 1, "", SetKind::kValues, {1, "x", "a", 2.5}}};
  ReferenceSets sets;
  for (ReferenceSet& set : all) {
    if (one_in(16)) {
      continue;
    }
    if (one_in(16)) {
      set.kind = SetKind::kLicences;
      set.values = {"MIT"};
    }
    std::string name = set.name;
    sets.emplace(name, ActiveSet{statement_id(5000 + sets.size()), std::move(set)});
  }
  return sets;
}

void name_sets(std::mt19937_64& engine, PolicyDocument& policy) {
  Namer(engine).list(policy.require);
  const Status marked = mark_sets(policy.require, "/require");
  EXPECT_TRUE(marked) << to_string(marked.error());
}

}  // namespace assay::policy::test
