// SPDX-License-Identifier: Apache-2.0
// Challenges in statements: they show that a statement was made after somebody asked for them, and
// each is good for one statement by its own principal, soon.
#include "server/service/facts/artifact_facts.h"
#include "tests/server/service/stage_fixture.h"

namespace assay::server::test {
namespace {

class StatementChallenge : public StageTest {
 protected:
  Nonce ask(const Principal& who) {
    const auto challenge = issue_statement_challenge(*services_, who);
    EXPECT_TRUE(challenge) << to_string(challenge.error());
    EXPECT_EQ(challenge->purpose, ChallengePurpose::kStatement);
    return challenge->nonce;
  }
  Bytes training(const std::string& nonce, const std::string& comment = "fresh") {
    return statement_envelope(
        lifecycle("train", trained_, {corpus_}, comment, Json{{"challenge", nonce}}), {&trainer_});
  }
  Result<Accepted> send(const Nonce& nonce, const Principal& who,
                        const std::string& comment = "fresh") {
    return accept_attestation(*services_, training(text(nonce), comment), who);
  }
  std::optional<Timestamp> made_after(const StatementId& id) {
    const auto snapshot = store_->snapshot().value();
    const auto known = artifact_facts(*services_, *snapshot, id_of(trained_)).value();
    for (const policy::StatementFact& statement : known->facts.statements) {
      if (statement.id == id && !statement.evidence.empty()) {
        return statement.evidence[0].made_after;
      }
    }
    return std::nullopt;
  }

  Principal other_principal_{"another", {}, {}, {}};
};

TEST_F(StatementChallenge, BoundsTheAgeFromBelow) {
  const Timestamp issued = clock_.now();
  const Nonce nonce = ask(actor_);
  clock_.advance(std::chrono::seconds(60));
  const auto sent = send(nonce, actor_);
  ASSERT_TRUE(sent) << to_string(sent.error());
  EXPECT_EQ(sent->record["detail"]["challenge_issued_at"], to_rfc3339(issued));
  clock_.advance(std::chrono::seconds(30));
  ASSERT_TRUE(attest(sent->row.id));
  EXPECT_EQ(made_after(sent->row.id), issued);
  require_attested_training({{"made_within_seconds", 90}});
  EXPECT_EQ(reasons(), std::vector<Reason>());
  require_attested_training({{"made_within_seconds", 89}});
  EXPECT_EQ(reasons(), std::vector<Reason>{Reason::kStageEvidenceNotFresh});
}

TEST_F(StatementChallenge, IsGoodForOneStatement) {
  const Nonce nonce = ask(actor_);
  const auto first = send(nonce, actor_);
  ASSERT_TRUE(first);
  EXPECT_EQ(refusal(send(nonce, actor_, "replayed")), ErrorCode::kChallengeUsed);
  const auto again = send(nonce, actor_);
  ASSERT_TRUE(again) << "the same statement is stored already";
  EXPECT_FALSE(again->created);
  EXPECT_EQ(again->row.id, first->row.id);
}

TEST_F(StatementChallenge, OfSomebodyElse_IsRefused_AndStaysGood) {
  const Nonce nonce = ask(other_principal_);
  EXPECT_EQ(refusal(send(nonce, actor_)), ErrorCode::kChallengeMismatch);
  EXPECT_TRUE(send(nonce, other_principal_)) << "nobody else can spend it";
}

TEST_F(StatementChallenge, OfAnotherPurpose_IsRefused) {
  const auto enrolment =
      issue_challenge(*services_, {ChallengePurpose::kEnrol, "gpu-1"}, actor_).value();
  EXPECT_EQ(refusal(send(enrolment.nonce, actor_)), ErrorCode::kChallengeMismatch);
  const Nonce nonce = ask(worker_.principal);
  EXPECT_EQ(refusal(enrol_with(worker_, [&](Enrolment& one) { one.nonce = nonce; })),
            ErrorCode::kChallengeMismatch);
}

TEST_F(StatementChallenge, Unknown_IsRefused) {
  EXPECT_EQ(refusal(send(Nonce{}, actor_)), ErrorCode::kChallengeUnknown);
}

TEST_F(StatementChallenge, Late_IsRefused) {
  const Nonce nonce = ask(actor_);
  clock_.advance(services_->nodes.challenge_life);
  EXPECT_EQ(refusal(send(nonce, actor_)), ErrorCode::kChallengeExpired);
}

}  // namespace
}  // namespace assay::server::test
