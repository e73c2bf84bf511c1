// SPDX-License-Identifier: Apache-2.0
// What people read in kubectl about the conditions of a decision that do not pass: one line each, a
// sentence and the codes behind it. Everything that was compared stands in the decision.
#pragma once

#include <string>
#include <vector>

#include "schemas/decision.h"

namespace assay::server {

// The API server cuts warnings at about this many bytes.
inline constexpr std::size_t kMaxWarning = 120;

// "published: no manifest by a trusted publisher names this model [manifest-missing]"; behind the
// sentence what it is about, where a few words say it: the mount, the image, the node. One line,
// whatever the values hold.
[[nodiscard]] std::string condition_words(const ConditionResult& result);

// Lines on all that stands in the way of `decision`, each once: preconditions, then the conditions
// of policies in mode enforce. Parts of a combined condition follow it, indented. With several
// models each line says which one it is about.
[[nodiscard]] std::vector<std::string> denial_words(const Decision& decision);

// The same as warnings, each of at most kMaxWarning bytes: what would deny pods of a template.
[[nodiscard]] std::vector<std::string> advice_words(const Decision& decision);

// Warnings about what policies in mode warn miss, each of at most kMaxWarning bytes.
[[nodiscard]] std::vector<std::string> warning_words(const Decision& decision);

// `title` as it goes on within a line: with a small first letter.
[[nodiscard]] std::string inside_line(std::string_view title);

// `value` in printable ASCII on one line, cut to about `limit` bytes: pods are written by anybody.
inline constexpr std::size_t kMaxShownValue = 160;
[[nodiscard]] std::string one_line(const Json& value, std::size_t limit = kMaxShownValue);

}  // namespace assay::server
