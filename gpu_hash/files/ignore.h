// SPDX-License-Identifier: Apache-2.0
// Ignore patterns on artifact paths. Spec: schemas/tree.md section 4.3.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/error.h"

namespace assay::gpu_hash {

// A set of ignore patterns. In a part of a path `*` matches any run of characters and `?` matches
// exactly one character. `**` as a whole part matches any number of parts. A pattern without '/'
// matches at any depth. A pattern that contains '/', even only at its beginning, matches from the
// top of the artifact only. Characters are Unicode code points. There is no escape character.
class IgnoreRules {
 public:
  // Parses `patterns`. Errors: those of check_ignore_pattern() (schemas/core/artifact.h).
  [[nodiscard]] static Result<IgnoreRules> parse(const std::vector<std::string>& patterns);

  // Returns true when one of the patterns matches the file or directory at `path`. `path` must be
  // valid by check_path() (schemas/core/artifact.h). The time is bounded by the length of the
  // pattern times the length of the path.
  [[nodiscard]] bool match(std::string_view path) const;

 private:
  std::vector<std::vector<std::u32string>> rules_;  // patterns, each a list of parts
};

}  // namespace assay::gpu_hash
