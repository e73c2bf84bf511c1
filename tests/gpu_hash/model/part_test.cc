// SPDX-License-Identifier: Apache-2.0
// Verification of one file, one tensor or some bytes, and hashing that reuses what is known.
#include <array>
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "gpu_hash/artifact_hash.h"
#include "gpu_hash/cpu_engine.h"
#include "gpu_hash/part_verify.h"
#include "tests/gpu_hash/support.h"

namespace assay::gpu_hash::test {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSpan = 8192;
constexpr std::string_view kHeader =
    R"({"w":{"dtype":"U8","shape":[60000],"data_offsets":[0,60000]},)"
    R"("z":{"dtype":"U8","shape":[0],"data_offsets":[60000,60000]}})";

void flip(const fs::path& path, std::uint64_t at) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(static_cast<std::streamoff>(at));
  const int byte = file.get();
  file.seekp(static_cast<std::streamoff>(at));
  file.put(static_cast<char>(byte ^ 1));
}

class VerifyPart : public testing::Test {
 protected:
  void SetUp() override {
    dir_.write("config.json", "{}");
    dir_.write("data.bin", pattern(kSize));
    dir_.write("model.safetensors", safetensors_file(kHeader, pattern(60000)));
    ArtifactOptions options;
    options.parameters.chunk_size = 4096;
    options.outline_span = kSpan;
    auto hashed = hash_artifact(dir_.path(), options, *engine_);
    ASSERT_TRUE(hashed.has_value());
    expected_ = hashed->artifact;
    outline_ = Outline{kSpan, hashed->outlines};
  }

  // Entries in order: config.json, data.bin, model.safetensors, w, z.
  Result<VerifiedPart> verify(std::size_t entry, std::optional<ByteRange> range = {},
                              bool with_outline = true) {
    PartOptions options;
    options.entry = entry;
    options.range = range;
    options.outline = with_outline ? &outline_ : nullptr;
    return verify_part(dir_.path(), expected_, options, *engine_);
  }

  static constexpr std::size_t kConfig = 0;
  static constexpr std::size_t kData = 1;
  static constexpr std::size_t kTensor = 3;
  static constexpr std::size_t kEmptyTensor = 4;
  static constexpr std::uint64_t kSize = 5 * kSpan + 100;

  std::unique_ptr<Engine> engine_ = make_cpu_engine();
  TempDir dir_;
  Artifact expected_;
  Outline outline_;
};

TEST_F(VerifyPart, EveryEntryAlone_IsTheSame) {
  for (std::size_t i = 0; i < expected_.entries.size(); ++i) {
    for (const bool with_outline : {true, false}) {
      const auto verified = verify(i, {}, with_outline);
      ASSERT_TRUE(verified.has_value()) << to_string(verified.error());
      EXPECT_TRUE(verified->same()) << i << verified->detail;
    }
  }
}

TEST_F(VerifyPart, RangeWithOutline_ReadsOnlyTheSpansThatHoldIt) {
  flip(dir_.path() / "data.bin", 0);
  flip(dir_.path() / "data.bin", kSize - 1);
  const struct {
    ByteRange asked, checked;
    std::vector<ByteRange> differing;
  } cases[] = {
      {{kSpan, kSpan + 1}, {kSpan, 2 * kSpan}, {}},
      {{2 * kSpan - 1, 2 * kSpan + 1}, {kSpan, 3 * kSpan}, {}},
      {{1, 2}, {0, kSpan}, {{0, kSpan}}},
      {{kSpan - 1, 2 * kSpan}, {0, 2 * kSpan}, {{0, kSpan}}},
      {{5 * kSpan, kSize}, {5 * kSpan, kSize}, {{5 * kSpan, kSize}}},
  };
  for (const auto& [asked, checked, differing] : cases) {
    const auto verified = verify(kData, asked);
    ASSERT_TRUE(verified.has_value()) << to_string(verified.error());
    EXPECT_EQ(verified->checked, checked) << asked.begin;
    EXPECT_EQ(verified->differing, differing) << asked.begin;
    EXPECT_EQ(verified->same(), differing.empty());
  }
}

TEST_F(VerifyPart, RangeWithoutOutline_IsTheWholeObject) {
  flip(dir_.path() / "data.bin", kSize - 1);
  const auto verified = verify(kData, ByteRange{0, 1}, false);
  ASSERT_TRUE(verified.has_value());
  EXPECT_EQ(verified->checked, (ByteRange{0, kSize}));
  EXPECT_EQ(verified->differing, (std::vector<ByteRange>{{0, kSize}}));
}

TEST_F(VerifyPart, ChangesElsewhere_AreNotItsBusiness) {
  flip(dir_.path() / "data.bin", 5);
  dir_.write("config.json", "[]");
  EXPECT_TRUE(verify(kTensor)->same());
  EXPECT_FALSE(verify(kConfig)->same());
}

TEST_F(VerifyPart, ATensor_IsReadAtItsPlace) {
  const fs::path file = dir_.path() / "model.safetensors";
  const std::uint64_t start = std::get<TensorEntry>(expected_.entries[kTensor]).offset;
  flip(file, start + 3 * kSpan + 17);
  const auto verified = verify(kTensor, ByteRange{3 * kSpan, 3 * kSpan + 1});
  ASSERT_TRUE(verified.has_value());
  EXPECT_EQ(verified->differing, (std::vector<ByteRange>{{3 * kSpan, 4 * kSpan}}));
  EXPECT_TRUE(verify(kTensor, ByteRange{0, 3 * kSpan})->same());
  EXPECT_TRUE(verify(kEmptyTensor)->same());
}

TEST_F(VerifyPart, AnotherDtypeOrNoHeader_IsNotTheTensor) {
  std::string header(kHeader);
  header.replace(header.find("U8"), 2, "I8");
  dir_.write("model.safetensors", safetensors_file(header, pattern(60000)));
  EXPECT_FALSE(verify(kTensor)->same());
  EXPECT_TRUE(verify(kTensor)->differing.empty());
  dir_.write("model.safetensors", "nothing of the sort");
  EXPECT_FALSE(verify(kTensor)->same());
}

TEST_F(VerifyPart, MissingOrOfAnotherSize_IsNotTheSame) {
  dir_.write("data.bin", pattern(kSize + 1));
  EXPECT_FALSE(verify(kData, ByteRange{0, 1})->same());
  fs::remove(dir_.path() / "data.bin");
  const auto verified = verify(kData);
  ASSERT_TRUE(verified.has_value());
  EXPECT_TRUE(verified->missing);
  EXPECT_FALSE(verified->same());
}

TEST_F(VerifyPart, ASingleFileOfAnotherName_IsNoneOfSeveral) {
  PartOptions options;
  options.entry = kData;
  const auto same = verify_part(dir_.path() / "data.bin", expected_, options, *engine_);
  ASSERT_TRUE(same.has_value());
  EXPECT_TRUE(same->same());
  fs::rename(dir_.path() / "data.bin", dir_.path() / "other.bin");
  const auto other = verify_part(dir_.path() / "other.bin", expected_, options, *engine_);
  ASSERT_TRUE(other.has_value());
  EXPECT_TRUE(other->missing);
}

TEST_F(VerifyPart, WrongQuestions_AreInvalidParameters) {
  for (const ByteRange range : {ByteRange{5, 5}, ByteRange{6, 5}, ByteRange{0, kSize + 1}}) {
    EXPECT_EQ(verify(kData, range).error().code, ErrorCode::kInvalidParameter);
  }
  EXPECT_EQ(verify(5).error().code, ErrorCode::kInvalidParameter);
  outline_.entries[kData][2] = outline_.entries[kData][1];
  EXPECT_EQ(verify(kData).error().code, ErrorCode::kMalformedOutline);
}

// --- reuse

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kOld = 1'500'000'000 * kSecond;

void set_mtime(const fs::path& path, std::int64_t ns) {
  const timespec time{ns / kSecond, ns % kSecond};
  const std::array<timespec, 2> times = {time, time};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times.data(), 0), 0);
}

class ReuseOfRoots : public testing::Test {
 protected:
  void SetUp() override {
    dir_.write("a.bin", pattern(50'000));
    dir_.write("b.bin", pattern(70'000));
    dir_.write("model.safetensors", safetensors_file(kHeader, pattern(60'000)));
    for (const char* name : {"a.bin", "b.bin", "model.safetensors"}) {
      set_mtime(dir_.path() / name, kOld);
    }
    const auto hashed = hash(nullptr);
    known_ = Reuse{hashed.artifact, hashed.files, kOld + 3600 * kSecond};
    EXPECT_TRUE(hashed.reused.empty());
  }

  HashedArtifact hash(const Reuse* reuse, HashAlgorithm algorithm = HashAlgorithm::kSha256,
                      Objects objects = Objects::kBoth, std::uint64_t span = 0) {
    ArtifactOptions options;
    options.parameters.hash = algorithm;
    options.objects = objects;
    options.reuse = reuse;
    options.outline_span = span;
    auto hashed = hash_artifact(dir_.path(), options, *engine_);
    EXPECT_TRUE(hashed.has_value()) << to_string(hashed.error());
    return std::move(*hashed);
  }

  HashedArtifact hash(const Reuse* reuse, std::uint64_t span) {
    return hash(reuse, HashAlgorithm::kSha256, Objects::kBoth, span);
  }

  using Paths = std::vector<std::string>;
  const Paths all_ = {"a.bin", "b.bin", "model.safetensors"};

  std::unique_ptr<Engine> engine_ = make_cpu_engine();
  TempDir dir_;
  Reuse known_;
};

TEST_F(ReuseOfRoots, NothingChanged_NothingIsRead) {
  const HashedArtifact again = hash(&known_);
  EXPECT_EQ(again.reused, all_);
  EXPECT_EQ(again.bytes, 0U);
  EXPECT_EQ(again.artifact, known_.artifact);
  EXPECT_EQ(again.files, known_.files);
  EXPECT_GT(again.reused_bytes, 180'000U);
}

TEST_F(ReuseOfRoots, ChangedSizeOrTime_IsReadAgain) {
  dir_.write("a.bin", pattern(50'001));
  set_mtime(dir_.path() / "a.bin", kOld);
  flip(dir_.path() / "b.bin", 7);
  set_mtime(dir_.path() / "b.bin", kOld + 1);
  const HashedArtifact again = hash(&known_);
  EXPECT_EQ(again.reused, Paths{"model.safetensors"});
  EXPECT_EQ(again.bytes, 120'001U);
  EXPECT_EQ(again.id, hash(nullptr).id);
}

// What the caller vouches for does not happen: shows that the root really comes from what is known.
TEST_F(ReuseOfRoots, ChangedWithTheOldTime_GoesUnseen) {
  flip(dir_.path() / "a.bin", 7);
  set_mtime(dir_.path() / "a.bin", kOld);
  EXPECT_EQ(hash(&known_).artifact, known_.artifact);
  EXPECT_NE(hash(nullptr).artifact, known_.artifact);
}

TEST_F(ReuseOfRoots, TimesCloseToOrAfterTheHashing_AreNotTrusted) {
  for (const std::int64_t hashed_at : {kOld - kSecond, kOld, kOld + 2 * kSecond}) {
    known_.hashed_at_ns = hashed_at;
    EXPECT_TRUE(hash(&known_).reused.empty()) << hashed_at;
  }
  known_.hashed_at_ns = kOld + 2 * kSecond + 1;
  EXPECT_EQ(hash(&known_).reused, all_);
}

TEST_F(ReuseOfRoots, OtherParametersOrUnknownFiles_AreReadAgain) {
  EXPECT_TRUE(hash(&known_, HashAlgorithm::kSha384).reused.empty());
  known_.files.erase("a.bin");
  dir_.write("new.bin", "new");
  set_mtime(dir_.path() / "new.bin", kOld);
  const HashedArtifact again = hash(&known_);
  EXPECT_EQ(again.reused, (Paths{"b.bin", "model.safetensors"}));
  EXPECT_EQ(again.id, hash(nullptr).id);
}

TEST_F(ReuseOfRoots, ATensorThatIsNotKnown_MakesItsFileBeReadForIt) {
  std::erase_if(known_.artifact.entries,
                [](const Entry& entry) { return std::holds_alternative<TensorEntry>(entry); });
  const HashedArtifact again = hash(&known_);
  EXPECT_EQ(again.reused, (Paths{"a.bin", "b.bin"}));
  EXPECT_EQ(again.bytes, fs::file_size(dir_.path() / "model.safetensors"));
  EXPECT_EQ(again.id, hash(nullptr).id);
}

// With the outline of the same span beside the roots; with none, or with another span, every byte
// is read.
TEST_F(ReuseOfRoots, WithOutlines_NeedsTheOldOne) {
  constexpr std::uint64_t span = 16384;
  const HashedArtifact first = hash(nullptr, span);
  EXPECT_TRUE(hash(&known_, span).reused.empty());
  known_.outline = Outline{2 * span, hash(nullptr, 2 * span).outlines};
  EXPECT_TRUE(hash(&known_, span).reused.empty());
  known_.outline = Outline{span, first.outlines};
  const HashedArtifact again = hash(&known_, span);
  EXPECT_EQ(again.reused, all_);
  EXPECT_EQ(again.outlines, first.outlines);
  flip(dir_.path() / "b.bin", 40'000);
  const HashedArtifact changed = hash(&known_, span);
  EXPECT_EQ(changed.reused, (Paths{"a.bin", "model.safetensors"}));
  EXPECT_EQ(changed.outlines, hash(nullptr, span).outlines);
  EXPECT_NE(changed.outlines, first.outlines);
}

TEST_F(ReuseOfRoots, AnOutlineThatDoesNotLeadToTheRoots_IsMalformed) {
  ArtifactOptions options;
  options.reuse = &known_;
  options.outline_span = 16384;
  known_.outline = Outline{16384, hash(nullptr, 16384).outlines};
  std::swap(known_.outline->entries[0][0], known_.outline->entries[0][1]);
  const auto hashed = hash_artifact(dir_.path(), options, *engine_);
  ASSERT_FALSE(hashed.has_value());
  EXPECT_EQ(hashed.error().code, ErrorCode::kMalformedOutline);
}

}  // namespace
}  // namespace assay::gpu_hash::test
