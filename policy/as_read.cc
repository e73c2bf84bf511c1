// SPDX-License-Identifier: Apache-2.0
#include "policy/as_read.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include "policy/accelerator.h"

namespace assay::policy {
namespace {

// What one policy looks for among names: it asks whether there is one that holds.
using Question = std::function<bool(std::string_view)>;

std::vector<Question> questions_about_resources(std::span<const ActivePolicy> policies) {
  std::vector<Question> questions;
  for (const ActivePolicy& policy : policies) {
    const WorkloadMatch& match = policy.document.match;
    if (!match.resources.empty()) {
      questions.emplace_back([&match](std::string_view name) { return asks_for(match, name); });
    }
    if (match.accelerators) {
      questions.emplace_back(
          [&match](std::string_view name) { return is_accelerator(match, name); });
    }
  }
  return questions;
}

std::vector<Question> questions_about_ways(std::span<const ActivePolicy> policies) {
  std::vector<Question> questions;
  for (const ActivePolicy& policy : policies) {
    const WorkloadMatch& match = policy.document.match;
    if (match.accelerators) {
      questions.emplace_back([&match](std::string_view way) { return !is_harmless(match, way); });
    }
  }
  return questions;
}

// Keeps, in order, the first `most` names that answer a question, and of the others those that are
// the first to answer one. Every question has the answer that it had.
void keep_answers(std::vector<std::string>& names, const std::vector<Question>& questions,
                  std::size_t most) {
  std::vector<bool> answered(questions.size());
  std::vector<std::string> kept;
  for (std::string& name : names) {
    bool answers = false;
    bool first = false;
    for (std::size_t i = 0; i < questions.size(); ++i) {
      if (questions[i](name)) {
        answers = true;
        first = first || !answered[i];
        answered[i] = true;
      }
    }
    if (first || (answers && kept.size() < most)) {
      kept.push_back(std::move(name));
    }
  }
  names = std::move(kept);
}

}  // namespace

Workload as_read(Workload workload, std::span<const ActivePolicy> policies) {
  std::erase_if(workload.labels, [&](const auto& label) {
    return std::none_of(policies.begin(), policies.end(), [&](const ActivePolicy& policy) {
      return policy.document.match.labels.contains(label.first);
    });
  });
  keep_answers(workload.resources, questions_about_resources(policies), kMaxReadNames);
  keep_answers(workload.accelerators, questions_about_ways(policies), kMaxReadNames);
  const bool images = std::any_of(policies.begin(), policies.end(), [](const ActivePolicy& policy) {
    return !policy.document.images.empty() || !policy.document.fill_at_run.empty();
  });
  if (!images) {
    for (ContainerImage& one : workload.images) {
      one.image.clear();
    }
  }
  return workload;
}

}  // namespace assay::policy
