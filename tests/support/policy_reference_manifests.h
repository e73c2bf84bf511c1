// SPDX-License-Identifier: Apache-2.0
// The second evaluator: which manifests of a lineage count, and which digests they join.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "policy/lineage.h"
#include "tests/support/policy_reference_case.h"

namespace assay::policy::reference {

// What counted statements call the digests of one round: their inputs, and their subjects.
struct Called {
  std::map<std::string, std::set<std::string>> inputs;
  std::map<std::string, std::set<std::string>> subjects;
};

class Manifests {
 public:
  // `before`: what was withdrawn is taken as if it had not been.
  Manifests(const Case& one_case, bool before);

  // Whether the manifest says what its digests are called.
  [[nodiscard]] Truth names(const LineageStatement& manifest) const;
  // Whether it is to be believed that its digests are one thing.
  [[nodiscard]] Truth joins(const LineageStatement& manifest) const;
  // The digests that are one thing with `digest`.
  [[nodiscard]] std::set<std::string> one_with(const std::string& digest) const;
  // Digests that are named with one of `digests`, at any distance.
  [[nodiscard]] std::set<std::string> beside(std::set<std::string> digests) const;
  // Takes the manifests away whose publishers may not speak of these names; false when there were
  // none.
  bool drop(const Called& called);

 private:
  [[nodiscard]] Truth believed(const LineageStatement& one, const std::set<std::string>& names);

  const Case& case_;
  bool before_;
  PolicyDocument policy_;
  std::map<const LineageStatement*, std::pair<Truth, Truth>> counts_;  // names, joins
};

}  // namespace assay::policy::reference
