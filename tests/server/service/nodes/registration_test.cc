// SPDX-License-Identifier: Apache-2.0
// What ties a node's name to a principal, a platform and a Kubernetes node.
#include "attestation/jws.h"
#include "schemas/core/sha.h"
#include "tests/server/service/node_fixture.h"

namespace assay::server::test {
namespace {

using std::chrono::hours;

constexpr const char* kIssuer = "https://kubernetes.default.svc";
constexpr const char* kSubject = "system:serviceaccount:assay-system:assay-worker";

class Registrations : public NodeTest {
 protected:
  std::unique_ptr<Signer> issuer_ =
      attestation::generate_key(SignatureAlgorithm::kEcdsaP256).value();

  Json jwks() const {
    const ByteView spki = issuer_->public_key();
    return {{"keys",
             {{{"kty", "EC"},
               {"kid", issuer_->key_id().text()},
               {"crv", "P-256"},
               {"x", base64url_encode(spki.last(64).first(32))},
               {"y", base64url_encode(spki.last(32))}}}}};
  }
  // pool-*, for "node-agent".
  Registration pool() const {
    return {"pool", "pool-*", "node-agent", {}, 1, ServiceAccountIssuer{kIssuer, kSubject, jwks()}};
  }
  std::string token(const std::string& node, const Change<Json>& change = {}) const {
    const auto now =
        std::chrono::duration_cast<std::chrono::seconds>(clock_.now().time_since_epoch()).count();
    Json claims = {
        {"iss", kIssuer}, {"sub", kSubject},   {"aud", {"example.com/log"}},
        {"iat", now},     {"exp", now + 3600}, {"kubernetes.io", {{"node", {{"name", node}}}}}};
    if (change) {
      change(claims);
    }
    return attestation::sign_jws(claims, *issuer_).value();
  }
  static Change<Enrolment> bearing(const std::string& token) {
    return [token](Enrolment& made) {
      made.identity_token = token;
      made.request.identity_token = sha256(as_bytes(token)).hex();
    };
  }
  // Enrols on the machine of `machine` whatever the node is called.
  Result<Enrolled> enrol_on(const std::string& machine, const Worker& worker,
                            const Change<Enrolment>& before = {}) {
    const auto name_machine = [&](Enrolment& made) {
      made.request.platform = platform_id(machine);
      if (before) {
        before(made);
      }
    };
    const auto prove_machine = [&](Enrolment& made) {
      made.evidence = evidence_for(enrolment_report_data(made.nonce, made.public_key, made.request),
                                   {}, machine);
    };
    return enrol_with(worker, name_machine, prove_machine);
  }
  Result<Enrolled> enrol_in_pool(const std::string& machine, const Worker& worker) {
    return enrol_on(machine, worker, bearing(token(worker.node)));
  }
  void expect_refused(const Result<Enrolled>& result, ErrorCode code, const std::string& node) {
    ASSERT_FALSE(result);
    EXPECT_EQ(info(result.error().code).code, info(code).code) << result.error().detail;
    EXPECT_EQ(node_row(node), std::nullopt) << "nothing is stored";
  }
  std::string state_of(const std::string& node) {
    return node_row(node).value()["state"].get<std::string>();
  }

  Worker third_ = make_worker("gpu-3", "node-agent-1");
  Worker pool_a_ = make_worker("pool-a", "node-agent");
  Worker pool_b_ = make_worker("pool-b", "node-agent");
};

// --- names and principals

TEST_F(Registrations, FreeName_WithoutRegistration_IsRefused) {
  enrol_ok(worker_);
  // A second genuine machine, and the token of a principal that may enrol another name.
  expect_refused(enrol_with(third_, {}), ErrorCode::kNodeNotRegistered, "gpu-3");
  register_node(registration_of(third_));
  const auto enrolled = enrol_with(third_, {});
  ASSERT_TRUE(enrolled) << to_string(enrolled.error());
  EXPECT_EQ(enrolled->node.registration, "gpu-3");
}

TEST_F(Registrations, FreeName_IsAnybodys_OnlyWhereThatIsConfigured) {
  services_->nodes.dangerous_allow_unregistered = true;
  EXPECT_TRUE(enrol_with(third_, {}));
  // A name that is registered stays that principal's.
  Worker intruder = make_worker(worker_.node, "intruder");
  expect_refused(enrol_with(intruder, {}), ErrorCode::kNodeNotRegistered, "gpu-1");
  EXPECT_TRUE(enrol_with(worker_, {}));
}

TEST_F(Registrations, NameOfAnotherPrincipal_IsRefused) {
  Worker intruder = make_worker(worker_.node, "intruder");
  expect_refused(enrol_with(intruder, {}), ErrorCode::kNodeNotRegistered, "gpu-1");
  enrol_ok(worker_);
}

TEST_F(Registrations, PlatformThatIsNotListed_IsRefused) {
  Registration registration = registration_of(third_);
  registration.platforms = {platform_id("elsewhere"), platform_id("gpu-3")};
  register_node(registration);
  expect_refused(enrol_on("another machine", third_), ErrorCode::kNodeNotRegistered, "gpu-3");
  EXPECT_TRUE(enrol_on("gpu-3", third_));
}

TEST_F(Registrations, UnmeasuredWorker_NeedsOneToo) {
  services_->nodes.dangerous_allow_unmeasured = true;
  const auto nowhere = [](Enrolment& made) { made.request.platform.clear(); };
  const auto bare = [](Enrolment& made) { made.evidence.reset(); };
  expect_refused(enrol_with(third_, nowhere, bare), ErrorCode::kNodeNotRegistered, "gpu-3");
  Registration registration = registration_of(third_);
  registration.platforms = {platform_id("gpu-3")};
  register_node(registration);
  expect_refused(enrol_with(third_, nowhere, bare), ErrorCode::kNodeNotRegistered, "gpu-3");
  registration.platforms.clear();
  register_node(registration);
  EXPECT_TRUE(enrol_with(third_, nowhere, bare));
}

// --- platforms

TEST_F(Registrations, OnePlatform_UnderTheNameOfAnotherRegistration_IsTaken) {
  register_node(registration_of(third_));
  enrol_ok(worker_);
  expect_refused(enrol_on("gpu-1", third_), ErrorCode::kPlatformTaken, "gpu-3");
  EXPECT_EQ(state_of("gpu-1"), "enrolled");
  // Renewing is no second name, and another machine is free.
  EXPECT_TRUE(enrol_with(worker_, {}));
  EXPECT_TRUE(enrol_on("gpu-3", third_));
}

TEST_F(Registrations, OnePlatform_IsFree_OnceItsNameIsOver) {
  register_node(registration_of(third_));
  enrol_ok(worker_);
  clock_.advance(hours(24));
  EXPECT_TRUE(enrol_on("gpu-1", third_));
  expect_refused(enrol_on("gpu-1", other_), ErrorCode::kPlatformTaken, "gpu-2");
  revoke("gpu-3");
  EXPECT_TRUE(enrol_on("gpu-1", other_));
}

TEST_F(Registrations, NewerNode_OfTheSameRegistration_EndsTheOlder) {
  register_node(pool());
  ASSERT_TRUE(enrol_in_pool("machine", pool_a_));
  store_model(model_);
  new_job(model_, "pool-a");
  const auto second = enrol_in_pool("machine", pool_b_);
  ASSERT_TRUE(second) << to_string(second.error());
  EXPECT_EQ(newest_records(3),
            (std::vector<std::string>{"node.ended", "evidence.appraised", "node.enrolled"}));
  EXPECT_EQ(state_of("pool-a"), "ended");
  EXPECT_EQ(state_of("pool-b"), "enrolled");
  EXPECT_EQ(refusal(lease_job(*services_, "pool-a", pool_a_.principal, {})),
            ErrorCode::kEnrolmentEnded);
  policy::Facts facts;
  policy::Workload workload;
  workload.node = "pool-a";
  ASSERT_TRUE(collect_node(*services_, *store_->snapshot().value(), {workload}, facts));
  EXPECT_EQ(facts.node->expires_at, clock_.now());
  EXPECT_FALSE(facts.node->worker_measured);
}

TEST_F(Registrations, NodesPerPlatform_AreAsManyAsItSays) {
  Registration two = pool();
  two.nodes_per_platform = 2;
  register_node(two);
  Worker pool_c = make_worker("pool-c", "node-agent");
  ASSERT_TRUE(enrol_in_pool("machine", pool_a_));
  clock_.advance(std::chrono::seconds(1));
  ASSERT_TRUE(enrol_in_pool("machine", pool_b_));
  EXPECT_EQ(state_of("pool-a"), "enrolled");
  clock_.advance(std::chrono::seconds(1));
  ASSERT_TRUE(enrol_in_pool("machine", pool_a_)) << "a renewal makes no room";
  EXPECT_EQ(state_of("pool-b"), "enrolled");
  clock_.advance(std::chrono::seconds(1));
  ASSERT_TRUE(enrol_in_pool("machine", pool_c));
  EXPECT_EQ(state_of("pool-a"), "enrolled");
  EXPECT_EQ(state_of("pool-b"), "ended") << "the oldest";
}

TEST_F(Registrations, NodeThatEnded_MayEnrolAgain) {
  register_node(pool());
  const auto first = signed_enrolment(
      enrolment(pool_a_, challenge(pool_a_).nonce, bearing(token("pool-a"))), *pool_a_.key);
  ASSERT_TRUE(enrol(*services_, first, pool_a_.principal));
  ASSERT_TRUE(enrol_in_pool("pool-a", pool_b_));
  EXPECT_EQ(refusal(enrol(*services_, first, pool_a_.principal)), ErrorCode::kChallengeUsed)
      << "the answer of before is over";
  ASSERT_TRUE(enrol_in_pool("pool-a", pool_a_));
  EXPECT_EQ(state_of("pool-a"), "enrolled");
  EXPECT_EQ(state_of("pool-b"), "ended");
}

// --- identity tokens

TEST_F(Registrations, Pattern_NeedsATokenOfThatNode) {
  register_node(pool());
  expect_refused(enrol_with(pool_a_, {}), ErrorCode::kIdentityTokenMissing, "pool-a");
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"another node", token("pool-b")},
      {"the pattern", token("pool-*")},
      {"another audience", token("pool-a", [](Json& c) { c["aud"] = {"https://kube"}; })},
      {"another issuer", token("pool-a", [](Json& c) { c["iss"] = "https://evil"; })},
      {"another account", token("pool-a", [](Json& c) { c["sub"] = "system:serviceaccount:x:y"; })},
      {"expired", token("pool-a", [](Json& c) { c["exp"] = c["iat"]; })},
      {"another key", attestation::sign_jws({{"iss", kIssuer}}, *worker_.key).value()},
      {"no token", "a.b.c"}};
  for (const auto& [what, text] : wrong) {
    SCOPED_TRACE(what);
    expect_refused(enrol_with(pool_a_, bearing(text)), ErrorCode::kIdentityTokenRejected, "pool-a");
  }
  const auto enrolled = enrol_with(pool_a_, bearing(token("pool-a")));
  ASSERT_TRUE(enrolled) << to_string(enrolled.error());
  EXPECT_EQ(enrolled->node.registration, "pool");
}

TEST_F(Registrations, Token_IsBoundIntoTheEvidence) {
  register_node(pool());
  const std::string good = token("pool-a");
  // A token beside a request that does not name it.
  expect_refused(enrol_with(pool_a_, [&](Enrolment& made) { made.identity_token = good; }),
                 ErrorCode::kEnrolmentMismatch, "pool-a");
  expect_refused(enrol_with(pool_a_,
                            [&](Enrolment& made) {
                              bearing(good)(made);
                              made.identity_token.clear();
                            }),
                 ErrorCode::kEnrolmentMismatch, "pool-a");
  // Somebody else's evidence, to which a token is put.
  expect_refused(enrol_with(pool_a_, {}, bearing(good)), ErrorCode::kEvidenceRejected, "pool-a");
  EXPECT_TRUE(enrol_with(pool_a_, bearing(good)));
}

TEST_F(Registrations, Pattern_IsForItsPrincipalAlone) {
  register_node(pool());
  Worker intruder = make_worker("pool-a", "intruder");
  expect_refused(enrol_in_pool("pool-a", intruder), ErrorCode::kNodeNotRegistered, "pool-a");
  Worker deeper = make_worker("pool-a.b", "node-agent");
  expect_refused(enrol_in_pool("pool-a", deeper), ErrorCode::kNodeNotRegistered, "pool-a.b");
}

TEST_F(Registrations, OwnName_GoesBeforeThePattern) {
  register_node(pool());
  register_node({"special", "pool-a", "node-agent-9", {}, 1, {}});
  expect_refused(enrol_in_pool("pool-a", pool_a_), ErrorCode::kNodeNotRegistered, "pool-a");
  Worker special = make_worker("pool-a", "node-agent-9");
  EXPECT_TRUE(enrol_with(special, {}));
  EXPECT_TRUE(enrol_in_pool("pool-b", pool_b_));
}

// --- changes of trust

TEST_F(Registrations, ThatCouldBothCover_AreRefused) {
  register_node(pool());
  Registration other = pool();
  other.id = "other";
  for (const char* node : {"pool-*", "*", "po*", "*-a", "pool-a*"}) {
    other.node = node;
    EXPECT_EQ(refusal(change_trust({PutRegistration{other}})), ErrorCode::kConflict) << node;
  }
  for (const char* node : {"*.pool-a", "cool-*", "pool-*.example"}) {
    other.node = node;
    EXPECT_TRUE(change_trust({PutRegistration{other}})) << node;
  }
  Registration same = registration_of(worker_);
  same.id = "same";
  EXPECT_EQ(refusal(change_trust({PutRegistration{same}})), ErrorCode::kConflict);
  EXPECT_TRUE(change_trust({RemoveRegistration{"gpu-1"}, PutRegistration{same}}));
  EXPECT_EQ(refusal(change_trust({RemoveRegistration{"gpu-1"}})), ErrorCode::kNotFound);
}

TEST_F(Registrations, WithKeysThatAreNoGood_AreRefused) {
  Registration bad = pool();
  bad.service_account->jwks["keys"][0]["x"] = bad.service_account->jwks["keys"][0]["y"];
  EXPECT_TRUE(refusal(change_trust({PutRegistration{bad}})));
  EXPECT_EQ(store_->snapshot().value()->registrations()->size(), 2U);
}

TEST_F(Registrations, NeedTwoPeople) {
  const auto epochs = store_->snapshot().value()->epochs().value();
  const Bytes one = trust_change(epochs.trust.trust + 1, {PutRegistration{registration_of(third_)}},
                                 {&operator1_, &operator1_second_});
  EXPECT_TRUE(refusal(apply_trust_change(*services_, one, actor_)));
  expect_refused(enrol_with(third_, {}), ErrorCode::kNodeNotRegistered, "gpu-3");
}

TEST_F(Registrations, Removed_EndsWhatEnrolledUnderIt) {
  enrol_ok(worker_);
  enrol_ok(other_);
  ASSERT_TRUE(change_trust({RemoveRegistration{"gpu-1"}}));
  EXPECT_EQ(state_of("gpu-1"), "ended");
  EXPECT_EQ(state_of("gpu-2"), "enrolled");
  EXPECT_EQ(refusal(enrol_with(worker_, {})), ErrorCode::kNodeNotRegistered);
}

TEST_F(Registrations, Changed_EndsWhatItNoLongerCovers) {
  enrol_ok(worker_);
  Registration registration = registration_of(worker_);
  registration.platforms = {platform_id("gpu-1")};
  register_node(registration);
  EXPECT_EQ(state_of("gpu-1"), "enrolled") << "it is as it was";
  registration.platforms = {platform_id("gpu-2")};
  register_node(registration);
  EXPECT_EQ(state_of("gpu-1"), "ended");
  // Operators give the name to somebody else.
  registration.platforms.clear();
  registration.principal = "successor";
  register_node(registration);
  Worker successor = make_worker("gpu-1", "successor");
  EXPECT_TRUE(enrol_with(successor, {}));
  EXPECT_EQ(node_row("gpu-1").value()["principal"], "successor");
}

TEST_F(Registrations, WithOtherKeys_EndWhatShowedTheOldOnes) {
  register_node(pool());
  ASSERT_TRUE(enrol_in_pool("pool-a", pool_a_));
  register_node(pool());
  EXPECT_EQ(state_of("pool-a"), "enrolled");
  const std::unique_ptr<Signer> before = std::move(issuer_);
  issuer_ = attestation::generate_key(SignatureAlgorithm::kEcdsaP256).value();
  register_node(pool());
  EXPECT_EQ(state_of("pool-a"), "ended");
  ASSERT_TRUE(enrol_in_pool("pool-a", pool_a_));
}

TEST_F(Registrations, OwnName_TakesANodeOutOfAPattern) {
  register_node(pool());
  ASSERT_TRUE(enrol_in_pool("pool-a", pool_a_));
  register_node({"special", "pool-a", "node-agent", {}, 1, {}});
  EXPECT_EQ(state_of("pool-a"), "ended");
}

}  // namespace
}  // namespace assay::server::test
