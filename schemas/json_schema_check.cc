// SPDX-License-Identifier: Apache-2.0
// From a document to its first violation. The document is walked beside the graph of the schema.
#include <algorithm>
#include <exception>
#include <set>
#include <utility>

#include "schemas/core/bytes.h"
#include "schemas/json_schema_node.h"

namespace assay {
namespace {

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

// A character of UTF-8 has at most so many bytes.
constexpr std::size_t kMaxCharacter = 4;

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

// The first violation of a document.
struct Violation {
  ErrorCode code = ErrorCode::kSchemaViolation;
  std::string detail;
  std::vector<std::string> steps;  // innermost first
};

}  // namespace

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

  static bool within(const CountBounds& bounds, std::size_t count) {
    return count >= bounds.least.value_or(0) && count <= bounds.most.value_or(SIZE_MAX);
  }

  static bool same(const Json& a, const Json& b) {
    return bit_of(a) == bit_of(b) && a == b;  // 1.0 is not 1
  }

  static bool text(const Node& node, const std::string& value, Violation* out) {
    // The bytes are bounded first: what is not UTF-8 may have few characters in many bytes.
    const bool long_text = node.length.most && value.size() / kMaxCharacter > *node.length.most;
    const bool counted = node.length.least || node.length.most;
    if (long_text || (counted && !within(node.length, characters(value)))) {
      return refuse(out, "the text is too short or too long");
    }
    if (node.pattern && !RE2::PartialMatch(value, *node.pattern)) {
      const bool capitals = out != nullptr && RE2::PartialMatch(lower_case(value), *node.pattern);
      return refuse(out, capitals ? "the text must not have capital letters"
                                  : "the text does not have the form that is asked for");
    }
    return true;
  }

  static bool number(const Node& node, const Json& value, Violation* out) {
    const bool above = !node.minimum || number_of(value) >= number_of(*node.minimum);
    const bool below = !node.maximum || number_of(value) <= number_of(*node.maximum);
    return (above && below) || refuse(out, "the number is too small or too large");
  }

  // Stops at the first item that repeats another. Numbers of one value are one item however they
  // are written: 0, -0.0 and 0.0 have one form when the document is written again (RFC 8785 section
  // 3.2.2.3).
  static bool distinct(const Json& value, Violation* out) {
    const auto kind = [](const Json& item) { return item.is_number() ? kInteger : bit_of(item); };
    const auto before = [kind](const Json* a, const Json* b) {
      return kind(*a) != kind(*b) ? kind(*a) < kind(*b) : *a < *b;
    };
    std::set<const Json*, decltype(before)> seen(before);
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (!seen.insert(&value[i]).second) {
        if (out != nullptr) {
          out->steps.push_back(std::to_string(i));
        }
        return refuse(out, "the item stands in the list more than once");
      }
    }
    return true;
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

Status JsonSchema::check(const Json& document) const {
  Violation violation;
  try {
    if (Check::whole(*nodes_->root, document, &violation)) {
      return {};
    }
  } catch (const std::exception&) {
    return fail(ErrorCode::kInternal, "the schema could not be applied");
  }
  std::string where;
  for (auto step = violation.steps.rbegin(); step != violation.steps.rend(); ++step) {
    where += "/" + *step;
  }
  return fail(violation.code, std::move(violation.detail), std::move(where));
}

}  // namespace assay
