// SPDX-License-Identifier: Apache-2.0
// A workload without what no policy reads.
#include "policy/as_read.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include "policy/accelerator.h"
#include "policy/conditions.h"
#include "policy/filler.h"
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

bool reads_images(const PolicyDocument& policy) {
  return !policy.images.empty() || !policy.fill_at_run.empty();
}

// Of what a container runs, the lists that some policy compares.
void keep_read(ContainerImage& container, std::span<const ActivePolicy> policies) {
  BoundLists read;
  for (const ActivePolicy& policy : policies) {
    const BoundLists bound = bound_lists(policy.document, container.image);
    read.command = read.command || bound.command;
    read.args = read.args || bound.args;
  }
  if (!read.command) {
    container.command.reset();
  }
  if (!read.args) {
    container.args.reset();
  }
}

// Whether what the policy compares of the containers was kept. A list that was never known is none
// that was left out, and cannot be told from it.
bool has_lists(const PolicyDocument& policy, const Workload& read) {
  return std::ranges::all_of(read.images, [&](const ContainerImage& one) {
    const BoundLists bound = bound_lists(policy, one.image);
    return !one.init || ((!bound.command || one.command) && (!bound.args || one.args));
  });
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

RequestCondition asked_of_requesters(std::span<const ActivePolicy> policies) {
  RequestCondition read;
  for (const ActivePolicy& policy : policies) {
    collect(policy.document.require, read, 1);
  }
  return read;
}

// Whether what `wanted` asks of who asked was kept for the sake of `read`.
bool has_read(const RequestCondition& wanted, const RequestCondition& read) {
  const auto kept = [](const auto& wants, const auto& reads) {
    return wants.empty() || !reads.empty();
  };
  return kept(wanted.users, read.users) && kept(wanted.service_accounts, read.service_accounts) &&
         kept(wanted.principals, read.principals) &&
         std::ranges::all_of(wanted.groups, [&](const std::string& pattern) {
           return std::ranges::find(read.groups, pattern) != read.groups.end();
         });
}

// Of the groups, those that some pattern matches are enough.
void keep_read(Requester& requester, std::span<const ActivePolicy> policies) {
  const RequestCondition read = asked_of_requesters(policies);
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

// Which of the things that a match looks at are known of a workload that was read under other
// policies.
class Kept {
 public:
  Kept(const Workload& read, std::span<const ActivePolicy> policies)
      : read_(read), policies_(policies) {}

  [[nodiscard]] bool label(const std::string& key) const {
    return any([&](const WorkloadMatch& match) { return match.labels.contains(key); });
  }
  // A name that was kept is a true one, so one that answers is enough.
  [[nodiscard]] bool resources(const WorkloadMatch& wanted) const {
    return std::ranges::any_of(read_.resources,
                               [&](const auto& name) { return asks_for(wanted, name); }) ||
           any([&](const WorkloadMatch& match) { return match.resources == wanted.resources; });
  }
  [[nodiscard]] bool accelerators(const WorkloadMatch& wanted) const {
    return std::ranges::any_of(read_.resources,
                               [&](const auto& name) { return is_accelerator(wanted, name); }) ||
           std::ranges::any_of(read_.accelerators,
                               [&](const auto& way) { return !is_harmless(wanted, way); }) ||
           any([&](const WorkloadMatch& match) {
             return match.accelerators && match.harmless_resources == wanted.harmless_resources;
           });
  }

 private:
  template <typename Holds>
  [[nodiscard]] bool any(const Holds& holds) const {
    return std::ranges::any_of(
        policies_, [&](const ActivePolicy& policy) { return holds(policy.document.match); });
  }

  const Workload& read_;
  std::span<const ActivePolicy> policies_;
};

}  // namespace

bool reads_enough(const PolicyDocument& policy, const Workload& read,
                  std::span<const ActivePolicy> policies) {
  const WorkloadMatch& match = policy.match;
  const WorkloadMatch place{.namespaces = match.namespaces,
                            .exclude_namespaces = match.exclude_namespaces};
  if (!matches(place, read)) {
    return true;  // not about this workload, whatever else it has
  }
  RequestCondition wanted;
  collect(policy.require, wanted, 1);
  if (!has_read(wanted, asked_of_requesters(policies))) {
    return false;
  }
  const Kept kept(read, policies);
  for (const auto& [key, value] : match.labels) {
    if (!kept.label(key)) {
      return false;
    }
    if (const auto own = read.labels.find(key); own == read.labels.end() || own->second != value) {
      return true;
    }
  }
  return has_lists(policy, read) && (match.resources.empty() || kept.resources(match)) &&
         (!match.accelerators || kept.accelerators(match)) &&
         (!reads_images(policy) || !read.pod || std::ranges::any_of(policies, [](const auto& one) {
           return reads_images(one.document);
         }));
}

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
    return reads_images(policy.document);
  });
  for (ContainerImage& one : workload.images) {
    keep_read(one, policies);
    if (!images) {
      one.image.clear();
    }
  }
  return workload;
}

}  // namespace assay::policy
