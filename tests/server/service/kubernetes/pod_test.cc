// SPDX-License-Identifier: Apache-2.0
// What is read of a pod: everything that a container mounts, with its one location, and nothing
// that the pod only says.
#include "server/service/kubernetes/pod.h"

#include <iterator>
#include <random>

#include <gtest/gtest.h>

#include "schemas/location.h"
#include "server/service/kubernetes/pod_volumes.h"
#include "tests/server/service/kubernetes/pod_samples.h"
#include "tests/support/seed.h"
#include "tests/support/vectors.h"

namespace assay::server::test {
namespace {

using policy::Mount;
using policy::VolumeKind;
using policy::Workload;

const std::string kDigest = "@sha256:" + std::string(64, 'a');

// The one mount of the pod.
Mount mount_of(const Json& spec) {
  const auto workload = read(spec);
  EXPECT_TRUE(workload) << to_string(workload.error());
  if (!workload || workload->mounts.size() != 1) {
    ADD_FAILURE() << spec;
    return {};
  }
  return workload->mounts.front();
}

std::string location_of(const Json& source, const Json& mount = Json::object()) {
  return mount_of(pod_with(source, mount)).location;
}

TEST(PodMounts, Claim_IsReadInFull) {
  const auto workload = read(pod_with(claim("models"), {{"readOnly", true}}));
  ASSERT_TRUE(workload);
  EXPECT_TRUE(workload->pod);
  EXPECT_EQ(workload->name_space, "prod");
  ASSERT_EQ(workload->mounts.size(), 1U);
  const Mount& mount = workload->mounts[0];
  EXPECT_EQ(mount.container, "server");
  EXPECT_EQ(mount.path, "/models");
  EXPECT_EQ(mount.volume, "v");
  EXPECT_EQ(mount.source, "persistentVolumeClaim");
  EXPECT_EQ(mount.location, "pvc://prod/models");
  EXPECT_EQ(mount.kind, VolumeKind::kModel);
  EXPECT_TRUE(mount.read_only);
  EXPECT_FALSE(mount.device);
}

TEST(PodMounts, EachSource_HasItsLocation) {
  EXPECT_EQ(location_of({{"hostPath", {{"path", "/data/models"}}}}), "hostpath:///data/models");
  EXPECT_EQ(location_of({{"hostPath", {{"path", "/data//./models/"}}}}), "hostpath:///data/models");
  EXPECT_EQ(location_of({{"nfs", {{"server", "NFS.example"}, {"path", "/export/m/"}}}}),
            "nfs://nfs.example/export/m");
  EXPECT_EQ(location_of({{"image", {{"reference", "demo:v1" + kDigest}}}}),
            "oci://docker.io/library/demo" + kDigest);
  const Json attributes = {{"bucket", "models"}};
  EXPECT_EQ(location_of({{"csi", {{"driver", "d.example"}, {"volumeAttributes", attributes}}}}),
            csi_location("d.example", "prod", attributes).value());
  EXPECT_EQ(location_of({{"csi", {{"driver", "d.example"}}}}),
            csi_location("d.example", "prod", Json::object()).value());
}

TEST(PodMounts, WhatHasNoSpelling_IsModelWithoutLocation) {
  const Json sources[] = {
      {{"image", {{"reference", "demo:v1"}}}},
      {{"image", {{"reference", "demo"}}}},
      {{"hostPath", {{"path", "/"}}}},
      {{"hostPath", {{"path", "/data/../models"}}}},
      {{"hostPath", {{"path", "data"}}}},
      {{"hostPath", {{"path", "/data with spaces"}}}},
      {{"nfs", {{"server", "a"}, {"path", "/../b"}}}},
      {{"nfs", {{"server", "a"}, {"path", "/"}}}},
      {{"persistentVolumeClaim", Json::object()}},
      {{"nfs", {{"server", "a/export"}, {"path", "/b"}}}},
      {{"persistentVolumeClaim", {{"claimName", "../other/models"}}}},
      {{"persistentVolumeClaim", {{"claimName", "hub/demo"}}}},
      {{"persistentVolumeClaim", {{"claimName", "a/b"}}}, {"emptyDir", Json::object()}},
      {{"emptyDir", Json::object()}, {"hostPath", {{"path", "/data"}}}},
      {{"emptyDir", "text"}},
      {{"csi", {{"driver", "d"}, {"volumeAttributes", {{"uri", 7}}}}}},
      {{"csi", {{"volumeAttributes", {{"uri", "pvc://prod/models"}}}}}},
      {{"ephemeral", {{"volumeClaimTemplate", {{"spec", Json::object()}}}}}},
      {{"iscsi", {{"targetPortal", "10.0.0.1"}}}},
      {{"gitRepo", {{"repository", "https://example.com/model"}}}},
      {{"quantumStore", {{"path", "/models"}}}},
      {{"emptyDir", nullptr}},
      Json::object()};
  for (const Json& source : sources) {
    const Mount mount = mount_of(pod_with(source));
    EXPECT_EQ(mount.location, "") << source;
    EXPECT_EQ(mount.kind, VolumeKind::kModel) << source;
  }
}

TEST(PodMounts, ConfigAndScratch_AreWhatTheyAre) {
  for (const char* source : {"configMap", "secret", "projected", "downwardAPI"}) {
    EXPECT_EQ(mount_of(pod_with({{source, Json::object()}})).kind, VolumeKind::kConfig) << source;
  }
  EXPECT_EQ(mount_of(pod_with({{"emptyDir", {{"medium", "Memory"}}}})).kind, VolumeKind::kScratch);
}

// Any driver takes any attribute: one that reads like a location says nothing about what is there.
TEST(PodMounts, UriAttributeOfADriver_IsNotBelieved) {
  for (const char* attribute : {"uri", "modelUri", "storageUri"}) {
    const Json attributes = {{attribute, "pvc://prod/models"}};
    const std::string location =
        location_of({{"csi", {{"driver", "d.example"}, {"volumeAttributes", attributes}}}});
    EXPECT_TRUE(location.starts_with("csi://d.example/prod/")) << location;
  }
}

TEST(PodMounts, CsiVolumeWithASecretOrAFileSystem_HasNoLocation) {
  for (const Json& more :
       {Json{{"nodePublishSecretRef", {{"name", "s3"}}}}, Json{{"fsType", "ext4"}}}) {
    Json volume = {{"driver", "d.example"}};
    volume.update(more);
    EXPECT_EQ(location_of({{"csi", volume}}), "") << more;
  }
  EXPECT_NE(location_of({{"csi", {{"driver", "d.example"}, {"fsType", ""}}}}), "");
}

TEST(PodMounts, SubPath_IsPartOfTheLocation) {
  EXPECT_EQ(location_of(claim("cache"), {{"subPath", "hub/demo"}}), "pvc://prod/cache/hub/demo");
  EXPECT_EQ(location_of(claim("cache"), {{"subPath", "hub//./demo/"}}),
            "pvc://prod/cache/hub/demo");
  EXPECT_EQ(location_of(claim("cache"), {{"subPath", "."}}), "pvc://prod/cache");
  EXPECT_EQ(location_of(claim("cache"), {{"subPath", ""}}), "pvc://prod/cache");
  EXPECT_EQ(location_of({{"hostPath", {{"path", "/"}}}}, {{"subPath", "data/models"}}),
            "hostpath:///data/models");
  EXPECT_EQ(location_of({{"image", {{"reference", "demo" + kDigest}}}}, {{"subPath", "models"}}),
            "oci://docker.io/library/demo" + kDigest + "/models");
}

TEST(PodMounts, SubPathThatGoesUpOrIsMadeAtRunTime_HasNoLocation) {
  const Json mounts[] = {{{"subPath", "../models"}},
                         {{"subPath", "a/../../models"}},
                         {{"subPath", "/models"}},
                         {{"subPath", "a b"}},
                         {{"subPath", 7}},
                         {{"subPathExpr", "$(NAME)"}},
                         {{"subPathExpr", "plain"}},
                         {{"subPathExpr", 7}},
                         {{"subPath", "a"}, {"subPathExpr", "a"}}};
  for (const Json& mount : mounts) {
    EXPECT_EQ(location_of(claim("cache"), mount), "") << mount;
  }
}

// Case 2: the good claim was declared, and another volume mounted.
TEST(PodMounts, WhatIsDeclaredAndNotMounted_DoesNotCount) {
  Json spec = pod_with({{"hostPath", {{"path", "/data/evil"}}}});
  spec["volumes"].push_back({{"name", "good"}, {"persistentVolumeClaim", {{"claimName", "good"}}}});
  EXPECT_EQ(mount_of(spec).location, "hostpath:///data/evil");
}

// Case 2: a sidecar's variable named the place.
TEST(PodMounts, VariablesAndImages_AreNoMounts) {
  Json spec = {{"containers",
                {{{"name", "side"},
                  {"image", "registry.example/demo" + kDigest},
                  {"env",
                   {{{"name", "MODEL_URI"}, {"value", "pvc://prod/models"}},
                    {{"name", "STORAGE_URI"}, {"value", "pvc://prod/models"}}}}}}}};
  const auto workload = read(std::move(spec));
  ASSERT_TRUE(workload);
  EXPECT_TRUE(workload->mounts.empty());
  ASSERT_EQ(workload->images.size(), 1U);
  EXPECT_EQ(workload->images[0].image, "registry.example/demo" + kDigest);
}

TEST(PodMounts, EveryKindOfContainer_Counts) {
  Json spec = {{"volumes", {{{"name", "v"}, {"emptyDir", Json::object()}}}}};
  for (const char* list : {"containers", "initContainers", "ephemeralContainers"}) {
    spec[list] = {
        {{"name", list}, {"image", "i"}, {"volumeMounts", {{{"name", "v"}, {"mountPath", "/a"}}}}}};
  }
  const auto workload = read(spec);
  ASSERT_TRUE(workload);
  ASSERT_EQ(workload->mounts.size(), 3U);
  ASSERT_EQ(workload->images.size(), 3U);
  EXPECT_EQ(workload->mounts[0].container, "containers");
  EXPECT_EQ(workload->mounts[1].container, "initContainers");
  EXPECT_EQ(workload->mounts[2].container, "ephemeralContainers");
  EXPECT_FALSE(workload->images[0].init);
  EXPECT_TRUE(workload->images[1].init);
  EXPECT_FALSE(workload->images[2].init);
}

// One that goes on beside the others may write when everybody has looked.
TEST(PodMounts, SidecarAmongInitContainers_IsNone) {
  for (const char* policy : {"Always", "Never", "OnFailure", "Sometimes"}) {
    Json spec;
    spec["initContainers"] = {{{"name", "a"}, {"image", "i"}, {"restartPolicy", policy}}};
    const auto workload = read(spec);
    ASSERT_TRUE(workload);
    const std::string_view text = policy;
    EXPECT_EQ(workload->images.at(0).init, text == "Never" || text == "OnFailure") << policy;
  }
}

// What had finished writes again when its own rule, or a rule of any other container, starts it
// again: then everybody has looked already.
TEST(PodMounts, WriterThatIsStartedAgain_IsNoInitContainer) {
  const auto is_init = [](const Json& own, const Json& other, const char* list = "containers") {
    Json spec;
    spec["containers"] = {{{"name", "server"}, {"image", "s"}}};
    spec["initContainers"] = {{{"name", "a"}, {"image", "i"}}};
    if (!other.is_null()) {
      spec[list].push_back({{"name", "z"}, {"image", "s"}, {"restartPolicyRules", other}});
    }
    if (!own.is_null()) {
      spec["initContainers"][0]["restartPolicyRules"] = own;
    }
    const auto workload = read(spec).value();
    const auto filler = std::ranges::find(workload.images, "a", &policy::ContainerImage::container);
    return filler->init;
  };
  const auto rule = [](const char* action) {
    return Json::array(
        {{{"action", action}, {"exitCodes", {{"operator", "In"}, {"values", {3}}}}}});
  };
  EXPECT_TRUE(is_init(nullptr, nullptr));
  EXPECT_TRUE(is_init(Json::array(), Json::array()));
  EXPECT_FALSE(is_init(rule("Restart"), nullptr));
  EXPECT_FALSE(is_init("Restart", nullptr));
  EXPECT_TRUE(is_init(nullptr, rule("Restart"))) << "it starts nobody but itself";
  for (const char* list : {"containers", "initContainers", "ephemeralContainers"}) {
    EXPECT_FALSE(is_init(nullptr, rule("RestartAllContainers"), list)) << list;
    EXPECT_FALSE(is_init(nullptr, rule("RestartSomething"), list)) << list;
    EXPECT_FALSE(is_init(nullptr, "RestartAllContainers", list)) << list;
  }
}

TEST(PodMounts, BlockDevices_AreModels) {
  Json spec = pod_with(claim("raw"));
  spec["containers"][0].erase("volumeMounts");
  spec["containers"][0]["volumeDevices"] = {
      {{"name", "v"}, {"devicePath", "/dev/xvda"}, {"readOnly", true}}};
  const Mount mount = mount_of(spec);
  EXPECT_TRUE(mount.device);
  EXPECT_FALSE(mount.read_only);
  EXPECT_EQ(mount.kind, VolumeKind::kModel);
  EXPECT_EQ(mount.path, "/dev/xvda");
  EXPECT_EQ(mount.location, "pvc://prod/raw");
}

TEST(PodMounts, MountOfNoVolume_StaysVisible) {
  Json spec = pod_with(claim("models"), {{"readOnly", true}});
  spec["volumes"] = Json::array();
  const Mount mount = mount_of(spec);
  EXPECT_EQ(mount.kind, VolumeKind::kModel);
  EXPECT_EQ(mount.location, "");
  EXPECT_EQ(mount.source, "");
}

TEST(PodMounts, ReadOnlyVolume_IsReadOnlyInEveryContainer) {
  EXPECT_FALSE(mount_of(pod_with(claim("m"))).read_only);
  EXPECT_FALSE(mount_of(pod_with(claim("m"), {{"readOnly", "true"}})).read_only);
  Json source = claim("m");
  source["persistentVolumeClaim"]["readOnly"] = true;
  EXPECT_TRUE(mount_of(pod_with(source)).read_only);
  EXPECT_TRUE(mount_of(pod_with({{"image", {{"reference", "demo" + kDigest}}}})).read_only);
}

// What is mounted below is read-only only where the pod insists on it.
TEST(PodMounts, ReadOnlyBelow_TakesBothMembers) {
  const auto below = [](const Json& mount) {
    return mount_of(pod_with({{"hostPath", {{"path", "/data"}}}}, mount)).read_only_below;
  };
  EXPECT_TRUE(below({{"readOnly", true}, {"recursiveReadOnly", "Enabled"}}));
  const Json others[] = {{{"readOnly", true}},
                         {{"readOnly", true}, {"recursiveReadOnly", "IfPossible"}},
                         {{"readOnly", true}, {"recursiveReadOnly", "Disabled"}},
                         {{"readOnly", true}, {"recursiveReadOnly", nullptr}},
                         {{"readOnly", true}, {"recursiveReadOnly", true}},
                         {{"readOnly", false}, {"recursiveReadOnly", "Enabled"}},
                         {{"recursiveReadOnly", "Enabled"}}};
  for (const Json& mount : others) {
    EXPECT_FALSE(below(mount)) << mount;
  }
}

TEST(PodMounts, Paths_AreReadAsTheKernelReadsThem) {
  const auto path = [](const std::string& text) {
    return mount_of(pod_with(claim("m"), {{"mountPath", text}})).path;
  };
  EXPECT_EQ(path("/models/"), "/models");
  EXPECT_EQ(path("//models/./x"), "/models/x");
  // Where these lead the links of the image decide.
  EXPECT_EQ(path("/tmp/../models/"), "/tmp/../models/");
  EXPECT_EQ(path("/../.."), "/../..");
  EXPECT_EQ(path("models"), "/models");
  EXPECT_EQ(path(""), "/");
}

// --- containers that may mount again

bool remounts(const Json& members, const Json& mount = Json::object()) {
  Json spec = pod_with(claim("m"), mount);
  spec["containers"][0].update(members);
  const auto workload = read(std::move(spec));
  EXPECT_TRUE(workload);
  return workload && workload->images.at(0).remounts;
}

Json adding(const Json& capabilities) {
  return {{"securityContext", {{"capabilities", {{"add", capabilities}}}}}};
}

TEST(PodMounts, ContainersThatMayMountAgain_AreKnown) {
  EXPECT_TRUE(remounts({{"securityContext", {{"privileged", true}}}}));
  EXPECT_TRUE(remounts({{"securityContext", {{"privileged", "yes"}}}}));
  for (const Json& mask : {Json("Unmasked"), Json("unmasked"), Json(""), Json(true)}) {
    EXPECT_TRUE(remounts({{"securityContext", {{"procMount", mask}}}})) << mask;
  }
  for (const char* name : {"SYS_ADMIN", "CAP_SYS_ADMIN", "sys_admin", "ALL", "all", "SYS_MODULE",
                           "DAC_READ_SEARCH", "BPF", "SYS_PTRACE", "PERFMON", "SYSLOG",
                           "CHECKPOINT_RESTORE", "LINUX_IMMUTABLE", "SYS_FUTURE", ""}) {
    EXPECT_TRUE(remounts(adding({"CHOWN", name}))) << name;
  }
  EXPECT_TRUE(remounts(adding("SYS_ADMIN")));
  EXPECT_TRUE(remounts(Json::object(), {{"mountPropagation", "Bidirectional"}}));
  EXPECT_TRUE(remounts(Json::object(), {{"mountPropagation", 7}}));
}

// With the processes of the node, or any of its devices, every container may.
TEST(PodMounts, PodThatSeesTheNode_MayMountAgain) {
  const auto all_remount = [](const Json& members, const std::string& annotation) {
    Json spec = pod_with(claim("m"));
    spec["initContainers"] = {{{"name", "first"}, {"image", "x"}}};
    spec.update(members);
    const auto workload = read(spec, {{"annotations", {{annotation, "x"}}}}).value();
    EXPECT_EQ(workload.images.at(0).remounts, workload.images.at(1).remounts);
    return workload.images.at(0).remounts;
  };
  EXPECT_TRUE(all_remount({{"hostPID", true}}, "a"));
  EXPECT_TRUE(all_remount({{"hostPID", "false"}}, "a"));
  for (const char* annotation :
       {"devices.nri.io/container.server", "devices.nri.io", "devices.noderesource.dev/pod",
        "devices.gke.io/container.server", "io.kubernetes.cri-o.Devices"}) {
    EXPECT_TRUE(all_remount({{"hostPID", false}}, annotation)) << annotation;
  }
  for (const char* annotation : {"cdi.k8s.io/gpu", "cdi-devices.nri.io/pod", "a/devices.nri.io",
                                 "ulimits.nri.io/pod", "devices.nri.io.example"}) {
    EXPECT_FALSE(all_remount({{"shareProcessNamespace", true}}, annotation)) << annotation;
  }
}

// The kubelet mounts a writable file there, over whatever the path shows.
TEST(PodMounts, TerminationMessage_IsAMount) {
  for (const char* list : {"containers", "initContainers", "ephemeralContainers"}) {
    const Json spec = {
        {list, {{{"name", "c"}, {"terminationMessagePath", "models//config.json"}}}}};
    const Mount mount = mount_of(spec);
    EXPECT_EQ(mount.container, "c") << list;
    EXPECT_EQ(mount.path, "/models/config.json");
    EXPECT_EQ(mount.source, "terminationMessagePath");
    EXPECT_EQ(mount.location, "");
    EXPECT_EQ(mount.kind, VolumeKind::kConfig);
    EXPECT_FALSE(mount.read_only);
  }
  for (const Json& usual : {Json("/dev/termination-log"), Json(""), Json()}) {
    const Json spec = {{"containers", {{{"name", "c"}, {"terminationMessagePath", usual}}}}};
    EXPECT_EQ(read(spec)->mounts.size(), 0U) << usual;
  }
  for (const Json& wrong : {Json(7), Json("/" + std::string(5000, 'x'))}) {
    const Json spec = {{"containers", {{{"name", "c"}, {"terminationMessagePath", wrong}}}}};
    const auto refused = read(spec);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kMalformedAdmissionReview);
  }
}

TEST(PodMounts, MountByAnnotation_MayHoldAModelAnywhere) {
  Json spec = pod_with(claim("m"));
  spec["initContainers"] = {{{"name", "first"}, {"image", "x"}}};
  for (const char* annotation : {"mounts.nri.io/container.server", "mounts.nri.io",
                                 "mounts.noderesource.dev/pod", "x.mounts.nri.io/pod"}) {
    const auto workload = read(spec, {{"annotations", {{annotation, "x"}}}}).value();
    ASSERT_EQ(workload.mounts.size(), 3U) << annotation;
    EXPECT_EQ(workload.mounts[1].container, "server");
    EXPECT_EQ(workload.mounts[2].container, "first");
    for (const Mount& mount : {workload.mounts[1], workload.mounts[2]}) {
      EXPECT_EQ(mount.path, "..");
      EXPECT_EQ(mount.location, "");
      EXPECT_EQ(mount.kind, VolumeKind::kModel);
      EXPECT_FALSE(mount.read_only);
    }
    EXPECT_EQ(workload.accelerators, std::vector<std::string>{"device-path:unclear"});
  }
  EXPECT_EQ(read(spec, {{"annotations", {{"mounts.example.com/pod", "x"}}}})->mounts.size(), 1U);
}

TEST(PodMounts, ContainersThatMayNotMount_AreNotTakenForThem) {
  EXPECT_FALSE(remounts(Json::object()));
  EXPECT_FALSE(remounts({{"securityContext", {{"privileged", false}}}}));
  EXPECT_FALSE(remounts({{"securityContext", {{"procMount", "Default"}}}}));
  EXPECT_FALSE(remounts({{"securityContext", {{"procMount", nullptr}}}}));
  EXPECT_FALSE(remounts(adding({"NET_BIND_SERVICE", "IPC_LOCK", "CAP_SYS_NICE", "net_admin"})));
  EXPECT_FALSE(remounts(adding({"MKNOD", "SYS_CHROOT", "DAC_OVERRIDE", "SYS_RESOURCE"})));
  EXPECT_FALSE(remounts({{"securityContext", {{"capabilities", {{"drop", {"ALL"}}}}}}}));
  for (const char* propagation : {"None", "HostToContainer"}) {
    EXPECT_FALSE(remounts(Json::object(), {{"mountPropagation", propagation}})) << propagation;
  }
}

// --- whatever the pod is

// Replaces one random value anywhere in `json` by another one.
void corrupt(Json& json, std::mt19937_64& random) {
  static const Json values[] = {nullptr,        7,    "text", "../..", Json::array({1}),
                                Json::object(), true, "$(X)", "/"};
  Json* place = &json;
  while (place->is_structured() && !place->empty() && random() % 6 != 0) {
    auto it = place->begin();
    std::advance(it, static_cast<std::ptrdiff_t>(random() % place->size()));
    place = &*it;
  }
  *place = values[random() % std::size(values)];
}

std::size_t elements(const Json& spec, const char* containers, const char* list) {
  std::size_t count = 0;
  if (spec.is_object() && spec.contains(containers) && spec[containers].is_array()) {
    for (const Json& container : spec[containers]) {
      count += container.is_object() && container.contains(list) ? container[list].size() : 0;
    }
  }
  return count;
}

// Also in tests/fuzz/pod_fuzz.cc, for inputs that a fuzzer finds.
TEST(PodMounts, OfCorruptedPods_NeverDisappear) {
  const std::uint64_t seed = random_test_seed();
  SCOPED_TRACE(test_seed_text(seed));
  std::mt19937_64 random(seed);
  int read_well = 0;
  for (int i = 0; i < 3000; ++i) {
    Json spec = pod_with(claim("models"), {{"subPath", "a/b"}, {"readOnly", true}});
    spec["initContainers"] = spec["containers"];
    spec["volumes"].push_back({{"name", "w"}, {"emptyDir", Json::object()}});
    spec["containers"][0]["volumeMounts"].push_back({{"name", "w"}, {"mountPath", "/tmp"}});
    for (std::size_t changes = random() % 3; changes > 0; --changes) {
      corrupt(spec, random);
    }
    const auto workload = read(spec);
    if (!workload) {
      EXPECT_EQ(::assay::test::code_of(workload), "malformed-admission-review") << spec;
      continue;
    }
    ++read_well;
    EXPECT_EQ(workload->mounts.size(), elements(spec, "containers", "volumeMounts") +
                                           elements(spec, "initContainers", "volumeMounts"))
        << spec;
    for (const Mount& mount : workload->mounts) {
      EXPECT_EQ(mount.kind == VolumeKind::kScratch, mount.source == "emptyDir") << spec;
      EXPECT_TRUE(mount.location.empty() || mount.location == "pvc://prod/models/a/b" ||
                  normalise_location(mount.location) == mount.location)
          << spec;
    }
  }
  EXPECT_GT(read_well, 500);
}

// --- templates

TEST(PodTemplates, StatefulSet_HasTheClaimsOfItsFirstPod) {
  const Json spec = pod_with(claim("ignored"));
  const Json set = {
      {"metadata", {{"name", "llm"}}},
      {"spec",
       {{"template", {{"spec", spec}}},
        {"volumeClaimTemplates", {{{"metadata", {{"name", "v"}}}, {"spec", Json::object()}}}}}}};
  const auto workload = workload_of(pod_of("StatefulSet", set).value(), "prod");
  ASSERT_TRUE(workload) << to_string(workload.error());
  ASSERT_EQ(workload->mounts.size(), 1U);
  EXPECT_EQ(workload->mounts[0].location, "pvc://prod/v-llm-0");
}

TEST(PodTemplates, EveryKind_IsRead) {
  const Json pod = {{"spec", pod_with(claim("models"))}};
  for (const char* kind :
       {"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "ReplicationController"}) {
    const auto view = pod_of(kind, {{"spec", {{"template", pod}}}});
    ASSERT_TRUE(view) << kind;
    EXPECT_EQ(workload_of(*view, "prod").value().mounts.size(), 1U) << kind;
  }
  const auto cron =
      pod_of("CronJob", {{"spec", {{"jobTemplate", {{"spec", {{"template", pod}}}}}}}});
  ASSERT_TRUE(cron);
  EXPECT_EQ(workload_of(*cron, "prod").value().mounts.size(), 1U);
  EXPECT_FALSE(pod_of("Service", {{"spec", Json::object()}}));
}

// --- limits

}  // namespace
}  // namespace assay::server::test
