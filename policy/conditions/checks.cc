// SPDX-License-Identifier: Apache-2.0
#include "policy/conditions/checks.h"

namespace assay::policy {
void Checks::conclude(ConditionResult& result) const {
  if (!failed_.empty()) {
    result.outcome = Outcome::kFail;
    result.code = failed_.front();
    Json codes = Json::array();
    for (const Reason code : failed_) {
      codes.push_back(info(code).code);
    }
    result.actual[kFailedMember] = std::move(codes);
    if (undecided_ || !unknown_.empty()) {
      result.actual[kUndecidedMember] = true;
    }
  } else if (undecided_) {
    result.outcome = Outcome::kError;
    result.code = Reason::kConditionUndecided;
  } else if (!unknown_.empty()) {
    result.outcome = Outcome::kError;
    result.code = unknown_.front();
  } else {
    result.outcome = Outcome::kPass;
    result.code.reset();
  }
}

}  // namespace assay::policy
