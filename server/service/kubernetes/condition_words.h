// SPDX-License-Identifier: Apache-2.0
// Texts that people read in kubectl about conditions that do not pass. Each line is a sentence
// followed by its codes. The decision holds all details of the comparison.
#pragma once

#include <string>
#include <vector>

#include "schemas/decision.h"

namespace assay::server {

// Limit on the bytes of a warning, because the API server cuts warnings at about this size.
inline constexpr std::size_t kMaxWarning = 120;

// Returns one line on a condition, such as "published: no manifest by a trusted publisher names
// this model [manifest-missing]". After the sentence comes the mount, image or node concerned, if a
// few words can name it. The result is one line, whatever the values contain.
[[nodiscard]] std::string condition_words(const ConditionResult& result);

// Returns the lines on everything that denies `decision`, each once: preconditions, then the
// conditions of policies in mode enforce. Parts of a combined condition follow it, indented. With
// several models each line names its model.
[[nodiscard]] std::vector<std::string> denial_words(const Decision& decision);

// Returns the same lines as warnings of at most kMaxWarning bytes each: the reasons for which pods
// of a template would be denied.
[[nodiscard]] std::vector<std::string> advice_words(const Decision& decision);

// Returns warnings about failed conditions of policies in mode warn, each of at most kMaxWarning
// bytes.
[[nodiscard]] std::vector<std::string> warning_words(const Decision& decision);

// Returns `title` with a small first letter, for use within a line.
[[nodiscard]] std::string inside_line(std::string_view title);

// Returns `value` in printable ASCII on one line, cut to about `limit` bytes, because anybody can
// write pods.
inline constexpr std::size_t kMaxShownValue = 160;
[[nodiscard]] std::string one_line(const Json& value, std::size_t limit = kMaxShownValue);

}  // namespace assay::server
