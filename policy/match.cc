// SPDX-License-Identifier: Apache-2.0
// Which workloads a policy is about.
#include <algorithm>
#include <string_view>

#include "policy/evaluate.h"

namespace assay::policy {
namespace {

// Glob with '*' over the whole of `text`. Only the last star is ever tried again, so the cost is at
// most the product of the lengths.
bool glob_matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t after_star = 0;  // where the text behind the last star began
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after_star = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++after_star;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool covers(const std::vector<std::string>& patterns, const std::string& name_space) {
  return patterns.empty() ||
         std::any_of(patterns.begin(), patterns.end(),
                     [&](const auto& pattern) { return glob_matches(pattern, name_space); });
}

bool contains(const std::vector<std::string>& values, const std::string& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace

bool matches(const WorkloadMatch& match, const Workload& workload) {
  const bool name_space = covers(match.namespaces, workload.name_space);
  const bool labels = std::all_of(match.labels.begin(), match.labels.end(), [&](const auto& label) {
    const auto it = workload.labels.find(label.first);
    return it != workload.labels.end() && it->second == label.second;
  });
  const bool resources =
      match.resources.empty() ||
      std::any_of(match.resources.begin(), match.resources.end(),
                  [&](const auto& resource) { return contains(workload.resources, resource); });
  return name_space && labels && resources;
}

bool selected(std::span<const ActivePolicy> policies, const Workload& workload) {
  return std::any_of(policies.begin(), policies.end(), [&](const ActivePolicy& policy) {
    return policy.document.mode != PolicyMode::kShadow && matches(policy.document.match, workload);
  });
}

bool may_enforce(std::span<const ActivePolicy> policies, const std::string& name_space) {
  return std::any_of(policies.begin(), policies.end(), [&](const ActivePolicy& policy) {
    return policy.document.mode == PolicyMode::kEnforce &&
           covers(policy.document.match.namespaces, name_space);
  });
}

}  // namespace assay::policy
