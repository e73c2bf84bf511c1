// SPDX-License-Identifier: Apache-2.0
// What a pod may mount beside a judged model, and which images it may run.
#include <gtest/gtest.h>

#include "policy/locations.h"
#include "tests/policy/fixture.h"
#include "tests/support/allocations.h"

namespace assay::policy::test {
namespace {

constexpr const char* kModel = "pvc://prod/models";  // of manifest()

PolicyDocument plain() { return policy_with({manifest_condition()}); }

Verdict judge_pod(const PolicyDocument& policy, const Workload& pod) {
  return evaluate(std::vector{active(policy)}, pod, one(valid_facts()), {}, DecisionPoint::kCreate,
                  now());
}

ConditionResult volumes(const PolicyDocument& policy, std::vector<Mount> mounts) {
  return implied(judge_pod(policy, pod_with(std::move(mounts))), "volumes");
}

Mount in(std::string_view container, Mount mount) {
  mount.container = container;
  return mount;
}

TEST(Volumes, ModelConfigAndScratch_Pass) {
  const Verdict verdict = judge_pod(
      plain(), pod_with({mount_at("/models/demo", kModel), config_at("/etc/app"),
                         scratch_at("server", "/tmp", "tmp", false), config_at("/models/other")}));
  EXPECT_TRUE(verdict.allowed) << to_json(verdict).dump(1);
}

// --- accounted for

TEST(Volumes, GoodClaimDeclaredAndAnotherMounted_IsRefused) {
  const ConditionResult result =
      volumes(plain(), {mount_at("/m", kModel), mount_at("/data", "hostpath:///data/evil")});
  EXPECT_EQ(result.code, Reason::kVolumeUnaccounted);
  EXPECT_EQ(result.actual["unaccounted"], Json::array({"server:/data (hostpath:///data/evil)"}));
}

TEST(Volumes, UnknownSourcesAndDevices_AreUnaccounted) {
  Mount unknown = mount_at("/data", "");
  unknown.source = "futureVolume";
  Mount device = mount_at("/dev/xvda", "pvc://prod/disk");
  device.device = true;
  Mount scratch_device = scratch_at("server", "/dev/x", "x", true);
  scratch_device.device = true;
  for (const Mount& other : {unknown, device, scratch_device}) {
    EXPECT_EQ(volumes(plain(), {mount_at("/m", kModel), other}).code, Reason::kVolumeUnaccounted);
  }
}

TEST(Volumes, EveryContainerIsLookedAt) {
  EXPECT_EQ(
      volumes(plain(), {mount_at("/m", kModel), in("debugger", mount_at("/m", "pvc://prod/other"))})
          .code,
      Reason::kVolumeUnaccounted);
}

TEST(Volumes, OtherVolumes_AllowLocationsAndSources) {
  PolicyDocument policy = plain();
  Mount cache = mount_at("/cache", "pvc://prod/cache");
  Mount nfs = mount_at("/share", "");
  nfs.source = "nfs";
  policy.other_volumes = {"pvc://prod/cache", "nfs"};
  EXPECT_EQ(volumes(policy, {mount_at("/m", kModel), cache, nfs}).outcome, Outcome::kPass);
  policy.other_volumes = {"pvc://prod/c*e"};
  EXPECT_EQ(volumes(policy, {mount_at("/m", kModel), cache}).outcome, Outcome::kPass);
  EXPECT_EQ(volumes(policy, {mount_at("/m", kModel), nfs}).code, Reason::kVolumeUnaccounted);
  // Other volumes account for a mount; they never make it the model.
  EXPECT_EQ(implied(judge_pod(policy, pod_with({cache})), "reference-bound").code,
            Reason::kReferenceUnbound);
}

// --- overlaps

TEST(Volumes, ConfigMapOverTheModel_IsRefused) {
  for (const char* path : {"/m", "/m/", "/m/modeling.py", "/m//sub", "/x/../m/code", "/./m",
                           "m/code", "/", "C:\\m\\x"}) {
    const ConditionResult result = volumes(plain(), {mount_at("/m", kModel), config_at(path)});
    EXPECT_EQ(result.code, Reason::kMountOverlaps) << path;
  }
  for (const char* path : {"/mm", "/m2/x", "/other", "/x/m"}) {
    EXPECT_EQ(volumes(plain(), {mount_at("/m", kModel), config_at(path)}).outcome, Outcome::kPass)
        << path;
  }
}

TEST(Volumes, ScratchAndOtherVolumesOverTheModel_AreRefused) {
  PolicyDocument policy = plain();
  policy.other_volumes = {"pvc://prod/cache"};
  EXPECT_EQ(volumes(policy, {mount_at("/m", kModel), scratch_at("server", "/m/x", "t", true)}).code,
            Reason::kMountOverlaps);
  EXPECT_EQ(volumes(policy, {mount_at("/m", kModel), mount_at("/m/x", "pvc://prod/cache")}).code,
            Reason::kMountOverlaps);
  EXPECT_EQ(volumes(policy, {mount_at("/m", kModel), mount_at("/m/x", kModel)}).code,
            Reason::kMountOverlaps);
  EXPECT_EQ(volumes(policy, {mount_at("/", kModel), config_at("/etc/app")}).code,
            Reason::kMountOverlaps);
}

TEST(Volumes, SamePathInAnotherContainer_IsNoOverlap) {
  EXPECT_EQ(volumes(plain(), {mount_at("/m", kModel), in("side", config_at("/m/x"))}).outcome,
            Outcome::kPass);
}

// Links that common images have: both names are one directory.
TEST(Volumes, MountThroughALinkOfTheImage_IsAnOverlap) {
  for (const auto& [model, other] :
       std::vector<std::pair<const char*, const char*>>{{"/run/models", "/var/run/models"},
                                                        {"/var/run/models", "/run/models/code"},
                                                        {"/var/lock", "/run/lock/x"},
                                                        {"/lib/models", "/usr/lib/models"},
                                                        {"/usr/bin/m", "/bin/m"},
                                                        {"/m", "/proc/self/root/m"},
                                                        {"/m", "/proc/1/root"},
                                                        {"/m", "/dev/fd/3"},
                                                        {"/m", "/dev/stdin"},
                                                        {"/m", "/var/run/../m"}}) {
    EXPECT_EQ(volumes(plain(), {mount_at(model, kModel), config_at(other)}).code,
              Reason::kMountOverlaps)
        << model << " " << other;
  }
  for (const auto& [model, other] : std::vector<std::pair<const char*, const char*>>{
           {"/run/models", "/var/running/models"},
           {"/var/run/models", "/var/run/secrets/kubernetes.io/serviceaccount"},
           {"/lib/models", "/usr/lib64/models"},
           {"/m", "/proc/meminfo"},
           {"/m", "/dev/shm"}}) {
    EXPECT_EQ(volumes(plain(), {mount_at(model, kModel), config_at(other)}).outcome, Outcome::kPass)
        << model << " " << other;
  }
}

// Whoever has the volume in another container moves the mount point of the model away.
TEST(Volumes, MountAboveTheModel_IsRefused) {
  PolicyDocument policy = plain();
  policy.other_volumes = {"pvc://prod/cache"};
  const Mount model = mount_at("/data/hub/demo", kModel);
  for (const char* path : {"/data/hub", "/data", "/", "/data/.", "data"}) {
    for (const Mount& other :
         {config_at(path), scratch_at("server", path, "t", false),
          scratch_at("server", path, "t", true), mount_at(path, "pvc://prod/cache")}) {
      EXPECT_EQ(volumes(policy, {model, other}).code, Reason::kMountOverlaps) << path;
      EXPECT_EQ(volumes(policy, {other, model}).code, Reason::kMountOverlaps) << path;
    }
  }
  for (const char* path : {"/data/hub/demo2", "/data/hu", "/data2", "/dat"}) {
    EXPECT_EQ(volumes(policy, {model, scratch_at("server", path, "t", false)}).outcome,
              Outcome::kPass)
        << path;
  }
  EXPECT_EQ(volumes(policy, {model, scratch_at("side", "/data", "t", false)}).outcome,
            Outcome::kPass);
}

TEST(Volumes, MountAboveTheModelThroughALink_IsRefused) {
  for (const auto& [model, other] :
       std::vector<std::pair<const char*, const char*>>{{"/run/models", "/var/run"},
                                                        {"/run/lock/m", "/var/lock"},
                                                        {"/lib/models", "/usr/lib"},
                                                        {"/lib/models", "/usr"},
                                                        {"/lib/models", "/lib"},
                                                        {"/usr/lib/models", "/lib"},
                                                        {"/var/mail/m", "/var/spool/mail"},
                                                        {"/var/mail/m", "/var/spool"},
                                                        {"/var/run/models", "/var"},
                                                        {"/var/run/models", "/run"}}) {
    EXPECT_EQ(
        volumes(plain(), {mount_at(model, kModel), scratch_at("server", other, "t", false)}).code,
        Reason::kMountOverlaps)
        << model << " " << other;
  }
  EXPECT_EQ(
      volumes(plain(), {mount_at("/run/models", kModel), scratch_at("server", "/var", "t", false)})
          .outcome,
      Outcome::kPass);
}

// A container that ran before made /tmp/x a link to the model.
TEST(Volumes, MountBelowWhatMayHaveLinks_IsRefused) {
  const Mount model = mount_at("/m", kModel);
  const Mount scratch = scratch_at("server", "/tmp", "t", false);
  EXPECT_EQ(volumes(plain(), {model, scratch, config_at("/tmp/x")}).code, Reason::kMountOverlaps);
  EXPECT_EQ(
      volumes(plain(), {model, config_at("/var/run/x/y"), scratch_at("server", "/run", "t", false)})
          .code,
      Reason::kMountOverlaps);
  EXPECT_EQ(volumes(plain(), {model, config_at("/etc/app"), config_at("/etc/app/more")}).outcome,
            Outcome::kPass)
      << "nobody makes links there";
  EXPECT_EQ(volumes(plain(), {model, in("side", scratch), in("side", config_at("/tmp/x"))}).outcome,
            Outcome::kPass)
      << "no model there";
}

// Each container has these without asking, and pods fill some: hostAliases, /dev/shm.
TEST(Volumes, ModelWhereTheRuntimeMounts_IsRefused) {
  for (const char* path :
       {"/etc", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/", "/dev", "/dev/shm",
        "/dev/shm/models", "/dev/models", "/proc", "/sys", "/sys/fs/m", "/etc/../etc"}) {
    EXPECT_EQ(volumes(plain(), {mount_at(path, kModel)}).code, Reason::kMountOverlaps) << path;
  }
  for (const char* path : {"/etc/models", "/device", "/etc/hosts.d", "/mnt/dev", "/system"}) {
    EXPECT_EQ(volumes(plain(), {mount_at(path, kModel)}).outcome, Outcome::kPass) << path;
  }
}

// --- where models may be mounted

TEST(MountPaths, ModelElsewhere_IsRefused) {
  PolicyDocument policy = plain();
  policy.mount_paths = {"/models/*", "/var/run/model"};
  for (const char* path : {"/models/demo", "/models/a/b", "/run/model", "/var/run/model"}) {
    EXPECT_EQ(volumes(policy, {mount_at(path, kModel)}).outcome, Outcome::kPass) << path;
  }
  for (const char* path : {"/m", "/models", "/modelsx", "/data/models/demo", "/run/models",
                           "/proc/self/root/models/demo", "/models/../models/demo"}) {
    const ConditionResult result = volumes(policy, {mount_at(path, kModel)});
    ASSERT_EQ(result.outcome, Outcome::kFail) << path;
    ASSERT_TRUE(result.actual.contains("elsewhere")) << path;
    EXPECT_EQ(result.actual["elsewhere"].size(), 1U) << path;
  }
  EXPECT_EQ(volumes(policy, {mount_at("/m", kModel)}).code, Reason::kMountPathNotAllowed);
  EXPECT_EQ(
      volumes(policy, {mount_at("/models/a", kModel), in("side", mount_at("/m", kModel))}).code,
      Reason::kMountPathNotAllowed);
}

TEST(MountPaths, NothingElseIsMountedThere) {
  PolicyDocument policy = plain();
  policy.other_volumes = {"pvc://prod/cache"};
  policy.mount_paths = {"/models/*", "/m"};
  const Mount model = mount_at("/models/demo", kModel);
  for (const Mount& other :
       {config_at("/models"), config_at("/models/other"), config_at("/m/x"),
        in("side", config_at("/")), in("side", config_at("/models/other")),
        mount_at("/models/cache", "pvc://prod/cache"), scratch_at("server", "/m", "t", true)}) {
    EXPECT_EQ(volumes(policy, {model, other}).code, Reason::kMountOverlaps) << other.path;
  }
  for (const char* path : {"/mm", "/modelsx", "/etc/models"}) {
    EXPECT_EQ(volumes(policy, {model, config_at(path)}).outcome, Outcome::kPass) << path;
  }
}

TEST(Volumes, PathThatNoKernelTakes_IsRefused) {
  std::string path;
  for (int i = 0; i < 5000; ++i) {
    path += "/a";
  }
  EXPECT_EQ(volumes(plain(), {mount_at("/m", kModel), config_at(path)}).code,
            Reason::kMountOverlaps);
}

// --- writing

TEST(Volumes, WritableModel_IsRefusedUnlessThePolicySaysSo) {
  Mount writable = mount_at("/m", kModel);
  writable.read_only = false;
  PolicyDocument policy = plain();
  EXPECT_EQ(volumes(policy, {writable}).code, Reason::kMountWritable);
  EXPECT_EQ(volumes(policy, {mount_at("/m", kModel), in("side", writable)}).code,
            Reason::kMountWritable);
  policy.writable_mounts = true;
  EXPECT_EQ(volumes(policy, {writable}).outcome, Outcome::kPass);
}

// The claim that holds the model, or a directory of the model, mounted elsewhere and writable.
TEST(Volumes, WritingAroundTheReadOnlyMount_IsRefused) {
  PolicyDocument policy = plain();
  policy.other_volumes = {"*"};
  for (const char* place : {"pvc://prod", "pvc://prod/models/sub"}) {
    Mount around = in("side", mount_at("/elsewhere", place));
    EXPECT_EQ(volumes(policy, {mount_at("/m", kModel), around}).outcome, Outcome::kPass) << place;
    around.read_only = false;
    EXPECT_EQ(volumes(policy, {mount_at("/m", kModel), around}).code, Reason::kMountWritable)
        << place;
  }
  Mount beside = in("side", mount_at("/elsewhere", "pvc://prod/models2"));
  beside.read_only = false;
  EXPECT_EQ(volumes(policy, {mount_at("/m", kModel), beside}).outcome, Outcome::kPass);
}

// A writable volume may be the model as long as nothing shows that it is another one.
TEST(Volumes, WritingToWhatHasNoLocation_IsRefused) {
  PolicyDocument policy = plain();
  policy.other_volumes = {"*"};
  const auto judge = [&](const char* source, const char* location, const char* whole) {
    Mount other = in("side", mount_at("/elsewhere", location));
    other.source = source;
    other.volume_location = whole;
    other.part = std::nullopt;
    other.read_only_below = true;
    EXPECT_EQ(volumes(policy, {mount_at("/m", kModel), other}).outcome, Outcome::kPass) << source;
    other.read_only = other.read_only_below = false;
    return volumes(policy, {mount_at("/m", kModel), other});
  };
  // subPathExpr of the same claim; roots; what is not known.
  EXPECT_EQ(judge("persistentVolumeClaim", "", kModel).code, Reason::kMountWritable);
  EXPECT_EQ(judge("persistentVolumeClaim", "", "pvc://prod").code, Reason::kMountWritable);
  for (const char* source : {"nfs", "hostPath", "iscsi", "csi", ""}) {
    EXPECT_EQ(judge(source, "", "").code, Reason::kMountWritable) << source;
  }
  // subPathExpr of another claim; a volume that is made for the pod.
  EXPECT_EQ(judge("persistentVolumeClaim", "", "pvc://prod/logs").outcome, Outcome::kPass);
  EXPECT_EQ(judge("ephemeral", "", "").outcome, Outcome::kPass);
}

// In these directories of a node are the claims and images of its pods.
TEST(Volumes, WritingThroughTheNode_IsRefused) {
  PolicyDocument policy = plain();
  policy.other_volumes = {"hostPath", "hostpath://*"};
  const auto judge = [&](const std::string& path) {
    Mount host = mount_at("/host", "hostpath://" + path);
    host.source = "hostPath";
    host.read_only = false;
    return volumes(policy, {mount_at("/m", kModel), host});
  };
  for (const char* path : {"/var", "/var/lib", "/var/lib/kubelet", "/var/lib/kubelet/pods/x",
                           "/data/kubelet/pods", "/data/kubelet", "/var/lib/containerd", "/run/x",
                           "/var/run", "/proc/1/root", "/sys", "/dev/sda", "/var/snap/microk8s"}) {
    EXPECT_EQ(judge(path).code, Reason::kMountWritable) << path;
  }
  for (const char* path : {"/data", "/var/log", "/var/lib/prompts", "/mnt/kubelets"}) {
    EXPECT_EQ(judge(path).outcome, Outcome::kPass) << path;
  }
}

// The node may have mounted the model, or a volume that holds it, below the directory.
TEST(Volumes, ReadingADirectoryOfTheNode_LeavesWritableWhatIsMountedBelow) {
  PolicyDocument policy = plain();
  policy.other_volumes = {"hostPath", "hostpath://*"};
  const auto judge = [&](const std::string& location, const Mount& model) {
    Mount host = in("side", mount_at("/host", location));
    host.source = "hostPath";
    const ConditionResult result = volumes(policy, {model, host});
    host.read_only_below = true;
    EXPECT_EQ(volumes(policy, {model, host}).outcome, Outcome::kPass) << location;
    return result;
  };
  const Mount on_claim = mount_at("/m", kModel);
  for (const char* path : {"", "hostpath:///var/lib/kubelet/pods", "hostpath:///var",
                           "hostpath:///run", "hostpath:///var/run/assay/x"}) {
    EXPECT_EQ(judge(path, on_claim).code, Reason::kMountWritable) << path;
  }
  EXPECT_EQ(judge("hostpath:///var", on_claim).actual["writable"],
            Json::array({"side:/host (hostpath:///var): read-only, but not what is mounted below "
                         "it"}));
  // Nothing of the model is there; of the agent's socket it is known that nothing is below it.
  for (const char* path :
       {"hostpath:///data", "hostpath:///run/assay", "hostpath:///var/run/assay"}) {
    EXPECT_EQ(judge(path, on_claim).outcome, Outcome::kPass) << path;
  }
}

TEST(Volumes, BlockDeviceOfTheModel_IsWritable) {
  Mount device = in("side", mount_at("/dev/x", kModel));
  device.device = true;
  device.read_only = false;
  EXPECT_EQ(volumes(plain(), {mount_at("/m", kModel), device}).code, Reason::kMountWritable);
}

// Whoever may mount makes the same volume writable elsewhere.
TEST(Volumes, ContainerThatMayMountAgain_WritesToEveryModel) {
  PolicyDocument policy = plain();
  Workload pod = pod_with({mount_at("/m", kModel)});
  pod.images.push_back({"tools", "registry.example/tools:1", false, true});
  const ConditionResult result = implied(judge_pod(policy, pod), "volumes");
  ASSERT_EQ(result.code, Reason::kMountWritable);
  EXPECT_EQ(result.actual["writable"],
            Json::array({"tools: may mount again what is mounted read-only"}));
  policy.writable_mounts = true;
  EXPECT_TRUE(judge_pod(policy, pod).allowed);
  policy.writable_mounts = false;
  pod.images.back().remounts = false;
  EXPECT_TRUE(judge_pod(policy, pod).allowed);
}

// Past its mounts a container reaches the files of others through these.
TEST(Volumes, DirectoriesOfTheNode_AreUnaccounted) {
  for (const char* path : {"", "/var/lib/kubelet", "/var/lib/kubelet/pods", "/proc", "/dev/nvidia0",
                           "/dev/sda", "/run/containerd"}) {
    const std::string location = *path == 0 ? "" : "hostpath://" + std::string(path);
    Mount host = mount_at("/host", location);
    host.source = "hostPath";
    EXPECT_EQ(volumes(plain(), {mount_at("/m", kModel), host}).code, Reason::kVolumeUnaccounted)
        << path;
  }
}

TEST(Volumes, EveryFailure_IsNamed) {
  Mount writable = mount_at("/m", kModel);
  writable.read_only = false;
  const ConditionResult result =
      volumes(plain(), {writable, config_at("/m/x"), mount_at("/o", "")});
  EXPECT_EQ(result.actual["failed"],
            Json({"volume-unaccounted", "mount-overlaps", "mount-writable"}));
}

// --- images

TEST(Images, EveryContainerNeedsAnAllowedImage) {
  PolicyDocument policy = plain();
  Workload pod = pod_with({mount_at("/m", kModel)});
  EXPECT_EQ(implied(judge_pod(policy, pod), "images").id, "") << "any image";
  policy.images = {"registry.example/*"};
  EXPECT_TRUE(judge_pod(policy, pod).allowed);
  pod.images.push_back({"debugger", "docker.io/evil:1", false});
  const ConditionResult result = implied(judge_pod(policy, pod), "images");
  EXPECT_EQ(result.code, Reason::kImageNotAllowed);
  EXPECT_EQ(result.actual, Json::array({"debugger: docker.io/evil:1"}));
  pod.images = {{"init", "evil", true}, {"server", "registry.example/server:1", false}};
  EXPECT_EQ(implied(judge_pod(policy, pod), "images").code, Reason::kImageNotAllowed);
}

TEST(Images, WhatIsNoReference_MatchesNoPattern) {
  PolicyDocument policy = plain();
  policy.images = {"*"};
  Workload pod = pod_with({mount_at("/m", kModel)});
  for (const char* image : {"r/s@sha256:", "@sha256:11", "r/s@:11", "r/s@sha256", "r/s@sha256:11\n",
                            "r/s@sha256:xx", "r/s 1", "r/s\\x", "r/\xc5\xa1"}) {
    pod.images = {{"server", image, false}};
    EXPECT_EQ(implied(judge_pod(policy, pod), "images").code, Reason::kImageNotAllowed) << image;
  }
}

// One reader takes the first digest, another one the last.
TEST(Images, ImageWithTwoDigests_MatchesNoPattern) {
  PolicyDocument policy = plain();
  Workload pod = pod_with({mount_at("/m", kModel)});
  for (const char* pattern : {"*", "*@sha256:1111"}) {
    policy.images = {pattern};
    pod.images = {{"server", "registry.example/server:1@sha256:1111", false}};
    EXPECT_TRUE(judge_pod(policy, pod).allowed);
    pod.images = {{"server", "registry.example/server:1@sha256:0000@sha256:1111", false}};
    EXPECT_EQ(implied(judge_pod(policy, pod), "images").code, Reason::kImageNotAllowed);
  }
}

TEST(Images, PodWithoutContainers_IsUndecided) {
  PolicyDocument policy = plain();
  policy.images = {"*"};
  Workload pod = pod_with({mount_at("/m", kModel)});
  pod.images.clear();
  EXPECT_EQ(implied(judge_pod(policy, pod), "images").outcome, Outcome::kError);
}

// --- bounds

TEST(Volumes, Explanations_StaySmall) {
  std::vector<Mount> mounts = {mount_at("/m", kModel)};
  for (int i = 0; i < 1000; ++i) {
    mounts.push_back(mount_at("/" + std::string(4000, 'x') + std::to_string(i), ""));
  }
  const ConditionResult result = volumes(plain(), mounts);
  EXPECT_EQ(result.actual["unaccounted"].size(), kMaxShown + 1);
  EXPECT_LT(to_json(result).dump().size(), 16384U);
}

// Paths are longer than what a string holds by itself, so that each copy of one is counted.
double cost_of(std::size_t count) {
  std::vector<Mount> mounts;
  for (std::size_t i = 0; i < count; ++i) {
    mounts.push_back(mount_at("/models/of/one/container/" + std::to_string(i), kModel));
  }
  const auto cost = assay::test::allocations_of(
      [&] { EXPECT_EQ(volumes(plain(), mounts).outcome, Outcome::kPass); });
  return static_cast<double>(cost.count);
}

TEST(Volumes, ManyMounts_StayNearlyLinear) {
  const double small = cost_of(2000);
  EXPECT_LT(cost_of(8000), 4.5 * small) << small;
}

}  // namespace
}  // namespace assay::policy::test
