// SPDX-License-Identifier: Apache-2.0
// Values in words, and differences between documents, for reviews. Pure.
#pragma once

#include <string>
#include <vector>

#include "schemas/core/json.h"

namespace assay::cli {

// Return a member of an object as a text or as a list. Empty when the member is missing or of
// another type. The list is borrowed from the object.
[[nodiscard]] std::string text_of(const Json& object, const char* member);
[[nodiscard]] const Json& list_of(const Json& object, const char* member);

// Returns the JSON of `value` in ASCII. Control characters, marks that change the direction of
// text, and letters that look like others appear as \u escapes.
[[nodiscard]] std::string quoted(const Json& value);

// Returns one line "path = value" for each value in `value`. A list of plain values is one line. A
// longer list is cut after `limit` items, and the line says how many items the list has.
[[nodiscard]] std::vector<std::string> leaves(const Json& value, const std::string& path,
                                              std::size_t limit);
// Returns "a", "b", ... and 7 more
[[nodiscard]] std::string list_text(const Json& list, std::size_t limit);

struct Difference {
  std::string path;
  Json before;  // null: added
  Json after;
  // Number of items of the list that contains the difference, before and after. 0 for a difference
  // outside lists.
  std::size_t size_before = 0;
  std::size_t size_after = 0;
  bool operator==(const Difference&) const = default;
};

// Returns every value that differs. Lists are compared as sets of items, and objects in a list are
// matched by their `id` when they have one. An item that only moved is not a difference.
[[nodiscard]] std::vector<Difference> differences(const Json& before, const Json& after,
                                                  const std::string& path = {});

// Returns the last member of a path: "max_age_seconds" of "require[a].statement.max_age_seconds",
// "namespaces" of "match.namespaces[]".
[[nodiscard]] std::string last_member(const std::string& path);

// Returns the paths of members whose names begin with "dangerous_" and whose value is not false.
[[nodiscard]] std::vector<std::string> dangerous_members(const Json& value,
                                                         const std::string& path = {});

}  // namespace assay::cli
