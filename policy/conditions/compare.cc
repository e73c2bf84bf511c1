// SPDX-License-Identifier: Apache-2.0
// Values in predicates: found by JSON pointers, compared one with one.
#include "policy/compare.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <compare>
#include <limits>
#include <string>

#include "schemas/core/json_foreign.h"

namespace assay::policy {
namespace {

constexpr std::size_t kMaxShownBytes = 256;

// RFC 6901 section 4: ~1 is '/', ~0 is '~', any other use of '~' is an error.
std::optional<std::string> unescape(std::string_view token) {
  std::string name;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] != '~') {
      name += token[i];
      continue;
    }
    const char escaped = i + 1 < token.size() ? token[++i] : '\0';
    if (escaped != '0' && escaped != '1') {
      return std::nullopt;
    }
    name += escaped == '0' ? '~' : '/';
  }
  return name;
}

// Section 4: digits without leading zeros. "-" means the element behind the last: there is none.
const Json* element(const Json& array, std::string_view token) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), index);
  if (error != std::errc{} || end != token.data() + token.size() ||
      (token.size() > 1 && token.front() == '0') || index >= array.size()) {
    return nullptr;
  }
  return &array[index];
}

const Json* child(const Json& parent, const std::string& token) {
  if (parent.is_array()) {
    return element(parent, token);
  }
  if (!parent.is_object()) {
    return nullptr;
  }
  const auto it = parent.find(token);
  return it == parent.end() ? nullptr : &*it;
}

// Exact even where the conversion of the integer to double would round.
template <typename Integer>
std::partial_ordering order_integer_double(Integer integer, double number) {
  constexpr int kDigits = std::numeric_limits<Integer>::digits;
  const double above = std::ldexp(1.0, kDigits);  // first double beyond the type
  if (std::isnan(number)) {
    return std::partial_ordering::unordered;
  }
  if (number >= above) {
    return std::partial_ordering::less;
  }
  if (number < (std::is_signed_v<Integer> ? -above : 0.0)) {
    return std::partial_ordering::greater;
  }
  const double whole = std::trunc(number);
  const auto truncated = static_cast<Integer>(whole);
  if (integer != truncated) {
    return integer <=> truncated;
  }
  return whole <=> number;
}

std::partial_ordering order_numbers(const Json& a, const Json& b);

// `a` is an integer.
std::partial_ordering order_integer(const Json& a, const Json& b) {
  if (b.is_number_float()) {
    const double number = b.get<double>();
    return a.is_number_unsigned() ? order_integer_double(a.get<std::uint64_t>(), number)
                                  : order_integer_double(a.get<std::int64_t>(), number);
  }
  if (a.is_number_unsigned() && b.is_number_unsigned()) {
    return a.get<std::uint64_t>() <=> b.get<std::uint64_t>();
  }
  if (a.is_number_unsigned()) {
    const auto other = b.get<std::int64_t>();
    return other < 0 ? std::strong_ordering::greater
                     : a.get<std::uint64_t>() <=> static_cast<std::uint64_t>(other);
  }
  return b.is_number_unsigned() ? 0 <=> order_numbers(b, a)
                                : a.get<std::int64_t>() <=> b.get<std::int64_t>();
}

std::partial_ordering order_numbers(const Json& a, const Json& b) {
  if (!a.is_number_float()) {
    return order_integer(a, b);
  }
  return b.is_number_float() ? a.get<double>() <=> b.get<double>() : 0 <=> order_integer(b, a);
}

Outcome outcome_of(bool holds) { return holds ? Outcome::kPass : Outcome::kFail; }

Outcome compare_numbers(const Json& actual, Comparison op, const Json& expected) {
  return op == Comparison::kIn ? Outcome::kError : judge_order(order_numbers(actual, expected), op);
}

Outcome compare_scalars(const Json& actual, Comparison op, const Json& expected) {
  if (actual.is_number() && expected.is_number()) {
    return compare_numbers(actual, op, expected);
  }
  if (actual.type() != expected.type() ||
      !(actual.is_string() || actual.is_boolean() || actual.is_null())) {
    return Outcome::kError;
  }
  if (op == Comparison::kEqual || op == Comparison::kNotEqual) {
    return outcome_of((actual == expected) == (op == Comparison::kEqual));
  }
  return Outcome::kError;
}

Outcome compare_in(const Json& actual, const Json& list) {
  if (!list.is_array()) {
    return Outcome::kError;
  }
  Outcome outcome = Outcome::kError;
  for (const Json& element : list) {
    const Outcome one = compare_scalars(actual, Comparison::kEqual, element);
    if (one == Outcome::kPass) {
      return one;
    }
    if (one == Outcome::kFail) {
      outcome = one;
    }
  }
  return outcome;
}

}  // namespace

Outcome judge_order(std::partial_ordering order, Comparison op) {
  if (order == std::partial_ordering::unordered) {
    return Outcome::kError;
  }
  switch (op) {
    case Comparison::kEqual:
    case Comparison::kIn:
      return outcome_of(order == 0);
    case Comparison::kNotEqual:
      return outcome_of(order != 0);
    case Comparison::kLess:
      return outcome_of(order < 0);
    case Comparison::kLessEqual:
      return outcome_of(order <= 0);
    case Comparison::kGreater:
      return outcome_of(order > 0);
    case Comparison::kGreaterEqual:
      return outcome_of(order >= 0);
    default:
      return Outcome::kError;
  }
}

const Json* value_at(const Json& document, std::string_view pointer) {
  const Json* value = &document;
  while (value != nullptr && !pointer.empty()) {
    if (pointer.front() != '/') {
      return nullptr;
    }
    const std::size_t end = std::min(pointer.find('/', 1), pointer.size());
    const auto token = unescape(pointer.substr(1, end - 1));
    if (!token) {
      return nullptr;
    }
    value = child(*value, *token);
    pointer.remove_prefix(end);
  }
  return value;
}

Outcome compare(const Json& actual, Comparison op, const Json& expected) {
  return op == Comparison::kIn ? compare_in(actual, expected)
                               : compare_scalars(actual, op, expected);
}

Json shown(const Json& value) {
  if (value.is_structured()) {
    return {{"kind", value.is_array() ? "array" : "object"}, {"size", value.size()}};
  }
  if (const auto digits = large_integer(value)) {
    return digits->size() > kMaxShownBytes ? Json{{"kind", "number"}, {"size", digits->size()}}
                                           : Json(*digits);
  }
  if (value.is_string() && value.get_ref<const std::string&>().size() > kMaxShownBytes) {
    return {{"kind", "string"}, {"size", value.get_ref<const std::string&>().size()}};
  }
  return value;
}

std::optional<bool> is_there(const Json& document, std::string_view pointer) {
  const Json* value = &document;
  while (!pointer.empty()) {
    const std::size_t end = std::min(pointer.find('/', 1), pointer.size());
    const auto token = pointer.front() == '/' ? unescape(pointer.substr(1, end - 1)) : std::nullopt;
    const bool index =
        token && !token->empty() && (token->size() == 1 || token->front() != '0') &&
        std::all_of(token->begin(), token->end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!token || !(value->is_object() || (value->is_array() && index))) {
      return std::nullopt;
    }
    value = child(*value, *token);
    if (value == nullptr) {
      return false;
    }
    pointer.remove_prefix(end);
  }
  return true;
}

}  // namespace assay::policy
