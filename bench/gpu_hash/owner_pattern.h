// SPDX-License-Identifier: Apache-2.0
// What the owners of memory for benchmarks put into it.
#pragma once

#include <cstdint>
#include <vector>

namespace assay::gpu_hash {

// `size` bytes of 64-bit words: splitmix64 of their number.
inline std::vector<std::uint64_t> owner_pattern(std::uint64_t size) {
  std::vector<std::uint64_t> words(size / sizeof(std::uint64_t));
  for (std::uint64_t i = 0; i < words.size(); ++i) {
    std::uint64_t x = (i + 1) * 0x9E3779B97F4A7C15U;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
    words[i] = x ^ (x >> 31);
  }
  return words;
}

}  // namespace assay::gpu_hash
