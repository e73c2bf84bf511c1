// SPDX-License-Identifier: Apache-2.0
#include "server/service/challenge_use.h"

namespace assay::server {

Status check_use(const storage::ChallengeRow& row, const ChallengeUse& use, Timestamp now) {
  if (row.used_at) {
    return fail(ErrorCode::kChallengeUsed, "the nonce has been used; ask for a new challenge");
  }
  if (row.principal != use.principal || row.purpose != name(use.purpose) || row.node != use.node ||
      row.job != use.job) {
    return fail(ErrorCode::kChallengeMismatch,
                "the nonce was made for another principal, purpose, node or job");
  }
  if (row.expires_at <= now) {
    return fail(ErrorCode::kChallengeExpired,
                "the nonce is too old; ask for a new challenge and answer it at once");
  }
  return {};
}

}  // namespace assay::server
