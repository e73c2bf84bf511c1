// SPDX-License-Identifier: Apache-2.0
// Who may spend a nonce, and on what.
#pragma once

#include <string_view>

#include "schemas/challenge.h"
#include "storage/store.h"

namespace assay::server {

// Who presents a nonce, and for which purpose, node and job.
struct ChallengeUse {
  std::string_view principal;
  ChallengePurpose purpose;
  std::string_view node;
  std::string_view job;
};

// Checks a nonce that was spent just now; `row` is its row from before. Errors, in the order of the
// checks: challenge-used; challenge-mismatch; challenge-expired.
[[nodiscard]] Status check_use(const storage::ChallengeRow& row, const ChallengeUse& use,
                               Timestamp now);

}  // namespace assay::server
