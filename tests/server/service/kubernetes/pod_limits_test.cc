// SPDX-License-Identifier: Apache-2.0
// What no pod may have, and how much of the rest it may have.
#include <gtest/gtest.h>

#include "server/service/kubernetes/pod.h"
#include "server/service/kubernetes/pod_volumes.h"
#include "tests/server/service/kubernetes/pod_samples.h"
#include "tests/support/vectors.h"

namespace assay::server::test {
namespace {

using policy::Workload;

TEST(PodLimits, WhatNoApiServerTakes_IsAnError) {
  const Json mount = {{"name", "v"}, {"mountPath", "/a"}};
  const Json specs[] = {
      {{"volumes", "none"}},
      {{"volumes", {"v"}}},
      {{"volumes", {{{"name", nullptr}, {"emptyDir", Json::object()}}}}},
      {{"containers", {{{"volumeMounts", {{{"name", Json::object()}}}}}}}},
      {{"volumes", {{{"name", "v"}, {"emptyDir", Json::object()}}, {{"name", "v"}}}}},
      {{"containers", Json::object()}},
      {{"initContainers", {7}}},
      {{"ephemeralContainers", "x"}},
      {{"containers", {{{"volumeMounts", mount}}}}},
      {{"containers", {{{"volumeMounts", {"v"}}}}}},
      {{"containers", {{{"volumeDevices", true}}}}},
      {{"containers", {{{"name", std::string(254, 'a')}}}}},
      {{"containers", {{{"volumeMounts", {{{"name", std::string(254, 'v')}}}}}}}},
      {{"containers", {{{"volumeMounts", {{{"mountPath", std::string(4097, '/')}}}}}}}}};
  for (const Json& spec : specs) {
    EXPECT_EQ(::assay::test::code_of(read(spec)), "malformed-admission-review")
        << spec.dump().substr(0, 200);
  }
}

TEST(PodLimits, MoreThanAnyHonestPodHas_IsRefusedNotCut) {
  Json spec = pod_with(claim("models"));
  const Json mount = spec["containers"][0]["volumeMounts"][0];
  Json& mounts = spec["containers"][0]["volumeMounts"];
  while (mounts.size() < kMaxPodMounts) {
    mounts.push_back(mount);
  }
  EXPECT_EQ(read(spec).value().mounts.size(), kMaxPodMounts);
  mounts.push_back(mount);
  EXPECT_EQ(::assay::test::code_of(read(spec)), "limit-exceeded");
  Json many = {{"containers", Json::array()}, {"volumes", Json::array()}};
  for (std::size_t i = 0; i < kMaxPodContainers; ++i) {
    many["containers"].push_back({{"name", "c" + std::to_string(i)}});
  }
  EXPECT_EQ(::assay::test::code_of(read(many)), "ok");
  many["containers"].push_back({{"name", "more"}});
  EXPECT_EQ(::assay::test::code_of(read(many)), "limit-exceeded");
  many["containers"] = Json::array();
  for (std::size_t i = 0; i < kMaxPodVolumes; ++i) {
    many["volumes"].push_back({{"name", "v" + std::to_string(i)}});
  }
  EXPECT_EQ(::assay::test::code_of(read(many)), "ok");
  many["volumes"].push_back({{"name", "more"}});
  EXPECT_EQ(::assay::test::code_of(read(many)), "limit-exceeded");
}

TEST(PodLimits, PathsOfMounts_AreBoundedInPartsAndInBytes) {
  const auto with_paths = [](const std::string& path, std::size_t count,
                             const std::string& last = {}) {
    Json spec = pod_with(claim("models"));
    Json& mounts = spec["containers"][0]["volumeMounts"];
    Json mount = mounts[0];
    mount["mountPath"] = path;
    mounts = Json::array();
    while (mounts.size() < count) {
      mounts.push_back(mount);
    }
    if (!last.empty()) {
      mount["mountPath"] = last;
      mounts.push_back(mount);
    }
    return read(spec);
  };
  std::string deep;
  for (std::size_t i = 0; i < kMaxPathParts; ++i) {
    deep += "/a";
  }
  EXPECT_TRUE(with_paths(deep, 1));
  EXPECT_EQ(::assay::test::code_of(with_paths(deep + "/a", 1)), "limit-exceeded");
  const std::string longest(kMaxMountPath, 'a');
  EXPECT_TRUE(with_paths(longest, kMaxPathBytes / kMaxMountPath));
  EXPECT_EQ(::assay::test::code_of(with_paths(longest, kMaxPathBytes / kMaxMountPath, "/")),
            "limit-exceeded");
}

TEST(PodLimits, ResourcesAndImages_AreBoundedInNumberAndInBytes) {
  const auto with_resources = [](std::size_t count, const std::string& start) {
    Json spec = pod_with(claim("models"));
    for (std::size_t i = 0; i < count; ++i) {
      spec["containers"][0]["resources"]["requests"][start + std::to_string(1000 + i)] = 1;
    }
    return spec;
  };
  EXPECT_EQ(read(with_resources(kMaxPodResources, "a/")).value().resources.size(),
            kMaxPodResources);
  EXPECT_EQ(::assay::test::code_of(read(with_resources(kMaxPodResources + 1, "a/"))),
            "limit-exceeded");
  const std::string half(kMaxPodNameBytes / 2 - 4, 'a');
  Json spec = with_resources(1, half);
  spec["containers"][0]["image"] = std::string(kMaxPodNameBytes / 2, 'i');
  EXPECT_TRUE(read(spec));
  spec["containers"].push_back({{"name", "second"}, {"image", "i"}});
  EXPECT_EQ(::assay::test::code_of(read(spec)), "limit-exceeded");
}

TEST(PodLimits, LabelsAndAnnotations_AreBoundedInNumberAndInBytes) {
  const auto code = [](const char* member, std::size_t count, const std::string& value) {
    Json texts = Json::object();
    for (std::size_t i = 0; i < count; ++i) {
      texts["assay.dev/" + std::to_string(10'000 + i)] = value;
    }
    return ::assay::test::code_of(read(pod_with(claim("models")), {{member, texts}}));
  };
  struct Case {
    const char* member;
    std::size_t count;
    std::size_t bytes;
  };
  for (const Case& one : {Case{"labels", kMaxPodLabels, kMaxPodLabelBytes},
                          Case{"annotations", kMaxPodAnnotations, kMaxPodAnnotationBytes}}) {
    EXPECT_EQ(code(one.member, one.count, "x"), "ok") << one.member;
    EXPECT_EQ(code(one.member, one.count + 1, "x"), "limit-exceeded") << one.member;
    EXPECT_EQ(code(one.member, 40'000, "x"), "limit-exceeded") << one.member;
    const std::string rest(one.bytes - std::string_view("assay.dev/10000").size(), 'x');
    EXPECT_EQ(code(one.member, 1, rest), "ok") << one.member;
    EXPECT_EQ(code(one.member, 1, rest + "x"), "limit-exceeded") << one.member;
  }
}

// Volumes times mounts: what is long in a volume is not copied for each of its mounts.
TEST(PodLimits, LongNamesInVolumes_AreNotMultiplied) {
  for (const char* source : {"hostPath", "persistentVolumeClaim", "nfs"}) {
    const std::string text = "/" + std::string(1U << 20, 'a');
    Json spec = pod_with({{source, {{"path", text}, {"claimName", text}, {"server", text}}}});
    Json& mounts = spec["containers"][0]["volumeMounts"];
    const Json mount = mounts[0];
    while (mounts.size() < kMaxPodMounts) {
      mounts.push_back(mount);
    }
    const auto workload = read(std::move(spec));
    ASSERT_TRUE(workload);
    EXPECT_EQ(workload->mounts.back().location, "") << source;
    EXPECT_LT(canonical_json(policy::to_json(*workload)).value().size(), 2U << 20) << source;
  }
}

}  // namespace
}  // namespace assay::server::test
