// SPDX-License-Identifier: Apache-2.0
// Findings that the explanation of a lineage condition names. Internal to policy/lineage.
#pragma once

#include <cstdint>
#include <iterator>
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

  // Keeps the smallest findings, and of the others a number each: a hostile lineage has millions.
  void add(Json finding) {
    findings_.insert(std::move(finding));
    if (findings_.size() > kMaxShown) {
      others_.insert(number_of(*findings_.rbegin()));
      findings_.erase(std::prev(findings_.end()));
    }
  }
  [[nodiscard]] bool empty() const { return findings_.empty(); }
  // Sets actual[member] to the first kMaxShown findings, if there are any.
  void put(Json& actual, const char* member) const {
    if (findings_.empty()) {
      return;
    }
    Json list = Json::array();
    for (const Json& finding : findings_) {
      list.push_back(finding);
    }
    if (!others_.empty()) {
      actual[std::string(member) + "_count"] = findings_.size() + others_.size();
    }
    actual[member] = std::move(list);
  }

 private:
  // FNV-1a. The same in every build, since replays compare explanations; two findings with one
  // number make the count smaller, and nothing else.
  static std::uint64_t number_of(const Json& finding) {
    std::uint64_t number = 14'695'981'039'346'656'037U;
    for (const char byte : finding.dump()) {
      number = (number ^ static_cast<std::uint8_t>(byte)) * 1'099'511'628'211U;
    }
    return number;
  }

  std::set<Json> findings_;  // the kMaxShown smallest
  std::set<std::uint64_t> others_;
};

}  // namespace assay::policy
