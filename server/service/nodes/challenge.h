// SPDX-License-Identifier: Apache-2.0
// Nonces: made, bound to who asked and for what, spent once. A challenge that was presented is
// spent, whatever comes after.
#pragma once

#include <string>
#include <string_view>

#include "schemas/challenge.h"
#include "server/service/services.h"

namespace assay::server {

// A fresh nonce for `actor`. Only enrolments can be asked for: invalid-parameter otherwise.
[[nodiscard]] Result<Challenge> issue_challenge(Services& services, const ChallengeRequest& request,
                                                const Principal& actor);

// A nonce nobody has seen; not stored yet.
[[nodiscard]] Result<Challenge> make_challenge(Services& services, ChallengePurpose purpose,
                                               const std::string& node, const std::string& job,
                                               Timestamp expires_at);
[[nodiscard]] storage::ChallengeRow challenge_row(const Challenge& challenge,
                                                  const std::string& principal);

// Who presents a nonce, and for what.
struct ChallengeUse {
  std::string_view principal;
  ChallengePurpose purpose;
  std::string_view node;
  std::string_view job;
};
// Spends the nonce in a write of its own, whatever comes after. Returns its row. Errors, in this
// order: challenge-unknown, challenge-used, challenge-mismatch, challenge-expired.
[[nodiscard]] Result<storage::ChallengeRow> spend_challenge(Services& services, const Nonce& nonce,
                                                            const ChallengeUse& use, Timestamp now);

}  // namespace assay::server
