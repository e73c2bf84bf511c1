// SPDX-License-Identifier: Apache-2.0
// Files policies under what they demand of every workload.
#include "policy/match_index.h"

#include <algorithm>

namespace assay::policy {
namespace {

std::string label_text(const std::string& key, const std::string& value) {
  return key + "=" + value;
}

bool is_exact(const std::string& pattern) { return pattern.find('*') == std::string::npos; }

bool all_exact(const std::vector<std::string>& patterns) {
  return !patterns.empty() && std::ranges::all_of(patterns, is_exact);
}

std::string_view prefix_of(std::string_view pattern) {
  return pattern.substr(0, pattern.find('*'));
}

bool all_begin(const std::vector<std::string>& patterns) {
  return !patterns.empty() && std::ranges::none_of(patterns, [](const std::string& pattern) {
    return prefix_of(pattern).empty();
  });
}

}  // namespace

MatchIndex::MatchIndex(std::shared_ptr<const std::vector<ActivePolicy>> policies)
    : policies_(std::move(policies)) {
  for (std::size_t i = 0; i < policies_->size(); ++i) {
    file(i, (*policies_)[i].document.match);
  }
}

// What fewest other policies demand comes first: an exact namespace, then a label.
void MatchIndex::file(std::size_t position, const WorkloadMatch& match) {
  if (all_exact(match.namespaces)) {
    for (const std::string& name_space : match.namespaces) {
      by_namespace_[name_space].push_back(position);
    }
  } else if (!match.labels.empty()) {
    const auto& [key, value] = *match.labels.begin();
    by_label_[label_text(key, value)].push_back(position);
  } else if (all_begin(match.namespaces)) {
    for (const std::string& pattern : match.namespaces) {
      const std::string_view prefix = prefix_of(pattern);
      by_prefix_[std::string(prefix)].push_back(position);
      prefix_lengths_.insert(prefix.size());
    }
  } else if (all_exact(match.resources)) {
    for (const std::string& resource : match.resources) {
      by_resource_[resource].push_back(position);
    }
  } else {
    others_.push_back(position);
  }
}

std::vector<std::size_t> MatchIndex::candidates(const Workload& workload) const {
  Positions found = others_;
  const auto add = [&found](const ByText& filed, std::string_view text) {
    if (const auto it = filed.find(text); it != filed.end()) {
      found.insert(found.end(), it->second.begin(), it->second.end());
    }
  };
  add(by_namespace_, workload.name_space);
  for (const auto& [key, value] : workload.labels) {
    add(by_label_, label_text(key, value));
  }
  for (const std::size_t length : prefix_lengths_) {
    if (length <= workload.name_space.size()) {
      add(by_prefix_, std::string_view(workload.name_space).substr(0, length));
    }
  }
  for (const std::string& resource : workload.resources) {
    add(by_resource_, resource);
  }
  std::ranges::sort(found);
  const auto repeated = std::ranges::unique(found);
  found.erase(repeated.begin(), repeated.end());
  return found;
}

std::vector<ActivePolicy> MatchIndex::matching(const Workload& workload,
                                               DecisionPoint point) const {
  std::vector<ActivePolicy> matched;
  for (const std::size_t position : candidates(workload)) {
    const ActivePolicy& policy = (*policies_)[position];
    if (matches(policy.document.match, workload, point)) {
      matched.push_back(policy);
    }
  }
  return matched;
}

}  // namespace assay::policy
