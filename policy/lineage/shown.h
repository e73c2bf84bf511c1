// SPDX-License-Identifier: Apache-2.0
// Findings that the explanation of a lineage condition names. Internal to policy/lineage.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "schemas/core/json.h"

namespace assay::policy {

// Findings of one kind, in an order that does not depend on the order of the facts.
class Shown {
 public:
  // What an explanation names of each kind; of more it says how many there are.
  static constexpr std::size_t kMaxShown = 16;

  void add(Json finding) { findings_.insert(std::move(finding)); }
  [[nodiscard]] bool empty() const { return findings_.empty(); }
  // Sets actual[member] to the first kMaxShown findings, if there are any.
  void put(Json& actual, const char* member) const {
    if (findings_.empty()) {
      return;
    }
    Json list = Json::array();
    for (const Json& finding : findings_) {
      if (list.size() == kMaxShown) {
        actual[std::string(member) + "_count"] = findings_.size();
        break;
      }
      list.push_back(finding);
    }
    actual[member] = std::move(list);
  }

 private:
  std::set<Json> findings_;
};

}  // namespace assay::policy
