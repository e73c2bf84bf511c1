// SPDX-License-Identifier: Apache-2.0
// Values in words, and differences between documents, for reviews. Pure.
#pragma once

#include <string>
#include <vector>

#include "schemas/core/json.h"

namespace assay::cli {

// Return a member of an object: a text or an empty one; a list or an empty one. The list is
// borrowed from the object.
[[nodiscard]] std::string text_of(const Json& object, const char* member);
[[nodiscard]] const Json& list_of(const Json& object, const char* member);

// Returns the JSON of `value` in ASCII. Control characters, marks that change the direction of
// text, and letters that look like others appear as \u escapes.
[[nodiscard]] std::string quoted(const Json& value);

// Returns one line "path = value" for each value in `value`. A list of plain values is one line. It
// is cut after `limit` items and shows their full number.
[[nodiscard]] std::vector<std::string> leaves(const Json& value, const std::string& path,
                                              std::size_t limit);
// Returns "a", "b", ... and 7 more
[[nodiscard]] std::string list_text(const Json& list, std::size_t limit);

struct Difference {
  std::string path;
  Json before;  // null: added
  Json after;
  // Number of items of the list that contains the difference, before and after. 0 outside lists.
  std::size_t size_before = 0;
  std::size_t size_after = 0;
  bool operator==(const Difference&) const = default;
};

// Returns every value that differs. Lists are compared as sets of items, and objects with an `id`
// in them are matched by it. An item that only moved is not a difference.
[[nodiscard]] std::vector<Difference> differences(const Json& before, const Json& after,
                                                  const std::string& path = {});

// Returns the last member of a path: "max_age_seconds" of "require[a].statement.max_age_seconds",
// "namespaces" of "match.namespaces[]".
[[nodiscard]] std::string last_member(const std::string& path);

// Returns the paths of members whose names begin with "dangerous_" and whose value is not false.
[[nodiscard]] std::vector<std::string> dangerous_members(const Json& value,
                                                         const std::string& path = {});

}  // namespace assay::cli
