// SPDX-License-Identifier: Apache-2.0
// Collecting lineages: what is followed, and where it ends; what people are shown.
#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "tests/policy/lineage/lineage_fixture.h"

namespace assay::policy::test {
namespace {

// Answers from a list.
LineageSource source_of(const Made& made) {
  auto all = std::make_shared<Lineage::Statements>();
  for (const LineageStatement& one : made) {
    all->push_back(std::make_shared<const LineageStatement>(one));
  }
  return {[all](const std::string& digest) -> Result<Lineage::Statements> {
            Lineage::Statements found;
            for (const auto& one : *all) {
              for (const LineageSubject& subject : one->subjects) {
                if (subject.digest == digest) {
                  found.push_back(one);
                }
              }
            }
            return found;
          },
          [all](const std::string& digest) -> Result<Lineage::Statements> {
            Lineage::Statements found;
            for (const auto& one : *all) {
              for (const LineageInput& input : one->inputs) {
                if (std::find(input.digests.begin(), input.digests.end(), digest) !=
                    input.digests.end()) {
                  found.push_back(one);
                }
              }
            }
            return found;
          }};
}

// n - 1 was made from n, and so on.
Made chain(std::size_t length) {
  Made made;
  for (std::size_t i = 0; i < length; ++i) {
    const std::string to = i == 0 ? artifact().text() : digest_of(std::to_string(i));
    made.push_back(about(i + 1, "train", to, "acme/demo",
                         {input("base-model", std::to_string(i + 1), "acme/demo")},
                         {maker("trainer", "train")}));
  }
  return made;
}

// With a manifest of the start, which says what the start is called.
std::shared_ptr<const Lineage> collect(Made made, const LineageLimits& limits = {},
                                       LineageWhose whose = LineageWhose::kMayCount) {
  made.push_back(joins(900, {artifact().text()}, "acme/demo", {publisher("alice-1", "alice")}));
  return collect_lineage(artifact().text(), source_of(made), LineageDirection::kUp, limits, whose)
      .value();
}

TEST(CollectLineage, TakesWhatLeadsToTheStart_AndNothingElse) {
  Made made = valid_lineage();
  made.push_back(about(20, "train", digest_of("sibling"), "acme/sibling",
                       {input("dataset", "corpus", "acme/corpus")}, {maker("trainer", "train")}));
  made.push_back(
      about(21, "collect", digest_of("unrelated"), "acme/x", {}, {maker("curator", "collect")}));
  const auto lineage = collect(made);
  EXPECT_EQ(lineage->statements().size(), 3U);
  EXPECT_TRUE(lineage->reached().empty());
  EXPECT_TRUE(lineage->mentions(digest_of("corpus")));
  EXPECT_FALSE(lineage->mentions(digest_of("sibling")));
}

TEST(CollectLineage, ForReaders_FollowsWhoeverSigned) {
  Made made = valid_lineage();
  made[1].subjects[0].digest = tree_of("other form");
  made.push_back(joins(3, {digest_of("corpus"), tree_of("other form")}, "mallory/x",
                       {publisher("mallory-1", "mallory", "mallory")}));
  EXPECT_EQ(collect(made, {}, LineageWhose::kAll)->statements().size(), 4U);
  EXPECT_EQ(collect(made)->statements().size(), 2U);
  made.back() = joins(3, {digest_of("corpus"), tree_of("other form")}, "acme/x",
                      {publisher("bob-1", "bob", "acme")});
  EXPECT_EQ(collect(made)->statements().size(), 4U);
}

// --- what cannot count

LineageStatement by_stranger(std::uint64_t number, std::string_view digest,
                             std::vector<LineageInput> inputs) {
  return about(number, "train", digest, "mallory/x", std::move(inputs),
               {signer("mallory-1", "mallory", "train", {}, "mallory")});
}

TEST(CollectLineage, StrangersReachNoLimit) {
  Made made = valid_lineage();
  std::string digest = digest_of("corpus");
  for (std::size_t i = 0; i < 100; ++i) {
    const std::string next = "foreign " + std::to_string(i);
    made.push_back(by_stranger(100 + i, digest, {input("dataset", next, "mallory/y")}));
    digest = digest_of(next);
  }
  const LineageLimits few = {.depth = 64, .digests = 5, .statements = 5};
  const auto lineage = collect(made, few);
  EXPECT_EQ(lineage->statements().size(), 3U);
  EXPECT_TRUE(lineage->reached().empty());
  ASSERT_EQ(lineage->rest().aside.size(), 1U);
  const LineageAside& aside = lineage->rest().aside[0];
  EXPECT_EQ(aside.digest, digest_of("corpus"));
  EXPECT_EQ(aside.identity, "mallory");
  EXPECT_EQ(aside.names, std::vector<std::string>{"mallory/x"});
  EXPECT_EQ(aside.statements, 1U);
  EXPECT_TRUE(aside.makes);
  // Who may speak of everything can reach them.
  for (LineageStatement& one : made) {
    one.fact.signers[0].key = signer("t", "trainer", "*", {}, "*");
  }
  EXPECT_FALSE(collect(made, few)->reached().empty());
}

TEST(CollectLineage, WhatWasRevokedIsLeftOut_WhatWasWithdrawnIsNot) {
  Made made = valid_lineage();
  made.push_back(about(30, "train", digest_of("corpus"), "acme/corpus",
                       {input("dataset", "more", "acme/more")}, {maker("trainer", "train")}));
  EXPECT_TRUE(collect(made)->mentions(digest_of("more")));
  Made withdrawn = made;
  withdrawn.back().fact.withdrawn = WithdrawnFact{"wrong", now(), {}};
  EXPECT_TRUE(collect(withdrawn)->mentions(digest_of("more")));  // for deny lists
  made.back().fact.signers[0].key = revoked(made.back().fact.signers[0].key, now());
  const auto lineage = collect(made);
  EXPECT_FALSE(lineage->mentions(digest_of("more")));
  ASSERT_EQ(lineage->rest().aside.size(), 1U);
  EXPECT_EQ(lineage->rest().aside[0].names, std::vector<std::string>{"acme/corpus"});
}

// A name that a second way gives to a thing lets more statements about it count.
TEST(CollectLineage, NamesComeByEveryWay) {
  Made made = valid_lineage();
  made.push_back(about(30, "train", digest_of("corpus"), "other/corpus",
                       {input("dataset", "more", "other/more")},
                       {signer("o", "otto", "train", {}, "other")}));
  EXPECT_FALSE(collect(made)->mentions(digest_of("more")));
  made[0].inputs.push_back(input("adapter", "adapter", "acme/adapter"));
  made.push_back(about(31, "train", digest_of("adapter"), "acme/adapter",
                       {input("dataset", "corpus", "other/corpus")}, {maker("trainer", "train")}));
  EXPECT_TRUE(collect(made)->mentions(digest_of("more")));
}

TEST(CollectLineage, NamesOfOneKeyAreBounded) {
  const auto names_kept = [](std::size_t count) {
    Made made = valid_lineage();
    made.push_back(by_stranger(100, digest_of("corpus"), {}));
    std::vector<std::string>& names = made.back().subjects[0].names;
    while (names.size() < count) {
      names.push_back("mallory/" + std::to_string(names.size()));
    }
    return collect(made)->rest().aside.at(0).names.size();
  };
  EXPECT_EQ(names_kept(LineageAside::kMaxNames - 1), LineageAside::kMaxNames - 1);
  EXPECT_EQ(names_kept(LineageAside::kMaxNames), LineageAside::kMaxNames);
  EXPECT_EQ(names_kept(LineageAside::kMaxNames + 1), LineageAside::kMaxNames);
}

// --- what cannot count is still denied

TEST(CollectLineage, NamesThatWereLeftOutAreDenied) {
  Made made = valid_lineage();
  made.push_back(about(30, "collect", digest_of("corpus"), "leaked/mails", {},
                       {signer("l", "leo", "collect", {}, "leaked")}));
  Facts facts = valid_facts();
  facts.lineage = collect(made);
  ASSERT_EQ(facts.lineage->rest().aside.size(), 1U);
  EXPECT_EQ(brief(judge_alone(LineageCondition{}, facts)), kPassed);
  LineageCondition condition;
  const Judgement denied{Outcome::kFail, Reason::kAncestorDenied};
  condition.deny.names = {"leaked/*"};
  EXPECT_EQ(brief(judge_alone(condition, facts)), denied);
  condition.deny = {};
  condition.deny.identities = {"leo"};
  EXPECT_EQ(brief(judge_alone(condition, facts)), denied);
  const Facts again = facts_from_json(to_json(facts)).value();
  EXPECT_EQ(to_json(again), to_json(facts));
  EXPECT_EQ(brief(judge_alone(condition, again)), denied);
}

// A limit matters to a policy when its own way leads there.
TEST(CollectLineage, LimitBesideTheWay_IsNoMatter) {
  Made made = valid_lineage();
  std::string digest = artifact().text();
  for (std::size_t i = 0; i < 70; ++i) {
    const std::string next = "foreign " + std::to_string(i);
    made.push_back(by_stranger(100 + i, digest, {input("dataset", next, "mallory/y")}));
    digest = digest_of(next);
  }
  // The stranger publishes the same bytes under a name of his own.
  made.push_back(
      joins(300, {artifact().text()}, "mallory/x", {publisher("m", "mallory", "mallory")}));
  Facts facts = valid_facts();
  facts.lineage = collect(made);
  EXPECT_EQ(facts.lineage->reached(), std::vector<std::string>{"depth"});
  EXPECT_EQ(brief(judge_alone(LineageCondition{}, facts)), kPassed);
  for (LineageStatement& one : made) {
    one.fact.signers[0].key = signer("t", "trainer", "*", {}, "*");
  }
  facts.lineage = collect(made);
  EXPECT_EQ(judge_alone(LineageCondition{}, facts).actual["reached"], Json::array({"depth"}));
  EXPECT_EQ(judge_alone(LineageCondition{}, facts).outcome, Outcome::kError);
}

TEST(CollectLineage, EndsAtEachLimit_AndSaysSo) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(collect(chain(64))->reached(), Texts());
  EXPECT_EQ(collect(chain(65))->reached(), Texts{"depth"});
  // Eleven digests, and ten statements beside the manifest.
  EXPECT_EQ(collect(chain(10), {.digests = 11})->reached(), Texts());
  EXPECT_EQ(collect(chain(10), {.digests = 10})->reached(), Texts{"digests"});
  EXPECT_EQ(collect(chain(10), {.statements = 11})->reached(), Texts());
  EXPECT_EQ(collect(chain(10), {.statements = 10})->reached(), Texts{"statements"});
  EXPECT_EQ(collect(chain(65))->rest().cut, Texts{digest_of("65")});
  EXPECT_EQ(collect(chain(64))->rest().cut, Texts());
}

// `to` were made from `from`: each of them from all.
LineageStatement wide(std::uint64_t number, char to, char from, std::size_t width) {
  const auto named = [](char layer, std::size_t i) {
    return layer + std::string(" ") + std::to_string(i);
  };
  LineageStatement made =
      about(number, "train", artifact().text(), "acme/demo", {}, {maker("trainer", "train")});
  if (to != 'a') {
    made.subjects.clear();
    for (std::size_t i = 0; i < width; ++i) {
      made.subjects.push_back({digest_of(named(to, i)), {"acme/demo"}});
    }
    std::ranges::sort(made.subjects, {}, &LineageSubject::digest);
  }
  for (std::size_t i = 0; i < width; ++i) {
    made.inputs.push_back(input("dataset", named(from, i), "acme/demo"));
  }
  return made;
}

TEST(CollectLineage, WideStatements_EndAtTheLimitOnEdges) {
  const Made made = {wide(1, 'a', 'b', 300), wide(2, 'b', 'c', 300), wide(3, 'c', 'd', 300),
                     wide(4, 'd', 'e', 300), wide(5, 'e', 'f', 300), wide(6, 'f', 'g', 300)};
  const auto lineage = collect(made);
  EXPECT_EQ(lineage->reached(), std::vector<std::string>{"edges"});
  EXPECT_EQ(lineage->statements().size(), 1U + 1 + 4);
  EXPECT_EQ(lineage->rest().cut.size(), 300U);
  EXPECT_TRUE(std::ranges::binary_search(lineage->rest().cut, digest_of("f 7")));
  const Made five(made.begin(), made.end() - 1);
  EXPECT_TRUE(collect(five)->reached().empty());
  const std::size_t edges = 301 + 4 * 300 * 301;
  EXPECT_TRUE(collect(five, {.edges = edges})->reached().empty());
  EXPECT_EQ(collect(five, {.edges = edges - 1})->reached(), std::vector<std::string>{"edges"});
  EXPECT_EQ(collect(made, {.edges = 301})->statements().size(), 2U) << "with the manifest";
  EXPECT_TRUE(collect(chain(60), {.edges = 0})->reached().empty()) << "narrow ones are free";
}

TEST(CollectLineage, ACycleEnds) {
  Made made = chain(3);
  made[2].inputs[0].digests = {artifact().text()};
  EXPECT_EQ(collect(made)->statements().size(), 4U);
}

TEST(CollectLineage, Down_FindsWhatWasMade) {
  Made made = valid_lineage();
  made.push_back(about(20, "quantize", digest_of("small"), "acme/small",
                       {{"base-model", "acme/demo", {artifact().text()}}},
                       {maker("packer", "quantize")}));
  const auto lineage =
      collect_lineage(digest_of("corpus"), source_of(made), LineageDirection::kDown);
  const LineageView view = view_of(**lineage, LineageDirection::kDown, 64);
  ASSERT_EQ(view.nodes.size(), 3U);
  EXPECT_EQ(view.nodes[0].names, std::vector<std::string>{"acme/corpus"});
  EXPECT_EQ(view.nodes[2].depth, 2U);
  EXPECT_EQ(view_of(**lineage, LineageDirection::kDown, 1).nodes.size(), 2U);
}

TEST(LineageView, ShowsNodesEdgesAndWhatIsMissing) {
  Made made = valid_lineage();
  made[0].inputs.push_back(input("code", "code", "acme/code"));
  made.push_back(joins(3, {digest_of("corpus"), tree_of("other form")}, "acme/corpus",
                       {publisher("bob-1", "bob")}));
  const LineageView view = view_of(*collect(made), LineageDirection::kUp, 64);
  ASSERT_EQ(view.nodes.size(), 3U);
  EXPECT_EQ(view.nodes[0].digests, std::vector<std::string>{artifact().text()});
  ASSERT_EQ(view.edges.size(), 2U);
  const auto corpus = std::find_if(view.nodes.begin(), view.nodes.end(),
                                   [](const auto& node) { return node.digests.size() == 2; });
  ASSERT_NE(corpus, view.nodes.end());
  EXPECT_FALSE(corpus->missing);
  EXPECT_EQ(std::count_if(view.nodes.begin(), view.nodes.end(),
                          [](const auto& node) { return node.missing; }),
            1);
  EXPECT_FALSE(view.nodes[0].cycle);
}

// A name and a manifest do not say where a thing comes from, nor does an evaluation; the picture
// shows what the decision says.
TEST(LineageView, MarksUnknownLeaves_AsADecisionDoes) {
  const auto missing = [](const Made& made) {
    std::vector<std::string> names;
    for (const LineageView::Node& node :
         view_of(*collect(made, {}, LineageWhose::kAll), LineageDirection::kUp, 64).nodes) {
      if (node.missing) {
        names.push_back(node.names.front());
      }
    }
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(missing(valid_lineage()), Names());
  Made made = valid_lineage();
  made.pop_back();
  made.push_back(joins(3, {digest_of("corpus")}, "acme/corpus", {publisher("bob-1", "bob")}));
  made.push_back(about(4, "evaluate", digest_of("corpus"), "acme/corpus",
                       {input("dataset", "corpus", "acme/corpus")}, {maker("eva", "evaluate")}));
  made.push_back(
      about(5, "train", digest_of("corpus"), "acme/corpus", {}, {maker("trainer", "train")}));
  EXPECT_EQ(missing(made), Names{"acme/corpus"});
  EXPECT_EQ(judge_lineage({}, made).code, Reason::kAncestorUnknown);
  made = valid_lineage();
  made[1].fact.withdrawn = WithdrawnFact{"incorrect", from_now(-10), {}};
  EXPECT_EQ(missing(made), Names{"acme/corpus"});
  made = valid_lineage();
  made[1].fact.signers[0].key = revoked(made[1].fact.signers[0].key, now());
  EXPECT_EQ(missing(made), Names{"acme/corpus"});
  EXPECT_EQ(judge_lineage({}, made).code, Reason::kAncestorUnknown);
}

TEST(LineageView, MarksCycles) {
  Made made = chain(3);
  made[2].inputs[0].digests = {digest_of("1")};
  const LineageView view = view_of(*collect(made), LineageDirection::kUp, 64);
  ASSERT_EQ(view.nodes.size(), 3U);
  EXPECT_FALSE(view.nodes[0].cycle);
  EXPECT_TRUE(view.nodes[1].cycle);
  EXPECT_TRUE(view.nodes[2].cycle);
}

// 0 <- 1 <- 2 <- 3 <- 4 <- 5, with a cycle of 1 and 2 and one of 4 and itself: what lies between
// two cycles is marked with them, what hangs on them is not.
TEST(LineageView, MarksWhatLiesBetweenCycles_AndNothingBeside) {
  Made made = chain(6);
  made[2].inputs.push_back(input("dataset", "1"));
  made[4].inputs.push_back(input("dataset", "4"));
  const LineageView view = view_of(*collect(made), LineageDirection::kUp, 64);
  ASSERT_GE(view.nodes.size(), 6U);
  for (std::size_t i = 0; i < view.nodes.size(); ++i) {
    EXPECT_EQ(view.nodes[i].cycle, i >= 1 && i <= 4) << i;
  }
}

}  // namespace
}  // namespace assay::policy::test
