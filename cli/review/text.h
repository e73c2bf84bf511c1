// SPDX-License-Identifier: Apache-2.0
// Values in words, and differences between documents, for reviews. Pure.
#pragma once

#include <string>
#include <vector>

#include "schemas/core/json.h"

namespace assay::cli {

// Member of an object: a text, or empty; a list, or an empty one. The list belongs to the object.
[[nodiscard]] std::string text_of(const Json& object, const char* member);
[[nodiscard]] const Json& list_of(const Json& object, const char* member);

// JSON in ASCII: control characters, marks that turn the direction of text, and letters that look
// like others are seen as \u escapes.
[[nodiscard]] std::string quoted(const Json& value);

// One line for each value in `value`, "path = value"; lists of plain values are one line, cut after
// `limit` items with their number.
[[nodiscard]] std::vector<std::string> leaves(const Json& value, const std::string& path,
                                              std::size_t limit);
// "a", "b", ... and 7 more
[[nodiscard]] std::string list_text(const Json& list, std::size_t limit);

struct Difference {
  std::string path;
  Json before;  // null: was not there
  Json after;
  // Items of the list that the difference is in, before and after; 0 elsewhere.
  std::size_t size_before = 0;
  std::size_t size_after = 0;
  bool operator==(const Difference&) const = default;
};

// Every value that differs. Lists are compared as sets of items; objects in them that have an `id`
// are matched by it. What is the same in other places or another order is no difference.
[[nodiscard]] std::vector<Difference> differences(const Json& before, const Json& after,
                                                  const std::string& path = {});

// The last member of a path: "max_age_seconds" of "require[a].statement.max_age_seconds",
// "namespaces" of "match.namespaces[]".
[[nodiscard]] std::string last_member(const std::string& path);

// Paths of members whose names begin with "dangerous_" and that are not false.
[[nodiscard]] std::vector<std::string> dangerous_members(const Json& value,
                                                         const std::string& path = {});

}  // namespace assay::cli
