// SPDX-License-Identifier: Apache-2.0
// Snapshots of a Hugging Face cache as models, and what lies beside them in their repository.
#include "gpu_hash/files/hub_cache.h"

#include <array>
#include <functional>

#include <gtest/gtest.h>

#include "gpu_hash/artifact_hash.h"
#include "gpu_hash/artifact_verify.h"
#include "gpu_hash/cpu/engine.h"
#include "gpu_hash/walk.h"
#include "tests/gpu_hash/support.h"

namespace assay::gpu_hash::test {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

// Two files of which one came by Xet, as huggingface_hub 2.4 keeps them.
class HubCache : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(snapshot() / "onnx");
    dir_.write("hub/models--acme--tiny/refs/main", "r1");
    dir_.write("hub/blobs/ab/" + hash_, "weights");
    dir_.write("hub/models--acme--tiny/blobs/e2", "{}");
    link("../../blobs/ab/" + hash_, repository() / "blobs" / "e1");
    link("../../../blobs/e1", snapshot() / "onnx" / "model.bin");
    link("../../blobs/e2", snapshot() / "config.json");
    dir_.write("plain/onnx/model.bin", "weights");
    dir_.write("plain/config.json", "{}");
  }

  [[nodiscard]] fs::path repository() const { return dir_.path() / "hub/models--acme--tiny"; }
  [[nodiscard]] fs::path snapshot() const { return repository() / "snapshots" / "r1"; }
  [[nodiscard]] fs::path plain() const { return dir_.path() / "plain"; }

  static void link(const fs::path& target, const fs::path& place) {
    fs::remove(place);
    fs::create_symlink(target, place);
  }

  Result<HashedArtifact> hash(const fs::path& path, const Progress& progress = {}) {
    return hash_artifact(path, {}, *engine_, progress);
  }
  // The error of the snapshot, which is about `file`.
  Error error(const std::string& file) {
    const auto hashed = hash(snapshot());
    if (hashed) {
      ADD_FAILURE() << "it was hashed";
      return {};
    }
    EXPECT_EQ(hashed.error().where, file) << to_string(hashed.error());
    return hashed.error();
  }

  TempDir dir_;
  std::string hash_ = "ab" + std::string(62, '1');
  std::unique_ptr<Engine> engine_ = make_cpu_engine(1);
};

TEST_F(HubCache, Snapshot_IsTheArtifactOfThePlainFolder) {
  const auto want = hash(plain());
  ASSERT_TRUE(want);
  for (const fs::path& path : {snapshot(), fs::path(snapshot() / "")}) {
    const auto got = hash(path);
    ASSERT_TRUE(got) << to_string(got.error());
    EXPECT_EQ(got->id, want->id);
    EXPECT_EQ(got->artifact, want->artifact);
  }
  const auto verified = verify_artifact(snapshot(), want->artifact, {}, *engine_);
  ASSERT_TRUE(verified) << to_string(verified.error());
  EXPECT_TRUE(verified->differences.empty());
}

TEST_F(HubCache, SnapshotOfADataset_IsOne) {
  fs::rename(repository(), dir_.path() / "hub/datasets--acme--tiny");
  EXPECT_TRUE(hash(dir_.path() / "hub/datasets--acme--tiny/snapshots/r1"));
}

// A download by the hash of a commit makes no refs.
TEST_F(HubCache, RepositoryWithoutRefs_IsOne) {
  fs::remove_all(repository() / "refs");
  EXPECT_TRUE(hash(snapshot()));
}

TEST_F(HubCache, OneFileOfASnapshot_IsItsBlob) {
  const auto got = hash(snapshot() / "config.json");
  ASSERT_TRUE(got);
  EXPECT_EQ(got->id, hash(plain() / "config.json")->id);
}

TEST_F(HubCache, OtherDirectories_AreNoSnapshots) {
  const auto no_snapshot = [&](const fs::path& path) {
    const auto got = hash(path);
    return !got && got.error().code == ErrorCode::kUnsupportedFileType;
  };
  EXPECT_TRUE(no_snapshot(snapshot() / "onnx"));
  EXPECT_TRUE(no_snapshot(repository()));
  fs::rename(repository() / "snapshots", repository() / "snapshot");
  EXPECT_TRUE(no_snapshot(repository() / "snapshot/r1"));
  fs::rename(repository() / "snapshot", repository() / "snapshots");
  fs::rename(repository(), dir_.path() / "hub/acme--tiny");
  EXPECT_TRUE(no_snapshot(dir_.path() / "hub/acme--tiny/snapshots/r1"));
  fs::rename(dir_.path() / "hub/acme--tiny", repository());
  fs::rename(repository() / "blobs", dir_.path() / "blobs");
  link("../../blobs", repository() / "blobs");
  EXPECT_TRUE(no_snapshot(snapshot()));
}

TEST_F(HubCache, LinkElsewhere_IsRefusedAndTheErrorNamesTheOption) {
  dir_.write("hub/models--acme--other/blobs/e9", "x");
  dir_.write("hub/secret", "x");
  dir_.write("hub/models--acme--tiny/blobs/sub/e3", "x");
  dir_.write("hub/models--acme--tiny/snapshots/r2/other", "x");
  link("e2", repository() / "blobs" / "to-e2");
  for (const fs::path& target : std::vector<fs::path>{
           "../../../models--acme--other/blobs/e9", "../../../secret", "../../refs/main",
           "../r2/other", "onnx/model.bin", "../../blobs/sub/e3", "../../blobs/../refs/main",
           "../../blobs/./e2", "../../../models--acme--tiny/blobs/e2", "../../blobs/to-e2",
           "../../blobs//e2", "../../blobs/", "../../blobs", "../../blobs/..",
           repository() / "blobs/e2"}) {
    link(target, snapshot() / "config.json");
    const Error refused = error("config.json");
    EXPECT_EQ(refused.code, ErrorCode::kInvalidPath) << target;
    EXPECT_TRUE(refused.detail.find("--ignore") != std::string::npos)
        << target << ": " << refused.detail;
  }
}

TEST_F(HubCache, BlobThatLeadsElsewhere_IsRefused) {
  dir_.write("hub/blobs/cd/" + hash_, "x");
  dir_.write("hub/blobs/ab/ab.lock", "x");
  dir_.write("hub/blobs/abab", "x");
  link(hash_, dir_.path() / "hub/blobs/ab/abba");
  for (const fs::path& target : std::vector<fs::path>{
           "../../models--acme--tiny/refs/main", "../../blobs/cd/" + hash_,
           "../../blobs/ab/ab.lock", "../../blobs/abab", "../../blobs/ab/../ab/" + hash_,
           "../../blobs/ab/abba", "e2", "../blobs/e2", "../../../secret",
           dir_.path() / "hub/blobs/ab" / hash_}) {
    link(target, repository() / "blobs" / "e1");
    EXPECT_EQ(error("onnx/model.bin").code, ErrorCode::kInvalidPath) << target;
  }
}

TEST_F(HubCache, WhatIsNoFile_IsRefused) {
  fs::create_directory(repository() / "blobs" / "folder");
  link("../../blobs/folder", snapshot() / "config.json");
  EXPECT_EQ(error("config.json").code, ErrorCode::kUnsupportedFileType);
  link("../../blobs/nothing", snapshot() / "config.json");
  EXPECT_EQ(error("config.json").code, ErrorCode::kInvalidPath);
  link("../../blobs/e2", snapshot() / "config.json");
  fs::create_directories(dir_.path() / "else");
  fs::rename(dir_.path() / "hub/blobs", dir_.path() / "hub/store");
  link("store", dir_.path() / "hub/blobs");
  EXPECT_EQ(error("onnx/model.bin").code, ErrorCode::kInvalidPath);
}

// With follow_symlinks the rules are those of any directory: no link leads out.
TEST_F(HubCache, WithFollowSymlinks_LinksLeadOut) {
  ArtifactOptions options;
  options.parameters.follow_symlinks = true;
  const auto refused = hash_artifact(snapshot(), options, *engine_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidPath);
  EXPECT_TRUE(refused.error().detail.find("without --follow-symlinks") != std::string::npos);
}

// The link, the blob's link and the blob: whichever changes while the model is hashed.
TEST_F(HubCache, WhatChangesMeanwhile_IsFileChanged) {
  dir_.write("hub/blobs/ab/ab2", "weights");
  dir_.write("hub/models--acme--tiny/blobs/e3", "{}");
  const std::array<std::function<void()>, 3> changes = {
      [&] { link("../../blobs/e3", snapshot() / "config.json"); },
      [&] { link("../../blobs/ab/ab2", repository() / "blobs" / "e1"); },
      [&] { fs::rename(repository() / "blobs/e2", repository() / "blobs/e3"); }};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    bool changed = false;
    const auto hashed = hash(snapshot(), [&](std::uint64_t, std::uint64_t) {
      if (!std::exchange(changed, true)) {
        changes[i]();
      }
    });
    ASSERT_TRUE(changed);
    ASSERT_FALSE(hashed) << i;
    EXPECT_EQ(hashed.error().code, ErrorCode::kFileChanged) << i;
  }
}

// --- a repository that is mounted as a whole

Names names(const std::vector<WalkedFile>& files) {
  Names found;
  for (const WalkedFile& file : files) {
    found.push_back(file.path);
  }
  return found;
}

class HubRepository : public HubCache {
 protected:
  void SetUp() override {
    HubCache::SetUp();
    fs::remove(repository() / "blobs/e1");
    dir_.write("hub/models--acme--tiny/blobs/e1", "weights");
    artifact_ = hash(plain()).value().artifact;
  }
  Result<RepositoryFiles> find() { return find_in_repository(repository(), artifact_); }

  Artifact artifact_;
};

TEST_F(HubRepository, WithOneRevision_HasNothingElse) {
  dir_.write("hub/models--acme--tiny/refs/pr/1", "r1\n");
  const auto found = find();
  ASSERT_TRUE(found) << to_string(found.error());
  EXPECT_EQ(names(found->model), (Names{"config.json", "onnx/model.bin"}));
  EXPECT_EQ(names(found->others), Names{});
}

TEST_F(HubRepository, OtherRevisionsBlobsAndRefs_AreOthers) {
  dir_.write("hub/models--acme--tiny/blobs/e3", "evil");
  dir_.write("hub/models--acme--tiny/refs/other", "r2");
  dir_.write("hub/models--acme--tiny/refs/up", "..");
  dir_.write("hub/models--acme--tiny/modeling.py", "evil");
  fs::create_directories(repository() / "snapshots/r2");
  link("../../blobs/e2", repository() / "snapshots/r2/config.json");
  const auto found = find();
  ASSERT_TRUE(found) << to_string(found.error());
  EXPECT_EQ(names(found->model), (Names{"config.json", "onnx/model.bin"}));
  EXPECT_EQ(names(found->others), (Names{"blobs/e3", "modeling.py", "refs/other", "refs/up",
                                         "snapshots/r2/config.json"}));
}

TEST_F(HubRepository, WithoutTheModel_IsOthersAlone) {
  fs::remove_all(snapshot());
  const auto found = find();
  ASSERT_TRUE(found) << to_string(found.error());
  EXPECT_EQ(names(found->model), Names{});
  EXPECT_EQ(names(found->others), (Names{"blobs/e1", "blobs/e2", "refs/main"}));
}

// Who mounts the repository alone does not have the store.
TEST_F(HubRepository, BlobInTheStore_LeadsOut) {
  link("../../blobs/ab/" + hash_, repository() / "blobs/e1");
  const auto found = find();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kInvalidPath);
}

TEST_F(HubRepository, PlainFolderUnderThatName_IsTheModel) {
  fs::remove_all(repository());
  fs::copy(plain(), repository(), fs::copy_options::recursive);
  const auto found = find();
  ASSERT_TRUE(found) << to_string(found.error());
  EXPECT_EQ(names(found->model), (Names{"config.json", "onnx/model.bin"}));
}

}  // namespace
}  // namespace assay::gpu_hash::test
