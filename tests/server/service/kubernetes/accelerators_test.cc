// SPDX-License-Identifier: Apache-2.0
// Every known way from a pod to an accelerator is found, and ordinary pods have none.
#include "server/service/kubernetes/accelerators.h"

#include <gtest/gtest.h>

#include "policy/accelerator.h"
#include "policy/evaluate.h"
#include "server/service/kubernetes/pod.h"

namespace assay::server::test {
namespace {

using Ways = std::vector<std::string>;

policy::Workload workload(Json spec, Json metadata = Json::object()) {
  const Json pod = {{"metadata", std::move(metadata)}, {"spec", std::move(spec)}};
  return workload_of(pod_of("Pod", pod).value(), "prod").value();
}

Ways ways(Json spec, Json metadata = Json::object()) {
  return workload(std::move(spec), std::move(metadata)).accelerators;
}

// A pod of one container.
Json one(Json container) {
  container["name"] = "server";
  return {{"containers", Json::array({std::move(container)})}};
}

Ways ways_of_limits(const Json& limits) { return ways(one({{"resources", {{"limits", limits}}}})); }

Ways ways_of_host_path(const std::string& path, const std::string& sub_path = {}) {
  Json spec =
      one({{"volumeMounts", {{{"name", "v"}, {"mountPath", "/x"}, {"subPath", sub_path}}}}});
  spec["volumes"] = {{{"name", "v"}, {"hostPath", {{"path", path}}}}};
  return ways(std::move(spec));
}

Ways ways_of_variable(const Json& variable) { return ways(one({{"env", {variable}}})); }

bool selects(const policy::Workload& asker, std::vector<std::string> harmless = {}) {
  WorkloadMatch match;
  match.accelerators = true;
  match.harmless_resources = std::move(harmless);
  return policy::matches(match, asker);
}

// Case 4: each of these pods had a GPU, and no policy selected it.
TEST(Accelerators, AttacksOfTheIssue_AreSelected) {
  const Json device_file = {{"volumeMounts", {{{"name", "v"}, {"mountPath", "/dev/nvidia0"}}}}};
  Json host = one(device_file);
  host["volumes"] = {{{"name", "v"}, {"hostPath", {{"path", "/dev/nvidia0"}}}}};
  Json claims = one({{"resources", {{"claims", {{{"name", "gpu"}}}}}}});
  claims["resourceClaims"] = {{{"name", "gpu"}, {"resourceClaimTemplateName", "one-gpu"}}};
  Json runtime = one({{"env", {{{"name", "NVIDIA_VISIBLE_DEVICES"}, {"value", "all"}}}}});
  runtime["runtimeClassName"] = "nvidia";
  const Json specs[] = {host,
                        claims,
                        runtime,
                        one({{"resources", {{"limits", {{"nvidia.com/mig-1g.5gb", 1}}}}}}),
                        one({{"resources", {{"limits", {{"nvidia.com/gpu.shared", "1"}}}}}}),
                        one({{"resources", {{"requests", {{"aws.amazon.com/neuron", "1"}}}}}}),
                        one({{"securityContext", {{"privileged", true}}}})};
  for (const Json& spec : specs) {
    EXPECT_TRUE(selects(workload(spec))) << spec;
  }
  EXPECT_TRUE(selects(workload(one(Json::object()),
                               {{"annotations", {{"cdi.k8s.io/gpu", "nvidia.com/gpu=all"}}}})));
}

TEST(Accelerators, OrdinaryPods_AreNotSelected) {
  Json spec = one({{"resources",
                    {{"requests", {{"cpu", "2"}, {"memory", "4Gi"}, {"ephemeral-storage", "1Gi"}}},
                     {"limits", {{"hugepages-2Mi", "64Mi"}, {"nvidia.com/gpu", "0"}}}}},
                   {"env",
                    {{{"name", "NVIDIA_VISIBLE_DEVICES"}, {"value", "void"}},
                     {{"name", "HOME"}, {"value", "/root"}}}},
                   {"securityContext", {{"privileged", false}, {"runAsUser", 1000}}},
                   {"volumeMounts",
                    {{{"name", "v"}, {"mountPath", "/data"}},
                     {{"name", "tz"}, {"mountPath", "/etc/localtime"}}}}});
  spec["volumes"] = {{{"name", "v"}, {"persistentVolumeClaim", {{"claimName", "data"}}}},
                     {{"name", "tz"}, {"hostPath", {{"path", "/etc/localtime"}}}},
                     {{"name", "unused"}, {"hostPath", {{"path", "/dev/nvidia0"}}}}};
  const policy::Workload asker =
      workload(std::move(spec), {{"annotations", {{"example.com/a", "b"}}}});
  EXPECT_EQ(asker.accelerators, Ways{});
  EXPECT_FALSE(selects(asker));
}

TEST(Accelerators, ExtendedResources_AreNamed) {
  EXPECT_EQ(ways_of_limits({{"nvidia.com/gpu", "1"}, {"cpu", "1"}}),
            Ways{"resource:nvidia.com/gpu"});
  EXPECT_EQ(ways_of_limits({{"nvidia.com/gpu", 0}}), Ways{});
  EXPECT_EQ(ways_of_limits({{"nvidia.com/gpu", "0x"}}), Ways{"resource:nvidia.com/gpu"});
  EXPECT_EQ(ways_of_limits({{"unheard-of", "1"}}), Ways{"resource:unheard-of"});
  EXPECT_EQ(ways({{"resources", {{"limits", {{"amd.com/gpu", "1"}}}}}}),
            Ways{"resource:amd.com/gpu"});
  for (const char* plain :
       {"cpu", "memory", "ephemeral-storage", "storage", "hugepages-2Mi", "hugepages-1Gi"}) {
    EXPECT_FALSE(policy::is_extended_resource(plain)) << plain;
  }
}

TEST(Accelerators, HarmlessResources_AreThePolicysWord) {
  const policy::Workload network =
      workload(one({{"resources", {{"limits", {{"rdma/hca", "1"}}}}}}));
  EXPECT_TRUE(selects(network));
  EXPECT_FALSE(selects(network, {"rdma/*"}));
  const policy::Workload both =
      workload(one({{"resources", {{"limits", {{"rdma/hca", "1"}, {"nvidia.com/gpu", "1"}}}}}}));
  EXPECT_TRUE(selects(both, {"rdma/*"}));
  Json sandboxed = one(Json::object());
  sandboxed["runtimeClassName"] = "gvisor";
  EXPECT_TRUE(selects(workload(sandboxed)));
  EXPECT_FALSE(selects(workload(sandboxed), {"runtime-class:gvisor"}));
  EXPECT_TRUE(selects(workload(one({{"securityContext", {{"privileged", true}}}})), {"*"}));
}

// Many harmless names do not hide one more way.
TEST(Accelerators, MoreWaysThanAreListed_Select) {
  Json variables = Json::array();
  Json limits = Json::object();
  for (int i = 0; i < 100; ++i) {
    limits["a.example/" + std::to_string(i)] = "1";
  }
  variables.push_back({{"name", "NVIDIA_VISIBLE_DEVICES"}, {"value", "all"}});
  const policy::Workload asker =
      workload(one({{"resources", {{"limits", limits}}}, {"env", variables}}));
  EXPECT_EQ(asker.accelerators.size(), kMaxWays);
  EXPECT_EQ(asker.accelerators.back(), "more");
  EXPECT_TRUE(selects(asker, {"a.example/*"}));

  limits = Json::object();
  for (std::size_t i = 0; i + 1 < kMaxWays; ++i) {
    limits["a.example/" + std::to_string(i)] = "1";
  }
  const auto ways = [&] {
    return workload(one({{"resources", {{"limits", limits}}}, {"env", variables}})).accelerators;
  };
  EXPECT_EQ(ways().size(), kMaxWays);
  EXPECT_NE(ways().back(), "more");
  limits["a.example/more"] = "1";
  EXPECT_EQ(ways().size(), kMaxWays);
  EXPECT_EQ(ways().back(), "more");
}

TEST(Accelerators, VisibleDeviceVariables_AreNamedUnlessTheySayNone) {
  for (const char* name :
       {"NVIDIA_VISIBLE_DEVICES", "AMD_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES",
        "HABANA_VISIBLE_DEVICES", "NEURON_RT_VISIBLE_CORES", "TPU_VISIBLE_CHIPS"}) {
    EXPECT_EQ(ways_of_variable({{"name", name}, {"value", "all"}}),
              Ways{"env:" + std::string(name)});
    for (const char* none : {"", "void", "none", "-1"}) {
      EXPECT_EQ(ways_of_variable({{"name", name}, {"value", none}}), Ways{}) << name << none;
    }
  }
  const Ways nvidia = {"env:NVIDIA_VISIBLE_DEVICES"};
  EXPECT_EQ(ways_of_variable({{"name", "NVIDIA_VISIBLE_DEVICES"}, {"value", "$(X)"}}), nvidia);
  EXPECT_EQ(ways_of_variable({{"name", "NVIDIA_VISIBLE_DEVICES"}, {"value", 0}}), nvidia);
  EXPECT_EQ(ways_of_variable({{"name", "NVIDIA_VISIBLE_DEVICES"},
                              {"valueFrom", {{"fieldRef", {{"fieldPath", "metadata.name"}}}}}}),
            nvidia);
}

// The keys of a config map are names of variables, behind the prefix.
TEST(Accelerators, PrefixThatBeginsAVisibleDeviceVariable_Counts) {
  const auto ways_of_prefix = [](const Json& prefix) {
    Json source = {{"configMapRef", {{"name", "c"}}}};
    if (!prefix.is_null()) {
      source["prefix"] = prefix;
    }
    return ways(one({{"envFrom", {source}}}));
  };
  for (const char* prefix : {"N", "NVIDIA_", "NVIDIA_VISIBLE_", "NVIDIA_VISIBLE_DEVICE", "CUDA_",
                             "AMD_", "NEURON_RT_VISIBLE_", "NEW_VENDOR_VISIBLE_", "X_V"}) {
    EXPECT_EQ(ways_of_prefix(prefix), Ways{"env:" + std::string(prefix) + "*"});
  }
  for (const char* prefix : {"DB_", "nvidia_", "VISIBLE_", "MY_NVIDIA_", "APP_CONFIG_"}) {
    EXPECT_EQ(ways_of_prefix(prefix), Ways{}) << prefix;
  }
  // Without a prefix a config map says as little of itself as an image does.
  EXPECT_EQ(ways_of_prefix(nullptr), Ways{});
  EXPECT_EQ(ways_of_prefix(""), Ways{});
  EXPECT_EQ(ways_of_prefix(7), Ways{"env:unclear"});
  const Json source = {{"prefix", "NVIDIA_VISIBLE_"}, {"secretRef", {{"name", "s"}}}};
  for (const char* list : {"containers", "initContainers", "ephemeralContainers"}) {
    EXPECT_TRUE(selects(workload({{list, {{{"name", "c"}, {"envFrom", {source}}}}}}))) << list;
  }
}

TEST(Accelerators, EveryContainer_IsLookedAt) {
  for (const char* list : {"containers", "initContainers", "ephemeralContainers"}) {
    const Json privileged = {{"name", "c"}, {"securityContext", {{"privileged", true}}}};
    EXPECT_EQ(ways({{list, {privileged}}}), Ways{"privileged"}) << list;
  }
}

TEST(Accelerators, PrivilegeInOtherWords_Counts) {
  const Json host_process = {{"windowsOptions", {{"hostProcess", true}}}};
  EXPECT_EQ(ways({{"securityContext", host_process}}), Ways{"privileged"});
  EXPECT_EQ(ways(one({{"securityContext", host_process}})), Ways{"privileged"});
  EXPECT_EQ(ways(one({{"securityContext", {{"privileged", "true"}}}})), Ways{"privileged"});
  for (const char* power : {"ALL", "SYS_ADMIN", "CAP_SYS_ADMIN", "BPF", "DAC_READ_SEARCH"}) {
    const Json capabilities = {{"capabilities", {{"add", {"NET_BIND_SERVICE", power}}}}};
    EXPECT_EQ(ways(one({{"securityContext", capabilities}})), Ways{"privileged"}) << power;
  }
  const Json harmless = {{"capabilities", {{"add", {"NET_BIND_SERVICE"}}, {"drop", {"ALL"}}}}};
  EXPECT_EQ(ways(one({{"securityContext", harmless}})), Ways());
}

TEST(Accelerators, ResourceClaims_OfPodOrContainer) {
  EXPECT_EQ(ways({{"resourceClaims", {{{"name", "a"}}}}}), Ways{"resource-claims"});
  EXPECT_EQ(ways(one({{"resources", {{"claims", {{{"name", "a"}}}}}}})), Ways{"resource-claims"});
  EXPECT_EQ(ways({{"resourceClaims", Json::array()}}), Ways{});
}

TEST(Accelerators, DevicesOfTheNode_AreNamed) {
  for (const char* path :
       {"/dev", "/dev/nvidia0", "/dev/dri/renderD128", "/dev/kfd", "/", "/proc", "/dev/shm/link"}) {
    EXPECT_EQ(ways_of_host_path(path), Ways{"device-path:" + std::string(path)});
  }
  EXPECT_EQ(ways_of_host_path("/dev/../dev/nvidia0"), Ways{"device-path:unclear"});
  EXPECT_EQ(ways_of_host_path("dev"), Ways{"device-path:unclear"});
  EXPECT_EQ(ways_of_host_path("/", "dev/nvidia0"), Ways{"device-path:/dev/nvidia0"});
  for (const char* path :
       {"/dev/null", "/dev/shm", "/dev/fuse", "/data", "/devices", "/etc/ssl", "/tmp"}) {
    EXPECT_EQ(ways_of_host_path(path), Ways{}) << path;
  }
  EXPECT_EQ(ways_of_host_path("/", "data/models"), Ways{});
}

TEST(Accelerators, SocketsOfTheRuntime_AreNamed) {
  for (const char* path : {"/run/containerd/containerd.sock",
                           "/var/run/docker.sock",
                           "/var/run",
                           "/run",
                           "/var/lib/kubelet/device-plugins",
                           "/var/lib",
                           "/run/nvidia/mps",
                           "/var/run/cdi",
                           "/etc/cdi",
                           "/etc/kubernetes/manifests",
                           "/sys",
                           "/run/k0s/containerd.sock",
                           "/run/dockershim.sock",
                           "/run/systemd/private",
                           "/run/dbus",
                           "/var/snap/microk8s/common/run/containerd.sock",
                           "/etc/containerd",
                           "/etc/crio",
                           "/etc/nvidia-container-runtime",
                           "/usr/share/containers/oci/hooks.d",
                           "/var/lib/rancher/k3s/agent",
                           "/var/lib/k0s/kubelet",
                           "/etc"}) {
    EXPECT_EQ(ways_of_host_path(path), Ways{"system-path:" + std::string(path)});
  }
  EXPECT_EQ(ways_of_host_path("/var/log"), Ways{});
  for (const char* path : {"/run/secrets", "/etc/localtime", "/etc/ssl/certs",
                           "/usr/share/zoneinfo", "/var/lib/models", "/srv", "/mnt/models"}) {
    EXPECT_EQ(ways_of_host_path(path), Ways{}) << path;
  }
}

// With a hostPath variable part the whole of the volume may be mounted.
TEST(Accelerators, SubPathMadeAtRunTime_CountsAsAllOfTheVolume) {
  Json spec =
      one({{"volumeMounts", {{{"name", "v"}, {"mountPath", "/x"}, {"subPathExpr", "$(WHERE)"}}}}});
  spec["volumes"] = {{{"name", "v"}, {"hostPath", {{"path", "/"}}}}};
  EXPECT_EQ(ways(std::move(spec)), Ways{"device-path:/"});
}

// NVIDIA's runtime can read the list of devices from mounts, of whatever.
TEST(Accelerators, DeviceListByMounts_IsNamed) {
  Json spec = one({{"volumeMounts",
                    {{{"name", "v"}, {"mountPath", "/var/run/nvidia-container-devices/all"}}}}});
  spec["volumes"] = {{{"name", "v"}, {"emptyDir", Json::object()}}};
  EXPECT_EQ(ways(std::move(spec)), Ways{"device-path:/var/run/nvidia-container-devices/all"});
}

TEST(Accelerators, AnnotationsThatAskForDevices_AreNamed) {
  const auto annotated = [](const std::string& key) {
    return ways(one(Json::object()), {{"annotations", {{key, "x"}}}});
  };
  EXPECT_EQ(annotated("cdi.k8s.io/vendor_gpu"), Ways{"cdi-annotation"});
  EXPECT_EQ(annotated("nvidia.cdi.k8s.io/container.server"), Ways{"cdi-annotation"});
  EXPECT_EQ(annotated("devices.nri.io/container.server"), Ways{"device-annotation"});
  EXPECT_EQ(annotated("io.kubernetes.cri-o.Devices"), Ways{"device-annotation"});
  EXPECT_EQ(annotated("devices.crio.io"), Ways{"device-annotation"});
  EXPECT_EQ(annotated("gpu-fraction"), Ways{"device-annotation"});
  EXPECT_EQ(annotated("devices.gke.io/container.server"), Ways{"device-annotation"});
  EXPECT_EQ(annotated("cdi.nri.io/container.server"), Ways{"cdi-annotation"});
  EXPECT_EQ(annotated("cdi-devices.nri.io/container.server"), Ways{"cdi-annotation"});
  EXPECT_EQ(annotated("mounts.nri.io/container.server"), Ways{"device-path:unclear"});
  EXPECT_EQ(annotated("assay.dev/model"), Ways{});
  EXPECT_EQ(annotated("notcdi.k8s.io"), Ways{});
}

}  // namespace
}  // namespace assay::server::test
