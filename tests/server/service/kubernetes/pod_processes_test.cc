// SPDX-License-Identifier: Apache-2.0
// Which containers of a pod see processes of other containers.
#include <gtest/gtest.h>

#include "policy/processes.h"
#include "server/service/kubernetes/pod.h"

namespace assay::server::test {
namespace {

policy::Workload read(Json spec) {
  const Json pod = {{"spec", std::move(spec)}};
  return workload_of(pod_of("Pod", pod).value(), "prod").value();
}

// Names and sources of the containers that see processes of others.
std::vector<std::string> seeing(const Json& members) {
  Json spec = {{"containers", {{{"name", "server"}, {"image", "x"}}}}};
  spec["initContainers"] = {{{"name", "first"}, {"image", "x"}}};
  spec.update(members);
  const policy::Workload workload = read(std::move(spec));
  std::vector<std::string> found;
  for (const policy::Mount& mount : workload.mounts) {
    if (policy::shows_processes(mount)) {
      EXPECT_EQ(mount.path, "/proc");
      found.push_back(mount.container + ":" + mount.source);
    }
  }
  EXPECT_EQ(workload.mounts.size(), found.size());
  return found;
}

TEST(PodProcesses, ContainersThatSeeProcessesOfOthers_AreKnown) {
  const std::vector<std::string> all = {"server:shareProcessNamespace",
                                        "first:shareProcessNamespace"};
  EXPECT_EQ(seeing({{"shareProcessNamespace", true}}), all);
  EXPECT_EQ(seeing({{"shareProcessNamespace", "false"}}), all);
  const auto ephemeral = [](const Json& target) {
    return seeing({{"ephemeralContainers",
                    {{{"name", "e"}, {"image", "x"}, {"targetContainerName", target}}}}});
  };
  const std::vector<std::string> one = {"e:targetContainerName"};
  EXPECT_EQ(ephemeral("first"), one);
  EXPECT_EQ(ephemeral(7), one);
  EXPECT_TRUE(ephemeral("").empty());
  EXPECT_TRUE(ephemeral(nullptr).empty());
  EXPECT_TRUE(seeing({{"shareProcessNamespace", false}}).empty());
  EXPECT_TRUE(seeing({{"shareProcessNamespace", nullptr}}).empty());
}

// A volume of a pod is what it is, whatever its source is called.
TEST(PodProcesses, VolumeNamedLikeThem_MayHoldAModel) {
  const Json mounts = {{{"name", "v"}, {"mountPath", "/models"}}};
  const policy::Workload workload =
      read({{"containers", {{{"name", "server"}, {"image", "x"}, {"volumeMounts", mounts}}}},
            {"volumes", {{{"name", "v"}, {"shareProcessNamespace", Json::object()}}}}});
  ASSERT_EQ(workload.mounts.size(), 1U);
  EXPECT_FALSE(policy::shows_processes(workload.mounts[0]));
  EXPECT_EQ(workload.mounts[0].kind, policy::VolumeKind::kModel);
}

}  // namespace
}  // namespace assay::server::test
