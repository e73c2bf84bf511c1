// SPDX-License-Identifier: Apache-2.0
// Whose manifests say what a name or a mounted place stands for: those of publishers whom a policy
// believes that selects the workload.
#include "server/service/references/resolve.h"

#include "attestation/dsse.h"
#include "schemas/core/sha.h"
#include "schemas/log_record.h"
#include "server/service/documents/accept.h"
#include "server/service/governance/policies.h"
#include "server/service/governance/trust.h"
#include "tests/server/service/fixture.h"
#include "tests/support/stepping_clock.h"

namespace assay::server::test {
namespace {

constexpr const char* kPlace = "pvc://inference/m";

policy::ActivePolicy policy_by(const std::vector<std::string>& identities,
                               PolicyMode mode = PolicyMode::kEnforce, std::uint64_t at_least = 1) {
  PolicyDocument document{};
  document.name = "by-" + std::to_string(identities.size());
  document.version = 1;
  document.mode = mode;
  document.require.push_back({"published", ManifestCondition{{at_least, identities}}});
  return {StatementId(sha256(as_bytes(document.name))), std::move(document)};
}

class Resolve : public ServiceTest {
 protected:
  // "mallory" publishes for another namespace of names and says that another tree lies there.
  Resolve() {
    EXPECT_TRUE(
        apply_trust_change(*services_,
                           trust_change(1, {AddKey{mallory_.record}, AddKey{second_.record}},
                                        {&operator1_, &operator2_}),
                           actor_));
    workload_.name_space = "inference";
    workload_.pod = true;
    mount(kPlace);
    claim(model_, kPlace, {&publisher_});
  }

  void mount(const std::string& location) {
    workload_.mounts.push_back({.container = "server",
                                .path = "/models/" + std::to_string(workload_.mounts.size()),
                                .volume = location,
                                .source = "persistentVolumeClaim",
                                .location = location,
                                .read_only = true});
  }
  void claim(Manifest manifest, const std::string& place,
             std::initializer_list<const TestKey*> keys) {
    manifest.locations = {place};
    const auto accepted = accept_manifest(*services_, signed_manifest(manifest, keys), actor_);
    ASSERT_TRUE(accepted) << to_string(accepted.error());
    if (!known_row_) {
      known_row_ = accepted->row;
    }
  }
  // Rows of `count` manifests of the name of model_: of this artifact, or each of another.
  void flood(const TestKey& key, std::size_t count, std::optional<ArtifactId> artifact = {},
             const std::string& place = kPlace) {
    const auto work = [&](storage::Transaction& transaction) -> Status {
      for (std::size_t i = 0; i < count; ++i) {
        const Digest digest = sha256(as_bytes(key.record.id.text() + place + std::to_string(i)));
        ASSAY_ASSIGN(const DocumentId document,
                     transaction.put_document("application/json", as_bytes(digest.text())));
        LogRecord record{.type = std::string(event::kManifestAccepted),
                         .time = transaction.now(),
                         .actor = "t",
                         .subjects = {},
                         .documents = {document},
                         .detail = Json::object()};
        ASSAY_ASSIGN(const LeafIndex index, transaction.append(std::move(record)));
        storage::StatementRow row = *known_row_;
        row.id = StatementId(digest);
        row.subjects = {artifact.value_or(ArtifactId(digest)).text()};
        row.locations = {place};
        row.signers = {{key.record.id, transaction.now(), index}};
        row.envelopes = {document};
        row.log_index = index;
        row.accepted_at = transaction.now();
        ASSAY_TRY(transaction.put_statement(row));
      }
      return {};
    };
    const auto written = store_->write(work);
    ASSERT_TRUE(written) << to_string(written.error());
  }
  ResolvedReference resolved(const std::vector<std::string>& references = {}) {
    const auto found =
        resolve(*services_, *store_->snapshot().value(),
                {references, workload_, policies_, DecisionPoint::kCreate, clock_.now()});
    EXPECT_TRUE(found) << to_string(found.error());
    return *found;
  }
  // The code of the one precondition that fails.
  std::optional<Reason> refusal_of(const std::vector<std::string>& references = {}) {
    const ResolvedReference found = resolved(references);
    EXPECT_EQ(found.preconditions.size(), 1U);
    return found.preconditions.at(0).code;
  }
  // The one artifact that is meant.
  std::string artifact(const std::vector<std::string>& references = {}) {
    const ResolvedReference found = resolved(references);
    return found.models.size() == 1 && !found.preconditions.at(0).code
               ? found.models[0].artifact.text()
               : std::to_string(found.models.size()) + " models";
  }

  TestKey mallory_ =
      make_key(KeyPurpose::kPublisher, "mallory", {publisher_role("evil"), publisher_role("acme")});
  TestKey second_ = make_key(KeyPurpose::kPublisher, "second", {publisher_role()});
  Manifest model_ = manifest("m");
  Manifest evil_ = manifest("evil", "evil/model");
  std::optional<storage::StatementRow> known_row_;  // of model_ at kPlace
  policy::Workload workload_;
  std::vector<policy::ActivePolicy> policies_ = {policy_by({"release"})};
};

TEST_F(Resolve, PlaceThatAnUnlistedPublisherClaims_IsStillTheListedOnes) {
  claim(evil_, kPlace, {&mallory_});
  EXPECT_EQ(artifact(), id_of(model_).text());
  policies_ = {policy_by({"release", "mallory"})};
  EXPECT_EQ(refusal_of(), Reason::kModelReferenceAmbiguous) << "the policy believes both";
  policies_ = {policy_by({"release"}), policy_by({"mallory", "x"})};
  EXPECT_EQ(refusal_of(), Reason::kModelReferenceAmbiguous) << "a policy believes each";
}

TEST_F(Resolve, NameThatAnUnlistedPublisherGivesAway_IsStillTheListedOnes) {
  claim(manifest("evil"), "pvc://inference/evil", {&mallory_});
  workload_.mounts.clear();
  EXPECT_EQ(artifact({"acme/demo"}), id_of(model_).text());
  policies_.clear();
  EXPECT_EQ(refusal_of({"acme/demo"}), Reason::kModelReferenceAmbiguous);
}

TEST_F(Resolve, MorePlacesThanAreLookedUp_AreRefused) {
  for (int i = 1; i < 64; ++i) {
    mount("pvc://inference/other-" + std::to_string(i));
  }
  EXPECT_EQ(artifact(), id_of(model_).text());
  mount("pvc://inference/one-more");
  EXPECT_EQ(refusal_of(), Reason::kLimitExceeded);
}

// A denial that lists every claim would be as long as what anybody publishes.
TEST_F(Resolve, ManyArtifactsOfOneName_AreCountedAndTheFirstShown) {
  flood(publisher_, 19);
  const ResolvedReference found = resolved({"acme/demo"});
  ASSERT_EQ(found.preconditions.at(0).code, Reason::kModelReferenceAmbiguous);
  EXPECT_EQ(found.preconditions[0].actual.size(), 17U);
  EXPECT_EQ(found.preconditions[0].actual.back(), "and 4 more");
}

// A baseline believes anybody, a strict policy beside it only the listed publisher.
TEST_F(Resolve, StrangerWhomOnlyOneOfTwoPoliciesBelieves_MakesNothingAmbiguous) {
  claim(evil_, kPlace, {&mallory_});
  claim(manifest("evil"), "pvc://inference/evil", {&mallory_});
  for (const bool strict_first : {true, false}) {
    policies_ = {policy_by({}), policy_by({"release"})};
    if (strict_first) {
      std::swap(policies_[0], policies_[1]);
    }
    EXPECT_EQ(artifact(), id_of(model_).text());
    EXPECT_EQ(artifact({"acme/demo"}), id_of(model_).text());
  }
  policies_ = {policy_by({})};
  EXPECT_EQ(refusal_of(), Reason::kModelReferenceAmbiguous) << "one that believes both";
}

// What one policy hears from one statement, another may hear from the next.
TEST_F(Resolve, TwoStatementsAboutOneArtifact_MeetTwoPoliciesTogether) {
  claim(model_, kPlace, {&second_});
  claim(evil_, kPlace, {&mallory_});
  policies_ = {policy_by({"release"}), policy_by({"second", "mallory"})};
  EXPECT_EQ(artifact(), id_of(model_).text());
}

// One of two publishers whom the policy wants together is nobody.
TEST_F(Resolve, SignersOfOneManifestHaveToMeetTheConditionThemselves) {
  claim(model_, "pvc://inference/both", {&publisher_, &second_});
  claim(evil_, "pvc://inference/both", {&mallory_});
  mount("pvc://inference/both");
  policies_ = {policy_by({"release", "second"}, PolicyMode::kEnforce, 2)};
  const ResolvedReference found = resolved();
  ASSERT_EQ(found.models.size(), 1U);
  EXPECT_EQ(found.models[0].artifact, id_of(model_));
  EXPECT_EQ(found.preconditions.size(), 1U) << "nobody else is heard";
}

// What the policy lets be mounted beside the model does not become one by a stranger's word.
TEST_F(Resolve, OtherVolumeThatAnUnlistedPublisherClaims_IsNoModel) {
  claim(evil_, "pvc://inference/cache", {&mallory_});
  mount("pvc://inference/cache");
  EXPECT_EQ(artifact(), id_of(model_).text());
}

// The conditions then say who is missing.
TEST_F(Resolve, NobodyWhoIsBelieved_KeepsTheOneThatIsTrusted) {
  policies_ = {policy_by({"somebody"})};
  EXPECT_EQ(artifact(), id_of(model_).text());
  EXPECT_EQ(artifact({"acme/demo"}), id_of(model_).text());
  claim(evil_, kPlace, {&mallory_});
  EXPECT_EQ(refusal_of(), Reason::kModelReferenceAmbiguous);
}

TEST_F(Resolve, EnforcePoliciesAreAsked_WarnOnesOnlyAlone) {
  claim(evil_, kPlace, {&mallory_});
  policies_ = {policy_by({"mallory"}, PolicyMode::kWarn), policy_by({"release", "x"})};
  EXPECT_EQ(artifact(), id_of(model_).text());
  policies_.pop_back();
  EXPECT_EQ(artifact(), id_of(evil_).text());
  policies_[0].document.mode = PolicyMode::kShadow;
  EXPECT_EQ(refusal_of(), Reason::kModelReferenceAmbiguous) << "nobody is asked";
}

TEST_F(Resolve, OnlyPoliciesThatSelectTheWorkload_AreAsked) {
  claim(evil_, kPlace, {&mallory_});
  policies_.push_back(policy_by({"mallory", "x"}));
  policies_.back().document.match.namespaces = {"elsewhere"};
  EXPECT_EQ(artifact(), id_of(model_).text());
}

TEST_F(Resolve, PolicyWithoutManifestCondition_IsNotAsked) {
  claim(evil_, kPlace, {&mallory_});
  policies_.push_back(policy_by({}));
  policies_.back().document.require = {{"size", ParametersCondition{}}};
  EXPECT_EQ(artifact(), id_of(model_).text());
  policies_.erase(policies_.begin());
  EXPECT_EQ(refusal_of(), Reason::kModelReferenceAmbiguous);
}

// A directory above the place is meant only where a policy binds what lies inside.
TEST_F(Resolve, PlaceInsideOfALocation_CountsWithMountsWithin) {
  workload_.mounts.clear();
  mount("pvc://inference/hub/v1");
  claim(model_, "pvc://inference/hub", {&publisher_});
  claim(evil_, "pvc://inference/hub/v1", {&mallory_});
  policies_[0].document.mounts = MountRule::kWithin;
  EXPECT_EQ(artifact(), id_of(model_).text());
  // Beside a model that is mounted exactly, the other directory is none.
  mount(kPlace);
  EXPECT_EQ(artifact(), id_of(model_).text());
  claim(manifest("other"), "pvc://inference/cache", {&publisher_});
  mount("pvc://inference/cache/x");
  EXPECT_EQ(resolved().models.size(), 2U);
  policies_[0].document.mounts = MountRule::kExact;
  EXPECT_EQ(artifact(), id_of(model_).text());
}

// Signed by nobody whose signature counts: not heard at all.
TEST_F(Resolve, RevokedPublisher_IsNotHeard) {
  claim(evil_, kPlace, {&mallory_});
  policies_.clear();
  ASSERT_TRUE(apply_trust_change(
      *services_,
      trust_change(2, {RevokeKey{mallory_.record.id, "stolen"}}, {&operator1_, &operator2_}),
      actor_));
  EXPECT_EQ(artifact(), id_of(model_).text());
}

// Whatever a stranger signs, under whatever number of keys and identities.
TEST_F(Resolve, FloodOfAnUnlistedPublisher_StopsNobodyWhoIsListed) {
  flood(mallory_, kMaxManifestsHeard + 1);
  EXPECT_EQ(artifact({"acme/demo"}), id_of(model_).text());
  EXPECT_EQ(artifact(), id_of(model_).text());
}

// Without a policy that lists somebody a flood is a matter for the operators: they revoke its keys.
TEST_F(Resolve, FloodWhereEverybodyIsBelieved_EndsWhenItsKeyIsRevoked) {
  flood(mallory_, kMaxManifestsHeard + 1);
  policies_.clear();
  EXPECT_EQ(refusal_of({"acme/demo"}), Reason::kLimitExceeded);
  EXPECT_EQ(refusal_of(), Reason::kLimitExceeded);
  ASSERT_TRUE(apply_trust_change(
      *services_,
      trust_change(2, {RevokeKey{mallory_.record.id, "floods"}}, {&operator1_, &operator2_}),
      actor_));
  EXPECT_EQ(artifact({"acme/demo"}), id_of(model_).text());
  EXPECT_EQ(artifact(), id_of(model_).text());
}

TEST_F(Resolve, WhatIsBelieved_CountsUpToTheLimitAndNotOnePast) {
  flood(publisher_, kMaxManifestsHeard - 1, id_of(model_));
  EXPECT_EQ(artifact({"acme/demo"}), id_of(model_).text());
  EXPECT_EQ(artifact(), id_of(model_).text());
  flood(publisher_, 1, id_of(model_), "pvc://inference/m/below");
  EXPECT_EQ(refusal_of({"acme/demo"}), Reason::kLimitExceeded);
  EXPECT_EQ(artifact({id_of(model_).text()}), id_of(model_).text()) << "named by its id";
  EXPECT_EQ(artifact(), id_of(model_).text()) << "the other one is not at the place";
  flood(publisher_, 1, id_of(model_), "pvc://inference");
  EXPECT_EQ(refusal_of(), Reason::kLimitExceeded);
}

TEST_F(Resolve, Deadline_IsLookedAtForEachStatement) {
  constexpr std::size_t kOthers = 99;
  flood(publisher_, kOthers, id_of(model_));
  const auto resolved_by = [&](const std::vector<std::string>& references, std::size_t steps) {
    const SteppingClock clock(clock_.now());
    Services services{*store_, *service_key_, clock, random_, "example.com/log"};
    return refusal(resolve(services, *store_->snapshot().value(),
                           {references, workload_, policies_, DecisionPoint::kCreate, clock_.now(),
                            clock_.now() + std::chrono::milliseconds(steps)}));
  };
  for (const std::vector<std::string>& references :
       {std::vector<std::string>{"acme/demo"}, std::vector<std::string>{}}) {
    EXPECT_EQ(resolved_by(references, 1), ErrorCode::kEvaluationDeadline);
    EXPECT_EQ(resolved_by(references, kOthers + 1), ErrorCode::kEvaluationDeadline);
    EXPECT_EQ(resolved_by(references, kOthers + 2), std::nullopt);
  }
  EXPECT_EQ(resolved_by({id_of(model_).text()}, 1), ErrorCode::kEvaluationDeadline);
  EXPECT_EQ(resolved_by({id_of(model_).text()}, 2), std::nullopt);
}

// Through a whole decision: the pod names no model, and nobody can take its place away.
TEST_F(Resolve, PodWithoutReference_IsAllowedWhateverAStrangerClaims) {
  store_good_model(model_);
  Json document = parse_json(attestation::parse_envelope(policy()).value().payload).value();
  document["require"][0]["manifest"]["signers"]["identities"] = {"release"};
  const auto stored = accept_policy(
      *services_, envelope(kPolicyPayloadType, canonical_json(document).value(), {&author_}),
      actor_);
  ASSERT_TRUE(stored) << to_string(stored.error());
  ASSERT_TRUE(apply_policy_approval(*services_, PolicyApproval::Action::kActivate, stored->row.id,
                                    policy_approval(stored->row.id, 1, policy_approver_), actor_));
  claim(evil_, kPlace, {&mallory_});
  DecisionRequest asked{.point = DecisionPoint::kCreate,
                        .models = {},
                        .workload = workload_,
                        .context = Json::object(),
                        .principal = "kube-apiserver"};
  asked.workload.resources = {"nvidia.com/gpu"};
  const auto answer = decide(*services_, asked);
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_TRUE(answer->decision->verdict.allowed) << to_json(answer->decision->verdict).dump(1);
  // The stranger's own place: the denial says that too few have signed.
  asked.workload.mounts[0].location = "pvc://inference/evil";
  claim(evil_, "pvc://inference/evil", {&mallory_});
  const auto denied = decide(*services_, asked);
  ASSERT_TRUE(denied) << to_string(denied.error());
  const auto& reasons = denied->decision->verdict.reasons;
  EXPECT_EQ(reasons.front(), Reason::kSignersInsufficient);
}

}  // namespace
}  // namespace assay::server::test
