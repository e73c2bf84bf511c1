// SPDX-License-Identifier: Apache-2.0
#include "schemas/core/nearest.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace assay {
namespace {

constexpr std::size_t kLongest = 64;  // bytes of a word that is compared
constexpr std::size_t kMost = 3;      // words that are suggested

// Letters to insert, remove, replace, or swap with their neighbour, to make `b` of `a`.
std::size_t distance(std::string_view a, std::string_view b) {
  std::array<std::array<std::uint8_t, kLongest + 1>, 3> rows{};
  for (std::size_t j = 0; j <= b.size(); ++j) {
    rows[0].at(j) = static_cast<std::uint8_t>(j);
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto& row = rows.at(i % 3);
    const auto& above = rows.at((i + 2) % 3);
    const auto& two_above = rows.at((i + 1) % 3);
    row[0] = static_cast<std::uint8_t>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int replaced = above.at(j - 1) + (a[i - 1] == b[j - 1] ? 0 : 1);
      int least = std::min({above.at(j) + 1, row.at(j - 1) + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        least = std::min(least, two_above.at(j - 2) + 1);
      }
      row.at(j) = static_cast<std::uint8_t>(least);
    }
  }
  return rows.at(a.size() % 3).at(b.size());
}

}  // namespace

std::vector<std::string_view> nearest(std::string_view word,
                                      std::span<const std::string_view> known) {
  std::vector<std::pair<std::size_t, std::string_view>> found;
  if (word.empty() || word.size() > kLongest || std::ranges::find(known, word) != known.end()) {
    return {};
  }
  const std::size_t most = std::min<std::size_t>(3, (word.size() + 2) / 3);
  for (const std::string_view one : known) {
    if (one.size() > kLongest) {
      continue;
    }
    // A beginning of three letters or more is as near as one letter.
    const bool begins = word.size() > 1 && one.starts_with(word);
    const std::size_t apart = begins && word.size() > 2 ? 1 : distance(word, one);
    if (apart <= most || begins) {
      found.emplace_back(std::min(apart, most + 1), one);
    }
  }
  std::ranges::stable_sort(found, {}, &std::pair<std::size_t, std::string_view>::first);
  std::vector<std::string_view> words;
  for (const auto& [apart, one] : found) {
    const bool as_near = apart == found.front().first;
    if (as_near && words.size() < kMost && std::ranges::find(words, one) == words.end()) {
      words.push_back(one);
    }
  }
  return words;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> known) {
  std::string text;
  for (const std::string_view one : nearest(word, known)) {
    text += (text.empty() ? "; did you mean '" : " or '") + std::string(one) + "'";
  }
  return text.empty() ? text : text + "?";
}

}  // namespace assay
