// SPDX-License-Identifier: Apache-2.0
// Files that are cut into segments, held against entries that were signed: where a difference lies,
// and that no name and no header on disk decides what was signed.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "gpu_hash/artifact_verify.h"
#include "gpu_hash/cpu/engine.h"
#include "gpu_hash/cut_file.h"
#include "gpu_hash/part_verify.h"
#include "tests/gpu_hash/support.h"

namespace assay::gpu_hash::test {
namespace {

namespace fs = std::filesystem;
using Kind = Difference::Kind;

constexpr std::uint64_t kCutSpan = 4096;
// Two tensors of one size, one without bytes, and a small one.
constexpr std::string_view kCutHeader =
    R"({"a":{"dtype":"U8","shape":[20000],"data_offsets":[0,20000]},)"
    R"("b":{"dtype":"U8","shape":[20000],"data_offsets":[20000,40000]},)"
    R"("e":{"dtype":"F32","shape":[0],"data_offsets":[40000,40000]},)"
    R"("s":{"dtype":"U8","shape":[3],"data_offsets":[40000,40003]}})";
constexpr std::uint64_t kDataStart = 8 + kCutHeader.size();
constexpr std::uint64_t kCutSize = kDataStart + 40003;

Bytes tensor_data() {
  Bytes bytes = pattern(40003);
  for (std::size_t i = 20000; i < 40000; ++i) {
    bytes[i] ^= 0x55;
  }
  return bytes;
}

class CutFile : public testing::Test {
 protected:
  void SetUp() override {
    dir_.write("config.json", "{}");
    write(safetensors_file(kCutHeader, tensor_data()));
    sign({});
  }

  void write(const Bytes& file) { dir_.write(name_, file); }

  // Takes what is on disk for what was signed.
  void sign(ArtifactOptions options) {
    options.parameters.chunk_size = 4096;
    options.outline_span = kCutSpan;
    auto hashed = hash_artifact(dir_.path(), options, *engine_);
    ASSERT_TRUE(hashed.has_value()) << to_string(hashed.error());
    expected_ = hashed->artifact;
    outline_ = Outline{kCutSpan, hashed->outlines};
  }

  // Gives the file another name, in the entries and on disk.
  void rename(const std::string& name) {
    fs::rename(dir_.path() / name_, dir_.path() / name);
    for (Entry& entry : expected_.entries) {
      auto* file = std::get_if<FileEntry>(&entry);
      std::string& path = file != nullptr ? file->path : std::get<TensorEntry>(entry).file;
      path = path == name_ ? name : path;
    }
    name_ = name;
  }

  // The signed entry of the file.
  FileEntry& file() { return std::get<FileEntry>(expected_.entries.at(1)); }

  std::vector<Difference> verify(bool with_outline = true) {
    VerifyOptions options;
    options.outline = with_outline ? &outline_ : nullptr;
    auto verified = verify_artifact(dir_.path(), expected_, options, *engine_);
    EXPECT_TRUE(verified.has_value()) << to_string(verified.error());
    return verified ? std::move(verified->differences) : std::vector<Difference>{};
  }

  // One difference, of the tensor or, with "", of the file.
  void expect_one(const std::string& tensor, const std::vector<ByteRange>& ranges,
                  bool with_outline = true) {
    const auto found = verify(with_outline);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].kind, Kind::kChanged);
    EXPECT_EQ(found[0].file, name_);
    EXPECT_EQ(found[0].tensor.value_or(""), tensor);
    EXPECT_EQ(found[0].ranges, ranges) << found[0].detail;
  }

  Result<VerifiedPart> verify_file(std::optional<ByteRange> range = {}, bool with_outline = true) {
    PartOptions options;
    options.entry = 1;
    options.range = range;
    options.outline = with_outline ? &outline_ : nullptr;
    return verify_part(dir_.path(), expected_, options, *engine_);
  }

  void change(std::uint64_t at) {
    std::fstream file(dir_.path() / name_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(static_cast<std::streamoff>(at));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(byte ^ 1));
  }

  std::unique_ptr<Engine> engine_ = make_cpu_engine();
  TempDir dir_;
  std::string name_ = "model.safetensors";
  Artifact expected_;
  Outline outline_;
};

TEST_F(CutFile, EachByte_IsHashedOnceWhateverIsListed) {
  std::vector<Entry> files;
  for (const Objects objects : {Objects::kBoth, Objects::kFiles, Objects::kTensors}) {
    ArtifactOptions options;
    options.objects = objects;
    const auto hashed = hash_artifact(dir_.path(), options, *engine_);
    ASSERT_TRUE(hashed.has_value());
    EXPECT_EQ(hashed->bytes, objects == Objects::kTensors ? 40003U : kCutSize + 2);
    if (objects == Objects::kBoth) {
      EXPECT_EQ(hashed->artifact.entries.size(), 6U);
      files = {hashed->artifact.entries.begin(), hashed->artifact.entries.begin() + 2};
    } else if (objects == Objects::kFiles) {
      EXPECT_EQ(hashed->artifact.entries, files);
    }
  }
  ASSERT_TRUE(file().cut);
  EXPECT_EQ(file().cut->size, kDataStart);
  EXPECT_TRUE(verify().empty());
  const auto verified = verify_artifact(dir_.path(), expected_, {}, *engine_);
  EXPECT_EQ(verified->bytes, kCutSize + 2);
}

TEST_F(CutFile, ATensorsRoot_IsThatOfItsBytesInMemory) {
  const Bytes bytes = tensor_data();
  const auto& tensor = std::get<TensorEntry>(expected_.entries.at(3));
  EXPECT_EQ(tensor.name, "b");
  EXPECT_EQ(tensor.root, hash_one(*engine_, expected_.parameters,
                                  host_region(ByteView(bytes).subspan(20000, 20000)))
                             .root);
}

// --- where a difference lies

TEST_F(CutFile, ChangedHeader_IsNamedAlone) {
  Bytes changed = safetensors_file(kCutHeader, tensor_data());
  changed[10] ^= 1;  // the name of tensor a
  write(changed);
  const auto found = verify();
  ASSERT_EQ(found.size(), 3U);
  EXPECT_FALSE(found[0].tensor);
  EXPECT_EQ(found[0].ranges, (std::vector<ByteRange>{{0, kDataStart}}));
  EXPECT_EQ(found[1].kind, Kind::kExtra);
  EXPECT_EQ(found[2].kind, Kind::kMissing);
}

TEST_F(CutFile, HeaderAndTensor_AreTwoDifferences) {
  std::string header(kCutHeader);
  header.replace(header.find("F32"), 3, "I32");
  Bytes bytes = tensor_data();
  bytes[20000] ^= 1;
  write(safetensors_file(header, bytes));
  const auto found = verify();
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].ranges, (std::vector<ByteRange>{{0, kDataStart}}));
  EXPECT_EQ(found[1].tensor, "b");
  EXPECT_EQ(found[1].ranges, (std::vector<ByteRange>{{0, kCutSpan}}));
  EXPECT_EQ(found[2].tensor, "e");
}

TEST_F(CutFile, SwappedTensors_AreBothNamed) {
  Bytes bytes = tensor_data();
  std::swap_ranges(bytes.begin(), bytes.begin() + 20000, bytes.begin() + 20000);
  write(safetensors_file(kCutHeader, bytes));
  const auto found = verify(false);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].tensor, "a");
  EXPECT_EQ(found[1].tensor, "b");
}

TEST_F(CutFile, TensorsThatChangePlaces_AreNamedWithTheHeader) {
  std::string header(kCutHeader);
  header.replace(header.find("[0,20000]"), 9, "[20000,40000]");
  header.replace(header.rfind("[20000,40000]"), 13, "[0,20000]");
  Bytes bytes = tensor_data();
  std::swap_ranges(bytes.begin(), bytes.begin() + 20000, bytes.begin() + 20000);
  write(safetensors_file(header, bytes));
  const auto found = verify();
  ASSERT_EQ(found.size(), 3U) << "header, a and b";
  EXPECT_FALSE(found[0].tensor);
  EXPECT_EQ(found[1].detail, "the tensor is at another place in its file");
  EXPECT_EQ(found[2].detail, "the tensor is at another place in its file");
}

TEST_F(CutFile, TrailingBytes_AreNamed) {
  Bytes longer = safetensors_file(kCutHeader, tensor_data());
  longer.push_back(0);
  write(longer);
  const auto found = verify();
  ASSERT_EQ(found.size(), 5U) << "the file, and its four tensors, which no header gives a place";
  EXPECT_FALSE(found[0].tensor);
  EXPECT_NE(found[0].detail.find("trailing-data"), std::string::npos);
  EXPECT_EQ(found[0].ranges, (std::vector<ByteRange>{{0, kCutSize}}));
}

TEST_F(CutFile, WithoutTensorsInTheList_DataIsOneRange) {
  ArtifactOptions files;
  files.objects = Objects::kFiles;
  sign(files);
  change(kDataStart + 30000);
  expect_one("", {{kDataStart, kCutSize}});
  expect_one("", {{kDataStart, kCutSize}}, false);
  change(kDataStart + 30000);
  EXPECT_TRUE(verify().empty());
  change(10);
  EXPECT_EQ(verify()[0].ranges, (std::vector<ByteRange>{{0, kDataStart}, {kDataStart, kCutSize}}))
      << "nothing says that the data is the same";
}

// --- what was signed decides

TEST_F(CutFile, SignedWhole_IsNotCutByItsName) {
  ArtifactOptions whole;
  whole.whole = {name_};
  sign(whole);
  ASSERT_FALSE(file().cut);
  EXPECT_EQ(expected_.entries.size(), 2U);
  EXPECT_TRUE(verify().empty());
  change(2 * kCutSpan + 1);
  expect_one("", {{2 * kCutSpan, 3 * kCutSpan}});
}

TEST_F(CutFile, SignedWithACut_IsCutUnderAnyName) {
  rename("model.bin");
  EXPECT_TRUE(verify(false).empty());
  EXPECT_TRUE(verify_file({}, false)->same());
  change(kDataStart + 20000);
  expect_one("b", {{0, 20000}}, false);
  EXPECT_EQ(verify_file({}, false)->differing,
            (std::vector<ByteRange>{{kDataStart + 20000, kDataStart + 40000}}));
}

TEST_F(CutFile, SignedAsAnotherFormat_Differs) {
  file().cut->format = CutFormat::kGguf;
  const auto found = verify(false);
  ASSERT_EQ(found.size(), 5U);
  EXPECT_NE(found[0].detail.find("no valid gguf file"), std::string::npos);
  EXPECT_FALSE(verify_file({}, false)->same());
}

// The root over one segment is right, and still the bytes are not of the format that was signed.
TEST_F(CutFile, CutOverBytesThatHaveNone_NeverVerifies) {
  const Bytes bytes = pattern(5000);
  write(bytes);
  expected_.entries = {expected_.entries[0],
                       FileEntry{name_, 5000, reference_root(expected_.parameters, bytes)}};
  EXPECT_TRUE(verify(false).empty());
  file().cut = Cut{CutFormat::kSafetensors, 100, file().root};
  expect_one("", {{0, 5000}}, false);
  EXPECT_FALSE(verify_file({}, false)->same());
  file().cut->size = 5000;  // all of it a header
  expect_one("", {{0, 5000}}, false);
  EXPECT_FALSE(verify_file({}, false)->same());
}

// Another cut of the same bytes has another root: it is not what was signed.
TEST_F(CutFile, HeaderOfAnotherLength_Differs) {
  std::string header(kCutHeader);
  header.replace(header.find("[3]"), 3, "[2]");
  header.replace(header.find("40003"), 5, "40002");
  Bytes shorter = tensor_data();
  shorter.pop_back();
  write(safetensors_file(header + " ", shorter));
  ASSERT_EQ(fs::file_size(dir_.path() / name_), kCutSize);
  const auto found = verify();
  ASSERT_FALSE(found.empty());
  EXPECT_FALSE(found[0].tensor);
  EXPECT_EQ(found[0].ranges, (std::vector<ByteRange>{{0, kCutSize}}));
}

TEST_F(CutFile, ListOfTensors_TakesTheFormatFromTheSignedPath) {
  std::erase_if(expected_.entries,
                [](const Entry& entry) { return std::holds_alternative<FileEntry>(entry); });
  PartOptions options;
  options.entry = 1;
  EXPECT_TRUE(verify_part(dir_.path(), expected_, options, *engine_)->same());
  rename("model.bin");
  EXPECT_FALSE(verify_part(dir_.path(), expected_, options, *engine_)->same());
}

// --- parts

TEST_F(CutFile, AFileAlone_IsAllItsSegments) {
  const auto same = verify_file();
  ASSERT_TRUE(same.has_value());
  EXPECT_TRUE(same->same()) << same->detail;
  EXPECT_EQ(same->checked, (ByteRange{0, kCutSize}));
  change(kDataStart + 5000);
  change(kDataStart + 40001);
  const auto changed = verify_file();
  EXPECT_FALSE(changed->same());
  EXPECT_EQ(changed->differing,
            (std::vector<ByteRange>{{kDataStart + kCutSpan, kDataStart + 2 * kCutSpan},
                                    {kDataStart + 40000, kDataStart + 40003}}));
  change(20);
  EXPECT_FALSE(verify_file()->same());
}

TEST_F(CutFile, RangesOfAFile_AreThoseOfItsHeader) {
  change(kDataStart + 5000);
  const auto header = verify_file(ByteRange{3, 5});
  ASSERT_TRUE(header.has_value());
  EXPECT_TRUE(header->same());
  EXPECT_EQ(header->checked, (ByteRange{0, kDataStart}));
  const auto beyond = verify_file(ByteRange{3, kDataStart + 1});
  ASSERT_FALSE(beyond.has_value());
  EXPECT_EQ(beyond.error().code, ErrorCode::kInvalidParameter);
  EXPECT_NE(beyond.error().detail.find("name a tensor"), std::string::npos);
}

// --- segments

TEST(Segments, ArePaddedOnlyWhereBytesLie) {
  const auto tensor = [](const char* name, std::uint64_t offset, std::uint64_t size) {
    return Tensor{name, "U8", {size}, offset, size};
  };
  const CutHeader header{
      24, {tensor("a", 96, 4), tensor("b", 32, 40), tensor("e", 80, 0), tensor("f", 100, 0)}};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> found;
  for (const FileSegment& segment : segments_of(header, 128)) {
    found.emplace_back(segment.offset, segment.size);
  }
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> want = {
      {0, 24}, {24, 8}, {32, 40}, {80, 0}, {72, 24}, {96, 4}, {100, 0}, {100, 28}};
  EXPECT_EQ(found, want);
}

TEST(CutRules, FollowNamesOrEntries) {
  EXPECT_EQ(cut_format_of("a/b.safetensors"), CutFormat::kSafetensors);
  EXPECT_FALSE(cut_format_of("b.SAFETENSORS"));
  EXPECT_FALSE(cut_format_of("safetensors"));
  const CutRule by_name = cut_by_name({"b.safetensors", "a.safetensors"});
  EXPECT_FALSE(by_name("a.safetensors"));
  EXPECT_EQ(by_name("sub/a.safetensors"), CutFormat::kSafetensors);
}

}  // namespace
}  // namespace assay::gpu_hash::test
