// SPDX-License-Identifier: Apache-2.0
#include "tests/support/policy_reference_predicates.h"

#include <algorithm>
#include <ctime>
#include <regex>

namespace assay::policy::reference {
namespace {

// Seconds since 1970, and nanoseconds.
using Moment = std::pair<std::int64_t, std::int64_t>;

Truth plain(const Json& a, Comparison op, const Json& b) {
  if (op == Comparison::kIn) {
    Truth best = Truth::kUnknown;
    for (const Json& element : b) {
      const Truth one = plain(a, Comparison::kEqual, element);
      if (one == Truth::kYes) {
        return one;
      }
      best = one == Truth::kNo ? one : best;
    }
    return best;
  }
  if (a.is_number() && b.is_number()) {
    const auto x = a.get<long double>();
    const auto y = b.get<long double>();
    const bool holds[] = {x == y, x != y, x<y, x <= y, x> y, x >= y};
    return truth(holds[static_cast<std::size_t>(op)]);
  }
  const bool same = (a.is_string() && b.is_string()) || (a.is_boolean() && b.is_boolean()) ||
                    (a.is_null() && b.is_null());
  if (!same || (op != Comparison::kEqual && op != Comparison::kNotEqual)) {
    return Truth::kUnknown;
  }
  return truth((a.dump() == b.dump()) == (op == Comparison::kEqual));
}

std::optional<Moment> time_of(const std::string& text) {
  static const std::regex kShape(
      R"((\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d\d):(\d\d)))");
  std::smatch part;
  if (!std::regex_match(text, part, kShape)) {
    return std::nullopt;
  }
  const auto number = [&](std::size_t i) { return std::stoi(part[i].str()); };
  std::tm date{};
  date.tm_year = number(1) - 1900;
  date.tm_mon = number(2) - 1;
  date.tm_mday = number(3);
  const std::tm asked = date;
  const std::time_t day = timegm(&date);
  if (number(1) < 1970 || date.tm_mday != asked.tm_mday || date.tm_mon != asked.tm_mon ||
      number(4) > 23 || number(5) > 59 || number(6) > 59) {
    return std::nullopt;
  }
  std::int64_t seconds = day + number(4) * 3600 + number(5) * 60 + number(6);
  if (part[8].matched) {
    if (number(9) > 23 || number(10) > 59) {
      return std::nullopt;
    }
    const int offset = number(9) * 3600 + number(10) * 60;
    seconds += part[8] == "-" ? offset : -offset;
  }
  std::string fraction = part[7].matched ? part[7].str() : "";
  fraction.resize(9, '0');
  return Moment(seconds, std::stoi(fraction));
}

std::optional<Moment> bound_of(const Json& value, Timestamp now) {
  if (value.is_string()) {
    return time_of(value.get<std::string>());
  }
  if (!value.is_object() || !value.contains("now_minus_seconds")) {
    return std::nullopt;
  }
  const std::int64_t milliseconds = now.time_since_epoch().count();
  return Moment(milliseconds / 1000 - value["now_minus_seconds"].get<std::int64_t>(),
                milliseconds % 1000 * 1'000'000);
}

// A key that sorts as the version does: numbers are padded, words sort above them, and the end of
// a pre-release below everything but another end.
std::optional<std::vector<std::string>> version_of(const Json& value) {
  static const std::regex kShape(
      R"((0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?)");
  const std::string text = value.is_string() ? value.get<std::string>() : "";
  std::smatch part;
  if (!std::regex_match(text, part, kShape)) {
    return std::nullopt;
  }
  const auto padded = [](const std::string& digits) {
    return "0" + std::string(300 - digits.size(), '0') + digits;
  };
  std::vector<std::string> key;
  for (std::size_t i = 1; i <= 3; ++i) {
    key.push_back(padded(part[i].str()));
  }
  key.emplace_back(part[4].matched ? "0" : "1");
  std::string rest = part[4].str();
  while (part[4].matched && !rest.empty()) {
    const std::string one = rest.substr(0, rest.find('.'));
    const bool digits =
        std::all_of(one.begin(), one.end(), [](char c) { return c >= '0' && c <= '9'; });
    key.push_back(digits ? padded(one) : "1" + one);
    rest = rest.size() > one.size() ? rest.substr(one.size() + 1) : "";
  }
  return key;
}

template <typename T>
Truth in_order(const std::optional<T>& a, Comparison op, const std::optional<T>& b) {
  if (!a || !b) {
    return Truth::kUnknown;
  }
  const bool holds[] = {*a == *b, *a != *b, *a<*b, *a <= *b, *a> * b, *a >= *b};
  return truth(holds[static_cast<std::size_t>(op)]);
}

Truth typed(const PredicateTest& test, Comparison op, const Json& a, const Json& b, Timestamp now) {
  if (test.type == ValueType::kSemver) {
    return in_order(version_of(a), op, version_of(b));
  }
  return in_order(a.is_string() ? time_of(a.get<std::string>()) : std::nullopt, op,
                  bound_of(b, now));
}

// Every pair is looked at.
Truth sets(Comparison op, const Json& items, const Json& value) {
  const Json wanted = op == Comparison::kContains ? Json::array({value}) : value;
  if (!items.is_array() || items.size() > 1024) {
    return Truth::kUnknown;
  }
  const auto equal = [](const Json& a, const Json& b) {
    return plain(a, Comparison::kEqual, b) == Truth::kYes;
  };
  const auto known = [](const Json& a, const Json& b) {
    return plain(a, Comparison::kEqual, b) != Truth::kUnknown;
  };
  bool subset = true;
  bool disjoint = true;
  bool superset = true;
  for (const Json& item : items) {
    bool found = false;
    bool fits = false;
    for (const Json& one : wanted) {
      found = found || equal(item, one);
      fits = fits || known(item, one);
    }
    if (!fits) {
      return Truth::kUnknown;
    }
    subset = subset && found;
    disjoint = disjoint && !found;
  }
  for (const Json& one : wanted) {
    superset = superset && std::any_of(items.begin(), items.end(),
                                       [&](const Json& item) { return equal(item, one); });
  }
  return truth(op == Comparison::kSubset     ? subset
               : op == Comparison::kDisjoint ? disjoint
                                             : superset);
}

// Only objects are told to lack something, and arrays by a number.
Truth exists(const Json& document, const std::string& pointer) {
  const Json::json_pointer place(pointer);
  if (document.contains(place)) {
    return Truth::kYes;
  }
  Json::json_pointer above = place.parent_pointer();
  Json::json_pointer missing = place;
  while (!document.contains(above)) {
    missing = above;
    above = above.parent_pointer();
  }
  const Json& parent = document.at(above);
  const std::string token = missing.back();
  const bool index = std::regex_match(token, std::regex("0|[1-9][0-9]*"));
  return parent.is_object() || (parent.is_array() && index) ? Truth::kNo : Truth::kUnknown;
}

Truth value_test(const PredicateTest& test, const Json& value, Timestamp now) {
  if (test.type != ValueType::kPlain) {
    if (test.op != Comparison::kIn) {
      return typed(test, test.op, value, test.value, now);
    }
    std::vector<Truth> all;
    for (const Json& one : test.value) {
      all.push_back(typed(test, Comparison::kEqual, value, one, now));
    }
    const auto has = [&](Truth wanted) { return std::count(all.begin(), all.end(), wanted) > 0; };
    return has(Truth::kYes) ? Truth::kYes : has(Truth::kNo) ? Truth::kNo : Truth::kUnknown;
  }
  if (test.op == Comparison::kMatches) {
    return value.is_string() ? truth(std::regex_match(value.get<std::string>(),
                                                      std::regex(test.value.get<std::string>())))
                             : Truth::kUnknown;
  }
  return test.op > Comparison::kMatches ? sets(test.op, value, test.value)
                                        : plain(value, test.op, test.value);
}

Truth item_test(const PredicateTest& test, const Json& list, Timestamp now) {
  if (!list.is_array() || list.size() > 1024) {
    return Truth::kUnknown;
  }
  const Outcome outcome = in_every_world([&](World& world) {
    std::size_t passed = 0;
    for (const Json& item : list) {
      bool holds = !test.where.empty();
      for (const PredicateTest& part : test.where) {
        holds = world.decide(judge_test(part, item, now).holds) && holds;
      }
      passed += holds ? 1U : 0U;
    }
    return test.items == ItemQuantifier::kEach  ? passed == list.size()
           : test.items == ItemQuantifier::kAny ? passed > 0
                                                : passed == 0;
  });
  return outcome == Outcome::kError ? Truth::kUnknown : truth(outcome == Outcome::kPass);
}

}  // namespace

Tested judge_test(const PredicateTest& test, const Json& document, Timestamp now) {
  Truth holds = Truth::kUnknown;
  if (!test.items && test.op == Comparison::kExists) {
    const Truth there = exists(document, test.pointer);
    holds =
        there == Truth::kUnknown ? there : truth((there == Truth::kYes) == test.value.get<bool>());
  } else {
    const Json::json_pointer place(test.pointer);
    if (!document.contains(place)) {
      return {Truth::kUnknown, Reason::kValueMissing};
    }
    const Json& value = document.at(place);
    holds = test.items ? item_test(test, value, now) : value_test(test, value, now);
  }
  return {holds,
          holds == Truth::kUnknown ? Reason::kConditionUndecided : Reason::kPredicateMismatch};
}

}  // namespace assay::policy::reference
