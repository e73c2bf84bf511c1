// SPDX-License-Identifier: Apache-2.0
// A schema becomes a graph of nodes, one for each subschema; references are edges. Checking walks
// the document beside the graph.
#include "schemas/json_schema.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <map>
#include <regex>
#include <utility>
#include <vector>

namespace assay {
namespace {

// What `type` allows, as bits.
enum TypeBit : unsigned {
  kNull = 1U,
  kBoolean = 2U,
  kInteger = 4U,
  kFraction = 8U,
  kString = 16U,
  kArray = 32U,
  kObject = 64U,
};

std::optional<unsigned> type_bits(const std::string& name) {
  static const std::map<std::string, unsigned> known = {
      {"null", kNull},     {"boolean", kBoolean}, {"integer", kInteger}, {"number", 12U},
      {"string", kString}, {"array", kArray},     {"object", kObject}};
  const auto found = known.find(name);
  return found == known.end() ? std::nullopt : std::optional(found->second);
}

unsigned bit_of(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return kNull;
    case Json::value_t::boolean:
      return kBoolean;
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
      return kInteger;
    case Json::value_t::number_float:
      return kFraction;
    case Json::value_t::string:
      return kString;
    case Json::value_t::array:
      return kArray;
    case Json::value_t::object:
      return kObject;
    default:
      return 0;
  }
}

// The library compares an integer above 2^63 with a negative one as if both had a sign.
long double number_of(const Json& value) {
  if (value.is_number_unsigned()) {
    return static_cast<long double>(value.get<std::uint64_t>());
  }
  return value.is_number_integer() ? static_cast<long double>(value.get<std::int64_t>())
                                   : static_cast<long double>(value.get<double>());
}

// Lengths are counted in characters, not bytes.
std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

std::string escaped(std::string_view step) {
  std::string out;
  for (const char c : step) {
    out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  }
  return out;
}

struct Bounds {
  std::optional<std::size_t> least;
  std::optional<std::size_t> most;
};

// A schema of ours that is wrong: compile() makes an error of it.
struct BadSchema : std::exception {
  explicit BadSchema(std::string text) : why(std::move(text)) {}
  [[nodiscard]] const char* what() const noexcept override { return why.c_str(); }
  std::string why;
};

// The first violation of a document.
struct Violation {
  ErrorCode code = ErrorCode::kSchemaViolation;
  std::string detail;
  std::vector<std::string> steps;  // innermost first
};

}  // namespace

struct JsonSchema::Node {
  std::optional<bool> always;  // the schema `true` or `false`
  const Node* reference = nullptr;
  unsigned types = ~0U;
  std::optional<std::vector<Json>> values;  // of enum or const
  Bounds length;
  Bounds size;     // of arrays
  Bounds members;  // of objects
  std::optional<Json> minimum;
  std::optional<Json> maximum;
  std::optional<std::regex> pattern;
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

// --- from text to nodes

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
    static const std::vector<std::string_view> notes = {
        "$schema", "$id", "$comment", "title", "description", "default", "examples", "definitions"};
    if (std::ranges::find(notes, key) != notes.end()) {
      return true;
    }
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
      node.minimum = value;
    } else if (key == "maximum") {
      node.maximum = value;
    } else if (key == "pattern") {
      node.pattern.emplace(value.get<std::string>(), std::regex::ECMAScript);
    } else if (key == "uniqueItems") {
      node.unique = value.get<bool>();
    } else {
      return false;
    }
    return true;
  }

  static bool fill_counts(Node& node, const std::string& key, const Json& value) {
    static const std::map<std::string,
                          std::pair<Bounds Node::*, std::optional<std::size_t> Bounds::*>>
        known = {{"minLength", {&Node::length, &Bounds::least}},
                 {"maxLength", {&Node::length, &Bounds::most}},
                 {"minItems", {&Node::size, &Bounds::least}},
                 {"maxItems", {&Node::size, &Bounds::most}},
                 {"minProperties", {&Node::members, &Bounds::least}},
                 {"maxProperties", {&Node::members, &Bounds::most}}};
    const auto found = known.find(key);
    if (found != known.end()) {
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

// --- from a document to its first violation

// `out` is null where only the outcome counts: inside of `if` and `not`.
struct JsonSchema::Check {
  static bool refuse(Violation* out, const char* why) {
    if (out != nullptr) {
      out->detail = why;
    }
    return false;
  }

  static bool step_into(const Node& node, const Json& value, std::string_view step,
                        Violation* out) {
    const bool passes = whole(node, value, out);
    if (!passes && out != nullptr) {
      out->steps.push_back(escaped(step));
    }
    return passes;
  }

  static bool within(const Bounds& bounds, std::size_t count) {
    return count >= bounds.least.value_or(0) && count <= bounds.most.value_or(SIZE_MAX);
  }

  static bool same(const Json& a, const Json& b) {
    return bit_of(a) == bit_of(b) && a == b;  // 1.0 is not 1
  }

  static bool text(const Node& node, const std::string& value, Violation* out) {
    const bool counted = node.length.least || node.length.most;
    if (counted && !within(node.length, characters(value))) {
      return refuse(out, "the text is too short or too long");
    }
    if (node.pattern && !std::regex_search(value, *node.pattern)) {
      return refuse(out, "the text does not have the form that is asked for");
    }
    return true;
  }

  static bool number(const Node& node, const Json& value, Violation* out) {
    const bool above = !node.minimum || number_of(value) >= number_of(*node.minimum);
    const bool below = !node.maximum || number_of(value) <= number_of(*node.maximum);
    return (above && below) || refuse(out, "the number is too small or too large");
  }

  // Sorted by value and then by position, equal items are neighbours. The place is that of the
  // first item that repeats another.
  static bool distinct(const Json& value, Violation* out) {
    const auto& items = value.get_ref<const Json::array_t&>();
    std::vector<std::size_t> order(items.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      order[i] = i;
    }
    const auto before = [&items](std::size_t a, std::size_t b) {
      const Json& left = items[a];
      const Json& right = items[b];
      if (bit_of(left) != bit_of(right)) {
        return bit_of(left) < bit_of(right);
      }
      return left < right || (!(right < left) && a < b);
    };
    std::ranges::sort(order, before);
    std::size_t repeated = items.size();
    for (std::size_t i = 1; i < order.size(); ++i) {
      if (same(items[order[i - 1]], items[order[i]])) {
        repeated = std::min(repeated, order[i]);
      }
    }
    if (repeated == items.size()) {
      return true;
    }
    if (out != nullptr) {
      out->steps.push_back(std::to_string(repeated));
    }
    return refuse(out, "the item stands in the list more than once");
  }

  static bool list(const Node& node, const Json& value, Violation* out) {
    if (!within(node.size, value.size())) {
      return refuse(out, "the list has too few or too many items");
    }
    if (node.items != nullptr) {
      for (std::size_t i = 0; i < value.size(); ++i) {
        if (!whole(*node.items, value[i], out)) {
          if (out != nullptr) {
            out->steps.push_back(std::to_string(i));
          }
          return false;
        }
      }
    }
    return !node.unique || distinct(value, out);
  }

  static bool one_member(const Node& node, const std::string& name, const Json& value,
                         Violation* out) {
    if (node.names != nullptr && !step_into(*node.names, Json(name), name, out)) {
      return false;
    }
    const auto known = node.properties.find(name);
    if (known != node.properties.end()) {
      return step_into(*known->second, value, name, out);
    }
    if (node.additional == nullptr) {
      return true;
    }
    if (node.additional->always == false && out != nullptr) {
      out->code = ErrorCode::kUnknownMember;
      out->detail = "the document has a member that is not defined";
      out->steps.push_back(escaped(name));
      return false;
    }
    return step_into(*node.additional, value, name, out);
  }

  static bool object(const Node& node, const Json& value, Violation* out) {
    if (!within(node.members, value.size())) {
      return refuse(out, "the object has too few or too many members");
    }
    for (const auto& [name, member] : value.get_ref<const Json::object_t&>()) {
      if (!one_member(node, name, member, out)) {
        return false;
      }
    }
    for (const std::string& name : node.required) {
      if (!value.contains(name)) {
        return refuse(out, ("the member " + name + " is missing").c_str());
      }
    }
    for (const auto& [name, wanted] : node.needs) {
      if (value.contains(name) && !std::ranges::all_of(wanted, [&value](const std::string& other) {
            return value.contains(other);
          })) {
        return refuse(out, ("the member " + name + " needs another one beside it").c_str());
      }
    }
    return std::ranges::all_of(node.dependent, [&](const auto& rule) {
      return !value.contains(rule.first) || whole(*rule.second, value, out);
    });
  }

  static bool conditions(const Node& node, const Json& value, Violation* out) {
    if (!std::ranges::all_of(node.all,
                             [&](const Node* part) { return whole(*part, value, out); })) {
      return false;
    }
    if (node.excluded != nullptr && whole(*node.excluded, value, nullptr)) {
      return refuse(out, "the value has a form that is excluded");
    }
    if (node.condition == nullptr) {
      return true;
    }
    const Node* next = whole(*node.condition, value, nullptr) ? node.then : node.otherwise;
    return next == nullptr || whole(*next, value, out);
  }

  static bool whole(const Node& node, const Json& value, Violation* out) {
    if (node.always) {
      return *node.always || refuse(out, "nothing may stand here");
    }
    if (node.reference != nullptr) {
      return whole(*node.reference, value, out);
    }
    if ((node.types & bit_of(value)) == 0) {
      return refuse(out, "the value is of another type than the one that is asked for");
    }
    if (node.values && std::ranges::none_of(*node.values, [&value](const Json& allowed) {
          return same(allowed, value);
        })) {
      return refuse(out, "the value is none of those that are allowed");
    }
    bool passes = true;
    if (value.is_string()) {
      passes = text(node, value.get_ref<const std::string&>(), out);
    } else if (value.is_number()) {
      passes = number(node, value, out);
    } else if (value.is_array()) {
      passes = list(node, value, out);
    } else if (value.is_object()) {
      passes = object(node, value, out);
    }
    return passes && conditions(node, value, out);
  }
};

JsonSchema::JsonSchema(std::unique_ptr<Nodes> nodes) : nodes_(std::move(nodes)) {}
JsonSchema::JsonSchema(JsonSchema&&) noexcept = default;
JsonSchema& JsonSchema::operator=(JsonSchema&&) noexcept = default;
JsonSchema::~JsonSchema() = default;

Result<JsonSchema> JsonSchema::compile(const std::string& file, const Files& files) {
  auto nodes = std::make_unique<Nodes>();
  try {
    nodes->root = Compiler(files, *nodes).find(file, "");
  } catch (const std::exception& error) {  // the JSON library and std::regex throw, too
    return fail(ErrorCode::kInternal, file + ": " + error.what());
  }
  return JsonSchema(std::move(nodes));
}

Status JsonSchema::check(const Json& document) const {
  Violation violation;
  try {
    if (Check::whole(*nodes_->root, document, &violation)) {
      return {};
    }
  } catch (const std::exception&) {  // std::regex
    return fail(ErrorCode::kInternal, "the schema could not be applied");
  }
  std::string where;
  for (auto step = violation.steps.rbegin(); step != violation.steps.rend(); ++step) {
    where += "/" + *step;
  }
  return fail(violation.code, std::move(violation.detail), std::move(where));
}

}  // namespace assay
