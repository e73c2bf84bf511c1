// SPDX-License-Identifier: Apache-2.0
#include "server/service/nodes/challenge.h"

namespace assay::server {

Result<Challenge> make_challenge(Services& services, ChallengePurpose purpose,
                                 const std::string& node, const std::string& job,
                                 Timestamp expires_at) {
  Challenge challenge{{}, audience(services), purpose, node, job, expires_at};
  ASSAY_TRY(services.random.fill(challenge.nonce));
  return challenge;
}

storage::ChallengeRow challenge_row(const Challenge& challenge, const std::string& principal) {
  return {.nonce = Bytes(challenge.nonce.begin(), challenge.nonce.end()),
          .principal = principal,
          .purpose = std::string(name(challenge.purpose)),
          .node = challenge.node,
          .job = challenge.job,
          .expires_at = challenge.expires_at,
          .used_at = {}};
}

namespace {

Result<Challenge> issue(Services& services, ChallengePurpose purpose, const std::string& node,
                        const Principal& actor) {
  ASSAY_ASSIGN(Challenge challenge,
               make_challenge(services, purpose, node, {},
                              services.clock.now() + services.nodes.challenge_life));
  ASSAY_ASSIGN(const auto room,
               services.node_quota.challenges.reserve(actor.name, 1, services.clock.now()));
  ASSAY_TRY(services.store.write([&](storage::Transaction& transaction) {
    return transaction.put_challenge(challenge_row(challenge, actor.name));
  }));
  room->keep();
  return challenge;
}

}  // namespace

Result<Challenge> issue_challenge(Services& services, const ChallengeRequest& request,
                                  const Principal& actor) {
  if (request.purpose != ChallengePurpose::kEnrol) {
    return fail(ErrorCode::kInvalidParameter,
                "challenges of this purpose come with a lease or a report's answer", "/purpose");
  }
  ASSAY_TRY(check_node_name(request.node));
  return issue(services, request.purpose, request.node, actor);
}

Result<Challenge> issue_statement_challenge(Services& services, const Principal& actor) {
  return issue(services, ChallengePurpose::kStatement, {}, actor);
}

Result<storage::ChallengeRow> spend_challenge(Services& services, const Nonce& nonce,
                                              const ChallengeUse& use, Timestamp now) {
  std::optional<storage::ChallengeRow> row;
  // The write succeeds for every known nonce, so that it is spent whatever it was made for.
  ASSAY_TRY(services.store.write([&](storage::Transaction& transaction) -> Status {
    row.reset();
    ASSAY_ASSIGN(row, transaction.consume_challenge(nonce));
    return {};
  }));
  ASSAY_TRY(check_use(*row, use, now));
  return *std::move(row);
}

}  // namespace assay::server
