// SPDX-License-Identifier: Apache-2.0
// A compiled schema as a graph: one node for each subschema, and an edge for each reference.
// json_schema.cc makes the graph; json_schema_check.cc checks a document against it. Only these two
// files include this header.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <re2/re2.h>

#include "schemas/json_schema.h"

namespace assay {

// The types that the keyword `type` allows, as bits.
enum JsonTypeBit : unsigned {
  kNull = 1U,
  kBoolean = 2U,
  kInteger = 4U,
  kFraction = 8U,
  kString = 16U,
  kArray = 32U,
  kObject = 64U,
};

// Lower and upper limit of a count, both inclusive; absent: no limit.
struct CountBounds {
  std::optional<std::size_t> least;
  std::optional<std::size_t> most;
};

struct JsonSchema::Node {
  std::optional<bool> always;  // the schema `true` or `false`
  const Node* reference = nullptr;
  unsigned types = ~0U;
  std::optional<std::vector<Json>> values;  // of enum or const
  CountBounds length;
  CountBounds size;     // of arrays
  CountBounds members;  // of objects
  std::optional<Json> minimum;
  std::optional<Json> maximum;
  std::unique_ptr<const RE2> pattern;  // of bytes, looked for anywhere in the text
  bool unique = false;
  const Node* items = nullptr;
  std::vector<std::string> required;
  std::map<std::string, const Node*, std::less<>> properties;
  const Node* additional = nullptr;
  const Node* names = nullptr;
  std::map<std::string, std::vector<std::string>> needs;  // dependencies between members
  std::map<std::string, const Node*> dependent;           // dependencies on a schema
  std::vector<const Node*> all;
  const Node* excluded = nullptr;
  const Node* condition = nullptr;
  const Node* then = nullptr;
  const Node* otherwise = nullptr;
};

struct JsonSchema::Nodes {
  std::deque<Node> nodes;
  const Node* root = nullptr;
};

}  // namespace assay
