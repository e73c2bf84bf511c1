// SPDX-License-Identifier: Apache-2.0
// Expected roots of laid-out tensors: against the bytes of a second, plain evaluation, from files
// that are right, wrong, and change while they are read.
#include "worker/recipe/recipe.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>

#include <gtest/gtest.h>

#include "gpu_hash/cast.h"
#include "gpu_hash/cpu_engine.h"
#include "schemas/core/merkle.h"
#include "schemas/layout_check.h"
#include "tests/schemas/layouts.h"
#include "worker/recipe/roots_memory.h"

namespace assay::worker {
namespace {

using namespace assay::test;  // NOLINT(google-build-using-namespace): short expressions

// Bytes in memory that stand for files.
class Files final : public EntryBytes {
 public:
  Result<gpu_hash::Region> region(std::uint64_t entry, std::uint64_t offset,
                                  std::uint64_t size) override {
    ++reads;
    if (on_read) {
      on_read(offset);
    }
    const ByteView all = bytes.at(std::get<TensorEntry>(artifact->entries.at(entry)).name);
    if (offset + size > all.size()) {
      return fail(ErrorCode::kContentMismatch, "The file is shorter");
    }
    return gpu_hash::host_region(all.subspan(offset, size));
  }

  const Artifact* artifact = nullptr;
  std::map<std::string, Bytes> bytes;
  int reads = 0;
  std::function<void(std::uint64_t offset)> on_read;
};

class RecipeTest : public testing::Test {
 protected:
  // An artifact of these tensors with bytes of their own.
  void make(const std::vector<ToyTensor>& toys) {
    artifact_ = toy_artifact(toys);
    files_.artifact = &artifact_;
    std::uint32_t state = 1;
    for (Entry& one : artifact_.entries) {
      auto& entry = std::get<TensorEntry>(one);
      Bytes& bytes = files_.bytes[entry.name];
      bytes.resize(entry.size);
      for (std::uint8_t& byte : bytes) {
        state = state * 1664525 + 1013904223;
        byte = static_cast<std::uint8_t>(state >> 24);
      }
      entry.root = root_of(bytes);
    }
  }
  Digest root_of(ByteView bytes) {
    const std::vector<gpu_hash::Region> regions = {gpu_hash::host_region(bytes)};
    return engine_->hash(regions, {artifact_.parameters, 0, {}, {}}).value().front().root;
  }
  // The bytes of a tensor by the second evaluation.
  Bytes bytes_of(const LayoutTensor& tensor) {
    const bool cast = tensor.dtype == "BF16" || tensor.dtype == "F16";
    const std::size_t wide = 4;
    Bytes f32;
    for (const Element& element : evaluate(tensor.from, artifact_).list) {
      Bytes one(wide);
      if (element) {
        const auto& whole = std::get<TensorEntry>(artifact_.entries[element->first]);
        const auto* const from = files_.bytes.at(whole.name).data() + wide * element->second;
        one.assign(from, from + wide);
      }
      f32.insert(f32.end(), one.begin(), one.end());
    }
    if (!cast) {
      return f32;
    }
    Bytes halves(f32.size() / 2);
    gpu_hash::cast_f32(
        f32, tensor.dtype == "F16" ? gpu_hash::HalfType::kF16 : gpu_hash::HalfType::kBf16, halves);
    return halves;
  }
  LayoutTensor tensor(LayoutExpression from, const std::string& dtype = "F32") {
    Shape shape = evaluate(from, artifact_).shape;
    return {"t", dtype, std::move(shape), std::move(from)};
  }
  Result<std::vector<std::vector<Digest>>> roots(const LayoutTensor& tensor,
                                                 const std::stop_token& stop = {}) {
    const Layout layout{ArtifactId(digest_of("any")), {{{tensor}}}};
    return expected_roots(layout, artifact_, files_, *engine_, stop, room_);
  }
  void expect_right(const LayoutTensor& tensor) {
    const auto found = roots(tensor);
    ASSERT_TRUE(found) << to_string(found.error());
    EXPECT_EQ(found->at(0).at(0), root_of(bytes_of(tensor)));
  }

  std::unique_ptr<gpu_hash::Engine> engine_ = gpu_hash::make_cpu_engine(2);
  Artifact artifact_;
  Files files_;
  // The least, so that small tensors have several of each.
  gpu_hash::DeriveRoom room_{.load = kEntryWindow, .results = kEntryWindow};
};

TEST_F(RecipeTest, EachOperation_GivesTheRootOfItsBytes) {
  make({{"a", "F32", {4, 6}}, {"b", "F32", {4, 6}}, {"s", "F32", {}}, {"none", "F32", {0, 3}}});
  const LayoutExpression a = entry("a");
  const LayoutExpression both = concat({a, entry("b")}, 1);
  expect_right(tensor(both));
  expect_right(tensor(cast(both, "BF16"), "BF16"));
  expect_right(tensor(concat({cast(a, "F16"), cast(entry("b"), "F16")}, 0), "F16"));
  expect_right(tensor(stack({a, entry("b")}, 2)));
  expect_right(tensor(transpose(stack({a, entry("b")}, 0), {2, 0, 1})));
  expect_right(tensor(slice(a, 1, 2, 3)));
  expect_right(tensor(pad(a, 0, 1, 2)));
  expect_right(tensor(repeat(a, 1, 2)));
  expect_right(tensor(permute(a, 0, {3, 1, 2, 0})));
  expect_right(tensor(reshape(transpose(reshape(a, {1, 2, 2, 6}), {0, 2, 1, 3}), {4, 6})));
  expect_right(tensor(cast(entry("s"), "BF16"), "BF16"));
  expect_right(tensor(transpose(entry("none"), {1, 0})));
}

// Several windows of a file and several blocks of a tensor, neither of which ends with a row.
TEST_F(RecipeTest, LargeTensors_GiveTheRootOfTheirBytes) {
  make({{"a", "F32", {600, 601}}, {"b", "F32", {600, 601}}});
  const LayoutExpression a = entry("a");
  expect_right(tensor(concat({a, entry("b")}, 1)));
  expect_right(tensor(cast(concat({entry("b"), a}, 0), "BF16"), "BF16"));
  expect_right(tensor(transpose(a, {1, 0})));
  expect_right(tensor(slice(a, 1, 300, 299)));
  expect_right(tensor(stack({slice(a, 0, 1, 599), slice(entry("b"), 0, 0, 599)}, 1)));
  expect_right(tensor(pad(cast(a, "F16"), 1, 3, 5), "F16"));
  room_ = {.load = kEntryWindow * 8, .results = kEntryWindow * 2};
  expect_right(tensor(transpose(concat({a, entry("b")}, 1), {1, 0})));
}

TEST_F(RecipeTest, EntryAsItIs_TakesItsRootWithoutReading) {
  make({{"a", "F32", {4, 6}}, {"packed", "F4", {4, 2}}});
  for (const LayoutTensor& one : {tensor(entry("a")), tensor(reshape(entry("a"), {24})),
                                  LayoutTensor{"t", "F4", {4, 2}, entry("packed")}}) {
    const auto found = roots(one);
    ASSERT_TRUE(found);
    const bool packed = one.dtype == "F4";
    EXPECT_EQ(found->at(0).at(0), root_of(files_.bytes.at(packed ? "packed" : "a")));
  }
  EXPECT_EQ(files_.reads, 0);
}

TEST_F(RecipeTest, OtherBytesInTheFile_AreNamedAndGiveNoRoot) {
  make({{"a", "F32", {600, 601}}, {"b", "F32", {4}}});
  const LayoutTensor half = tensor(slice(entry("a"), 0, 0, 10));
  expect_right(half);
  files_.bytes.at("a").back() ^= 1;  // of no row that the tensor has
  const auto found = roots(half);
  EXPECT_EQ(code_of(found), "content-mismatch");
  EXPECT_EQ(where_of(found), "m.safetensors#a");
}

TEST_F(RecipeTest, ShorterTensorInTheFile_GivesNoRoot) {
  make({{"a", "F32", {4, 6}}});
  files_.bytes.at("a").resize(92);
  const auto found = roots(tensor(transpose(entry("a"), {1, 0})));
  EXPECT_EQ(code_of(found), "content-mismatch");
}

// The first reading verifies the entry, and a later one is for bytes that were not kept.
TEST_F(RecipeTest, BytesThatChangeBetweenTwoReadings_GiveNoRoot) {
  make({{"a", "F32", {600, 601}}});
  const LayoutTensor turned = tensor(transpose(entry("a"), {1, 0}));
  int first = 0;
  files_.on_read = [&](std::uint64_t offset) {
    if (offset == 0 && ++first == 2) {
      files_.bytes.at("a")[5] ^= 0x10;
    }
  };
  const auto found = roots(turned);
  EXPECT_EQ(code_of(found), "content-mismatch");
  EXPECT_EQ(where_of(found), "m.safetensors#a");
}

TEST_F(RecipeTest, Stop_EndsTheWork) {
  make({{"a", "F32", {600, 601}}});
  std::stop_source stop;
  files_.on_read = [&](std::uint64_t) { stop.request_stop(); };
  EXPECT_EQ(code_of(roots(tensor(transpose(entry("a"), {1, 0})), stop.get_token())), "cancelled");
}

TEST(RootsMemory, KeepsTheRootsThatWereUsedLast_ByArtifactAndLayout) {
  const ArtifactId one(digest_of("one"));
  const ArtifactId two(digest_of("two"));
  const auto layout = [](const char* name) {
    return id_of(Layout{ArtifactId(digest_of(name)), {{}}});
  };
  const auto roots = [](std::size_t count) {
    return RootsMemory::Roots{std::vector<Digest>(count, digest_of("root"))};
  };
  RootsMemory memory(10);
  memory.keep(one, layout("a"), roots(4));
  memory.keep(one, layout("b"), roots(5));
  EXPECT_EQ(memory.find(one, layout("a")), roots(4));
  EXPECT_EQ(memory.find(two, layout("a")), std::nullopt);
  memory.keep(two, layout("c"), roots(3));  // b was not used since
  EXPECT_EQ(memory.find(one, layout("b")), std::nullopt);
  EXPECT_EQ(memory.find(one, layout("a")), roots(4));
  EXPECT_EQ(memory.find(two, layout("c")), roots(3));
  memory.keep(one, layout("d"), roots(11));  // more than there is room for
  EXPECT_EQ(memory.find(one, layout("d")), std::nullopt);
}

// The most that this process has held since the last call, in bytes.
std::uint64_t most_memory() {
  std::ifstream status("/proc/self/status");
  std::string word;
  std::uint64_t kib = 0;
  while (status >> word) {
    if (word == "VmHWM:") {
      status >> kib;
    }
  }
  std::ofstream("/proc/self/clear_refs") << "5";
  return kib * 1024;
}

// Windows of any number that are all the same memory.
class Pattern final : public EntryBytes {
 public:
  Pattern() : window_(kEntryWindow) {
    for (std::size_t i = 0; i < window_.size(); i += 256) {
      window_[i] = static_cast<std::uint8_t>(i / 4096);
    }
  }
  Result<gpu_hash::Region> region(std::uint64_t /*entry*/, std::uint64_t /*offset*/,
                                  std::uint64_t size) override {
    gpu_hash::Region region;
    for (std::uint64_t at = 0; at < size; at += kEntryWindow) {
      region.pieces.emplace_back(gpu_hash::HostPiece{window_});
    }
    return region;
  }
  [[nodiscard]] ByteView window() const { return window_; }

 private:
  Bytes window_;
};

TEST_F(RecipeTest, HostMemory_IsBoundedWhateverTheSizeOfTheEntry) {
  const std::uint64_t rows = 96 * 1024;  // 384 MiB, twice what is kept
  artifact_ = toy_artifact({{"a", "F32", {rows, 1024}}});
  auto& entry_of_a = std::get<TensorEntry>(artifact_.entries[0]);
  Pattern bytes;
  std::vector<Digest> windows;
  for (std::uint64_t i = 0; i < entry_of_a.size / kEntryWindow; ++i) {
    windows.push_back(root_of(bytes.window()));
  }
  entry_of_a.root = merkle_root(HashAlgorithm::kSha256, windows);
  const LayoutTensor tensor{"t", "BF16", {rows, 1024}, cast(entry("a"), "BF16")};
  const Layout layout{ArtifactId(digest_of("any")), {{{tensor}}}};
  (void)most_memory();
  const std::uint64_t before = most_memory();
  ASSERT_TRUE(expected_roots(layout, artifact_, bytes, *engine_, {}));
  const std::uint64_t grown = most_memory() - before;
  EXPECT_LT(grown, std::uint64_t{320} << 20);
  RecordProperty("mib", static_cast<int>(grown >> 20));
}

}  // namespace
}  // namespace assay::worker
