// SPDX-License-Identifier: Apache-2.0
// Where locations lie on a node: by its configuration, by a pod's own mounts, and nowhere else.
#include "worker/map.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/support/vectors.h"

namespace assay::worker {
namespace {

namespace fs = std::filesystem;

class Places : public ::testing::Test {
 protected:
  Places() {
    std::string pattern = (fs::temp_directory_path() / "assay-map-XXXXXX").string();
    dir_ = fs::canonical(mkdtemp(pattern.data()));
  }
  ~Places() override { fs::remove_all(dir_); }

  static void write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  // The node's map, of these --map options.
  NodeMap map(const std::vector<std::string>& options) const {
    std::vector<LocationMap> maps;
    for (const std::string& text : options) {
      maps.push_back(parse_location_map(text).value());
    }
    return {std::move(maps), dir_ / "kubelet", dir_ / "mountinfo"};
  }
  // Below the directory of these tests; or the code.
  std::string found(const std::vector<std::string>& options, const std::string& location,
                    const std::optional<JobPod>& pod = {}) const {
    const auto place = map(options).find(location, pod);
    if (!place) {
      return test::code_of(place);
    }
    const auto path = resolve_place(*place);
    return path ? path->lexically_relative(dir_).generic_string() : test::code_of(path);
  }
  std::string option(const std::string& location, const std::string& directory) const {
    return location + "=" + (dir_ / directory).string();
  }
  // What the kubelet has mounted for a pod.
  void mount(const std::string& uid, const std::string& volume, const std::string& file = "f") {
    write(dir_ / "kubelet/pods" / uid / "volumes" / volume / file, "x");
  }

  fs::path dir_;
};

TEST_F(Places, TheLongestMapUpToASlashCounts) {
  for (const char* file : {"all/inference/models/f", "claims/models/f", "one/f", "one/sub/f"}) {
    write(dir_ / file, "x");
  }
  const std::vector<std::string> options = {option("pvc://", "all"),
                                            option("pvc://inference", "claims"),
                                            option("pvc://inference/models/llm/", "one")};
  EXPECT_EQ(found(options, "pvc://inference/models"), "claims/models");
  EXPECT_EQ(found(options, "pvc://inference/models/llm"), "one");
  EXPECT_EQ(found(options, "pvc://inference/models/llm/sub"), "one/sub");
  EXPECT_EQ(found(options, "pvc://inference/models/llm-2"), "not-found");
  EXPECT_EQ(found(options, "pvc://inference-2/models"), "not-found") << "another namespace";
  EXPECT_EQ(found(options, "hostpath:///inference/models"), "location-unmapped");
  EXPECT_EQ(found({option("hostpath:///data", "one")}, "hostpath:///database"),
            "location-unmapped");
  EXPECT_EQ(found({option("hostpath://", "one")}, "hostpath:///sub"), "one/sub");
  EXPECT_EQ(found({}, "pvc://inference/models"), "location-unmapped");
}

TEST_F(Places, NothingOutsideOfTheDirectory) {
  write(dir_ / "secret/f", "x");
  write(dir_ / "claims/models/f", "x");
  fs::create_directory_symlink(dir_ / "secret", dir_ / "claims/out");
  fs::create_directory_symlink(dir_ / "claims/models", dir_ / "claims/in");
  const std::vector<std::string> options = {option("pvc://inference", "claims")};
  EXPECT_EQ(found(options, "pvc://inference/out"), "invalid-path");
  EXPECT_EQ(found(options, "pvc://inference/in/f"), "invalid-path");
  for (const char* below : {"..", "../secret", "/etc", "a//b", ".", "models/"}) {
    const auto refused = resolve_place({dir_ / "claims", below});
    ASSERT_FALSE(refused) << below;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidPath) << below;
  }
  // The directory itself may be reached through a link: the node chose it.
  fs::create_directory_symlink(dir_ / "claims", dir_ / "link");
  EXPECT_EQ(found({option("pvc://inference", "link")}, "pvc://inference/models"), "claims/models");
  EXPECT_EQ(found({option("pvc://inference", "link")}, "pvc://inference/none"), "not-found");
  EXPECT_EQ(found({option("pvc://inference", "absent")}, "pvc://inference/models"),
            "file-unreadable");
}

TEST_F(Places, OptionsThatSayNothing_AreRefused) {
  for (const char* text : {"", "pvc://inference", "pvc://inference=", "pvc://inference=models",
                           "=/srv", "inference=/srv", "ftp://x=/srv", "pvc://inference/../x=/srv",
                           "pvc://inference=/srv,volume=pv-1", "hostpath:///data=/srv,volume=pv-1",
                           "pvc://inference/models=/srv,volume=../pv"}) {
    EXPECT_FALSE(parse_location_map(text)) << text;
  }
  const auto full = parse_location_map("PVC://inference/models=/srv/a=b,volume=pv-1");
  ASSERT_TRUE(full) << to_string(full.error());
  EXPECT_EQ(full->location, "pvc://inference/models");
  EXPECT_EQ(full->directory, "/srv/a=b");
  EXPECT_EQ(full->volume, "pv-1");
}

TEST_F(Places, TheVolumeIsNamedOrFoundFromTheMount) {
  write(dir_ / "claims/models/f", "x");
  const auto volume = [&](const std::vector<std::string>& options, const std::string& location) {
    return map(options).find(location, {}).value().volume;
  };
  const std::string claims = option("pvc://inference", "claims");
  EXPECT_EQ(volume({claims}, "pvc://inference/models"), "") << "no such file";
  write(dir_ / "mountinfo",
        "36 35 0:40 /vols/kubernetes.io~csi/pv-x/mount / rw - ext4 a rw\n"
        "37 36 0:41 /var/lib/kubelet/pods/u/volumes/kubernetes.io~csi/pv-7/"
        "mount " +
            (dir_ / "claims/models").string() + " rw - ext4 b rw\n");
  EXPECT_EQ(volume({claims}, "pvc://inference/models"), "pv-7");
  EXPECT_EQ(volume({claims}, "pvc://inference/models/sub"), "pv-7");
  EXPECT_EQ(volume({claims}, "pvc://inference/other"), "");
  EXPECT_EQ(
      volume({claims + "/models", option("pvc://inference/models", "claims") + ",volume=pv-1"},
             "pvc://inference/models"),
      "pv-1");
  EXPECT_EQ(volume({option("hostpath:///data", "claims")}, "hostpath:///data/models"), "");
}

TEST(MountedVolume, IsReadFromTheLastMountThatCovers) {
  const std::string root = "/var/lib/kubelet/pods/5f1d/volumes/";
  const std::string mounts =
      "1 0 8:1 / / rw - ext4 /dev/sda rw\n"
      "2 1 0:9 / " +
      root +
      "kubernetes.io~csi/pv-1/mount rw shared:1 - ext4 /dev/sdb rw\n"
      "3 1 0:9 / " +
      root +
      "kubernetes.io~nfs/pv-2 rw - nfs4 host:/x rw\n"
      "4 1 0:9 " +
      root +
      "kubernetes.io~local-volume/pv-3 /data/with\\040blank rw - ext4 x rw\n"
      "5 1 0:9 / /srv rw - ext4 /dev/sdc rw\n"
      "6 5 0:9 / /srv/a rw - ext4 /dev/sdd rw\n"
      "7 1 0:9 " +
      root +
      "kubernetes.io~csi/pv-old/mount /again rw - ext4 x rw\n"
      "8 1 0:9 " +
      root +
      "kubernetes.io~csi/pv-new/mount /again rw - ext4 x rw\n"
      "9 1 0:9 /volumes/kubernetes.io~csi/.. /dots rw - ext4 x rw\n"
      "10 1 0:9 " +
      root +
      "kubernetes.io~empty-dir/scratch /scratch rw - ext4 x rw\n"
      "broken line\n";
  EXPECT_EQ(mounted_volume(mounts, root + "kubernetes.io~csi/pv-1/mount"), "pv-1");
  EXPECT_EQ(mounted_volume(mounts, root + "kubernetes.io~csi/pv-1/mount/llm"), "pv-1");
  EXPECT_EQ(mounted_volume(mounts, root + "kubernetes.io~nfs/pv-2"), "pv-2");
  EXPECT_EQ(mounted_volume(mounts, root + "kubernetes.io~nfs/pv-22"), "");
  EXPECT_EQ(mounted_volume(mounts, "/data/with blank/llm"), "pv-3");
  EXPECT_EQ(mounted_volume(mounts, "/srv/a/b"), "");
  EXPECT_EQ(mounted_volume(mounts, "/again"), "pv-new") << "mounted over the older one";
  EXPECT_EQ(mounted_volume(mounts, "/dots"), "");
  EXPECT_EQ(mounted_volume(mounts, "/scratch"), "") << "no claim has this";
  EXPECT_EQ(mounted_volume("", "/srv"), "");
}

TEST_F(Places, OfAPod_AreItsOwnMounts) {
  mount("uid-1", "kubernetes.io~csi/pv-1/mount", "llm/f");
  mount("uid-1", "kubernetes.io~nfs/pv-2");
  mount("uid-1", "kubernetes.io~empty-dir/cache");
  mount("uid-2", "kubernetes.io~csi/pv-1/mount");
  const std::string claim = "pvc://inference/models";
  const std::string volumes = "kubelet/pods/uid-1/volumes/";
  EXPECT_EQ(found({}, claim, JobPod{"uid-1", "pv-1"}), volumes + "kubernetes.io~csi/pv-1/mount");
  EXPECT_EQ(found({}, claim + "/llm", JobPod{"uid-1", "pv-1"}),
            volumes + "kubernetes.io~csi/pv-1/mount/llm");
  EXPECT_EQ(found({}, claim, JobPod{"uid-1", "pv-2"}), volumes + "kubernetes.io~nfs/pv-2");
  EXPECT_EQ(found({}, "", JobPod{"uid-1", "cache"}), volumes + "kubernetes.io~empty-dir/cache");
  EXPECT_EQ(map({}).find(claim, JobPod{"uid-1", "pv-1"})->volume, "pv-1");
  EXPECT_EQ(map({}).find("", JobPod{"uid-1", "cache"})->volume, "");
  EXPECT_EQ(found({}, claim, JobPod{"uid-3", "pv-1"}), "pod-volume-missing");
  EXPECT_EQ(found({}, claim, JobPod{"uid-2", "pv-2"}), "pod-volume-missing");
  EXPECT_EQ(found({}, claim, JobPod{"..", "pv-1"}), "schema-violation");
  EXPECT_EQ(found({}, claim, JobPod{"uid-1", ".."}), "schema-violation");
}

// What a pod fills itself is not what a claim's location names, whatever its name is.
TEST_F(Places, OfAPod_ScratchIsNoClaim) {
  const std::string claim = "pvc://inference/models";
  mount("uid-1", "kubernetes.io~empty-dir/pv-1", "mount/f");
  EXPECT_EQ(found({}, claim, JobPod{"uid-1", "pv-1"}), "pod-volume-missing");
  mount("uid-1", "kubernetes.io~csi/pv-1/mount");
  mount("uid-1", "kubernetes.io~nfs/pv-1");
  EXPECT_EQ(found({}, claim, JobPod{"uid-1", "pv-1"}), "pod-volume-missing") << "which of the two?";
  // Not mounted yet.
  fs::create_directories(dir_ / "kubelet/pods/uid-2/volumes/kubernetes.io~csi/pv-1");
  EXPECT_EQ(found({}, claim, JobPod{"uid-2", "pv-1"}), "pod-volume-missing");
  // A link in the place of a volume leads nowhere.
  fs::create_directories(dir_ / "secret");
  fs::create_directories(dir_ / "kubelet/pods/uid-3/volumes/kubernetes.io~nfs");
  fs::create_directory_symlink(dir_ / "secret",
                               dir_ / "kubelet/pods/uid-3/volumes/kubernetes.io~nfs/pv-1");
  EXPECT_EQ(found({}, claim, JobPod{"uid-3", "pv-1"}), "pod-volume-missing");
  fs::create_directories(dir_ / "real/volumes/kubernetes.io~nfs/pv-1");
  fs::create_directory_symlink(dir_ / "real", dir_ / "kubelet/pods/uid-4");
  EXPECT_EQ(found({}, claim, JobPod{"uid-4", "pv-1"}), "invalid-path");
}

// Nobody knows then whether the pod has the volume, and the job is not ended for want of it.
TEST_F(Places, OfAPod_VolumesThatCannotBeListedAreNotMissing) {
  const fs::path pod = dir_ / "kubelet/pods/uid-1";
  fs::create_directories(pod);
  fs::create_directory_symlink("volumes", pod / "volumes");
  EXPECT_EQ(found({}, "pvc://inference/models", JobPod{"uid-1", "pv-1"}), "file-unreadable");
}

}  // namespace
}  // namespace assay::worker
