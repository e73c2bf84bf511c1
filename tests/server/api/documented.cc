// SPDX-License-Identifier: Apache-2.0
#include "tests/server/api/documented.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <regex>
#include <set>

#include "embedded/openapi.h"
#include "schemas/core/bytes.h"
#include "schemas/core/clock.h"

namespace assay::server::test {
namespace {

using Names = std::set<std::string>;

constexpr std::size_t kMaxCompared = std::size_t{512} << 10;

// What a keyword of JSON Schema speaks of.
enum class About : std::uint8_t {
  kNotKnown,
  kNothing,
  kSchemas,
  kAny,
  kNumber,
  kText,
  kList,
  kObject
};

About about(const std::string& keyword) {
  static const std::map<About, Names> known = {
      // `then` and `else` are seen to with `if`.
      {About::kNothing,
       {"description", "title", "default", "examples", "definitions", "then", "else", "$comment",
        "deprecated"}},
      {About::kSchemas, {"$ref", "allOf", "anyOf", "oneOf", "not", "if"}},
      {About::kAny, {"type", "enum", "const"}},
      {About::kNumber, {"minimum", "maximum"}},
      {About::kText, {"minLength", "maxLength", "pattern", "format"}},
      {About::kList, {"minItems", "maxItems", "uniqueItems", "items"}},
      {About::kObject,
       {"required", "properties", "additionalProperties", "propertyNames", "minProperties",
        "maxProperties", "dependencies", "dependentRequired", "unevaluatedProperties"}}};
  const auto found = std::ranges::find_if(
      known, [&](const auto& keywords) { return keywords.second.contains(keyword); });
  return found == known.end() ? About::kNotKnown : found->first;
}

const Json& document() {
  static const Json json = parse_json(embedded::kOpenapiJson).value();
  return json;
}

const Json& resolved(const Json& node) {
  return node.contains("$ref")
             ? document().at(Json::json_pointer(node["$ref"].get<std::string>().substr(1)))
             : node;
}

bool is_of_type(const Json& value, const std::string& type) {
  return type == "null"      ? value.is_null()
         : type == "boolean" ? value.is_boolean()
         : type == "integer" ? value.is_number_integer()
         : type == "number"  ? value.is_number()
         : type == "string"  ? value.is_string()
         : type == "array"   ? value.is_array()
                             : type == "object" && value.is_object();
}

bool has_pattern(const std::string& text, const std::string& pattern) {
  static thread_local std::map<std::string, std::regex> known;
  return std::regex_search(text, known.try_emplace(pattern, pattern).first->second);
}

std::size_t characters(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

// One value against one schema.
class Comparison {
 public:
  Comparison(const Json& schema, const Json& value, std::string at)
      : schema_(schema), value_(value), at_(std::move(at)) {}

  // The first violation, with where it is; empty when there is none.
  std::string run() {
    if (schema_.is_boolean()) {
      return schema_.get<bool>() ? "" : at_ + " is not allowed";
    }
    for (const auto& [key, rule] : schema_.items()) {
      std::string found = key == "unevaluatedProperties" ? "" : rule_of(key, rule);
      if (!found.empty()) {
        return found;
      }
    }
    return schema_.contains("unevaluatedProperties") ? rest(schema_["unevaluatedProperties"]) : "";
  }
  // Members that a rule of the schema has seen.
  [[nodiscard]] const Names& seen() const { return seen_; }

 private:
  std::string rule_of(const std::string& key, const Json& rule) {
    if (!knows_keyword(key, rule)) {
      return "the keyword " + key + " " + rule.dump().substr(0, 200) + " is not known here";
    }
    switch (about(key)) {
      case About::kNotKnown:
      case About::kNothing:
        return "";
      case About::kSchemas:
        return part(key, rule);
      case About::kAny:
        return plain(key, rule);
      case About::kNumber:
        return value_.is_number() ? of_number(key, rule) : "";
      case About::kText:
        return value_.is_string() ? of_text(key, rule, value_.get<std::string>()) : "";
      case About::kList:
        return value_.is_array() ? of_list(key, rule) : "";
      case About::kObject:
        return value_.is_object() ? of_object(key, rule) : "";
    }
    return "";
  }

  std::string part(const std::string& key, const Json& rule) {
    if (key == "$ref") {
      return take(resolved(schema_));
    }
    if (key == "not") {
      return Comparison(rule, value_, at_).run().empty() ? at_ + " is what it must not be" : "";
    }
    if (key == "if") {
      const bool holds = take(rule).empty();
      const char* const branch = holds ? "then" : "else";
      return schema_.contains(branch) ? take(schema_[branch]) : "";
    }
    std::string why;
    std::size_t fitting = 0;
    for (const Json& one : rule) {
      const std::string found = take(one);
      if (key == "allOf" && !found.empty()) {
        return found;
      }
      fitting += found.empty() ? 1U : 0U;
      why += found.empty() ? "" : " [" + found + "]";
    }
    return key == "allOf" || fitting == 1 || (key == "anyOf" && fitting > 1)
               ? ""
               : at_ + " fits " + std::to_string(fitting) + " of " + key + why;
  }

  // Another schema for the same value. What it sees is seen when it fits.
  std::string take(const Json& schema) {
    Comparison other(schema, value_, at_);
    std::string found = other.run();
    if (found.empty()) {
      seen_.insert(other.seen().begin(), other.seen().end());
    }
    return found;
  }

  std::string plain(const std::string& key, const Json& rule) const {
    bool good = true;
    if (key == "type") {
      const Json types = rule.is_array() ? rule : Json::array({rule});
      good = std::ranges::any_of(
          types, [&](const Json& type) { return is_of_type(value_, type.get<std::string>()); });
    } else if (key == "enum") {
      good = std::ranges::find(rule, value_) != rule.end();
    } else {
      good = value_ == rule;
    }
    return good ? "" : differs(key, rule);
  }

  std::string of_number(const std::string& key, const Json& rule) const {
    const bool good = key == "minimum" ? value_ >= rule : value_ <= rule;
    return good ? "" : differs(key, rule);
  }

  std::string of_text(const std::string& key, const Json& rule, const std::string& text) const {
    bool good = true;
    if (key == "minLength") {
      good = characters(text) >= rule.get<std::size_t>();
    } else if (key == "maxLength") {
      good = characters(text) <= rule.get<std::size_t>();
    } else if (key == "pattern") {
      good = has_pattern(text, rule);
    } else {
      good = rule == "date-time" ? parse_rfc3339(text).has_value() : text.contains(':');
    }
    return good ? "" : differs(key, rule);
  }

  std::string of_list(const std::string& key, const Json& rule) const {
    if (key == "minItems" || key == "maxItems") {
      const auto count = rule.get<std::size_t>();
      const bool good = key == "minItems" ? value_.size() >= count : value_.size() <= count;
      return good ? "" : differs(key, rule);
    }
    if (key == "uniqueItems") {
      return std::set<Json>(value_.begin(), value_.end()).size() == value_.size()
                 ? ""
                 : differs(key, rule);
    }
    for (std::size_t i = 0; i < value_.size(); ++i) {
      if (auto found = Comparison(rule, value_[i], at_ + "/" + std::to_string(i)).run();
          !found.empty()) {
        return found;
      }
    }
    return "";
  }

  std::string of_object(const std::string& key, const Json& rule) {
    if (key == "required") {
      for (const Json& name : rule) {
        if (!value_.contains(name.get<std::string>())) {
          return at_ + " lacks " + name.get<std::string>();
        }
      }
    } else if (key == "properties") {
      for (const auto& [name, schema] : rule.items()) {
        if (auto found = member(name, schema); !found.empty()) {
          return found;
        }
      }
    } else if (key == "additionalProperties") {
      return others(rule);
    } else if (key == "propertyNames") {
      for (const auto& [name, value] : value_.items()) {
        if (auto found = Comparison(rule, Json(name), at_ + "/" + name).run(); !found.empty()) {
          return found;
        }
      }
    } else if (key == "minProperties" || key == "maxProperties") {
      const auto count = rule.get<std::size_t>();
      const bool good = key[1] == 'i' ? value_.size() >= count : value_.size() <= count;
      return good ? "" : differs(key, rule);
    } else {
      return dependencies(rule);
    }
    return "";
  }

  std::string member(const std::string& name, const Json& schema) {
    if (!value_.contains(name)) {
      return "";
    }
    seen_.insert(name);
    return Comparison(schema, value_[name], at_ + "/" + name).run();
  }

  // Members that `properties` beside this rule does not name.
  std::string others(const Json& rule) {
    const Json named = schema_.value("properties", Json::object());
    for (const auto& [name, value] : value_.items()) {
      if (!named.contains(name)) {
        if (auto found = member(name, rule); !found.empty()) {
          return found;
        }
      }
    }
    return "";
  }

  // Members that no rule has seen.
  std::string rest(const Json& rule) {
    if (!value_.is_object()) {
      return "";
    }
    for (const auto& [name, value] : value_.items()) {
      if (!seen_.contains(name)) {
        if (auto found = member(name, rule); !found.empty()) {
          return found;
        }
      }
    }
    return "";
  }

  std::string dependencies(const Json& rule) {
    for (const auto& [name, wanted] : rule.items()) {
      if (!value_.contains(name)) {
        continue;
      }
      const Json schema = wanted.is_array() ? Json{{"required", wanted}} : wanted;
      if (auto found = take(schema); !found.empty()) {
        return found;
      }
    }
    return "";
  }

  [[nodiscard]] std::string differs(const std::string& key, const Json& rule) const {
    return at_ + " is " + value_.dump().substr(0, 200) + ", which is against " + key + " " +
           rule.dump().substr(0, 200);
  }

  const Json& schema_;
  const Json& value_;
  const std::string at_;
  Names seen_;
};

// "%65" is "e".
std::string decoded(std::string_view path) {
  std::string text;
  for (; !path.empty(); path.remove_prefix(1)) {
    const auto byte = path.front() == '%' ? hex_decode(path.substr(1, 2)) : Result<Bytes>(Bytes());
    if (byte && !byte->empty()) {
      text += static_cast<char>(byte->front());
      path.remove_prefix(2);
    } else {
      text += path.front();
    }
  }
  return text;
}

std::vector<std::string> segments(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::size_t end = std::min(path.find('/'), path.size());
    parts.emplace_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return parts;
}

// The number of segments that are the template's own; nothing when the path is not of it. The
// index of a tile has several segments.
std::optional<std::size_t> fit(const std::string& pattern, const std::string& path) {
  const auto wanted = segments(pattern);
  const auto parts = segments(path);
  const bool open_end = pattern.ends_with("/{index}");
  if (parts.size() < wanted.size() || (parts.size() > wanted.size() && !open_end)) {
    return std::nullopt;
  }
  std::size_t same = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i].starts_with('{') && wanted[i] != parts[i]) {
      return std::nullopt;
    }
    same += wanted[i] == parts[i] ? 1U : 0U;
  }
  return same;
}

// Null: there is no such operation.
const Json* operation_of(Listener listener, Method method, const std::string& target) {
  const std::string path = decoded(target.substr(0, target.find('?')));
  const char* const verb = method == Method::kGet || method == Method::kHead ? "get"
                           : method == Method::kPost                         ? "post"
                           : method == Method::kPut                          ? "put"
                           : method == Method::kDelete                       ? "delete"
                                                                             : "options";
  const Json* best = nullptr;
  std::optional<std::size_t> best_fit;
  for (const auto& [pattern, methods] : document()["paths"].items()) {
    const auto found = fit(pattern, path);
    if (found && (!best_fit || *found > *best_fit)) {
      best_fit = found;
      best = methods.contains(verb) ? &methods[verb] : nullptr;
    }
  }
  const bool is_here = best != nullptr &&
                       (*best)["x-listener"] == (listener == Listener::kApi ? "api" : "admission");
  return is_here ? best : nullptr;
}

}  // namespace

bool knows_keyword(const std::string& key, const Json& rule) {
  const bool form = key == "format"  ? rule == "date-time" || rule == "uri"
                    : key == "items" ? !rule.is_array()
                                     : true;
  return form && about(key) != About::kNotKnown;
}

std::string violation(const Json& schema, const Json& value) {
  return Comparison(schema, value, "").run();
}

std::string not_documented(Listener listener, Method method, const std::string& target,
                           const ApiAnswer& answer) {
  const Json* const operation = operation_of(listener, method, target);
  if (operation == nullptr) {
    return "";
  }
  const std::string status = std::to_string(answer.status);
  const Json& responses = (*operation)["responses"];
  if (!responses.contains(status)) {
    return "status " + status + " " + answer.code();
  }
  const Json content = resolved(responses[status]).value("content", Json::object());
  if (content.empty() || answer.body.empty()) {
    return answer.body.empty() && (content.empty() || method == Method::kHead)
               ? ""
               : "a body, or none: " + answer.body.substr(0, 200);
  }
  const std::string type = answer.content_type.substr(0, answer.content_type.find(';'));
  if (!content.contains(type)) {
    return content.contains("*/*") ? "" : "the media type " + answer.content_type;
  }
  if (!type.ends_with("json") || !content[type].contains("schema")) {
    return "";
  }
  if (answer.body.size() > kMaxCompared) {
    return "";  // tests of small pages have compared the same
  }
  const Json body = answer.json();
  return body.is_discarded() ? "a body that is no JSON" : violation(content[type]["schema"], body);
}

}  // namespace assay::server::test
