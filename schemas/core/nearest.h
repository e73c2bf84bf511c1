// SPDX-License-Identifier: Apache-2.0
// Suggestions for mistyped words. For messages to people only; decides nothing.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

// Returns the texts of `known` that `word` may stand for, at most three, the likeliest first: those
// that differ from it by few letters or begin with it. Empty for a word of more than
// 64 bytes, and for a word that is among `known`.
[[nodiscard]] std::vector<std::string_view> nearest(std::string_view word,
                                                    std::span<const std::string_view> known);

// Returns "; did you mean 'a' or 'b'?", or an empty text when nothing is near.
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       std::span<const std::string_view> known);

}  // namespace assay
