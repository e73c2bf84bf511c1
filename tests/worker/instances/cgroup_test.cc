// SPDX-License-Identifier: Apache-2.0
// Which pod a process runs in: the groups of each runtime and driver, and groups that somebody else
// made to look like them.
#include "worker/instances/cgroup.h"

#include <gtest/gtest.h>

#include "tests/support/vectors.h"

namespace assay::worker {
namespace {

using test::code_of;

const std::string kId(64, 'c');
const std::string kUid = "5f1d0c52-6a3c-4a7e-9d0e-0b8f3a5d2c11";
const std::string kSlice = "5f1d0c52_6a3c_4a7e_9d0e_0b8f3a5d2c11.slice";
const std::string kScope = "/cri-containerd-" + kId + ".scope";
const CgroupPlace kPlace = {kUid, kId};

// "none", the code of the error, or "POD CONTAINER".
std::string said(const std::string& file) {
  const auto place = place_of_process(file);
  if (!place) {
    return code_of(place);
  }
  return *place ? (*place)->pod + " " + (*place)->container : "none";
}
// Of version 2.
std::string at(const std::string& path) { return said("0::" + path + "\n"); }
const std::string kFound = kUid + " " + kId;

TEST(Cgroup, SystemdDriver) {
  const std::string pods = "/kubepods.slice/";
  EXPECT_EQ(at(pods + "kubepods-pod" + kSlice + kScope), kFound);
  EXPECT_EQ(at(pods + "kubepods-burstable.slice/kubepods-burstable-pod" + kSlice + kScope), kFound);
  EXPECT_EQ(at(pods + "kubepods-besteffort.slice/kubepods-besteffort-pod" + kSlice + kScope),
            kFound);
  for (const char* runtime : {"cri-containerd-", "crio-", "docker-"}) {
    EXPECT_EQ(at(pods + "kubepods-pod" + kSlice + "/" + runtime + kId + ".scope"), kFound);
  }
  EXPECT_EQ(at("/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" + kSlice + kScope),
            kFound);
  EXPECT_EQ(at(pods + "kubepods-pod" + kSlice + "/crio-" + kId + ".scope/container"), kFound);
}

TEST(Cgroup, CgroupfsDriver) {
  EXPECT_EQ(at("/kubepods/pod" + kUid + "/" + kId), kFound);
  EXPECT_EQ(at("/kubepods/burstable/pod" + kUid + "/" + kId), kFound);
  EXPECT_EQ(at("/kubepods/besteffort/pod" + kUid + "/crio-" + kId), kFound);
  EXPECT_EQ(at("/kubelet/kubepods/besteffort/pod" + kUid + "/" + kId), kFound);
}

TEST(Cgroup, ContainerdWithCgroupfsBelowAKubeletWithSystemd) {
  const std::string group = "kubepods-burstable-pod" + kSlice + ":cri-containerd:" + kId;
  EXPECT_EQ(at("/system.slice/containerd.service/" + group), kFound);
  EXPECT_EQ(at("/" + group), kFound);
  EXPECT_EQ(at("/user.slice/" + group), "forbidden");
}

TEST(Cgroup, StaticPod_HasTheHashOfItsFile) {
  const std::string hash(32, 'a');
  EXPECT_EQ(at("/kubepods.slice/kubepods-pod" + hash + ".slice" + kScope), hash + " " + kId);
}

TEST(Cgroup, VersionOne_HasALineForEachHierarchy) {
  const std::string path = "/kubepods/burstable/pod" + kUid + "/" + kId;
  EXPECT_EQ(said("12:memory:" + path + "\n11:cpu,cpuacct:" + path + "\n1:name=systemd:" + path +
                 "\n0::/system.slice/containerd.service\n"),
            kFound);
  EXPECT_EQ(said("4:rdma:/\n3:pids:" + path + "\n"), kFound);
}

TEST(Cgroup, HierarchiesThatDisagree_AreRefused) {
  const std::string other = "00000000-0000-4000-8000-000000000000";
  EXPECT_EQ(said("2:cpu:/kubepods/pod" + kUid + "/" + kId + "\n1:memory:/kubepods/pod" + other +
                 "/" + kId + "\n"),
            "forbidden");
  EXPECT_EQ(said("2:cpu:/kubepods/pod" + kUid + "/" + kId + "\n1:memory:/kubepods/pod" + kUid +
                 "/" + std::string(64, 'd') + "\n"),
            "forbidden");
}

// The node agent runs in a cgroup namespace of its own, as containers do.
TEST(Cgroup, SeenFromAnotherNamespace) {
  EXPECT_EQ(at("/../../../kubepods-besteffort.slice/kubepods-besteffort-pod" + kSlice + kScope),
            kFound);
  EXPECT_EQ(at("/../../kubepods-burstable-pod" + kSlice + kScope), kFound);
  EXPECT_EQ(at("/../../../../kubepods.slice/kubepods-pod" + kSlice + kScope), kFound);
  EXPECT_EQ(at("/../../pod" + kUid + "/" + kId), kFound);
  EXPECT_EQ(at("/../../../burstable/pod" + kUid + "/" + kId), kFound);
  EXPECT_EQ(at("/../../../../user.slice/kubepods-pod" + kSlice + kScope), "forbidden");
}

// A container, or a user of the host, may make groups of any name below its own.
TEST(Cgroup, GroupsMadeToLookLikeAPod_CountForNothing) {
  const std::string forged = "00000000_0000_4000_8000_000000000000.slice/cri-containerd-" +
                             std::string(64, 'd') + ".scope";
  EXPECT_EQ(at("/kubepods.slice/kubepods-pod" + kSlice + kScope + "/kubepods.slice/kubepods-pod" +
               forged),
            kFound);
  EXPECT_EQ(at("/kubepods/pod" + kUid + "/" + kId + "/kubepods.slice/kubepods-pod" + forged),
            kFound);
  EXPECT_EQ(
      at("/user.slice/user-1000.slice/user@1000.service/kubepods.slice/kubepods-pod" + forged),
      "forbidden");
  EXPECT_EQ(at("/user.slice/kubepods/pod" + kUid + "/" + kId), "forbidden");
  EXPECT_EQ(at("/kubepods.slice/x.slice/kubepods-pod" + forged), "forbidden");
  EXPECT_EQ(at("/kubepods-burstable.slice/kubepods-pod" + forged), "forbidden");
  EXPECT_EQ(at("/user.slice/pod" + kUid + "/" + kId), "none");
  EXPECT_EQ(at("/kubepods.slice/../user.slice/kubepods-pod" + forged), "forbidden");
}

TEST(Cgroup, InAPodButInNoContainer_IsRefused) {
  const std::string pod = "/kubepods.slice/kubepods-pod" + kSlice;
  EXPECT_EQ(at(pod), "forbidden");
  EXPECT_EQ(at(pod + "/x.scope"), "forbidden");
  EXPECT_EQ(at(pod + "/crio-conmon-" + kId + ".scope"), "forbidden");
  EXPECT_EQ(at(pod + "/cri-containerd-" + kId), "forbidden");
  EXPECT_EQ(at(pod + "/cri-containerd-" + kId.substr(1) + ".scope"), "forbidden");
  EXPECT_EQ(at("/kubepods.slice/kubepods-pod.slice" + kScope), "forbidden");
  EXPECT_EQ(at("/kubepods.slice/kubepods-pod-x.slice" + kScope), "forbidden");
  EXPECT_EQ(at(pod + kScope + " (deleted)"), "forbidden");
}

TEST(Cgroup, OutsideOfEveryPod) {
  EXPECT_EQ(at("/"), "none");
  EXPECT_EQ(at("/user.slice/user-1000.slice/session-2.scope"), "none");
  EXPECT_EQ(at("/system.slice/docker-" + kId + ".scope"), "none");
  EXPECT_EQ(said("4:cpu:/\n0::/system.slice/ssh.service\n"), "none");
}

TEST(Cgroup, WhatIsNoListOfGroups_IsRefused) {
  EXPECT_EQ(said(""), "forbidden");
  EXPECT_EQ(said("0:\n"), "forbidden");
  EXPECT_EQ(said("x"), "forbidden");
  EXPECT_EQ(said("0::/\n\n"), "forbidden");
  EXPECT_EQ(said("0::/" + std::string(70'000, 'a')), "forbidden");
}

}  // namespace
}  // namespace assay::worker
