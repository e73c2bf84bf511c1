// SPDX-License-Identifier: Apache-2.0
// Which files count, ignore patterns, links, and what is refused.
#include "gpu_hash/walk.h"

#include <algorithm>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <gtest/gtest.h>

#include "gpu_hash/files/ignore.h"
#include "schemas/core/sha.h"
#include "schemas/posix/descriptor.h"
#include "tests/gpu_hash/support.h"

namespace assay::gpu_hash::test {
namespace {

namespace fs = std::filesystem;
using Paths = std::vector<std::string>;

Paths paths(const Result<std::vector<WalkedFile>>& files) {
  Paths result;
  if (!files) {
    return {"error: " + to_string(files.error())};
  }
  for (const WalkedFile& file : *files) {
    result.push_back(file.path);
  }
  return result;
}

void expect_refused(const TempDir& dir, const WalkOptions& options, ErrorCode code,
                    const std::string& where) {
  const auto files = walk(dir.path(), options);
  ASSERT_FALSE(files.has_value());
  EXPECT_EQ(files.error().code, code) << to_string(files.error());
  EXPECT_EQ(files.error().where, where);
}

WalkOptions following() {
  WalkOptions options;
  options.follow_symlinks = true;
  return options;
}

TEST(Ignore, Vectors_MatchOrNot) {
  const Json vectors = load_vectors("paths");
  for (const Json& item : vectors["ignored"]) {
    const auto rules = IgnoreRules::parse(item["patterns"].get<Paths>());
    ASSERT_TRUE(rules.has_value()) << item.dump();
    const auto path = item["path"].get<std::string>();
    EXPECT_EQ(rules->match(path), item["ignored"].get<bool>()) << item.dump();
  }
}

TEST(Ignore, RefusedPatterns_AreInvalidParameters) {
  const Json vectors = load_vectors("paths");
  for (const Json& pattern : vectors["refused_patterns"]) {
    const auto rules = IgnoreRules::parse({pattern.get<std::string>()});
    ASSERT_FALSE(rules.has_value()) << pattern.dump();
    EXPECT_EQ(rules.error().code, ErrorCode::kInvalidParameter);
  }
}

TEST(Ignore, HostilePattern_EndsSoon) {
  std::string pattern;
  for (int i = 0; i < 100; ++i) {
    pattern += "*a";
  }
  const auto rules = IgnoreRules::parse({pattern + "b"});
  ASSERT_TRUE(rules.has_value());
  EXPECT_FALSE(rules->match(std::string(4000, 'a')));
}

TEST(Walk, Directory_ListsEveryRegularFileInByteOrder) {
  const TempDir dir;
  for (const char* name : {"b", "a/z", "a.txt", "a/b/c", ".hidden", "\xC3\xA9", "~"}) {
    dir.write(name, "x");
  }
  fs::create_directories(dir.path() / "empty");
  EXPECT_EQ(paths(walk(dir.path())),
            (Paths{".hidden", "a.txt", "a/b/c", "a/z", "b", "~", "\xC3\xA9"}));
}

TEST(Walk, NoNameIsSpecial) {
  const TempDir dir;
  dir.write(".git/HEAD", "x");
  dir.write("sub/.git/HEAD", "x");
  dir.write("model.assay.json", "x");
  EXPECT_EQ(paths(walk(dir.path())), (Paths{".git/HEAD", "model.assay.json", "sub/.git/HEAD"}));
  EXPECT_EQ(paths(walk(dir.path(), {{"/.git"}, false})),
            (Paths{"model.assay.json", "sub/.git/HEAD"}));
}

TEST(UsualPatterns, AreThoseOfWhatIsThere) {
  const TempDir dir;
  EXPECT_EQ(usual_patterns(dir.path()), Paths{});
  dir.write("sub/.git/HEAD", "x");
  dir.write(".git/HEAD", "x");
  EXPECT_EQ(usual_patterns(dir.path()), (Paths{"/.git"}));
  fs::create_symlink("nowhere", dir.path() / "model.assay.json");
  dir.write("model.assay.json.times", "x");
  dir.write("model.assay.outline", "x");
  EXPECT_EQ(usual_patterns(dir.path()), (Paths{"/.git", "/model.assay.json",
                                               "/model.assay.json.times", "/model.assay.outline"}));
  EXPECT_EQ(usual_patterns(dir.path() / "model.assay.outline"), Paths{});
  EXPECT_EQ(usual_patterns(dir.path() / "nothing"), Paths{});
}

TEST(Walk, IgnoredThings_AreNotLookedAt) {
  const TempDir dir;
  dir.write("keep", "x");
  dir.write("logs/a", "x");
  fs::create_symlink("/nowhere", dir.path() / "link.tmp");
  ASSERT_EQ(::mkfifo((dir.path() / "fifo.tmp").c_str(), 0600), 0);
  EXPECT_EQ(paths(walk(dir.path(), {{"*.tmp", "/logs"}, false})), (Paths{"keep"}));
}

TEST(Walk, SingleFile_HasItsBaseNameAndNoPatterns) {
  const TempDir dir;
  const fs::path file = dir.write("sub/model.bin", "x");
  EXPECT_EQ(paths(walk(file, {{"*.bin"}, false})), (Paths{"model.bin"}));
  fs::create_symlink(file, dir.path() / "link");
  EXPECT_EQ(paths(walk(dir.path() / "link")), (Paths{"link"}));
}

TEST(Walk, Symlink_IsRefusedUnlessAskedFor) {
  const TempDir dir;
  dir.write("sub/file", "content");
  fs::create_symlink("sub/file", dir.path() / "link");
  fs::create_directory_symlink("sub", dir.path() / "other");
  expect_refused(dir, {{"other"}, false}, ErrorCode::kUnsupportedFileType, "link");
  const auto files = walk(dir.path(), following());
  EXPECT_EQ(paths(files), (Paths{"link", "other/file", "sub/file"}));
  Bytes content(7);
  ASSERT_TRUE((*(*files)[1].source->open())->read(0, content).has_value());
  EXPECT_EQ(as_text(content), "content");
}

TEST(Walk, SymlinkOutOfTheDirectory_IsRefused) {
  const TempDir outside;
  outside.write("secret", "x");
  for (const fs::path& target : {outside.path() / "secret", outside.path(), fs::path("..")}) {
    const TempDir dir;
    fs::create_symlink(target, dir.path() / "link");
    expect_refused(dir, following(), ErrorCode::kInvalidPath, "link");
  }
}

// A sibling whose name starts like the directory's is outside.
TEST(Walk, SymlinkToSiblingWithTheSamePrefix_IsRefused) {
  const TempDir dir;
  fs::create_directory(dir.path() / "m");
  dir.write("mm/file", "x");
  fs::create_symlink("../mm/file", dir.path() / "m" / "link");
  const auto files = walk(dir.path() / "m", following());
  ASSERT_FALSE(files.has_value());
  EXPECT_EQ(files.error().code, ErrorCode::kInvalidPath);
}

// Here it leads to the file that is signed; in a container that has the directory at another path,
// to whatever its author mounted there.
TEST(Walk, SymlinkOutAndBackIn_IsRefused) {
  for (const bool absolute : {false, true}) {
    const TempDir dir;
    dir.write("sub/file", "x");
    const fs::path target = absolute ? dir.path() / "sub" / "file"
                                     : fs::path("..") / dir.path().filename() / "sub" / "file";
    fs::create_symlink(target, dir.path() / "link");
    expect_refused(dir, following(), ErrorCode::kInvalidPath, "link");
  }
}

TEST(Walk, SymlinkUpAndDownInside_IsFollowed) {
  const TempDir dir;
  dir.write("blobs/b", "x");
  fs::create_directories(dir.path() / "snapshots" / "1");
  fs::create_symlink("../../blobs/b", dir.path() / "snapshots" / "1" / "file");
  fs::create_directory_symlink("snapshots/1", dir.path() / "latest");
  EXPECT_EQ(paths(walk(dir.path(), following())),
            (Paths{"blobs/b", "latest/file", "snapshots/1/file"}));
}

TEST(Walk, DanglingLinkAndLoops_AreRefused) {
  for (const char* target : {"nowhere", "link", ".", "sub"}) {
    const TempDir dir;
    fs::create_directory(dir.path() / "sub");
    const fs::path link = std::string(target) == "sub" ? "sub/link" : "link";
    fs::create_symlink(std::string(target) == "sub" ? "../sub" : target, dir.path() / link);
    const auto files = walk(dir.path(), following());
    ASSERT_FALSE(files.has_value()) << target;
    EXPECT_EQ(files.error().code, ErrorCode::kInvalidPath);
  }
}

TEST(Walk, FifoAndSocket_AreRefusedByName) {
  {
    const TempDir dir;
    ASSERT_EQ(::mkfifo((dir.path() / "pipe").c_str(), 0600), 0);
    expect_refused(dir, {}, ErrorCode::kUnsupportedFileType, "pipe");
    EXPECT_EQ(walk(dir.path() / "pipe").error().code, ErrorCode::kUnsupportedFileType);
  }
  const TempDir dir;
  const Descriptor fd(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = (dir.path() / "sock").string();
  ASSERT_LT(name.size(), sizeof(address.sun_path));
  std::copy(name.begin(), name.end(), std::begin(address.sun_path));
  ASSERT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  expect_refused(dir, {}, ErrorCode::kUnsupportedFileType, "sock");
}

TEST(Walk, NameThatIsNotUtf8_IsRefused) {
  const TempDir dir;
  dir.write("bad\xFF", "x");
  const auto files = walk(dir.path());
  ASSERT_FALSE(files.has_value());
  EXPECT_EQ(files.error().code, ErrorCode::kInvalidPath);
}

TEST(Walk, TooDeep_IsRefused) {
  const TempDir dir;
  fs::path path = dir.path();
  for (std::size_t i = 0; i <= kMaxWalkDepth; ++i) {
    path /= "d";
  }
  fs::create_directories(path);
  const auto files = walk(dir.path());
  ASSERT_FALSE(files.has_value());
  EXPECT_EQ(files.error().code, ErrorCode::kLimitExceeded);
}

TEST(Walk, Nothing_IsFileUnreadable) {
  EXPECT_EQ(walk("/nowhere/at/all").error().code, ErrorCode::kFileUnreadable);
}

// A directory that was swapped for a link after the walk does not lead outside.
TEST(Walk, DirectorySwappedForLink_IsFileChanged) {
  const TempDir outside;
  outside.write("file", "secret!");
  const TempDir dir;
  dir.write("sub/file", "content");
  const auto files = walk(dir.path());
  ASSERT_TRUE(files.has_value());
  fs::remove_all(dir.path() / "sub");
  fs::create_directory_symlink(outside.path(), dir.path() / "sub");
  const auto opened = files->front().source->open();
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::kFileChanged);
  EXPECT_EQ(opened.error().where, "sub/file");
}

Artifact of_files(const std::vector<std::string>& names) {
  Artifact artifact;
  for (const std::string& name : names) {
    artifact.entries.emplace_back(FileEntry{name, 1, sha256(as_bytes(name))});
  }
  return artifact;
}

TEST(FindModel, ASingleFile_StandsForTheSingleFileOfTheArtifact) {
  const TempDir dir;
  dir.write("here.bin", "x");
  Artifact one = of_files({"there.bin"});
  one.entries.emplace_back(TensorEntry{"w", "U8", {1}, "there.bin", 0, 1, sha256(as_bytes("w"))});
  EXPECT_EQ(paths(find_model(dir.path() / "here.bin", one)), Paths{"there.bin"});
  // Which of several it is, nobody knows.
  EXPECT_EQ(paths(find_model(dir.path() / "here.bin", of_files({"a", "there.bin"}))),
            Paths{"here.bin"});
  EXPECT_EQ(paths(find_model(dir.path() / "here.bin", Artifact{})), Paths{"here.bin"});
  // A directory with a single file is a directory.
  EXPECT_EQ(paths(find_model(dir.path(), one)), Paths{"here.bin"});
}

TEST(FindModel, TheRulesAreTheArtifacts) {
  const TempDir dir;
  dir.write("a", "x");
  dir.write(".git/config", "x");
  Artifact artifact = of_files({"a"});
  EXPECT_EQ(paths(find_model(dir.path(), artifact)), (Paths{".git/config", "a"}));
  artifact.parameters.ignore = {"/.git"};
  EXPECT_EQ(paths(find_model(dir.path(), artifact)), Paths{"a"});
}

TEST(OutputPattern, OutputBelowTheDirectory_IsAnchored) {
  const TempDir dir;
  fs::create_directory(dir.path() / "sub");
  EXPECT_EQ(output_pattern(dir.path(), dir.path() / "m.json"), "/m.json");
  EXPECT_EQ(output_pattern(dir.path(), dir.path() / "sub" / ".." / "sub" / "m.json"),
            "/sub/m.json");
  EXPECT_EQ(output_pattern(dir.path() / "sub", dir.path() / "m.json"), std::nullopt);
  const auto starred = output_pattern(dir.path(), dir.path() / "m*.json");
  ASSERT_FALSE(starred.has_value());
  EXPECT_EQ(starred.error().code, ErrorCode::kInvalidParameter);
}

}  // namespace
}  // namespace assay::gpu_hash::test
