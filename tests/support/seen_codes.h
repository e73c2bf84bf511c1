// SPDX-License-Identifier: Apache-2.0
// Which error codes and reasons a run of the tests sees. Every test program is compiled with this
// header in front of each file (assay_test): then a comparison of codes in a test that comes out
// equal notes the code, in the file that ASSAY_SEEN_CODES names (tests/run.sh sets it, and
// tests/support/check_seen_codes.py holds the file against the tables). So what counts is a value
// that was there, not a name in a source. Programs of the product know nothing of it.
//
// A test that walks a table compares texts, or it would see every code.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <type_traits>
#include <utility>

namespace assay {

enum class ErrorCode : std::uint16_t;
enum class Reason : std::uint8_t;

namespace test {

// One short line, which append mode keeps whole among many processes.
inline void note_seen_line(const std::string& line) {
  const char* path = std::getenv("ASSAY_SEEN_CODES");
  std::FILE* file = path == nullptr ? nullptr : std::fopen(path, "a");
  if (file != nullptr) {
    static_cast<void>(std::fputs((line + "\n").c_str(), file));
    static_cast<void>(std::fclose(file));
  }
}

// The row of the table `kind`; once in each process.
inline void note_seen(const char* kind, std::size_t row) {
  static std::array<std::array<std::atomic<bool>, 1024>, 2> seen{};
  if (!seen.at(*kind == 'e' ? 0 : 1).at(row).exchange(true)) {
    note_seen_line(kind + std::string(" ") + std::to_string(row));
  }
}

}  // namespace test

constexpr bool operator==(ErrorCode a, ErrorCode b) {
  const bool same = std::to_underlying(a) == std::to_underlying(b);
  if (same && !std::is_constant_evaluated()) {
    test::note_seen("error", std::to_underlying(a));
  }
  return same;
}

constexpr bool operator==(Reason a, Reason b) {
  const bool same = std::to_underlying(a) == std::to_underlying(b);
  if (same && !std::is_constant_evaluated()) {
    test::note_seen("reason", std::to_underlying(a));
  }
  return same;
}

}  // namespace assay
