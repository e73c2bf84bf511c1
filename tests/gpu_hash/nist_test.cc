// SPDX-License-Identifier: Apache-2.0
// Every way to compute SHA-256 and SHA-384 on the host against NIST's vectors. The kernels on a
// device: opencl_test.cc.
#include "tests/gpu_hash/nist.h"

#include <string>

#include <gtest/gtest.h>

#include "gpu_hash/cpu/leaf_hasher.h"
#include "schemas/core/sha.h"
#include "tests/gpu_hash/opencl/kernel_host.h"

namespace assay::gpu_hash::test {
namespace {

class Nist : public testing::TestWithParam<HashAlgorithm> {
 protected:
  const NistVectors vectors_ = load_nist(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Both, Nist,
                         testing::Values(HashAlgorithm::kSha256, HashAlgorithm::kSha384),
                         [](const auto& test) { return std::string(name(test.param)); });

TEST_P(Nist, Vectors_AreAllThere) {
  EXPECT_EQ(vectors_.messages.size(), (GetParam() == HashAlgorithm::kSha256 ? 65U : 129U) + 32U);
  EXPECT_EQ(vectors_.monte.size(), 100U);
}

TEST_P(Nist, OpenSsl_GivesTheDigests) {
  for (std::size_t i = 0; i < vectors_.messages.size(); ++i) {
    ASSERT_EQ(sha(GetParam(), vectors_.messages[i]).hex(), vectors_.digests[i]) << i;
  }
}

// All messages side by side; the first byte is the prefix, so the empty message is left out.
TEST_P(Nist, EachWayOfTheCpuEngine_GivesTheDigests) {
  const std::size_t width = digest_size(GetParam());
  for (const LeafVariant variant : leaf_variants()) {
    const auto hasher = make_leaf_hasher(variant, GetParam());
    ASSERT_NE(hasher, nullptr) << name(variant);
    Bytes digests(vectors_.messages.size() * width);
    std::vector<Message> messages;
    for (std::size_t i = 0; i < vectors_.messages.size(); ++i) {
      const Bytes& message = vectors_.messages[i];
      if (!message.empty()) {
        messages.push_back(
            {message[0], message.data() + 1, message.size() - 1, digests.data() + i * width});
      }
    }
    ASSERT_TRUE(hasher->hash(messages).has_value());
    for (std::size_t i = 0; i < vectors_.messages.size(); ++i) {
      if (!vectors_.messages[i].empty()) {
        ASSERT_EQ(hex_encode(ByteView(digests).subspan(i * width, width)), vectors_.digests[i])
            << name(variant) << ", message " << i;
      }
    }
  }
}

TEST_P(Nist, EachWayOfTheCpuEngine_PassesMonteCarlo) {
  for (const LeafVariant variant : leaf_variants()) {
    const auto hasher = make_leaf_hasher(variant, GetParam());
    const auto digests = monte_carlo(vectors_.seed, [&](ByteView message) {
      Bytes digest(digest_size(GetParam()));
      std::vector<Message> messages = {
          {message[0], message.data() + 1, message.size() - 1, digest.data()}};
      EXPECT_TRUE(hasher->hash(messages).has_value());
      return digest;
    });
    EXPECT_EQ(digests, vectors_.monte) << name(variant);
  }
}

// The kernels' compression as the devices have it, plainly and with additions as products.
TEST_P(Nist, KernelsOnTheHost_GiveTheDigestsAndPassMonteCarlo) {
  const bool sha256 = GetParam() == HashAlgorithm::kSha256;
  const NistBlocks blocks = pad(GetParam(), vectors_.messages);
  for (const HostKernels& kernels :
       {sha256 ? kSha256Plain : kSha384Plain, sha256 ? kSha256Products : kSha384Products}) {
    EXPECT_EQ(digests_of(GetParam(), kernels.nist_messages(blocks.blocks, blocks.first)),
              vectors_.digests);
    EXPECT_EQ(
        digests_of(GetParam(), kernels.nist_monte(swap_words(GetParam(), vectors_.seed), 100)),
        vectors_.monte);
  }
}

}  // namespace
}  // namespace assay::gpu_hash::test
