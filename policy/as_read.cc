// SPDX-License-Identifier: Apache-2.0
#include "policy/as_read.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include "policy/accelerator.h"
#include "policy/conditions.h"
#include "policy/glob.h"

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

// Everything that policies ask of who asked.
void collect(const std::vector<Condition>& conditions, RequestCondition& read, int depth) {
  const auto add = [](const std::vector<std::string>& from, std::vector<std::string>& to) {
    to.insert(to.end(), from.begin(), from.end());
  };
  for (const Condition& condition : conditions) {
    if (const auto* request = std::get_if<RequestCondition>(&condition.kind)) {
      add(request->users, read.users);
      add(request->groups, read.groups);
      add(request->service_accounts, read.service_accounts);
      add(request->principals, read.principals);
    } else if (const auto* parts = parts_of(condition);
               parts != nullptr && depth < kMaxConditionDepth) {
      collect(*parts, read, depth + 1);
    }
  }
}

// Of the groups, those that some pattern matches are enough.
void keep_read(Requester& requester, std::span<const ActivePolicy> policies) {
  RequestCondition read;
  for (const ActivePolicy& policy : policies) {
    collect(policy.document.require, read, 1);
  }
  if (read.users.empty()) {
    requester.user.reset();
  }
  if (read.service_accounts.empty()) {
    requester.service_account.reset();
  }
  if (read.principals.empty()) {
    requester.principal.reset();
  }
  if (read.groups.empty()) {
    requester.groups.reset();
  } else if (requester.groups) {
    std::erase_if(*requester.groups,
                  [&](const std::string& group) { return !any_glob_matches(read.groups, group); });
  }
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
  keep_read(workload.requester, policies);
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
