// SPDX-License-Identifier: Apache-2.0
// How many random cases a test of a property draws.
#pragma once

#include <cstdint>

namespace assay {

// Returns `all`, or a quarter under AddressSanitizer and for arm64, which is emulated as a rule:
// what the cases have in common, each shows, and all of them together would take minutes.
constexpr std::uint64_t random_cases(std::uint64_t all) {
#if defined(__SANITIZE_ADDRESS__) || defined(__aarch64__)
  return all / 4;
#else
  return all;
#endif
}

}  // namespace assay
