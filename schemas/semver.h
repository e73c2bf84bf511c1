// SPDX-License-Identifier: Apache-2.0
// Semantic versions, https://semver.org/spec/v2.0.0.html: syntax of section "Backus-Naur Form",
// precedence of section 11.
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/error.h"

namespace assay {

// A version without its build metadata, which has no part in precedence. Numbers are kept as
// digits, so that they may be of any size.
struct Semver {
  std::vector<std::string> core;        // major, minor, patch
  std::vector<std::string> prerelease;  // identifiers; empty for a release

  // Orders by precedence: two versions that differ only in build metadata are equal.
  std::strong_ordering operator<=>(const Semver& other) const;
  bool operator==(const Semver& other) const { return (*this <=> other) == 0; }
};

inline constexpr std::size_t kMaxSemverBytes = 256;

// Errors: invalid-parameter for any other text than a version ("v1.2.3" included), and for one
// longer than kMaxSemverBytes.
[[nodiscard]] Result<Semver> parse_semver(std::string_view text);

}  // namespace assay
