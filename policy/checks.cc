// SPDX-License-Identifier: Apache-2.0
#include "policy/checks.h"

#include <limits>

namespace assay::policy {
namespace {

std::uint64_t age_milliseconds(Timestamp then, Timestamp now) {
  return then > now ? 0 : static_cast<std::uint64_t>((now - then).count());
}

}  // namespace

std::uint64_t age_seconds(Timestamp then, Timestamp now) {
  return age_milliseconds(then, now) / 1000;
}

bool is_older(Timestamp then, std::uint64_t max_age_seconds, Timestamp now) {
  constexpr std::uint64_t kLongest = std::numeric_limits<std::int64_t>::max() / 1000;
  return max_age_seconds <= kLongest && age_milliseconds(then, now) > max_age_seconds * 1000;
}

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
