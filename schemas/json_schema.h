// SPDX-License-Identifier: Apache-2.0
// One JSON Schema, made ready to check documents from strangers. It knows the keywords of draft-07
// that our schemas use and refuses every other keyword, so that no rule is silently ignored.
//
// A check costs time and memory in proportion to the document, whatever stands in it:
// - It stops at the first violation, and bounds come before contents: an array with more items than
//   maxItems is refused before any item is looked at, a text longer than maxLength before its
//   pattern runs. (std::regex recurses for every byte; every pattern of our schemas has a
//   maxLength, and a test sees to that.)
// - uniqueItems sorts the items, whose number maxItems has bounded, instead of comparing pairs.
// - `if` and `not` hold no reference, so no part of a document is visited more often than a schema
//   has rules for that part.
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

  // Makes the schema `file` ready, with everything that it refers to. References name another file
  // of `files`, a JSON pointer after '#', or both. Errors: internal, whose detail says what is
  // wrong: a file that does not exist or is no JSON, a keyword that is not known, a keyword of the
  // wrong form, an array without maxItems whose items are compared.
  [[nodiscard]] static Result<JsonSchema> compile(const std::string& file, const Files& files);

  JsonSchema(JsonSchema&&) noexcept;
  JsonSchema& operator=(JsonSchema&&) noexcept;
  ~JsonSchema();

  // Errors: unknown-member for a member that the schema does not define; schema-violation for any
  // other violation. `where` is the JSON pointer of the first violation. Thread-safe.
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
