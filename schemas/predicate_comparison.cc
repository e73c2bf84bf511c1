// SPDX-License-Identifier: Apache-2.0
// Reading and writing tests of predicates. The schema says which members there are; here is what a
// value must be for its comparison.
#include "schemas/predicate_comparison.h"

#include <algorithm>
#include <array>
#include <utility>

#include "schemas/instant.h"
#include "schemas/members.h"
#include "schemas/semver.h"

namespace assay {
namespace {

constexpr std::array<std::string_view, 13> kComparisons = {
    "==",      "!=",     "<",        "<=",       ">",        ">=",    "in",
    "matches", "subset", "superset", "disjoint", "contains", "exists"};
constexpr std::array<std::string_view, 3> kTypes = {"plain", "timestamp", "semver"};
constexpr std::array<std::string_view, 3> kItems = {"each", "any", "none"};

std::unexpected<Error> invalid(std::string why, std::string where) {
  return fail(ErrorCode::kPolicyInvalid, std::move(why), std::move(where));
}

template <typename E, std::size_t N>
std::optional<E> value_in(const std::array<std::string_view, N>& names, std::string_view text) {
  const auto found = std::find(names.begin(), names.end(), text);
  return found == names.end() ? std::nullopt : std::optional(static_cast<E>(found - names.begin()));
}

bool is_scalar(const Json& json) { return json.is_primitive() && !json.is_binary(); }

bool is_now_minus(const Json& value) {
  return value.is_object() && value.size() == 1 && value.contains(kNowMinusSeconds) &&
         value[std::string(kNowMinusSeconds)].is_number_unsigned() &&
         value[std::string(kNowMinusSeconds)].get<std::uint64_t>() <= kMaxNowMinusSeconds;
}

// One value to compare with, of a type other than plain.
Status check_typed(ValueType type, const Json& value, const std::string& place) {
  if (type == ValueType::kTimestamp) {
    return is_now_minus(value) ||
                   (value.is_string() && parse_instant(value.get_ref<const std::string&>()))
               ? Status()
               : invalid(R"(a timestamp is RFC 3339 text or {"now_minus_seconds": n})", place);
  }
  return value.is_string() && parse_semver(value.get_ref<const std::string&>())
             ? Status()
             : invalid("a semantic version looks like 1.2.3 or 1.2.3-rc.1", place);
}

Status check_type(const PredicateTest& test, const std::string& place) {
  if (test.type == ValueType::kPlain) {
    return {};
  }
  if (test.op > Comparison::kIn) {
    return invalid("a type goes with ==, !=, <, <=, >, >= and in", place + "/type");
  }
  if (test.op != Comparison::kIn) {
    return check_typed(test.type, test.value, place + "/value");
  }
  for (std::size_t i = 0; i < test.value.size(); ++i) {
    ASSAY_TRY(check_typed(test.type, test.value[i], place + "/value/" + std::to_string(i)));
  }
  return {};
}

// What each comparison needs beside the shape that the schema demands.
Status check_value(PredicateTest& test, const std::string& place, PatternBudget& budget) {
  switch (test.op) {
    case Comparison::kMatches: {
      auto compiled = budget.compile(test.value.get_ref<const std::string&>());
      if (!compiled) {
        return invalid(std::move(compiled).error().detail, place + "/value");
      }
      test.pattern = *std::move(compiled);
      return {};
    }
    case Comparison::kSubset:
    case Comparison::kSuperset:
    case Comparison::kDisjoint:
      return std::all_of(test.value.begin(), test.value.end(), is_scalar)
                 ? Status()
                 : invalid("sets hold texts, numbers, true, false and null", place + "/value");
    case Comparison::kContains:
      return is_scalar(test.value) ? Status()
                                   : invalid("contains takes a text, a number, true, false or null",
                                             place + "/value");
    case Comparison::kLess:
    case Comparison::kLessEqual:
    case Comparison::kGreater:
    case Comparison::kGreaterEqual:
      return test.type != ValueType::kPlain || test.value.is_number()
                 ? Status()
                 : invalid("without a type only numbers have an order", place + "/value");
    default:
      return {};
  }
}

}  // namespace

std::string_view name(Comparison comparison) {
  return kComparisons.at(static_cast<std::size_t>(comparison));
}
std::string_view name(ValueType type) { return kTypes.at(static_cast<std::size_t>(type)); }
std::string_view name(ItemQuantifier items) { return kItems.at(static_cast<std::size_t>(items)); }

Result<PredicateTest> predicate_test_from_json(const Json& json, const std::string& place,
                                               PatternBudget& budget, std::size_t level) {
  PredicateTest test;
  for (const std::string_view quantifier : kItems) {
    if (json.contains(quantifier)) {
      test.items = value_in<ItemQuantifier>(kItems, quantifier);
      test.pointer = members::text(json, quantifier);
    }
  }
  if (test.items) {
    if (level >= kMaxItemLevels) {
      return invalid("tests over items nest at most 2 levels", place);
    }
    const Json none = Json::array();
    for (const Json& part : members::child(json, "where", none)) {
      ASSAY_ASSIGN(
          PredicateTest inner,
          predicate_test_from_json(part, place + "/where/" + std::to_string(test.where.size()),
                                   budget, level + 1));
      test.where.push_back(std::move(inner));
    }
    if (test.where.empty() || test.where.size() > kMaxItemTests) {
      return invalid("items are tested by 1 to 16 tests", place + "/where");
    }
    return test;
  }
  test.pointer = members::text(json, "pointer");
  const auto op = value_in<Comparison>(kComparisons, members::text(json, "op"));
  const auto type = json.contains("type") ? value_in<ValueType>(kTypes, members::text(json, "type"))
                                          : std::optional(ValueType::kPlain);
  if (!op || !type) {
    return invalid("there is no such comparison or type", place);
  }
  test.op = *op;
  test.type = *type;
  test.value = json["value"];
  ASSAY_TRY(check_type(test, place));
  ASSAY_TRY(check_value(test, place, budget));
  return test;
}

Json to_json(const PredicateTest& test) {
  if (test.items) {
    Json json = {{std::string(name(*test.items)), test.pointer}, {"where", Json::array()}};
    for (const PredicateTest& part : test.where) {
      json["where"].push_back(to_json(part));
    }
    return json;
  }
  Json json = {{"pointer", test.pointer}, {"op", name(test.op)}, {"value", test.value}};
  if (test.type != ValueType::kPlain) {
    json["type"] = name(test.type);
  }
  return json;
}

bool reads_now(const PredicateTest& test) {
  const auto is_object = [](const Json& value) { return value.is_object(); };
  return (test.type == ValueType::kTimestamp &&
          (is_object(test.value) ||
           (test.value.is_array() &&
            std::any_of(test.value.begin(), test.value.end(), is_object)))) ||
         std::any_of(test.where.begin(), test.where.end(), reads_now);
}

}  // namespace assay
