// SPDX-License-Identifier: Apache-2.0
#include "schemas/semver.h"

#include <algorithm>

namespace assay {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

// Digits without leading zeros.
bool is_plain_number(std::string_view text) {
  return is_number(text) && (text.size() == 1 || text.front() != '0');
}

bool is_identifier(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t dot = text.find('.');
    parts.emplace_back(text.substr(0, dot));
    if (dot == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(dot + 1);
  }
}

std::strong_ordering compare_numbers(const std::string& a, const std::string& b) {
  return a.size() != b.size() ? a.size() <=> b.size() : a.compare(b) <=> 0;
}

// Section 11.4: numbers by value and below words, words by their bytes.
std::strong_ordering compare_identifiers(const std::string& a, const std::string& b) {
  if (is_number(a) && is_number(b)) {
    return compare_numbers(a, b);
  }
  if (is_number(a) != is_number(b)) {
    return is_number(a) ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  return a.compare(b) <=> 0;
}

std::unexpected<Error> not_a_version() {
  return fail(ErrorCode::kInvalidParameter, "this is no semantic version such as 1.2.3-rc.1");
}

}  // namespace

std::strong_ordering Semver::operator<=>(const Semver& other) const {
  for (std::size_t i = 0; i < core.size(); ++i) {
    if (const auto order = compare_numbers(core[i], other.core[i]); order != 0) {
      return order;
    }
  }
  if (prerelease.empty() || other.prerelease.empty()) {
    return prerelease.empty() <=> other.prerelease.empty();
  }
  return std::lexicographical_compare_three_way(prerelease.begin(), prerelease.end(),
                                                other.prerelease.begin(), other.prerelease.end(),
                                                compare_identifiers);
}

Result<Semver> parse_semver(std::string_view text) {
  if (text.size() > kMaxSemverBytes) {
    return not_a_version();
  }
  const std::size_t plus = text.find('+');
  if (plus != std::string_view::npos) {
    const auto build = split(text.substr(plus + 1));
    if (!std::all_of(build.begin(), build.end(), is_identifier)) {
      return not_a_version();
    }
    text = text.substr(0, plus);
  }
  Semver version;
  const std::size_t dash = text.find('-');
  if (dash != std::string_view::npos) {
    version.prerelease = split(text.substr(dash + 1));
    text = text.substr(0, dash);
  }
  version.core = split(text);
  const bool fits =
      version.core.size() == 3 &&
      std::all_of(version.core.begin(), version.core.end(), is_plain_number) &&
      std::all_of(version.prerelease.begin(), version.prerelease.end(), [](const auto& one) {
        return is_identifier(one) && (!is_number(one) || is_plain_number(one));
      });
  return fits ? Result<Semver>(std::move(version)) : not_a_version();
}

}  // namespace assay
