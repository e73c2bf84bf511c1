// SPDX-License-Identifier: Apache-2.0
// What an init container runs that fills a volume: with `fillers` exactly what the policy says.
#include "policy/filler.h"

#include <gtest/gtest.h>

#include "policy/as_read.h"
#include "policy/locations.h"
#include "tests/policy/fixture.h"

namespace assay::policy::test {
namespace {

using Texts = std::vector<std::string>;

constexpr const char* kImage = "sha256:1111";

PolicyDocument policy_of(std::vector<Filler> fillers) {
  PolicyDocument policy = valid_policy();
  policy.fill_at_run = {kImage, "sha256:2222"};
  policy.fillers = std::move(fillers);
  return policy;
}

Workload filled_pod(const Texts& command, const Texts& args) {
  Workload pod = pod_with({scratch_at("initializer", "/mnt/models", "model", false),
                           scratch_at("server", "/mnt/models", "model", true)});
  pod.images.push_back({.container = "initializer",
                        .image = "registry.example/fill@sha256:1111",
                        .init = true,
                        .command = run_list_digest(command),
                        .args = run_list_digest(args)});
  return pod;
}

// In what the filler of the pod differs; empty: it may fill.
std::string difference(const PolicyDocument& policy, const Workload& pod) {
  const FilledVolumes filled = filled_volumes(policy, pod);
  EXPECT_EQ(filled.differing.empty(), filled.allowed.contains("model"));
  EXPECT_EQ(filled.differing.empty(), filled.fillers.contains("initializer"));
  return filled.differing.empty() ? "" : *filled.differing.begin();
}

TEST(Fillers, ListsThatAreBound_AreExact) {
  const Workload pod = filled_pod({"/fill"}, {"s3://models/gemma", "/mnt/models"});
  const std::pair<Filler, const char*> cases[] = {
      {{kImage, Texts{"/fill"}, Texts{"s3://models/gemma", "/mnt/models"}}, ""},
      {{kImage, {}, Texts{"s3://models/gemma", "/mnt/models"}}, ""},
      {{kImage, Texts{"/fill"}, {}}, ""},
      {{"sha256:2222", Texts{"x"}, {}}, ""},  // about another image
      {{kImage, Texts(), Texts{"s3://models/gemma", "/mnt/models"}}, "initializer: command"},
      {{kImage, Texts{"/fill"}, Texts()}, "initializer: args"},
      {{kImage, Texts{"/fill"}, Texts{"/mnt/models", "s3://models/gemma"}}, "initializer: args"},
      {{kImage, {}, Texts{"s3://models/gemma /mnt/models"}}, "initializer: args"},
      {{kImage, {}, Texts{"s3://models/gemma", "/mnt/models", ""}}, "initializer: args"},
      {{kImage, Texts{"/fil"}, Texts{"l"}}, "initializer: command and args"}};
  for (const auto& [filler, expected] : cases) {
    EXPECT_EQ(difference(policy_of({filler}), pod), expected);
  }
  EXPECT_EQ(difference(policy_of({}), pod), "");
}

TEST(Fillers, OfSeveralEntriesAboutAnImage_OneIsEnough) {
  const PolicyDocument policy =
      policy_of({{kImage, Texts(), Texts{"a"}}, {kImage, Texts{"/fill"}, Texts{"b"}}});
  EXPECT_EQ(difference(policy, filled_pod({}, {"a"})), "");
  EXPECT_EQ(difference(policy, filled_pod({"/fill"}, {"b"})), "");
  EXPECT_EQ(difference(policy, filled_pod({}, {"b"})), "initializer: args");
  EXPECT_EQ(difference(policy, filled_pod({"/other"}, {"b"})), "initializer: command");
}

// Such as of a pod that was admitted by a service that did not keep them.
TEST(Fillers, ListsThatAreNotKnown_Differ) {
  Workload pod = filled_pod({}, {"a"});
  const PolicyDocument policy = policy_of({{kImage, {}, Texts{"a"}}});
  pod.images.back().args.reset();
  EXPECT_EQ(difference(policy, pod), "initializer: args");
  EXPECT_EQ(difference(policy_of({}), pod), "");
  EXPECT_FALSE(reads_enough(policy, pod, std::vector{active(policy)}));
}

TEST(Fillers, ListsThatSomePolicyCompares_StayInTheCase) {
  const Workload pod = filled_pod({"/fill"}, {"a"});
  const PolicyDocument by_args = policy_of({{kImage, {}, Texts{"b"}}});
  const PolicyDocument by_none = policy_of({{"sha256:2222", Texts(), Texts()}});
  const Workload read = as_read(pod, std::vector{active(by_none), active(by_args)});
  EXPECT_EQ(read.images.back().args, pod.images.back().args);
  EXPECT_FALSE(read.images.back().command);
  const Workload less = as_read(pod, std::vector{active(by_none)});
  EXPECT_FALSE(less.images.back().args);
  EXPECT_FALSE(reads_enough(by_args, less, std::vector{active(by_none)}));
  EXPECT_TRUE(reads_enough(by_none, less, std::vector{active(by_none)}));
  const auto again = workload_from_json(to_json(pod));
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_EQ(to_json(*again), to_json(pod));
}

TEST(Fillers, DigestsOfLists_TellWordsApart) {
  const std::vector<Texts> lists = {{},      {""},    {"a"},  {"a", ""}, {"", "a"},   {"a", "b"},
                                    {"a b"}, {"1:a"}, {"ab"}, {"a1:b"},  {"a", "1:b"}};
  std::set<Digest> digests;
  for (const Texts& list : lists) {
    digests.insert(run_list_digest(list));
  }
  EXPECT_EQ(digests.size(), lists.size());
}

}  // namespace
}  // namespace assay::policy::test
