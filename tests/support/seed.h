// SPDX-License-Identifier: Apache-2.0
// Seeds of tests with random numbers: another one each time, said when the test fails, and given
// back by the environment variable ASSAY_SEED.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>

namespace assay {

// A value of ASSAY_SEED that is no number of 64 bits ends the program: a run that was meant to be
// repeated must not be another one.
[[nodiscard]] inline std::uint64_t random_test_seed() {
  const char* given = std::getenv("ASSAY_SEED");
  if (given == nullptr) {
    std::random_device device;
    return (std::uint64_t{device()} << 32) | device();
  }
  const std::string_view text(given);
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc() || end != text.data() + text.size()) {
    std::fprintf(stderr, "ASSAY_SEED is no number: %s\n", given);
    std::abort();
  }
  return seed;
}

// For SCOPED_TRACE.
[[nodiscard]] inline std::string test_seed_text(std::uint64_t seed) {
  return "set ASSAY_SEED=" + std::to_string(seed) + " to repeat";
}

}  // namespace assay
