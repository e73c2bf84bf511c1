// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu_hash/nist.h"

#include <algorithm>
#include <utility>

#include "tests/gpu_hash/support.h"

namespace assay::gpu_hash::test {
namespace {

std::size_t word_size(HashAlgorithm algorithm) {
  return algorithm == HashAlgorithm::kSha256 ? 4 : 8;
}

Bytes unhex(const std::string& text) {
  auto bytes = hex_decode(text);
  EXPECT_TRUE(bytes.has_value()) << text;
  return bytes ? std::move(*bytes) : Bytes();
}

}  // namespace

NistVectors load_nist(HashAlgorithm algorithm) {
  const Json vectors = load_vectors("nist_sha")[std::string(name(algorithm))];
  NistVectors result;
  for (const char* kind : {"short", "long"}) {
    for (const Json& item : vectors[kind]) {
      result.messages.push_back(unhex(item["message"].get<std::string>()));
      result.digests.push_back(item["digest"].get<std::string>());
    }
  }
  result.seed = unhex(vectors["monte"]["seed"].get<std::string>());
  result.monte = vectors["monte"]["digests"].get<std::vector<std::string>>();
  return result;
}

NistBlocks pad(HashAlgorithm algorithm, const std::vector<Bytes>& messages) {
  const std::size_t block = 16 * word_size(algorithm);
  const std::size_t length = 2 * word_size(algorithm);  // bytes of the length at the end
  NistBlocks result{{}, {0}};
  for (const Bytes& message : messages) {
    Bytes padded = message;
    padded.push_back(0x80);
    while (padded.size() % block != block - length) {
      padded.push_back(0);
    }
    padded.resize(padded.size() + length);
    for (std::size_t i = 0; i < 8; ++i) {
      padded[padded.size() - 1 - i] =
          static_cast<std::uint8_t>(std::uint64_t{message.size()} * 8 >> (8 * i));
    }
    result.blocks.insert(result.blocks.end(), padded.begin(), padded.end());
    result.first.push_back(static_cast<std::uint32_t>(result.blocks.size() / block));
  }
  result.blocks = swap_words(algorithm, result.blocks);
  return result;
}

Bytes swap_words(HashAlgorithm algorithm, ByteView bytes) {
  Bytes swapped(bytes.begin(), bytes.end());
  const auto word = static_cast<std::ptrdiff_t>(word_size(algorithm));
  for (auto at = swapped.begin(); at != swapped.end(); at += word) {
    std::reverse(at, at + word);
  }
  return swapped;
}

std::vector<std::string> digests_of(HashAlgorithm algorithm, ByteView words) {
  const Bytes bytes = swap_words(algorithm, words);
  std::vector<std::string> digests;
  for (std::size_t at = 0; at < bytes.size(); at += digest_size(algorithm)) {
    digests.push_back(hex_encode(ByteView(bytes).subspan(at, digest_size(algorithm))));
  }
  return digests;
}

std::vector<std::string> monte_carlo(Bytes seed, const std::function<Bytes(ByteView)>& hash) {
  std::vector<std::string> digests;
  for (int number = 0; number < 100; ++number) {
    Bytes message;
    for (int i = 0; i < 3; ++i) {
      message.insert(message.end(), seed.begin(), seed.end());
    }
    const auto width = static_cast<std::ptrdiff_t>(seed.size());
    for (int round = 0; round < 1000; ++round) {
      seed = hash(message);
      std::copy(message.begin() + width, message.end(), message.begin());
      std::ranges::copy(seed, message.end() - width);
    }
    digests.push_back(hex_encode(seed));
  }
  return digests;
}

}  // namespace assay::gpu_hash::test
