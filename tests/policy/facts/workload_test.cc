// SPDX-License-Identifier: Apache-2.0
// The document of a workload that was read from a pod: what was judged at create is judged again.
#include <functional>

#include <gtest/gtest.h>

#include "tests/policy/fixture.h"

namespace assay::policy::test {
namespace {

Workload sample() {
  Workload pod = pod_with({mount_at("/models", "pvc://prod/models"), config_at("/etc/app")});
  pod.mounts.push_back(scratch_at("init", "/tmp", "tmp", false));
  pod.mounts.back().device = true;
  pod.mounts.back().part = "/sub";
  pod.mounts.push_back(mount_at("/logs", ""));
  pod.mounts.back().part.reset();
  pod.mounts.back().read_only_below = true;
  pod.mounts.back().volume_location = "pvc://prod/logs";
  pod.images.push_back({"init", "registry.example/init@sha256:00", true, true});
  pod.accelerators = {"resource:nvidia.com/gpu", "privileged"};
  return pod;
}

TEST(PodDocument, RoundTrip_GivesTheSameDocument) {
  const Json json = to_json(sample());
  const auto again = workload_from_json(json);
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_TRUE(again->pod);
  ASSERT_EQ(again->mounts.size(), 4U);
  EXPECT_EQ(again->mounts[0].part, "");
  EXPECT_EQ(again->mounts[2].part, "/sub");
  EXPECT_EQ(again->mounts[3].part, std::nullopt);
  EXPECT_EQ(again->mounts[3].volume_location, "pvc://prod/logs");
  EXPECT_EQ(again->mounts[0].location, "pvc://prod/models");
  EXPECT_EQ(again->mounts[1].kind, VolumeKind::kConfig);
  EXPECT_TRUE(again->mounts[2].device);
  EXPECT_FALSE(again->mounts[2].read_only);
  EXPECT_FALSE(again->mounts[0].read_only_below);
  EXPECT_TRUE(again->mounts[3].read_only_below);
  EXPECT_EQ(again->accelerators, sample().accelerators);
  EXPECT_EQ(to_json(*again), json);
}

TEST(PodDocument, WithoutMountsIsStillAPod) {
  const auto again = workload_from_json(to_json(pod_with({})));
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->pod);
  EXPECT_FALSE(workload_from_json(to_json(workload()))->pod);
}

TEST(PodDocument, OtherShapes_AreRefused) {
  const std::vector<std::function<void(Json&)>> changes = {
      [](Json& json) { json["pod"] = true; },
      [](Json& json) { json["pod"].erase("images"); },
      [](Json& json) { json["pod"]["mounts"][0].erase("read_only"); },
      [](Json& json) { json["pod"]["mounts"][0]["read_only"] = "true"; },
      [](Json& json) { json["pod"]["mounts"][0].erase("read_only_below"); },
      [](Json& json) { json["pod"]["mounts"][0]["read_only_below"] = nullptr; },
      [](Json& json) { json["pod"]["mounts"][2]["read_only_below"] = true; },
      [](Json& json) { json["pod"]["mounts"][0]["kind"] = "other"; },
      [](Json& json) { json["pod"]["mounts"][0]["mode"] = 1; },
      [](Json& json) { json["pod"]["mounts"][0]["part"] = false; },
      [](Json& json) { json["pod"]["images"][0]["init"] = 0; },
      [](Json& json) { json["pod"]["images"][0].erase("remounts"); },
      [](Json& json) { json["accelerators"] = "any"; }};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Json json = to_json(sample());
    changes[i](json);
    EXPECT_FALSE(workload_from_json(json)) << i;
  }
}

}  // namespace
}  // namespace assay::policy::test
