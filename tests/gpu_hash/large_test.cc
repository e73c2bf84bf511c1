// SPDX-License-Identifier: Apache-2.0
// Objects around 2^32 bytes on every engine. Their bytes repeat, so that neither they nor the tree
// of the reference need the memory.
#include <bit>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "gpu_hash/artifact_hash.h"
#include "gpu_hash/cpu_engine.h"
#include "gpu_hash/dispatch.h"
#include "gpu_hash/drivers.h"
#include "gpu_hash/source_file.h"
#include "schemas/core/sha.h"
#include "tests/gpu_hash/support.h"

namespace assay::gpu_hash::test {
namespace {

constexpr std::uint64_t kBorder = std::uint64_t{1} << 32;
constexpr std::uint64_t kUnit = std::uint64_t{1} << 20;  // bytes after which an object repeats

// RFC 9162 section 2.1.1 over an object that repeats `unit`, whole units once each.
class RepeatedTree {
 public:
  RepeatedTree(const TreeParameters& parameters, const Bytes& unit)
      : parameters_(parameters), unit_(unit) {}

  // Root of `size` bytes, more than none.
  Digest root(std::uint64_t size) {
    return subtree(0, (size + parameters_.chunk_size - 1) / parameters_.chunk_size, size);
  }

 private:
  // `count` leaves from leaf `begin` of an object of `size` bytes.
  Digest subtree(std::uint64_t begin, std::uint64_t count, std::uint64_t size) {
    const std::uint64_t bytes = count * parameters_.chunk_size;
    const bool whole = std::has_single_bit(count) && bytes >= kUnit &&
                       (begin + count) * parameters_.chunk_size <= size;
    if (whole) {
      if (const auto known = whole_.find(count); known != whole_.end()) {
        return known->second;
      }
    }
    const Digest digest = count == 1 ? leaf(begin, size) : node(begin, count, size);
    if (whole) {
      whole_.emplace(count, digest);
    }
    return digest;
  }
  Digest node(std::uint64_t begin, std::uint64_t count, std::uint64_t size) {
    const std::uint64_t left = std::bit_floor(count - 1);
    const Digest first = subtree(begin, left, size);
    const Digest second = subtree(begin + left, count - left, size);
    Bytes message = {0x01};
    message.insert(message.end(), first.bytes().begin(), first.bytes().end());
    message.insert(message.end(), second.bytes().begin(), second.bytes().end());
    return sha(parameters_.hash, message);
  }
  Digest leaf(std::uint64_t number, std::uint64_t size) const {
    const std::uint64_t begin = number * parameters_.chunk_size;
    const std::uint64_t length = std::min<std::uint64_t>(parameters_.chunk_size, size - begin);
    const auto from = unit_.begin() + static_cast<std::ptrdiff_t>(begin % kUnit);
    Bytes message = {0x00};
    message.insert(message.end(), from, from + static_cast<std::ptrdiff_t>(length));
    return sha(parameters_.hash, message);
  }

  TreeParameters parameters_;
  const Bytes& unit_;
  std::map<std::uint64_t, Digest> whole_;  // by number of leaves
};

// Not the pattern of the other tests: 2^20 bytes that have no shorter period.
Bytes make_unit() {
  Bytes unit(kUnit);
  for (std::size_t i = 0; i < unit.size(); ++i) {
    unit[i] = static_cast<std::uint8_t>(i % 251 + i / 65536);
  }
  return unit;
}

Region repeated(const Bytes& unit, std::uint64_t size) {
  Region region;
  for (std::uint64_t at = 0; at < size; at += kUnit) {
    region.pieces.emplace_back(
        HostPiece{ByteView(unit).first(std::min<std::uint64_t>(kUnit, size - at))});
  }
  return region;
}

class LargeObjects : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "cpu") {
      engine_ = make_cpu_engine();
      return;
    }
    auto engine = make_engine(drivers_in_this_process(), *parse_device("opencl"));
    if (!engine) {
      GTEST_SKIP() << to_string(engine.error());
    }
    engine_ = *std::move(engine);
  }

  std::unique_ptr<Engine> engine_;
};

INSTANTIATE_TEST_SUITE_P(Engines, LargeObjects, testing::Values("cpu", "opencl"),
                         [](const auto& test) { return test.param; });

TEST_P(LargeObjects, AroundFourGiB_EqualReference) {
  const Bytes unit = make_unit();
  RepeatedTree tree({}, unit);
  for (const std::uint64_t size : {kBorder - 1, kBorder, kBorder + 1}) {
    std::uint64_t done = 0;
    const Region region = repeated(unit, size);
    const auto got = engine_->hash(
        {&region, 1}, {TreeParameters{}, kBorder, [&](std::uint64_t bytes) { done = bytes; }, {}});
    ASSERT_TRUE(got.has_value()) << to_string(got.error());
    EXPECT_EQ((*got)[0].root, tree.root(size)) << size;
    EXPECT_EQ((*got)[0].outline.size(), size > kBorder ? 2U : 1U);
    EXPECT_EQ(done, size);
  }
}

TEST_P(LargeObjects, Sha384AndTheSmallestChunks_EqualReference) {
  const Bytes unit = make_unit();
  const TreeParameters parameters{HashAlgorithm::kSha384, kMinChunkSize};
  EXPECT_EQ(hash_one(*engine_, parameters, repeated(unit, kBorder + 1)).root,
            RepeatedTree(parameters, unit).root(kBorder + 1));
}

// Through a file, which is all hole.
TEST_P(LargeObjects, SparseFile_EqualsReference) {
  const TempDir dir;
  const auto path = dir.write("sparse", "");
  std::filesystem::resize_file(path, kBorder + 1);
  const auto source = SourceFile::find(path);
  ASSERT_TRUE(source.has_value()) << to_string(source.error());
  EXPECT_EQ(hash_one(*engine_, {}, file_region(*source), 0).root,
            RepeatedTree({}, Bytes(kUnit)).root(kBorder + 1));
}

}  // namespace
}  // namespace assay::gpu_hash::test
