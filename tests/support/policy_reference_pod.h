// SPDX-License-Identifier: Apache-2.0
// The second evaluator: what every policy demands of a pod. Everything is looked at twice, once as
// if no undecided signature counted and once as if all did.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "tests/support/policy_reference.h"

namespace assay::policy::reference {

// One signed statement about where a model lies.
struct Said {
  std::string name;
  std::vector<std::string> locations;
  std::set<std::string> surely;   // identities whose signature counts
  std::set<std::string> perhaps;  // those, and identities whose signature might count
  bool manifest = false;          // else a placement
};

// One model: the name under which it was asked for, and what is said about its own root.
struct Placed {
  std::string name;
  std::vector<Said> said;
  bool links = false;  // the artifact follows symbolic links
};

// The names of the model by manifests that the policy believes.
[[nodiscard]] std::set<std::string> believed_names(const PolicyDocument& policy,
                                                   const Placed& model);

// What a report has to be on, under one policy: locations of `models[index]` that the pod mounts,
// and volumes that are filled as the policy allows it.
[[nodiscard]] std::set<std::string> bound_places(const PolicyDocument& policy,
                                                 const Workload& workload,
                                                 const std::vector<Placed>& models,
                                                 std::size_t index);
[[nodiscard]] std::set<std::string> filled_volumes(const PolicyDocument& policy,
                                                   const Workload& workload);

// The implied conditions of the entry of `models[index]`, in order.
[[nodiscard]] std::vector<Answer> implied(const PolicyDocument& policy, const Workload& workload,
                                          const std::vector<Placed>& models, std::size_t index,
                                          DecisionPoint point);

}  // namespace assay::policy::reference
