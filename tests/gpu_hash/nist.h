// SPDX-License-Identifier: Apache-2.0
// NIST's vectors of the hashes alone (tests/vectors/nist_sha.json), and messages as kernels take
// them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "schemas/core/bytes.h"
#include "schemas/core/digest.h"

namespace assay::gpu_hash::test {

struct NistVectors {
  std::vector<Bytes> messages;  // short and long ones
  std::vector<std::string> digests;
  Bytes seed;  // of the Monte Carlo test
  std::vector<std::string> monte;
};
[[nodiscard]] NistVectors load_nist(HashAlgorithm algorithm);

// Padded messages (FIPS 180-4 section 5.1) one after the other, words in the host's order.
struct NistBlocks {
  Bytes blocks;
  std::vector<std::uint32_t> first;  // block of each message, and the end of the last one
};
[[nodiscard]] NistBlocks pad(HashAlgorithm algorithm, const std::vector<Bytes>& messages);

// Bytes of words in the host's order, and back.
[[nodiscard]] Bytes swap_words(HashAlgorithm algorithm, ByteView bytes);
// Digests out of words in the host's order, as hex.
[[nodiscard]] std::vector<std::string> digests_of(HashAlgorithm algorithm, ByteView words);

// The Monte Carlo test with any hash function: 100 digests as hex.
[[nodiscard]] std::vector<std::string> monte_carlo(Bytes seed,
                                                   const std::function<Bytes(ByteView)>& hash);

}  // namespace assay::gpu_hash::test
