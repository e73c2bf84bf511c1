// SPDX-License-Identifier: Apache-2.0
// How many random cases a test of a property draws.
#pragma once

#include <cstdint>

namespace assay {

// Returns `all`, or a quarter under AddressSanitizer: what the cases have in common, each shows,
// and all of them together would take minutes.
constexpr std::uint64_t random_cases(std::uint64_t all) {
#ifdef __SANITIZE_ADDRESS__
  return all / 4;
#else
  return all;
#endif
}

}  // namespace assay
