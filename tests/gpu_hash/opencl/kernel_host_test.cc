// SPDX-License-Identifier: Apache-2.0
// The kernels' arithmetic, run on the host, against the reference: every alignment, every border.
#include "tests/gpu_hash/opencl/kernel_host.h"

#include <string>

#include <gtest/gtest.h>

#include "schemas/core/sha.h"
#include "tests/gpu_hash/support.h"

namespace assay::gpu_hash::test {
namespace {

struct Slice {
  SliceLayout layout;
  std::vector<std::uint32_t> words;  // exactly as long as needed, so that a read beyond is seen
};

// Lays the objects out one after the other, the first one at byte `lead` of the data.
Slice make_slice(const std::vector<Bytes>& objects, std::uint32_t chunk_size, std::size_t lead,
                 std::uint32_t alignment) {
  Slice slice{SliceLayout(chunk_size, {1U << 24, 1U << 16, alignment}), {}};
  if (lead > 0) {
    EXPECT_TRUE(slice.layout.add({0, 0, lead}));
  }
  for (const Bytes& object : objects) {
    EXPECT_TRUE(slice.layout.add({0, 0, object.size()}));
  }
  slice.words.assign((slice.layout.bytes() + 3) / 4, 0xA5A5A5A5U);
  auto* bytes = reinterpret_cast<std::uint8_t*>(slice.words.data());
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const std::size_t segment = i + (lead > 0 ? 1 : 0);
    std::copy(objects[i].begin(), objects[i].end(), bytes + slice.layout.extents()[2 * segment]);
  }
  return slice;
}

// Both ways to compile the kernels; they must agree.
std::vector<Digest> run(HashAlgorithm algorithm, const Slice& slice, std::uint32_t chunk_size) {
  const bool sha256 = algorithm == HashAlgorithm::kSha256;
  const auto plain =
      (sha256 ? kSha256Plain : kSha384Plain).run(slice.layout, slice.words, chunk_size);
  const auto products =
      (sha256 ? kSha256Products : kSha384Products).run(slice.layout, slice.words, chunk_size);
  EXPECT_EQ(plain, products);
  return plain;
}

class KernelHost : public testing::TestWithParam<HashAlgorithm> {};

INSTANTIATE_TEST_SUITE_P(Both, KernelHost,
                         testing::Values(HashAlgorithm::kSha256, HashAlgorithm::kSha384),
                         [](const auto& test) { return std::string(name(test.param)); });

// FIPS 180-4 examples "abc" and the two-block message, through the leaf kernel: the prefix byte is
// the reason why the messages are compared as leaves.
TEST_P(KernelHost, FipsMessages_AsLeaves_EqualOpenSsl) {
  for (const std::string_view text :
       {"abc", "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", ""}) {
    Bytes message = to_bytes(text);
    if (message.empty()) {
      continue;  // an empty object has no leaf
    }
    const Slice slice = make_slice({message}, 4096, 0, 1);
    Bytes prefixed = {0x00};
    prefixed.insert(prefixed.end(), message.begin(), message.end());
    EXPECT_EQ(run(GetParam(), slice, 4096).at(0), sha(GetParam(), prefixed));
  }
}

TEST_P(KernelHost, EveryLengthToThreeBlocks_AtEveryAlignment_EqualsReference) {
  const TreeParameters parameters{GetParam(), 4096};
  const Bytes bytes = pattern(400);
  for (std::size_t lead = 0; lead < 8; ++lead) {
    for (std::size_t size = 1; size <= bytes.size(); ++size) {
      const Bytes object(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
      const Slice slice = make_slice({object}, 4096, lead, 1);
      ASSERT_EQ(run(GetParam(), slice, 4096).back(), reference_root(parameters, object))
          << "size " << size << ", lead " << lead;
    }
  }
}

TEST_P(KernelHost, ChunkAndSubtreeBorders_EqualReference) {
  const TreeParameters parameters{GetParam(), 4096};
  std::vector<Bytes> objects;
  for (const std::size_t chunks : {1U, 2U, 3U, 4U, 5U, 7U, 8U, 9U, 31U, 33U}) {
    for (const std::size_t size : {chunks * 4096 - 1, chunks * 4096, chunks * 4096 + 1}) {
      objects.push_back(pattern(size));
    }
  }
  for (const std::uint32_t alignment : {1U, 64U}) {
    const Slice slice = make_slice(objects, 4096, 0, alignment);
    const std::vector<Digest> roots = run(GetParam(), slice, 4096);
    ASSERT_EQ(roots.size(), objects.size());
    for (std::size_t i = 0; i < objects.size(); ++i) {
      EXPECT_EQ(roots[i], reference_root(parameters, objects[i])) << objects[i].size();
    }
  }
}

// Trees that one launch over nodes joins (256 chunks), and trees that need a second one, side by
// side.
TEST_P(KernelHost, MoreChunksThanOneLaunchJoins_EqualReference) {
  const TreeParameters parameters{GetParam(), 4096};
  std::vector<Bytes> objects;
  for (const std::size_t chunks : {1U, 255U, 256U, 257U, 511U, 513U, 770U}) {
    objects.push_back(pattern(chunks * 4096 - 1));
  }
  const Slice slice = make_slice(objects, 4096, 0, 64);
  const std::vector<Digest> roots = run(GetParam(), slice, 4096);
  ASSERT_EQ(roots.size(), objects.size());
  for (std::size_t i = 0; i < objects.size(); ++i) {
    EXPECT_EQ(roots[i], reference_root(parameters, objects[i])) << objects[i].size();
  }
}

TEST_P(KernelHost, RandomLayouts_EqualReference) {
  Random random;
  SCOPED_TRACE(random.text());
  for (int round = 0; round < 100; ++round) {
    const std::uint32_t chunk_size = 4096U << (random.below(3));
    const TreeParameters parameters{GetParam(), chunk_size};
    std::vector<Bytes> objects;
    for (std::size_t i = 1 + random.below(6); i > 0; --i) {
      objects.push_back(pattern(1 + random.below(random.below(4) == 0 ? 60000 : 300)));
    }
    const Slice slice = make_slice(objects, chunk_size, random.below(5), 1U << (random.below(7)));
    const std::vector<Digest> roots = run(GetParam(), slice, chunk_size);
    const std::size_t skip = roots.size() - objects.size();
    for (std::size_t i = 0; i < objects.size(); ++i) {
      ASSERT_EQ(roots[skip + i], reference_root(parameters, objects[i])) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace assay::gpu_hash::test
