// SPDX-License-Identifier: Apache-2.0
// What is read of a mounted volume beside its location: which part of it, and whose volume it is.
#include <gtest/gtest.h>

#include "server/service/kubernetes/pod.h"

namespace assay::server::test {
namespace {

using policy::Mount;

// The mount of a pod in `name_space` that mounts the volume at /models.
Mount mount_of(Json volume, Json mount = Json::object(), const std::string& name_space = "prod") {
  volume["name"] = mount["name"] = "v";
  mount["mountPath"] = "/models";
  const Json spec = {
      {"containers",
       {{{"name", "server"}, {"image", "serving:1"}, {"volumeMounts", Json::array({mount})}}}},
      {"volumes", Json::array({volume})}};
  const Json pod = {{"metadata", Json::object()}, {"spec", spec}};
  return workload_of(pod_of("Pod", pod).value(), name_space)->mounts.at(0);
}

// Drivers look up names in the attributes in the namespace of the pod, and the objects are others.
TEST(PodVolumes, CsiVolumesOfTwoNamespaces_AreTwo) {
  const Json volume = {
      {"csi", {{"driver", "d"}, {"volumeAttributes", {{"secretProviderClass", "models"}}}}}};
  const std::string here = mount_of(volume).location;
  EXPECT_TRUE(here.starts_with("csi://d/prod/")) << here;
  EXPECT_EQ(mount_of(volume).location, here);
  EXPECT_NE(mount_of(volume, Json::object(), "other").location, here);
}

TEST(PodVolumes, PartOfAVolume_IsKept) {
  const Json scratch = {{"emptyDir", Json::object()}};
  const Json claim = {{"persistentVolumeClaim", {{"claimName", "cache"}}}};
  EXPECT_EQ(mount_of(scratch).part, "");
  EXPECT_EQ(mount_of(scratch, {{"subPath", "."}}).part, "");
  EXPECT_EQ(mount_of(scratch, {{"subPath", "snapshots//main/"}}).part, "/snapshots/main");
  EXPECT_EQ(mount_of(claim, {{"subPath", "a"}}).volume_location, "");
}

TEST(PodVolumes, PartThatThePodDoesNotTell_IsUnknown) {
  const Json scratch = {{"emptyDir", Json::object()}};
  const Json claim = {{"persistentVolumeClaim", {{"claimName", "cache"}}}};
  for (const Json& unclear :
       {Json{{"subPathExpr", "$(PART)"}}, Json{{"subPath", "../x"}}, Json{{"subPath", 7}}}) {
    EXPECT_EQ(mount_of(scratch, unclear).part, std::nullopt) << unclear;
    const Mount mount = mount_of(claim, unclear);
    EXPECT_EQ(mount.location, "") << unclear;
    EXPECT_EQ(mount.volume_location, "pvc://prod/cache") << unclear;
  }
}

}  // namespace
}  // namespace assay::server::test
