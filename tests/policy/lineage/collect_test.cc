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

std::shared_ptr<const Lineage> collect(const Made& made, const LineageLimits& limits = {}) {
  return collect_lineage(artifact().text(), source_of(made), LineageDirection::kUp, limits).value();
}

TEST(CollectLineage, TakesWhatLeadsToTheStart_AndNothingElse) {
  Made made = valid_lineage();
  made.push_back(about(20, "train", digest_of("sibling"), "acme/sibling",
                       {input("dataset", "corpus", "acme/corpus")}, {maker("trainer", "train")}));
  made.push_back(
      about(21, "collect", digest_of("unrelated"), "acme/x", {}, {maker("curator", "collect")}));
  const auto lineage = collect(made);
  EXPECT_EQ(lineage->statements().size(), 2U);
  EXPECT_TRUE(lineage->reached().empty());
  EXPECT_TRUE(lineage->mentions(digest_of("corpus")));
  EXPECT_FALSE(lineage->mentions(digest_of("sibling")));
}

TEST(CollectLineage, FollowsManifestsWhoeverSigned) {
  Made made = valid_lineage();
  made[1].subjects[0].digest = digest_of("other form");
  made.push_back(joins(3, {digest_of("corpus"), digest_of("other form")}, "mallory/x",
                       {publisher("mallory-1", "mallory", "mallory")}));
  EXPECT_EQ(collect(made)->statements().size(), 3U);
}

TEST(CollectLineage, EndsAtEachLimit_AndSaysSo) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(collect(chain(64))->reached(), Texts());
  EXPECT_EQ(collect(chain(65))->reached(), Texts{"depth"});
  EXPECT_EQ(collect(chain(10), {.depth = 64, .digests = 5})->reached(), Texts{"digests"});
  EXPECT_EQ(collect(chain(10), {.depth = 64, .digests = 100, .statements = 5})->reached(),
            Texts{"statements"});
}

TEST(CollectLineage, ACycleEnds) {
  Made made = chain(3);
  made[2].inputs[0].digests = {artifact().text()};
  EXPECT_EQ(collect(made)->statements().size(), 3U);
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
  made.push_back(joins(3, {digest_of("corpus"), digest_of("other form")}, "acme/corpus",
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

TEST(LineageView, MarksCycles) {
  Made made = chain(3);
  made[2].inputs[0].digests = {digest_of("1")};
  const LineageView view = view_of(*collect(made), LineageDirection::kUp, 64);
  ASSERT_EQ(view.nodes.size(), 3U);
  EXPECT_FALSE(view.nodes[0].cycle);
  EXPECT_TRUE(view.nodes[1].cycle);
  EXPECT_TRUE(view.nodes[2].cycle);
}

}  // namespace
}  // namespace assay::policy::test
