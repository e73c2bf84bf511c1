// SPDX-License-Identifier: Apache-2.0
#include "policy/lint/predicates.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "policy/compare.h"
#include "policy/facts.h"
#include "schemas/lifecycle.h"

namespace assay::policy {
namespace {

using Tests = std::vector<PredicateTest>;

// So many tests of a list are compared with others. Further ones are not.
constexpr std::size_t kMaxTestsCompared = 64;

// Members of the lifecycle predicate: any other first part of a pointer leads nowhere.
constexpr std::array<std::string_view, 6> kLifecycleMembers = {"stage",   "inputs",    "parameters",
                                                               "metrics", "freshness", "comment"};
// Arrays of well-known predicates whose order means nothing.
constexpr std::array<std::string_view, 5> kUnordered = {"inputs", "subject", "materials",
                                                        "resolvedDependencies", "byproducts"};

bool is_scalar(const Json& json) { return json.is_primitive() && !json.is_binary(); }

// The parts of a pointer, as written.
std::vector<std::string_view> parts_of(std::string_view pointer) {
  std::vector<std::string_view> parts;
  while (!pointer.empty() && pointer.front() == '/') {
    const std::size_t end = std::min(pointer.find('/', 1), pointer.size());
    parts.push_back(pointer.substr(1, end - 1));
    pointer.remove_prefix(end);
  }
  return parts;
}

bool is_index(std::string_view part) {
  return !part.empty() &&
         std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
}

class TestLinter {
 public:
  TestLinter(const StatementCondition& condition, const LintPlace& place,
             std::vector<Finding>& findings, Comparisons& comparisons)
      : lifecycle_(condition.predicate_type == kLifecyclePredicateType),
        place_(place),
        findings_(findings),
        comparisons_(comparisons) {}

  // `outer` is the pointer to the array whose items are tested; empty for the predicate.
  void list(const Tests& tests, const std::string& where, const std::string& outer, bool inside) {
    for (std::size_t i = 0; i < tests.size(); ++i) {
      where_ = where + "/" + std::to_string(i);
      one(tests[i], outer, inside);
    }
    where_ = where;
    contradictions(tests);
  }

  // Whether no value at one pointer passes both tests.
  static bool exclude(const PredicateTest& a, const PredicateTest& b, Comparisons& comparisons) {
    return comparisons.take(1) && a.pointer == b.pointer &&
           (never_both(a, b, comparisons) || never_both(b, a, comparisons));
  }

 private:
  void warn(std::string code, std::string text) {
    findings_.push_back(
        {Finding::Level::kWarning, place_.id, std::move(text), std::move(code), where_});
  }
  void cannot_pass(const std::string& why) { warn("never-passes", "cannot pass: " + why); }

  void one(const PredicateTest& test, const std::string& outer, bool inside) {
    if (inside) {
      inner_pointer(test);
    } else {
      pointer(test);
    }
    indices(test, outer);
    if (!test.items) {
      value(test);
      return;
    }
    if (test.where.empty()) {
      cannot_pass("tests nothing of the items at " + test.pointer);
    } else if (*test.items == ItemQuantifier::kEach) {
      findings_.push_back({Finding::Level::kNote, place_.id,
                           "each: an empty array passes; add a test with any if it must not",
                           "passes-when-empty", where_});
    }
    const std::string here = where_;
    list(test.where, here + "/where", outer + test.pointer, true);
    where_ = here;
  }

  void inner_pointer(const PredicateTest& test) {
    if (!test.pointer.empty() && test.pointer.front() != '/') {
      cannot_pass("a JSON pointer starts with '/': " + test.pointer);
    }
  }

  void pointer(const PredicateTest& test) {
    if (test.pointer.empty() && !test.items) {
      cannot_pass("the empty pointer is the whole predicate, which compares with nothing");
    } else if (test.pointer.empty()) {
      cannot_pass("the empty pointer is the whole predicate, which is no array");
    } else if (test.pointer.front() != '/') {
      cannot_pass("a JSON pointer starts with '/': " + test.pointer);
    } else if (test.pointer.starts_with("/predicate/") || test.pointer.starts_with("/subject/")) {
      warn("pointer-leads-nowhere",
           "pointers start inside the predicate: " + test.pointer + " is probably not there");
    } else if (lifecycle_) {
      lifecycle_pointer(test.pointer);
    }
  }

  // What a first look at the lifecycle schema tells about a pointer.
  void lifecycle_pointer(std::string_view pointer) {
    const std::string_view member = parts_of(pointer).front();
    if (std::find(kLifecycleMembers.begin(), kLifecycleMembers.end(), member) ==
        kLifecycleMembers.end()) {
      warn("pointer-leads-nowhere", "the lifecycle predicate has no member " + std::string(member));
      return;
    }
    const auto depth = std::count(pointer.begin(), pointer.end(), '/');
    if (member == "metrics" &&
        (depth != 3 || !(pointer.ends_with("/value") || pointer.ends_with("/unit")))) {
      warn("pointer-leads-nowhere", "a metric has a value and a unit: " + std::string(pointer) +
                                        " leads to neither; write /metrics/NAME/value");
    }
  }

  // Whoever writes a statement chooses the order of its arrays.
  void indices(const PredicateTest& test, const std::string& outer) {
    const auto parts = parts_of(test.pointer);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!is_index(parts[i])) {
        continue;
      }
      const auto above = parts_of(outer);
      const std::string_view array = i > 0 ? parts[i - 1] : above.empty() ? "" : above.back();
      if (place_.negated) {
        warn("index-below-not",
             "below a not, " + test.pointer +
                 " looks at one item and says nothing of the others: test the items with any");
      } else if (std::find(kUnordered.begin(), kUnordered.end(), array) != kUnordered.end()) {
        warn("index-without-order",
             "the order of " + std::string(array) +
                 " means nothing, and the signer chooses it: test the items with any or each "
                 "instead of " +
                 test.pointer);
      }
      return;
    }
  }

  void value(const PredicateTest& test) {
    switch (test.op) {
      case Comparison::kIn:
      case Comparison::kSubset:
      case Comparison::kSuperset:
      case Comparison::kDisjoint:
        if (!test.value.is_array() ||
            (test.type != ValueType::kTimestamp &&
             std::none_of(test.value.begin(), test.value.end(), is_scalar))) {
          cannot_pass(std::string(name(test.op)) + " needs a list of values for " + test.pointer);
        }
        return;
      case Comparison::kEqual:
      case Comparison::kNotEqual:
      case Comparison::kContains:
        if (!is_scalar(test.value) && test.type != ValueType::kTimestamp) {
          cannot_pass("objects and arrays compare with nothing (" + test.pointer + ")");
        }
        return;
      case Comparison::kMatches:
        if (test.pattern == nullptr &&
            (!test.value.is_string() || !Pattern::compile(test.value.get<std::string>()))) {
          cannot_pass("matches needs an RE2 pattern for " + test.pointer);
        }
        return;
      case Comparison::kExists:
        if (!test.value.is_boolean()) {
          cannot_pass("exists takes true or false for " + test.pointer);
        }
        return;
      default:
        if (test.type == ValueType::kPlain && !test.value.is_number()) {
          cannot_pass("only numbers have an order (" + test.pointer + ")");
        }
    }
  }

  // The only values with which a test passes, when it lists them.
  static std::span<const Json> only_values(const PredicateTest& test) {
    if (test.items || reads_now(test)) {
      return {};
    }
    if (test.op == Comparison::kEqual) {
      return {&test.value, 1};
    }
    return test.op == Comparison::kIn && test.value.is_array()
               ? std::span<const Json>(test.value.get_ref<const Json::array_t&>())
               : std::span<const Json>();
  }

  // What it costs to run `test` on all of `values`.
  static std::size_t cost_of(std::span<const Json> values, const PredicateTest& test) {
    constexpr std::size_t kTextBytes = 16;  // compared in the time of a number; matched in 16 times
    constexpr std::size_t kListed = 8;      // of a list that are looked through in that time
    std::size_t cost = 1;
    for (const Json& value : values) {
      cost += 1 + (value.is_string() ? value.get_ref<const std::string&>().size() / kTextBytes : 0);
    }
    return cost * (test.op == Comparison::kMatches ? kTextBytes : 1 + test.value.size() / kListed);
  }

  static bool never_both(const PredicateTest& a, const PredicateTest& b, Comparisons& comparisons) {
    if (a.items || b.items) {
      return false;
    }
    const auto absent = [](const PredicateTest& test) {
      return test.op == Comparison::kExists && test.value == false;
    };
    if (absent(a) || absent(b)) {
      return !(absent(a) && absent(b));
    }
    const std::span<const Json> values = only_values(a);
    if (!comparisons.take(cost_of(values, b))) {
      return false;
    }
    if (!values.empty() && !reads_now(b) && b.op != Comparison::kExists) {
      PredicateTest here = b;
      here.pointer.clear();
      return std::none_of(values.begin(), values.end(), [&](const Json& value) {
        return run(here, value, Timestamp()).outcome == Outcome::kPass;
      });
    }
    return bounds_exclude(a, b);
  }

  // Above `a` and below `b`, where nothing is between.
  static bool bounds_exclude(const PredicateTest& a, const PredicateTest& b) {
    const bool lower = a.op == Comparison::kGreater || a.op == Comparison::kGreaterEqual;
    const bool upper = b.op == Comparison::kLess || b.op == Comparison::kLessEqual;
    if (!lower || !upper || a.type != b.type || reads_now(a) || reads_now(b)) {
      return false;
    }
    const bool open = a.op == Comparison::kGreater || b.op == Comparison::kLess;
    PredicateTest bound = a;
    bound.pointer.clear();
    bound.op = open ? Comparison::kGreater : Comparison::kGreaterEqual;
    return run(bound, b.value, Timestamp()).outcome == Outcome::kFail;
  }

  void contradictions(const Tests& tests) {
    const std::size_t compared = std::min(tests.size(), kMaxTestsCompared);
    for (std::size_t i = 0; i < compared; ++i) {
      for (std::size_t k = i + 1; k < compared; ++k) {
        if (exclude(tests[i], tests[k], comparisons_)) {
          warn("contradiction", "cannot pass: two tests exclude each other at " + tests[i].pointer);
          return;
        }
      }
    }
  }

  bool lifecycle_;
  const LintPlace& place_;
  std::vector<Finding>& findings_;
  Comparisons& comparisons_;
  std::string where_;
};

}  // namespace

bool exclude_each_other(const Tests& a, const Tests& b, Comparisons& comparisons) {
  for (std::size_t i = 0; i < std::min(a.size(), kMaxTestsCompared); ++i) {
    for (std::size_t k = 0; k < std::min(b.size(), kMaxTestsCompared); ++k) {
      if (TestLinter::exclude(a[i], b[k], comparisons)) {
        return true;
      }
    }
  }
  return false;
}

void lint_predicates(const StatementCondition& condition, const LintPlace& place,
                     std::vector<Finding>& findings, Comparisons& comparisons) {
  TestLinter(condition, place, findings, comparisons)
      .list(condition.where, place.where + "/statement/where", "", false);
}

}  // namespace assay::policy
