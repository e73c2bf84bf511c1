// SPDX-License-Identifier: Apache-2.0
// Which evidence would be refused if a TCB level were lost, or an advisory not accepted any more,
// as the stored appraisals of the evidence say.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "schemas/impact_request.h"
#include "storage/store.h"

namespace assay::server {

// What an appraisal found of the platform that made the evidence.
struct FoundTcb {
  bool known = false;  // false: the appraisal does not say, and the members below are unset
  std::string fmspc;   // lowercase hex
  Timestamp date;      // the oldest of the dates of the levels of platform, module and enclave
  std::vector<std::string> advisories;  // of these levels
};

// Reads each appraisal once. The snapshot must outlive the object. `check` is called before one is
// read; its error ends the reading.
class TcbLevels {
 public:
  TcbLevels(storage::Snapshot& snapshot, std::function<Status()> check)
      : snapshot_(snapshot), check_(std::move(check)) {}

  // Returns what a stored appraisal found. An appraisal by another verifier than that of TDX has
  // nothing of it, nor has one that cannot be read. Errors: those of `check`; data-loss; storage.
  [[nodiscard]] Result<FoundTcb> of(const DocumentId& appraisal);

 private:
  static constexpr std::size_t kMaxKept = 16'384;

  storage::Snapshot& snapshot_;
  std::function<Status()> check_;
  std::map<DocumentId, FoundTcb> known_;
};

// Returns true when the hypothesis is about TCB levels or advisories.
[[nodiscard]] bool asks_for_levels(const Hypothesis& hypothesis);

// Returns the error code that accepted evidence would have under the hypothesis; empty: it would be
// accepted. A level that is lost takes the older levels of its platforms with it. `tcb.known` is
// true.
[[nodiscard]] std::string lost_by_level(const Hypothesis& hypothesis, const FoundTcb& tcb);

}  // namespace assay::server
