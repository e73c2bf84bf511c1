// SPDX-License-Identifier: Apache-2.0
// The model as the node agent finds it on disk.
#include "worker/model.h"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "gpu_hash/artifact_hash.h"
#include "gpu_hash/dispatch.h"
#include "gpu_hash/drivers.h"
#include "schemas/core/outline.h"
#include "schemas/posix/descriptor.h"

namespace assay::worker {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

class OnDisk : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "assay-worker-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    dir_ = fs::canonical(name);
    models_ = dir_ / "models";
    fs::create_directories(models_ / "acme");
  }
  void TearDown() override { fs::remove_all(dir_); }

  static void write(const fs::path& path, const std::string& content) {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << content;
  }

  // A safetensors file with one tensor "t" of these bytes.
  static std::string safetensors(const std::string& bytes) {
    std::string header = R"({"t":{"dtype":"U8","shape":[)" + std::to_string(bytes.size()) +
                         R"(],"data_offsets":[0,)" + std::to_string(bytes.size()) + "]}}";
    header.resize((header.size() + 7) / 8 * 8, ' ');
    std::string length(8, '\0');
    length[0] = static_cast<char>(header.size());
    return length + header + bytes;
  }

  void make_model() {
    write(model_ / "config.json", "{}");
    write(model_ / "empty", "");
    write(model_ / "sub/big.bin", std::string(3'000'000, 'b'));
    write(model_ / "weights.safetensors", safetensors(std::string(50, 'w')));
    manifest_.name = "acme/llm";
    const auto hashed = gpu_hash::hash_artifact(model_, {}, *engine_);
    ASSERT_TRUE(hashed);
    manifest_.artifact = hashed->artifact;
    ASSERT_EQ(manifest_.artifact.entries.size(), 5U);
  }

  Result<NodeModel::Hashed> look(const std::vector<std::uint64_t>& subset = {}) {
    ASSAY_ASSIGN(NodeModel model, NodeModel::find(model_, manifest_, subset, {}));
    return model.hash(*engine_, {}, {});
  }

  static std::vector<std::uint64_t> positions(const NodeModel::Hashed& hashed) {
    std::vector<std::uint64_t> list;
    for (const NotCovered& item : hashed.not_covered) {
      list.push_back(item.entry);
    }
    return list;
  }

  fs::path dir_;
  fs::path models_;
  fs::path model_{};
  Manifest manifest_;
  std::unique_ptr<gpu_hash::Engine> engine_ =
      gpu_hash::make_engine(gpu_hash::drivers_in_this_process(),
                            {gpu_hash::DeviceChoice::Kind::kCpu, {}, {}})
          .value();
};

class Model : public OnDisk {
 protected:
  void SetUp() override {
    OnDisk::SetUp();
    model_ = models_ / "acme/llm";
    make_model();
  }

  // Position of an entry by path, or of the one tensor.
  std::uint64_t at(const std::string& path) {
    for (std::uint64_t i = 0; i < manifest_.artifact.entries.size(); ++i) {
      const auto* file = std::get_if<FileEntry>(&manifest_.artifact.entries[i]);
      if (file == nullptr ? path == "#t" : file->path == path) {
        return i;
      }
    }
    ADD_FAILURE() << path;
    return 0;
  }
};

TEST_F(Model, TheSameAsTheManifest) {
  const auto hashed = look();
  ASSERT_TRUE(hashed);
  EXPECT_EQ(hashed->entries, manifest_.artifact.entries);
  EXPECT_TRUE(hashed->not_covered.empty());
  EXPECT_GT(hashed->bytes, 3'000'000U);
}

TEST_F(Model, AFlippedByteChangesItsEntryAlone) {
  write(model_ / "sub/big.bin", std::string(2'000'000, 'b') + "X" + std::string(999'999, 'b'));
  const auto hashed = look();
  ASSERT_TRUE(hashed);
  for (std::uint64_t i = 0; i < hashed->entries.size(); ++i) {
    EXPECT_EQ(hashed->entries[i] == manifest_.artifact.entries[i], i != at("sub/big.bin"));
  }
}

TEST_F(Model, MissingAndExtraFilesShow) {
  fs::remove(model_ / "config.json");
  write(model_ / "modeling_evil.py", "more");
  write(model_ / "a/extra.safetensors", "no safetensors at all");
  const auto hashed = look();
  ASSERT_TRUE(hashed);
  EXPECT_EQ(hashed->entries.size(), 4U);
  EXPECT_EQ(hashed->extra,
            (std::vector<ExtraFile>{{"a/extra.safetensors", 21}, {"modeling_evil.py", 4}}));
  EXPECT_EQ(hashed->extra_count, 2U);
  EXPECT_TRUE(hashed->not_covered.empty());
}

// The rules are those that the root binds: a name as .git has no rule of its own.
TEST_F(Model, OnlyBoundPatternsLeaveOut) {
  write(model_ / "notes.tmp", "more");
  write(model_ / ".git/HEAD", "x");
  EXPECT_EQ(look().value().extra, (std::vector<ExtraFile>{{".git/HEAD", 1}, {"notes.tmp", 4}}));
  manifest_.artifact.parameters.ignore = {"*.tmp", "/.git"};
  const auto hashed = look();
  EXPECT_EQ(hashed.value().entries, manifest_.artifact.entries);
  EXPECT_EQ(hashed.value().extra_count, 0U);
}

TEST_F(Model, ManyExtraFilesAreCounted) {
  for (std::size_t i = 0; i < kMaxExtraFiles + 5; ++i) {
    write(model_ / "extra" / std::to_string(i), "");
  }
  const auto hashed = look();
  ASSERT_TRUE(hashed);
  EXPECT_EQ(hashed->extra.size(), kMaxExtraFiles);
  EXPECT_EQ(hashed->extra_count, kMaxExtraFiles + 5);
}

// A report has room for so many bytes of them.
TEST_F(Model, ExtraFilesWithLongNames_AreCountedToo) {
  const std::string part(200, 'x');
  for (std::size_t i = 0; i < 400; ++i) {
    write(model_ / part / part / part / part / std::to_string(i), "");
  }
  const auto hashed = look();
  ASSERT_TRUE(hashed);
  EXPECT_GT(hashed->extra.size(), 250U);
  EXPECT_LT(hashed->extra.size(), 350U);
  EXPECT_EQ(hashed->extra_count, 400U);
}

// Whoever changes a small model into one of many tensors cannot make its report too long to be
// taken, by which the mismatch would go unnoticed.
TEST_F(Model, ManyExtraTensors_AreListedAsFarAsAReportHoldsThem) {
  std::string header = "{\"t\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}";
  for (int i = 0; i < 2000; ++i) {
    header += ",\"extra" + std::to_string(i) +
              "\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}";
  }
  header += "}";
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 4; ++i) {
    length[i] = static_cast<char>(header.size() >> (8 * i));
  }
  write(model_ / "weights.safetensors", length + header);
  const auto hashed = look();
  ASSERT_TRUE(hashed) << to_string(hashed.error());
  EXPECT_GT(hashed->entries.size(), 100U);
  EXPECT_LT(hashed->entries.size(), 300U);
  std::size_t bytes = 0;
  for (const Entry& entry : hashed->entries) {
    bytes += to_json(entry).dump().size();
  }
  EXPECT_LT(bytes * 4 / 3, max_report_bytes(manifest_.artifact, {}));
}

TEST_F(Model, ASubsetLooksAtItsEntriesAlone) {
  write(model_ / "extra.bin", "more");
  const std::uint64_t big = at("sub/big.bin");
  const std::uint64_t tensor = at("#t");
  const auto hashed = look({big, tensor});
  ASSERT_TRUE(hashed);
  ASSERT_EQ(hashed->entries.size(), 2U);
  EXPECT_EQ(hashed->entries[0], manifest_.artifact.entries[big]);
  EXPECT_EQ(hashed->entries[1], manifest_.artifact.entries[tensor]);
  EXPECT_EQ(hashed->bytes, 3'000'050U);
  // What lies beside the model is no question of the subset.
  EXPECT_EQ(hashed->extra, (std::vector<ExtraFile>{{"extra.bin", 4}}));
}

// The entry of the file alone needs all its segments; each byte is hashed once.
TEST_F(Model, AFileOfASubset_IsHashedWithoutReportingItsTensors) {
  const std::uint64_t file = at("weights.safetensors");
  auto model = NodeModel::find(model_, manifest_, {file}, {});
  ASSERT_TRUE(model);
  const auto hashed = model->hash(*engine_, {}, {});
  ASSERT_TRUE(hashed);
  EXPECT_EQ(hashed->entries, std::vector{manifest_.artifact.entries[file]});
  EXPECT_EQ(hashed->bytes, size_of(manifest_.artifact.entries[file]));
  // A spot check may ask for its tensors.
  EXPECT_EQ(model->read({at("#t"), 0}, kDefaultOutlineSpan).value(), Bytes(50, 'w'));
  EXPECT_EQ(model->read({file, 0}, kDefaultOutlineSpan).value().size(),
            own_size(manifest_.artifact.entries[file]));
}

TEST_F(Model, AManifestOfFilesAlone_HasTheSameFiles) {
  gpu_hash::ArtifactOptions options;
  options.objects = Objects::kFiles;
  manifest_.artifact = gpu_hash::hash_artifact(model_, options, *engine_).value().artifact;
  EXPECT_EQ(look().value().entries, manifest_.artifact.entries);
  EXPECT_EQ(look().value().bytes, [&] {
    std::uint64_t bytes = 0;
    for (const Entry& entry : manifest_.artifact.entries) {
      bytes += size_of(entry);
    }
    return bytes;
  }());
}

// The entry says how a file is cut, and its name does not.
TEST_F(Model, TheCutIsTheSignedOne) {
  gpu_hash::ArtifactOptions whole;
  whole.whole = {"weights.safetensors"};
  const Artifact cut = manifest_.artifact;
  manifest_.artifact = gpu_hash::hash_artifact(model_, whole, *engine_).value().artifact;
  EXPECT_EQ(look().value().entries, manifest_.artifact.entries);
  manifest_.artifact = cut;
  for (Entry& entry : manifest_.artifact.entries) {
    auto* file = std::get_if<FileEntry>(&entry);
    std::string& path = file != nullptr ? file->path : std::get<TensorEntry>(entry).file;
    path = path == "weights.safetensors" ? "weights" : path;
  }
  fs::rename(model_ / "weights.safetensors", model_ / "weights");
  EXPECT_EQ(look().value().entries, manifest_.artifact.entries);
}

TEST_F(Model, BrokenSafetensorsAreNotCoveredButTheirFileIs) {
  write(model_ / "weights.safetensors", "no safetensors at all");
  const auto hashed = look();
  ASSERT_TRUE(hashed);
  EXPECT_EQ(positions(*hashed), std::vector{at("#t")});
  EXPECT_TRUE(hashed->not_covered[0].reason.starts_with("malformed-safetensors"));
  ASSERT_EQ(hashed->entries.size(), 4U);
  EXPECT_FALSE(std::get<FileEntry>(hashed->entries[3]).cut);
}

TEST_F(Model, ATensorManifestCoversNoFile) {
  gpu_hash::ArtifactOptions options;
  options.objects = Objects::kTensors;
  manifest_.artifact = gpu_hash::hash_artifact(model_, options, *engine_).value().artifact;
  write(model_ / "more.safetensors", "no safetensors at all");
  const auto hashed = look();
  ASSERT_TRUE(hashed);
  EXPECT_EQ(hashed->entries, manifest_.artifact.entries);
  EXPECT_EQ(hashed->extra_count, 5U);  // config.json, empty, big.bin, and both safetensors files
}

TEST_F(Model, LinksAndPipesAreRefusedAsAWhole) {
  fs::create_symlink("config.json", model_ / "link");
  EXPECT_EQ(look().error().code, ErrorCode::kUnsupportedFileType);
}

TEST_F(Model, UnreadableFilesAreNotCovered) {
  if (::geteuid() == 0) {
    GTEST_SKIP() << "root reads every file";
  }
  fs::permissions(model_ / "sub/big.bin", fs::perms::none);
  const auto hashed = look();
  ASSERT_TRUE(hashed);
  EXPECT_EQ(positions(*hashed), std::vector{at("sub/big.bin")});
}

TEST_F(Model, AFileThatChangesBeforeItIsHashedIsNotCovered) {
  auto model = NodeModel::find(model_, manifest_, {}, {});
  ASSERT_TRUE(model);
  write(model_ / "sub/big.bin", std::string(3'000'000, 'B'));
  const auto hashed = model->hash(*engine_, {}, {});
  ASSERT_TRUE(hashed);
  EXPECT_EQ(positions(*hashed), std::vector{at("sub/big.bin")});
  EXPECT_TRUE(hashed->not_covered[0].reason.starts_with("file-changed"));
  EXPECT_EQ(hashed->entries.size(), 4U);
}

TEST_F(Model, AFileThatChangesWhileItIsHashedIsNotCovered) {
  // With a writer there from the beginning no lease is granted, for which the thread that reads
  // would wait when it writes.
  const Descriptor writer(::open((model_ / "config.json").c_str(), O_WRONLY | O_CLOEXEC));
  auto model = NodeModel::find(model_, manifest_, {}, {});
  ASSERT_TRUE(model);
  bool changed = false;
  const auto hashed = model->hash(*engine_,
                                  [&](std::uint64_t, std::uint64_t) {
                                    if (!changed) {
                                      changed = true;
                                      write(model_ / "config.json", "[]");
                                    }
                                  },
                                  {});
  ASSERT_TRUE(changed);
  ASSERT_TRUE(hashed);
  EXPECT_EQ(positions(*hashed), std::vector{at("config.json")});
}

TEST_F(Model, AnExtraFileThatGoesIsNeverForgotten) {
  write(model_ / "extra.bin", "more");
  auto model = NodeModel::find(model_, manifest_, {}, {});
  ASSERT_TRUE(model);
  fs::remove(model_ / "extra.bin");
  EXPECT_EQ(model->hash(*engine_, {}, {}).value().extra_count, 1U);
}

TEST_F(Model, StopsWhenToldTo) {
  std::stop_source stop;
  auto model = NodeModel::find(model_, manifest_, {}, stop.get_token());
  ASSERT_TRUE(model);
  stop.request_stop();
  EXPECT_EQ(model->hash(*engine_, {}, stop.get_token()).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(NodeModel::find(model_, manifest_, {}, stop.get_token()).error().code,
            ErrorCode::kCancelled);
}

TEST_F(Model, OutlinesAreThoseOfTheEntries) {
  gpu_hash::ArtifactOptions options;
  options.outline_span = kDefaultOutlineSpan;
  const auto expected = gpu_hash::hash_artifact(model_, options, *engine_);
  ASSERT_TRUE(expected);
  const auto model = NodeModel::find(model_, manifest_, {}, {});
  const std::vector<std::uint64_t> wanted = {at("sub/big.bin"), at("#t")};
  const auto outline = model.value().outline(*engine_, wanted, kDefaultOutlineSpan, {});
  ASSERT_TRUE(outline);
  ASSERT_EQ(outline->size(), 2U);
  EXPECT_EQ((*outline)[0].digests, expected->outlines[wanted[0]]);
  EXPECT_EQ((*outline)[0].digests.size(), 3U);
  EXPECT_EQ((*outline)[1].digests, expected->outlines[wanted[1]]);
  EXPECT_FALSE(model.value().outline(*engine_, {77}, kDefaultOutlineSpan, {}));
  EXPECT_FALSE(model.value().outline(*engine_, wanted, 5, {}));
}

TEST_F(Model, SpansAreTheBytesOfTheEntry) {
  write(model_ / "weights.safetensors", safetensors("tensor bytes" + std::string(38, 'w')));
  const auto model = NodeModel::find(model_, manifest_, {}, {});
  ASSERT_TRUE(model);
  constexpr std::uint64_t kSpan = kDefaultOutlineSpan;
  EXPECT_EQ(model->read({at("sub/big.bin"), 1}, kSpan).value(), Bytes(kSpan, 'b'));
  EXPECT_EQ(model->read({at("sub/big.bin"), 2}, kSpan).value(), Bytes(3'000'000 - 2 * kSpan, 'b'));
  const Bytes tensor = model->read({at("#t"), 0}, kSpan).value();
  EXPECT_EQ(as_text(tensor).substr(0, 12), "tensor bytes");
  EXPECT_EQ(tensor.size(), 50U);
  for (const SpotSpan place : {SpotSpan{at("sub/big.bin"), 3}, SpotSpan{at("empty"), 0},
                               SpotSpan{at("sub/big.bin"), ~std::uint64_t{0}}, SpotSpan{99, 0}}) {
    EXPECT_FALSE(model->read(place, kSpan)) << place.entry << " " << place.index;
  }
  write(model_ / "sub/big.bin", std::string(3'000'000, 'c'));
  EXPECT_EQ(model->read({at("sub/big.bin"), 1}, kSpan).error().code, ErrorCode::kFileChanged);
}

TEST_F(Model, NothingThereIsFoundAsNothing) {
  NodeModel model = NodeModel::absent(manifest_);
  const auto hashed = model.hash(*engine_, {}, {});
  ASSERT_TRUE(hashed);
  EXPECT_TRUE(hashed->entries.empty());
  EXPECT_TRUE(hashed->not_covered.empty());
}

TEST_F(OnDisk, ASingleFileStandsForTheArtifactsOne) {
  model_ = models_ / "acme/model.bin";
  write(model_, "bytes");
  manifest_.name = "acme/llm";
  manifest_.artifact = gpu_hash::hash_artifact(model_, {}, *engine_).value().artifact;
  fs::rename(model_, models_ / "acme/other.bin");
  model_ = models_ / "acme/other.bin";
  EXPECT_EQ(look().value().entries, manifest_.artifact.entries);
}

// The model as a Hugging Face cache keeps it.
class Repository : public Model {
 protected:
  void SetUp() override {
    Model::SetUp();
    const fs::path plain = model_;
    model_ = models_ / "models--acme--llm";
    for (const auto& [name, blob] : {std::pair("config.json", "e1"),
                                     {"empty", "e2"},
                                     {"sub/big.bin", "e3"},
                                     {"weights.safetensors", "e4"}}) {
      fs::create_directories((snapshot() / name).parent_path());
      fs::create_directories(model_ / "blobs");
      fs::rename(plain / name, model_ / "blobs" / blob);
      const std::string up = std::string(name).find('/') == std::string::npos ? "" : "../";
      fs::create_symlink(up + "../../blobs/" + blob, snapshot() / name);
    }
    write(model_ / "refs/main", "r1");
  }
  [[nodiscard]] fs::path snapshot() const { return model_ / "snapshots/r1"; }
  Result<NodeModel::Hashed> look_at(const fs::path& place, bool repository) {
    ASSAY_ASSIGN(NodeModel model, NodeModel::find(place, manifest_, {}, {}, repository));
    return model.hash(*engine_, {}, {});
  }
};

TEST_F(Repository, MountedAsAWhole_IsTheModel) {
  const auto hashed = look_at(model_, true);
  ASSERT_TRUE(hashed) << to_string(hashed.error());
  EXPECT_EQ(hashed->entries, manifest_.artifact.entries);
  EXPECT_TRUE(hashed->not_covered.empty());
  EXPECT_EQ(hashed->extra_count, 0U);
}

TEST_F(Repository, OtherRevisionsAndBlobs_AreExtra) {
  write(model_ / "snapshots/r2/modeling.py", "more");
  write(model_ / "blobs/e9", "more");
  write(snapshot() / "blobs/e9", "of the revision");
  write(snapshot() / "a.py", "of the revision");
  const auto hashed = look_at(model_, true);
  ASSERT_TRUE(hashed) << to_string(hashed.error());
  EXPECT_EQ(hashed->entries, manifest_.artifact.entries);
  EXPECT_EQ(hashed->extra_count, 4U);
  std::vector<std::string> paths;
  for (const ExtraFile& file : hashed->extra) {
    paths.push_back(file.path);
  }
  EXPECT_EQ(paths, (std::vector<std::string>{"a.py", "blobs/e9", "snapshots/r2/modeling.py"}));
}

// In a pod that mounts it alone, its links lead to whatever else the pod has there.
TEST_F(Repository, SnapshotAlone_IsRefused) {
  for (const bool repository : {false, true}) {
    const auto hashed = look_at(snapshot(), repository);
    ASSERT_FALSE(hashed);
    EXPECT_EQ(hashed.error().code, ErrorCode::kUnsupportedFileType);
  }
  EXPECT_EQ(look_at(model_, false).error().code, ErrorCode::kUnsupportedFileType);
}

}  // namespace
}  // namespace assay::worker
