// SPDX-License-Identifier: Apache-2.0
// Ignore patterns on artifact paths. Spec: schemas/tree.md section 4.3.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/error.h"

namespace assay::gpu_hash {

// A set of patterns. In a part of a path `*` is any run of characters and `?` exactly one; `**` as
// a whole part is any number of parts. A pattern without '/' matches at any depth, one with '/'
// (also a leading one) from the top. Characters are Unicode code points; there is no escape.
class IgnoreRules {
 public:
  // The errors of check_ignore_pattern().
  [[nodiscard]] static Result<IgnoreRules> parse(const std::vector<std::string>& patterns);

  // True when the file or directory at `path` (valid, see check_path) matches one of the patterns.
  // Time is bounded by length of pattern times length of path.
  [[nodiscard]] bool match(std::string_view path) const;

 private:
  std::vector<std::vector<std::u32string>> rules_;  // patterns, their parts, their characters
};

}  // namespace assay::gpu_hash
