// SPDX-License-Identifier: Apache-2.0
// Whether what stored decisions rest on is still there: the case of each, the parts that it names
// (case_file.h, case_parts.h), and its results.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "server/service/upkeep/check_store.h"

namespace assay::server {

// Looks at each document once, however many decisions share it.
class CaseChecker {
 public:
  explicit CaseChecker(storage::Snapshot& snapshot) : snapshot_(snapshot) {}

  // Notes what is missing, damaged or unreadable of one decision. An error only when the store
  // cannot be read.
  [[nodiscard]] Status check(const storage::DecisionRow& row);
  [[nodiscard]] std::vector<Finding> take() { return std::move(findings_); }

 private:
  // The document as JSON; null when it was looked at before, or was noted.
  [[nodiscard]] Result<Json> open(const Json& id);
  [[nodiscard]] Status envelope(const DocumentId& id);
  [[nodiscard]] Status walk_case(const Json& id);
  [[nodiscard]] Status walk_list(const Json& id);
  void note(std::string id, const std::string& what);

  storage::Snapshot& snapshot_;
  std::set<DocumentId> seen_;
  std::vector<Finding> findings_;
  std::string decision_;  // the one that is looked at
};

}  // namespace assay::server
