// SPDX-License-Identifier: Apache-2.0
// Nonces. A nonce is bound to its requester and its purpose, and can be spent once. Presenting a
// challenge spends it, even if the request then fails.
#pragma once

#include <string>
#include <string_view>

#include "schemas/challenge.h"
#include "server/service/challenge_use.h"
#include "server/service/services.h"

namespace assay::server {

// Issues a fresh nonce to `actor`. Only challenges for enrolments can be requested. Errors:
// invalid-parameter for another purpose; limit-exceeded beyond kMaxChallengesAnHour.
[[nodiscard]] Result<Challenge> issue_challenge(Services& services, const ChallengeRequest& request,
                                                const Principal& actor);

// Issues a fresh nonce to `actor` for the member "freshness" of one lifecycle statement, which
// `actor` must send (documents/accept.h). Errors: limit-exceeded beyond kMaxChallengesAnHour.
[[nodiscard]] Result<Challenge> issue_statement_challenge(Services& services,
                                                          const Principal& actor);

// Makes a fresh nonce that is not stored yet.
[[nodiscard]] Result<Challenge> make_challenge(Services& services, ChallengePurpose purpose,
                                               const std::string& node, const std::string& job,
                                               Timestamp expires_at);
// Returns the row that stores `challenge` for `principal`.
[[nodiscard]] storage::ChallengeRow challenge_row(const Challenge& challenge,
                                                  const std::string& principal);

// Spends the nonce in a write of its own, so the nonce stays spent even if the request then fails.
// Returns the row of the nonce. Errors, in the order of the checks: challenge-unknown;
// challenge-used; challenge-mismatch; challenge-expired.
[[nodiscard]] Result<storage::ChallengeRow> spend_challenge(Services& services, const Nonce& nonce,
                                                            const ChallengeUse& use, Timestamp now);

}  // namespace assay::server
