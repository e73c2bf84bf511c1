// SPDX-License-Identifier: Apache-2.0
// Random lineages and conditions about them, over few digests, names and people, so that they meet.
// The same seed gives the same.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/policy/lineage/lineage_fixture.h"
#include "tests/policy/random_evidence.h"

namespace assay::policy::test {

class RandomLineage {
 public:
  explicit RandomLineage(std::uint64_t seed) : engine_(seed), honest_(seed % 3 != 0) {}

  // A chain with branches; with wrong things among it unless it is honest.
  Made made() {
    Made made;
    const std::size_t count = 1 + below(7);
    for (std::size_t i = 0; i < count; ++i) {
      made.push_back(statement(i));
    }
    for (std::size_t i = below(3); i > 0; --i) {
      made.push_back(joins(50 + 40 * i + below(40), {digest(below(6)), digest(below(6))}, name(),
                           {publisher("bob-1", "bob", below(4) == 0 ? "mallory" : "acme")}));
      spoil(made.back());
    }
    return made;
  }

  // With what a search leaves out, and where it ended.
  std::shared_ptr<const Lineage> lineage() {
    const Made known = made();
    LineageRest rest;
    std::vector<std::string> reached;
    if (below(4) == 0) {
      const TrustedKey stranger = signer(pick({"b", "d"}), pick({"ben", "dan"}), "*");
      rest.aside.push_back({digest(below(6)),
                            stranger.id,
                            stranger.identity,
                            {pick({"mallory/x", "acme/z"})},
                            1 + below(3),
                            below(2) == 0});
    }
    if (wrong_in(4)) {
      reached = {pick({"depth", "digests", "statements"})};
      if (below(4) != 0) {
        rest.cut = {digest(below(6))};
      }
    }
    return lineage_of(known, std::move(reached), std::move(rest));
  }

  LineageCondition condition() {
    LineageCondition condition;
    if (below(3) == 0) {
      condition.roles = {"dataset", "base-model"};
    }
    if (below(2) == 0) {
      condition.leaves = {pick({"acme/*", "sha256:*", digest(below(6)), "mallory/x", "sha1:1*"})};
    }
    if (below(3) == 0) {
      condition.edges = {{pick({"train", "collect", "scan", "", ""}),
                          pick({"dataset", "", "code"}),
                          1 + below(2),
                          {}}};
      if (below(2) == 0) {
        condition.edges[0].identities = {"ann", "ben"};
      }
      if (below(2) == 0) {
        condition.edges[0].evidence = honest_ ? EvidenceDemands{.type = "tdx"} : demands();
      }
    }
    if (below(3) == 0) {
      condition.stages = {pick({"collect", "train", "evaluate", "merge", "scan"})};
      if (below(2) == 0) {
        condition.stages.push_back(pick({"train", "evaluate"}));
      }
    }
    if (below(3) == 0) {
      condition.deny.digests = {pick({digest(below(6)), "sha1:11"})};
    }
    if (below(4) == 0) {
      condition.deny.names = {pick({"mallory/*", "acme/y", "ACME/%79"})};
    }
    if (below(8) == 0) {
      condition.deny.identities = {"ben"};
    }
    if (below(10) == 0) {
      condition.deny.keys = {signer(pick({"a", "b", "c", "d"}), "ann", "*").id.text()};
    }
    if (below(4) == 0) {
      condition.max_depth = 1 + below(3);
    }
    if (below(4) == 0) {
      condition.licences = LineageLicences{{"MIT"}, {}};
      if (below(3) == 0) {
        condition.licences = LineageLicences{{}, {pick({"GPL-3.0-only", "GPL-3.0", "MIT"})}};
      }
    }
    return condition;
  }

  EvidenceDemands demands() { return random_demands(engine_); }

  std::size_t below(std::size_t limit) { return engine_() % limit; }

 private:
  bool wrong_in(std::size_t n) { return below(honest_ ? 6 * n : n) == 0; }
  std::string pick(std::vector<std::string> choices) { return choices.at(below(choices.size())); }
  std::string digest(std::size_t i) {
    if (i == 0) {
      return artifact().text();
    }
    return i == 2 || i == 4 ? tree_of(std::to_string(i)) : digest_of(std::to_string(i));
  }
  // acme/y in other spellings, and what can be read in two ways.
  std::string spelled() {
    return wrong_in(3) ? pick({"acme/%7", "acme/../../y", "acme/%2579"})
                       : pick({"acme//y", "acme/%79", "acme/x/../y", "acme/./Y"});
  }
  std::string name() {
    if (below(8) == 0) {
      return spelled();
    }
    return wrong_in(3) ? pick({"mallory/x", ""}) : pick({"acme/demo", "acme/y"});
  }
  TrustedKey key(std::string label, std::string identity, const std::string& type,
                 std::string_view name_space = "acme") {
    return signer(std::move(label), std::move(identity), "*", type, name_space);
  }
  void spoil(LineageStatement& one) {
    if (wrong_in(6)) {
      one.fact.withdrawn = WithdrawnFact{"incorrect", from_now(-10), {}};
    }
    for (SignerFact& signer : one.fact.signers) {
      if (wrong_in(8)) {
        signer.key = revoked(signer.key, now());
      }
      if (wrong_in(8)) {
        signer.signed_at = from_now(30);
      }
    }
  }
  LineageStatement statement(std::size_t i) {
    const bool leaf = below(3) == 0;
    // A scan makes its subjects where the condition says so; SLSA provenance has no stage.
    const std::string stage = leaf ? "collect"
                                   : pick({"train", "finetune", "evaluate", "preprocess", "merge",
                                           "quantize", "scan", ""});
    const std::string type = stage.empty() && !wrong_in(8) ? "https://slsa.dev/provenance/v1"
                                                           : std::string(kLifecyclePredicateType);
    std::vector<LineageInput> inputs;
    const std::size_t to = i < 6 && !wrong_in(4) ? i : below(6);
    for (std::size_t k = leaf ? 0 : 1 + below(2); k > 0; --k) {
      LineageInput one{pick({"dataset", "base-model", "code", "dependency"}), name(), {}};
      one.digests = {digest(wrong_in(4) ? below(6) : std::min<std::size_t>(to + 1 + below(2), 5))};
      if (wrong_in(8)) {
        one.digests = {"sha1:11"};
      } else if (wrong_in(8)) {
        one.digests.push_back(digest(below(6)));
        std::sort(one.digests.begin(), one.digests.end());
      }
      if (wrong_in(6)) {
        one.also = {pick({"mallory/x", "acme/z"})};
      }
      inputs.push_back(std::move(one));
    }
    std::vector<TrustedKey> keys = {key(pick({"a", "b"}), pick({"ann", "ben"}), type)};
    if (below(3) == 0) {
      keys.push_back(key("c", "cid", type, below(2) == 0 ? "*" : "mallory"));
    }
    LineageStatement made = about(below(1000), stage, digest(to), to == 0 ? "acme/demo" : name(),
                                  std::move(inputs), std::move(keys));
    made.fact.id = statement_id(i + 100);
    made.fact.predicate_type = type;
    made.unread = wrong_in(12);
    if (below(2) == 0) {
      made.licence = pick({"MIT", "MIT OR GPL-3.0-only", "GPL-3.0-only", "?"});
    }
    if (wrong_in(6)) {
      made.subjects.push_back({digest(below(6)), {name()}});
      std::sort(made.subjects.begin(), made.subjects.end(),
                [](const auto& a, const auto& b) { return a.digest < b.digest; });
      made.subjects.erase(
          std::unique(made.subjects.begin(), made.subjects.end(),
                      [](const auto& a, const auto& b) { return a.digest == b.digest; }),
          made.subjects.end());
    }
    spoil(made);
    if (wrong_in(5)) {
      made.together = {{made.subjects.front().digest, pick({"sha1:11", "sha1:22"})}};
      std::sort(made.together.front().begin(), made.together.front().end());
    }
    if (!wrong_in(6)) {
      made.fact.evidence = random_evidence(engine_, made.fact, honest_);
    }
    return made;
  }

  std::mt19937_64 engine_;
  bool honest_;
};

}  // namespace assay::policy::test
