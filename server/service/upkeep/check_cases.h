// SPDX-License-Identifier: Apache-2.0
// Checks that the documents behind stored decisions still exist: the case of each decision
// (everything that the evaluation read, case_file.h), the parts that the case names (case_parts.h),
// and the results.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "server/service/upkeep/check_store.h"

namespace assay::server {

// Checks decisions. Looks at each document once, however many decisions share it.
class CaseChecker {
 public:
  explicit CaseChecker(storage::Snapshot& snapshot) : snapshot_(snapshot) {}

  // Adds a finding for each document of one decision that is missing, damaged or unreadable.
  // Returns an error only when the store cannot be read.
  [[nodiscard]] Status check(const storage::DecisionRow& row);
  // Returns the findings and removes them.
  [[nodiscard]] std::vector<Finding> take() { return std::move(findings_); }

 private:
  // Returns the document as JSON; null JSON when the document was looked at before, or has a
  // finding.
  [[nodiscard]] Result<Json> open(const Json& id);
  [[nodiscard]] Status envelope(const DocumentId& id);
  [[nodiscard]] Status walk_case(const Json& id);
  [[nodiscard]] Status walk_list(const Json& id);
  void note(std::string id, const std::string& what);

  storage::Snapshot& snapshot_;
  std::set<DocumentId> seen_;
  std::vector<Finding> findings_;
  std::string decision_;  // id of the decision being checked
};

}  // namespace assay::server
