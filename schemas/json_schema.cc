// SPDX-License-Identifier: Apache-2.0
// From the text of schemas to nodes.
#include "schemas/json_schema.h"

#include <algorithm>
#include <exception>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "schemas/json_schema_node.h"

namespace assay {
namespace {

std::optional<unsigned> type_bits(const std::string& name) {
  static const std::map<std::string, unsigned> known = {
      {"null", kNull},       {"boolean", kBoolean},
      {"integer", kInteger}, {"number", kInteger | kFraction},
      {"string", kString},   {"array", kArray},
      {"object", kObject}};
  const auto found = known.find(name);
  return found == known.end() ? std::nullopt : std::optional(found->second);
}

// One of the project's schemas is wrong. compile() turns this into an error.
struct BadSchema : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Keywords that describe a schema, and require nothing of a document.
bool is_note(std::string_view key) {
  static const std::vector<std::string_view> notes = {
      "$schema", "$id", "$comment", "title", "description", "default", "examples", "definitions"};
  return std::ranges::find(notes, key) != notes.end();
}

void require_number(const Json& value) {
  if (!value.is_number()) {
    throw BadSchema("minimum and maximum are numbers");
  }
}

// The patterns of the schemas are written so that ECMAScript and RE2 read them alike. RE2 needs
// time in proportion to the text and no stack; std::regex takes microseconds for one digest.
std::unique_ptr<const RE2> compiled(const std::string& pattern) {
  RE2::Options options(RE2::Latin1);  // bytes: what is not UTF-8 is for others to refuse
  options.set_log_errors(false);
  options.set_never_capture(true);
  auto made = std::make_unique<const RE2>(pattern, options);
  if (!made->ok()) {
    throw BadSchema("the pattern " + pattern + ": " + made->error());
  }
  return made;
}

// draft-07 ignores every keyword beside $ref, and `then` and `else` without `if`.
void refuse_ignored_rules(const Json& schema, const std::string& file) {
  for (const auto& [key, value] : schema.items()) {
    if (schema.contains("$ref") && key != "$ref" && !is_note(key)) {
      throw BadSchema(key + " beside $ref in " + file);
    }
  }
  if (!schema.contains("if") && (schema.contains("then") || schema.contains("else"))) {
    throw BadSchema("then or else without if in " + file);
  }
}

}  // namespace

class JsonSchema::Compiler {
 public:
  Compiler(const Files& files, Nodes& nodes) : files_(files), nodes_(nodes) {}

  // The node of `pointer` in `file`; made once, so that schemas can refer to themselves.
  const Node* find(const std::string& file, const std::string& pointer) {
    const auto [at, added] = made_.try_emplace({file, pointer}, nullptr);
    if (added) {
      Node& node = nodes_.nodes.emplace_back();
      at->second = &node;
      const Json::json_pointer place(pointer);
      const Json& whole = document(file);
      if (!whole.contains(place)) {
        throw BadSchema("there is no " + file + "#" + pointer);
      }
      fill(node, whole.at(place), file);
    }
    return at->second;
  }

 private:
  const Json& document(const std::string& file) {
    const auto [at, added] = documents_.try_emplace(file);
    if (added) {
      const auto text = files_(file);
      auto parsed = text ? parse_json(*text) : fail(ErrorCode::kInternal, "");
      if (!parsed) {
        throw BadSchema("there is no schema " + file + ", or it is no JSON");
      }
      at->second = *std::move(parsed);
    }
    return at->second;
  }

  const Node* make(const Json& schema, const std::string& file) {
    Node& node = nodes_.nodes.emplace_back();
    fill(node, schema, file);
    return &node;
  }

  // `if` and `not` are tried beside other rules: a reference inside them could double the work at
  // each level.
  const Node* make_closed(const Json& schema, const std::string& file) {
    ++closed_;
    const Node* made = make(schema, file);
    --closed_;
    return made;
  }

  void fill(Node& node, const Json& schema, const std::string& file) {
    if (schema.is_boolean()) {
      node.always = schema.get<bool>();
      return;
    }
    refuse_ignored_rules(schema, file);
    for (const auto& [key, value] : schema.get_ref<const Json::object_t&>()) {
      const bool known = fill_plain(node, key, value) || fill_counts(node, key, value) ||
                         fill_members(node, key, value, file) || fill_parts(node, key, value, file);
      if (!known) {
        throw BadSchema("the keyword " + key + " of " + file + " is not known");
      }
    }
    if (node.unique && !node.size.most) {
      throw BadSchema("uniqueItems without maxItems in " + file);
    }
  }

  static bool fill_plain(Node& node, const std::string& key, const Json& value) {
    if (key == "type") {
      node.types = 0;
      for (const Json& name : value.is_array() ? value : Json::array({value})) {
        const auto bits = type_bits(name.get<std::string>());
        if (!bits) {
          throw BadSchema("there is no type " + name.get<std::string>());
        }
        node.types |= *bits;
      }
    } else if (key == "enum") {
      node.values = value.get<std::vector<Json>>();
    } else if (key == "const") {
      node.values = std::vector<Json>(1, value);
    } else if (key == "minimum") {
      require_number(value);
      node.minimum = value;
    } else if (key == "maximum") {
      require_number(value);
      node.maximum = value;
    } else if (key == "pattern") {
      node.pattern = compiled(value.get<std::string>());
    } else if (key == "uniqueItems") {
      node.unique = value.get<bool>();
    } else {
      return is_note(key);
    }
    return true;
  }

  static bool fill_counts(Node& node, const std::string& key, const Json& value) {
    static const std::map<std::string,
                          std::pair<CountBounds Node::*, std::optional<std::size_t> CountBounds::*>>
        known = {{"minLength", {&Node::length, &CountBounds::least}},
                 {"maxLength", {&Node::length, &CountBounds::most}},
                 {"minItems", {&Node::size, &CountBounds::least}},
                 {"maxItems", {&Node::size, &CountBounds::most}},
                 {"minProperties", {&Node::members, &CountBounds::least}},
                 {"maxProperties", {&Node::members, &CountBounds::most}}};
    const auto found = known.find(key);
    if (found != known.end()) {
      if (!value.is_number_unsigned()) {
        throw BadSchema(key + " is not a count");
      }
      (node.*found->second.first).*found->second.second = value.get<std::size_t>();
    }
    return found != known.end();
  }

  bool fill_members(Node& node, const std::string& key, const Json& value,
                    const std::string& file) {
    if (key == "required") {
      node.required = value.get<std::vector<std::string>>();
    } else if (key == "properties") {
      for (const auto& [name, schema] : value.items()) {
        node.properties[name] = make(schema, file);
      }
    } else if (key == "additionalProperties") {
      node.additional = make(value, file);
    } else if (key == "propertyNames") {
      node.names = make(value, file);
    } else if (key == "dependencies") {
      for (const auto& [name, wanted] : value.items()) {
        if (wanted.is_array()) {
          node.needs[name] = wanted.get<std::vector<std::string>>();
        } else {
          node.dependent[name] = make(wanted, file);
        }
      }
    } else {
      return false;
    }
    return true;
  }

  bool fill_parts(Node& node, const std::string& key, const Json& value, const std::string& file) {
    if (key == "$ref") {
      const auto target = value.get<std::string>();
      const std::size_t hash = std::min(target.find('#'), target.size());
      if (closed_ > 0) {
        throw BadSchema("a reference inside `if` or `not` of " + file);
      }
      node.reference = find(hash == 0 ? file : target.substr(0, hash),
                            hash < target.size() ? target.substr(hash + 1) : "");
    } else if (key == "items") {
      node.items = make(value, file);
    } else if (key == "allOf") {
      for (const Json& part : value) {
        node.all.push_back(make(part, file));
      }
    } else if (key == "not") {
      node.excluded = make_closed(value, file);
    } else if (key == "if") {
      node.condition = make_closed(value, file);
    } else if (key == "then") {
      node.then = make(value, file);
    } else if (key == "else") {
      node.otherwise = make(value, file);
    } else {
      return false;
    }
    return true;
  }

  const Files& files_;
  Nodes& nodes_;
  std::map<std::string, Json> documents_;
  std::map<std::pair<std::string, std::string>, const Node*> made_;
  int closed_ = 0;
};

JsonSchema::JsonSchema(std::unique_ptr<Nodes> nodes) : nodes_(std::move(nodes)) {}
JsonSchema::JsonSchema(JsonSchema&&) noexcept = default;
JsonSchema& JsonSchema::operator=(JsonSchema&&) noexcept = default;
JsonSchema::~JsonSchema() = default;

Result<JsonSchema> JsonSchema::compile(const std::string& file, const Files& files) {
  auto nodes = std::make_unique<Nodes>();
  try {
    nodes->root = Compiler(files, *nodes).find(file, "");
  } catch (const std::exception& error) {  // the JSON library throws, too
    return fail(ErrorCode::kInternal, file + ": " + error.what());
  }
  return JsonSchema(std::move(nodes));
}

}  // namespace assay
