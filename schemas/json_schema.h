// SPDX-License-Identifier: Apache-2.0
// A JSON Schema, compiled to check untrusted documents. Supports the keywords of draft-07 that the
// project's schemas use. compile() refuses every other keyword, so no rule is silently ignored.
//
// The time and memory of a check are proportional to the size of the document, whatever it
// contains:
// - A check stops at the first violation, and checks limits before contents: an array with more
//   items than maxItems is refused before any item is checked, and a text longer than maxLength
//   before it is matched with its pattern. Every pattern of the project's schemas has a maxLength;
//   a test makes sure of this.
// - uniqueItems keeps the items in a sorted set instead of comparing all pairs. maxItems
//   limits their number.
// - `if` and `not` contain no references, so each part of a document is visited at most once for
//   each rule that the schema has for this part.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/core/error.h"
#include "schemas/core/json.h"

namespace assay {

class JsonSchema {
 public:
  // Returns the text of the schema file with this name; nullopt when there is none.
  using Files = std::function<std::optional<std::string_view>(std::string_view file)>;

  // Compiles the schema `file` and all schemas that it refers to. A reference consists of the name
  // of a file of `files`, of '#' and a JSON pointer, or of both. Errors: internal, with a detail
  // that says what is wrong: a file that does not exist or is not JSON, an unknown keyword, a
  // keyword with a wrong value, a rule that draft-07 ignores (beside $ref; then or else without
  // if), a reference inside `if` or `not`, or uniqueItems without maxItems.
  [[nodiscard]] static Result<JsonSchema> compile(const std::string& file, const Files& files);

  JsonSchema(JsonSchema&&) noexcept;
  JsonSchema& operator=(JsonSchema&&) noexcept;
  ~JsonSchema();

  // Checks `document`. Errors: unknown-member for a member that the schema does not define;
  // schema-violation for any other violation. `where` is the JSON pointer of the first violation.
  // Thread-safe.
  [[nodiscard]] Status check(const Json& document) const;

 private:
  struct Node;
  struct Check;
  class Compiler;
  struct Nodes;
  explicit JsonSchema(std::unique_ptr<Nodes> nodes);

  std::unique_ptr<Nodes> nodes_;
};

}  // namespace assay
