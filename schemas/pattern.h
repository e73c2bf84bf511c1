// SPDX-License-Identifier: Apache-2.0
// Regular expressions in policies: RE2 syntax (https://github.com/google/re2/wiki/Syntax), matched
// against a whole text, in time proportional to its length.
#pragma once

#include <memory>
#include <string_view>

#include "schemas/core/error.h"

namespace assay {

// A compiled pattern. Thread-safe.
class Pattern {
 public:
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
};

}  // namespace assay
