// SPDX-License-Identifier: Apache-2.0
#include "tests/support/policy_reference_match.h"

#include <regex>

namespace assay::policy::reference {
namespace {

bool fits_any(const std::vector<std::string>& patterns, const std::string& text) {
  for (const std::string& pattern : patterns) {
    std::string regex;
    for (const char c : pattern) {
      regex += c == '*' ? std::string(".*") : std::string("[") + c + "]";
    }
    if (std::regex_match(text, std::regex(regex))) {
      return true;
    }
  }
  return false;
}

// Ways to an accelerator that the policy does not call harmless.
std::size_t count_ways(const WorkloadMatch& match, const Workload& workload) {
  std::vector<std::string> ways = workload.accelerators;
  const std::vector<std::string> plain = {"cpu", "memory", "storage", "ephemeral-storage",
                                          "hugepages-*"};
  for (const std::string& name : workload.resources) {
    if (!fits_any(plain, name)) {
      ways.push_back("resource:" + name);
    }
  }
  std::vector<std::string> harmless;
  for (const std::string& pattern : match.harmless_resources) {
    harmless.push_back("resource:" + pattern);
  }
  std::size_t count = 0;
  for (const std::string& way : ways) {
    const bool is_class = way.substr(0, 14) == "runtime-class:";
    const bool named =
        fits_any(harmless, way) || (is_class && fits_any(match.harmless_resources, way));
    count += named ? 0U : 1U;
  }
  return count;
}

}  // namespace

bool workload_fits(const WorkloadMatch& match, const Workload& workload, DecisionPoint point) {
  bool fits = match.namespaces.empty() || fits_any(match.namespaces, workload.name_space);
  fits = fits && !fits_any(match.exclude_namespaces, workload.name_space);
  for (const auto& [key, value] : match.labels) {
    fits = fits && workload.labels.contains(key) && workload.labels.at(key) == value;
  }
  bool asks = match.resources.empty();
  for (const std::string& resource : workload.resources) {
    asks = asks || fits_any(match.resources, resource);
  }
  fits = fits && asks;
  if (match.accelerators) {
    fits = fits && count_ways(match, workload) > 0;
  }
  if (!match.nodes.empty() && workload.node.empty()) {
    fits = fits && point != DecisionPoint::kCreate;
  } else if (!match.nodes.empty()) {
    fits = fits && fits_any(match.nodes, workload.node);
  }
  return fits;
}

}  // namespace assay::policy::reference
