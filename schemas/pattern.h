// SPDX-License-Identifier: Apache-2.0
// Regular expressions in policies: RE2 syntax (https://github.com/google/re2/wiki/Syntax), matched
// against a whole text, in time proportional to its length.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "schemas/core/error.h"

namespace assay {

// A compiled pattern. Thread-safe.
class Pattern {
 public:
  // Returns what compiling `text` costs beyond its size(), in the unit of PatternBudget: at least
  // what RE2 spends on the text, on counted repetitions and on classes of Unicode.
  [[nodiscard]] static std::size_t cost_of(std::string_view text);

  static constexpr std::size_t kMaxBytes = 1024;           // of the pattern's text
  static constexpr std::size_t kMaxMemory = 256U << 10;    // of the compiled pattern
  static constexpr std::size_t kMaxTextBytes = 64U << 10;  // of a text to match

  // Errors: invalid-parameter when the pattern is longer than kMaxBytes, is not of RE2 syntax, or
  // needs more than kMaxMemory.
  [[nodiscard]] static Result<std::shared_ptr<const Pattern>> compile(std::string_view text);

  virtual ~Pattern() = default;
  // Returns whether the pattern matches the whole of `text`, which has at most kMaxTextBytes bytes.
  // Returns an error (limit-exceeded) when it cannot be told within the limits.
  [[nodiscard]] virtual Result<bool> matches(std::string_view text) const = 0;
  // Returns the number of instructions of the compiled pattern.
  [[nodiscard]] virtual std::size_t size() const = 0;
};

// What the patterns of one document may cost to compile, all of them together. A unit takes a
// microsecond of processor time at most, on a machine that verifies 21,400 P-256 signatures a
// second. A digest in hex (`sha256:[0-9a-f]{64}`) costs 300.
class PatternBudget {
 public:
  static constexpr std::size_t kUnits = 65'536;

  // Compiles as Pattern::compile() does, and takes the cost. Errors: those of compile();
  // limit-exceeded when the budget is used up, before the pattern is compiled where its text tells.
  [[nodiscard]] Result<std::shared_ptr<const Pattern>> compile(std::string_view text);

 private:
  [[nodiscard]] Status take(std::size_t units);

  std::size_t left_ = kUnits;
};

}  // namespace assay
