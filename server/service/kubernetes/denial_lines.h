// SPDX-License-Identifier: Apache-2.0
// Texts that kubectl shows to people about conditions that do not pass. Each line is a sentence
// followed by codes of reasons. The stored decision has all details.
#pragma once

#include <string>
#include <vector>

#include "schemas/decision.h"

namespace assay::server {

// Limit on the bytes of a warning, because the API server cuts warnings at about this size.
inline constexpr std::size_t kMaxWarning = 120;

// Returns one line on a condition, such as "published: no manifest by a trusted publisher names
// this model [manifest-missing]". The line also names the mount, image or node that the condition
// is about, if a few words are enough. The result is one line, whatever the values contain.
[[nodiscard]] std::string condition_words(const ConditionResult& result);

// Returns the lines about everything for which `decision` denies, without repetitions: first
// preconditions, then the conditions of policies in mode enforce. The parts of a combined condition
// follow the condition, indented. If the decision is about several models, each line names its
// model.
[[nodiscard]] std::vector<std::string> denial_words(const Decision& decision);

// Returns the reasons for which pods of a template (an object that makes pods) would be denied, as
// warnings of at most kMaxWarning bytes each.
[[nodiscard]] std::vector<std::string> advice_words(const Decision& decision);

// Returns warnings about failed conditions of policies in mode warn, each of at most kMaxWarning
// bytes.
[[nodiscard]] std::vector<std::string> warning_words(const Decision& decision);

// Returns `title` with a lowercase first letter, for use inside a line.
[[nodiscard]] std::string inside_line(std::string_view title);

// Returns `value` in printable ASCII on one line, cut to about `limit` bytes, because values come
// from pods and may be long or contain any character.
inline constexpr std::size_t kMaxShownValue = 160;
[[nodiscard]] std::string one_line(const Json& value, std::size_t limit = kMaxShownValue);

}  // namespace assay::server
