// SPDX-License-Identifier: Apache-2.0
// What must hold for every policy and all facts.
#include <algorithm>
#include <cstdlib>
#include <functional>

#include <gtest/gtest.h>

#include "schemas/core/sha.h"
#include "tests/policy/random_case.h"
#include "tests/support/random_cases.h"
#include "tests/support/seed.h"

namespace assay::policy::test {
namespace {

constexpr std::uint64_t kCases = random_cases(2500);
// Of each way to know less of a node or its reports.
constexpr std::uint64_t kNodeCases = random_cases(1200);
constexpr std::uint64_t kReportCases = random_cases(1600);

// Where the cases of a range of seeds show too little, so many times as many are drawn.
constexpr std::uint64_t kMoreCases = 10;

using Property = std::function<void(RandomCase& random)>;

// The seeds are the same in every run, unless ASSAY_SEED says where to begin: to look at others.
// Draws `cases`, and then goes on while not `enough`, up to kMoreCases times as many.
void for_random_cases(
    const RandomOptions& options, const Property& property, std::uint64_t cases = kCases,
    const std::function<bool()>& enough = [] { return true; }) {
  const std::uint64_t first = std::getenv("ASSAY_SEED") == nullptr ? 1 : random_test_seed();
  for (std::uint64_t drawn = 0; !testing::Test::HasFailure(); ++drawn) {
    if (drawn >= cases && (enough() || drawn >= kMoreCases * cases)) {
      return;
    }
    const std::uint64_t seed = first + drawn;
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomOptions mixed = options;
    mixed.honest = seed % 2 == 0;
    RandomCase random(seed, mixed);
    property(random);
  }
}

void check_result(const ConditionResult& result) {
  EXPECT_EQ(result.code.has_value(), result.outcome != Outcome::kPass) << result.id;
  EXPECT_NE(result.outcome, Outcome::kDeferred) << result.id;
  for (const ConditionResult& part : result.parts) {
    check_result(part);
  }
}

TEST(Properties, Verdict_IsConsistent) {
  for_random_cases({}, [](RandomCase& random) {
    const Facts facts = random.facts();
    const Verdict verdict = decide_on_node(random.policies(), facts);
    EXPECT_EQ(verdict.allowed, verdict.reasons.empty());
    for (const PolicyResult& policy : verdict.policies) {
      const bool all = std::all_of(policy.conditions.begin(), policy.conditions.end(),
                                   [](const auto& one) { return one.outcome == Outcome::kPass; });
      EXPECT_EQ(policy.outcome == Outcome::kPass, all);
      EXPECT_TRUE(all || !verdict.allowed || policy.mode != PolicyMode::kEnforce);
      std::for_each(policy.conditions.begin(), policy.conditions.end(), check_result);
    }
  });
}

TEST(Properties, Replay_GivesTheSameDigest) {
  for_random_cases({}, [](RandomCase& random) {
    Facts facts = random.facts();
    const auto policies = random.policies();
    const std::string document = canonical_json(to_json(facts)).value();
    const DocumentId id(sha256(as_bytes(document)));
    const Digest first = replay_digest(decide_on_node(policies, facts), id, now()).value();
    EXPECT_EQ(replay_digest(decide_on_node(policies, facts), id, now()).value(), first);
    const Facts stored = facts_from_json(parse_json(document).value()).value();
    EXPECT_EQ(canonical_json(to_json(stored)).value(), document);
    EXPECT_EQ(replay_digest(decide_on_node(policies, stored), id, now()).value(), first);
    std::reverse(facts.statements.begin(), facts.statements.end());
    std::reverse(facts.manifests.begin(), facts.manifests.end());
    for (StatementFact& statement : facts.statements) {
      std::reverse(statement.evidence.begin(), statement.evidence.end());
    }
    std::reverse(facts.placements.begin(), facts.placements.end());
    std::reverse(facts.reports.begin(), facts.reports.end());
    std::reverse(facts.instances.begin(), facts.instances.end());
    EXPECT_EQ(replay_digest(decide_on_node(policies, facts), id, now()).value(), first);
  });
}

TEST(Properties, UnrelatedStatement_ChangesNothing) {
  for_random_cases({}, [](RandomCase& random) {
    Facts facts = random.facts();
    const auto policies = random.policies();
    const Json before = to_json(decide_on_node(policies, facts));
    facts.statements.push_back(random.statement(77));
    facts.statements.back().predicate_type = "https://example.com/unrelated/v1";
    facts.statements.back().stage.clear();
    EXPECT_EQ(to_json(decide_on_node(policies, facts)), before);
  });
}

// Statements can be added by whoever has a role: one that does not hold must not open anything.
TEST(Properties, StatementThatFails_NeverTurnsDenyIntoAllow) {
  const RandomOptions options{false,
                              {Quantifier::kEvery, Quantifier::kLatest},
                              {{"/good", Comparison::kEqual, true}},
                              false,
                              false};
  int denied_by_it = 0;
  const auto property = [&](RandomCase& random) {
    Facts facts = random.facts();
    for (StatementFact& statement : facts.statements) {
      statement.predicate["good"] = true;
    }
    const std::vector policies = {random.with_named_sets(random.policy())};
    const bool before = decide_on_node(policies, facts).allowed;
    facts.statements.push_back(random.statement(77));
    facts.statements.back().predicate["good"] = false;
    const bool after = decide_on_node(policies, facts).allowed;
    EXPECT_LE(after, before);
    denied_by_it += before && !after ? 1 : 0;
  };
  for_random_cases(options, property, kCases, [&] { return denied_by_it > 0; });
  EXPECT_GT(denied_by_it, 0);
}

// Every signature of the facts.
std::vector<SignerFact*> signatures(Facts& facts) {
  std::vector<SignerFact*> all;
  for (ManifestFact& manifest : facts.manifests) {
    for (SignerFact& signer : manifest.statement.signers) {
      all.push_back(&signer);
    }
  }
  for (StatementFact& statement : facts.statements) {
    for (SignerFact& signer : statement.signers) {
      all.push_back(&signer);
    }
  }
  for (PlacementFact& placement : facts.placements) {
    for (SignerFact& signer : placement.statement.signers) {
      all.push_back(&signer);
    }
  }
  return all;
}

void revoke(Facts& facts, const KeyId& key) {
  for (SignerFact* signer : signatures(facts)) {
    if (signer->key.id == key) {
      signer->key.revoked = Revocation{now(), "stolen"};
    }
  }
}

// One signature out of a manifest or a statement.
void remove_signature(Facts& facts, const SignerFact* signature) {
  const auto remove_from = [&](std::vector<SignerFact>& signers) {
    for (std::size_t i = 0; i < signers.size(); ++i) {
      if (&signers[i] == signature) {
        signers.erase(signers.begin() + static_cast<std::ptrdiff_t>(i));
        return;
      }
    }
  };
  for (ManifestFact& manifest : facts.manifests) {
    remove_from(manifest.statement.signers);
  }
  for (StatementFact& statement : facts.statements) {
    remove_from(statement.signers);
  }
  for (PlacementFact& placement : facts.placements) {
    remove_from(placement.statement.signers);
  }
}

// True when some statement was judged and did not pass: taking it back is what its signer's
// revocation does, for `every` and `latest`.
bool has_refusal(const ConditionResult& result) {
  return (result.actual.is_object() && result.actual.contains("failures")) ||
         std::any_of(result.parts.begin(), result.parts.end(), has_refusal);
}

bool has_refusal(const Verdict& verdict) {
  return std::any_of(verdict.policies.begin(), verdict.policies.end(), [](const auto& policy) {
    return std::any_of(policy.conditions.begin(), policy.conditions.end(),
                       [](const auto& one) { return has_refusal(one); });
  });
}

// Runs `weaken` on a random signature; counts the cases that were allowed before and not after, so
// that the property is not empty.
void never_helps(const RandomOptions& options, bool refusals_may_be_withdrawn,
                 const std::function<void(Facts&, const SignerFact&)>& weaken) {
  int denied_by_it = 0;
  const auto property = [&](RandomCase& random) {
    Facts facts = random.facts();
    const std::vector policies = {random.with_named_sets(random.policy())};
    const auto all = signatures(facts);
    if (all.empty()) {
      return;
    }
    const Verdict before = decide_on_node(policies, facts);
    weaken(facts, *all[random.below(all.size())]);
    const bool after = decide_on_node(policies, facts).allowed;
    if (!refusals_may_be_withdrawn || !has_refusal(before)) {
      EXPECT_LE(after, before.allowed);
    }
    denied_by_it += before.allowed && !after ? 1 : 0;
  };
  for_random_cases(options, property, kCases, [&] { return denied_by_it > 10; });
  EXPECT_GT(denied_by_it, 10);
}

void revoke_signer(Facts& facts, const SignerFact& signer) { revoke(facts, KeyId(signer.key.id)); }
void drop_signature(Facts& facts, const SignerFact& signer) { remove_signature(facts, &signer); }

// Of the manifest, statement or placement with this signature.
void withdraw_signed(Facts& facts, const SignerFact& signer) {
  const auto withdraw = [&](StatementFact& statement) {
    for (const SignerFact& one : statement.signers) {
      if (&one == &signer) {
        statement.withdrawn = WithdrawnFact{"other", now(), {"olga"}};
      }
    }
  };
  for (ManifestFact& manifest : facts.manifests) {
    withdraw(manifest.statement);
  }
  for (StatementFact& statement : facts.statements) {
    withdraw(statement);
  }
  for (PlacementFact& placement : facts.placements) {
    withdraw(placement.statement);
  }
}

TEST(Properties, WithdrawingAStatement_NeverHelpsWithQuantifierAny) {
  never_helps({false, {Quantifier::kAny}}, false, withdraw_signed);
}

TEST(Properties, WithdrawingAStatement_NeverHelpsBelowNot) {
  never_helps({true, {Quantifier::kAny, Quantifier::kLatest}}, true, withdraw_signed);
  never_helps({true, {Quantifier::kAny}}, false, withdraw_signed);
}

TEST(Properties, RevokingAKey_NeverHelpsWithQuantifierAny) {
  never_helps({false, {Quantifier::kAny}}, false, revoke_signer);
}

TEST(Properties, RemovingASignature_NeverHelpsWithQuantifierAny) {
  never_helps({false, {Quantifier::kAny}}, false, drop_signature);
}

TEST(Properties, RevokingAKey_NeverHelpsBelowNot) {
  never_helps({true, {Quantifier::kAny, Quantifier::kLatest}}, true, revoke_signer);
  never_helps({true, {Quantifier::kAny}}, false, revoke_signer);
}

TEST(Properties, RemovingASignature_NeverHelpsBelowNot) {
  never_helps({true, {Quantifier::kAny}}, false, drop_signature);
}

TEST(Properties, RevokingAKey_HelpsEveryOnlyByWithdrawingARefusal) {
  never_helps({false, {Quantifier::kEvery}}, true, revoke_signer);
}

TEST(Properties, RemovingASignature_HelpsEveryOnlyByWithdrawingARefusal) {
  never_helps({false, {Quantifier::kEvery}}, true, drop_signature);
}

// All stage evidence, whoever signed.
void drop_evidence(Facts& facts, const SignerFact& /*signer*/) {
  for (StatementFact& statement : facts.statements) {
    statement.evidence.clear();
  }
}

TEST(Properties, RemovingStageEvidence_NeverHelps) {
  RandomOptions options;
  options.nodes = false;
  options.honest = true;
  options.evidence_in = 1;
  options.negation = false;
  never_helps(options, false, drop_evidence);
  options.negation = true;
  never_helps(options, false, drop_evidence);
}

TEST(Properties, OrderOfPolicies_DoesNotChangeTheAnswer) {
  for_random_cases({}, [](RandomCase& random) {
    const Facts facts = random.facts();
    auto policies = random.policies();
    const bool before = decide_on_node(policies, facts).allowed;
    std::reverse(policies.begin(), policies.end());
    EXPECT_EQ(decide_on_node(policies, facts).allowed, before);
  });
}

// Asks something of the node or of its reports; sometimes for the contrary.
Condition asked_of_node(RandomCase& random, bool negation) {
  Condition asked = random.below(2) == 0 ? condition("asked", random.node_condition())
                                         : condition("asked", random.report_condition());
  if (!negation || random.below(2) == 0) {
    return asked;
  }
  NotCondition turned;
  turned.of.push_back(std::move(asked));
  return condition("not-asked", std::move(turned));
}

// Runs `weaken` on what is known of the node: no allow may come of it.
void never_helps_on_node(const std::function<void(Facts&)>& weaken, bool negation = false) {
  int denied_by_it = 0;
  const RandomOptions options{
      .negation = negation, .quantifiers = {Quantifier::kAny}, .one_leaf_in = 2};
  const auto property = [&](RandomCase& random) {
    Facts facts = random.facts();
    PolicyDocument policy = random.policy();
    if (random.below(2) == 0) {
      policy.require = {asked_of_node(random, negation)};
    }
    const std::vector policies = {active(std::move(policy))};
    const bool before = decide_on_node(policies, facts).allowed;
    weaken(facts);
    const bool after = decide_on_node(policies, facts).allowed;
    EXPECT_LE(after, before);
    denied_by_it += before && !after ? 1 : 0;
  };
  for_random_cases(options, property, kReportCases, [&] { return denied_by_it > 3; });
  EXPECT_GT(denied_by_it, 3);
}

using Weaken = std::function<void(Facts&)>;

Weaken in_each_report(const std::function<void(ReportFact&)>& change) {
  return
      [change](Facts& facts) { std::for_each(facts.reports.begin(), facts.reports.end(), change); };
}

// What lies in the future is an error, and stays one.
void make_older(ReportFact& report) {
  if (report.read_since <= now()) {
    report.read_since -= std::chrono::hours(1);
  }
}

// What makes reports count for less without saying that anything is wrong with the model.
std::vector<Weaken> doubts_in_reports() {
  return {[](Facts& facts) { facts.reports.clear(); },
          in_each_report([](ReportFact& report) { report.worker_measured = false; }),
          in_each_report([](ReportFact& report) { report.appraisal_current = false; }),
          in_each_report([](ReportFact& report) { report.device_attested = false; }),
          in_each_report([](ReportFact& report) { report.spot_checks = 0; }),
          in_each_report(make_older)};
}

TEST(Properties, LessTrustInTheNode_NeverHelps) {
  never_helps_on_node([](Facts& facts) { facts.node.reset(); });
  never_helps_on_node([](Facts& facts) {
    if (facts.node) {
      facts.node->revoked = Revocation{now(), "stolen"};
    }
  });
  never_helps_on_node([](Facts& facts) {
    if (facts.node) {
      facts.node->expires_at = now();
    }
  });
  never_helps_on_node([](Facts& facts) {
    // What lies in the future is an error, and stays one.
    if (facts.node && facts.node->appraised_at && *facts.node->appraised_at <= now()) {
      facts.node->appraised_at = from_now(-7200);
    }
  });
  never_helps_on_node([](Facts& facts) {
    if (facts.node) {
      facts.node->anchor = Anchor::root(sha256(as_bytes("nobody's root")));
      facts.node->anchor_is_vendor = false;
    }
  });
}

TEST(Properties, LessInTheReports_NeverHelps) {
  never_helps_on_node(in_each_report([](ReportFact& report) { report.result = "mismatch"; }));
  for (const Weaken& doubt : doubts_in_reports()) {
    never_helps_on_node(doubt);
  }
}

TEST(Properties, LessKnownOfTheNode_NeverHelpsBelowNot) {
  never_helps_on_node([](Facts& facts) { facts.node.reset(); }, true);
  never_helps_on_node(
      [](Facts& facts) {
        if (facts.node) {
          facts.node->revoked = Revocation{now(), "stolen"};
        }
      },
      true);
  for (const Weaken& doubt : doubts_in_reports()) {
    never_helps_on_node(doubt, true);
  }
}

// Runs `weaken` on what is known of the places that a pod mounts.
void never_helps_a_pod(bool negation, const Weaken& weaken) {
  int denied_by_it = 0;
  const RandomOptions options{
      .negation = negation, .quantifiers = {Quantifier::kAny}, .one_leaf_in = 2};
  const auto property = [&](RandomCase& random) {
    Facts facts = random.facts();
    PolicyDocument policy = random.policy();
    policy.require.push_back(manifest_condition());
    policy.require.push_back(condition("verified", ReportCondition{}));
    // What is filled at run time lies at no place.
    policy.fill_at_run.clear();
    policy.other_volumes = {"*"};
    policy.images.clear();
    Workload pod = workload_on_node();
    // Mounts at random would rarely be allowed, and then there is nothing to deny.
    pod.pod = true;
    pod.mounts = {{.container = "server",
                   .path = "/m",
                   .volume = "v",
                   .source = "persistentVolumeClaim",
                   .location = "pvc://prod/a",
                   .kind = VolumeKind::kModel,
                   .read_only = true,
                   .device = false}};
    const std::vector policies = {active(std::move(policy))};
    const auto allowed = [&] {
      return evaluate(policies, pod, one(facts), {}, DecisionPoint::kServe, now()).allowed;
    };
    const bool before = allowed();
    weaken(facts);
    const bool after = allowed();
    EXPECT_LE(after, before);
    denied_by_it += before && !after ? 1 : 0;
  };
  for_random_cases(options, property, kNodeCases, [&] { return denied_by_it > 3; });
  EXPECT_GT(denied_by_it, 3);
}

TEST(Properties, LessKnownOfThePlacesOfAPod_NeverHelps) {
  for (const bool negation : {false, true}) {
    never_helps_a_pod(negation, [](Facts& facts) { facts.claims.clear(); });
    never_helps_a_pod(negation, [](Facts& facts) {
      for (ClaimFact& claim : facts.claims) {
        claim.volume = "pv-9";
      }
    });
    never_helps_a_pod(negation, in_each_report([](ReportFact& report) { report.volume.clear(); }));
    never_helps_a_pod(negation, in_each_report([](ReportFact& report) {
                        report.location = "pvc://prod/elsewhere";
                      }));
    never_helps_a_pod(negation, [](Facts& facts) {
      facts.placements.clear();
      for (ManifestFact& manifest : facts.manifests) {
        manifest.locations.clear();
      }
    });
    never_helps_a_pod(negation, [](Facts& facts) { facts.artifact.reset(); });
  }
}

// Outcomes and codes, without the ages and times that explain them.
Json outcomes_of(const ConditionResult& result) {
  Json json = {{"id", result.id}, {"outcome", name(result.outcome)}, {"parts", Json::array()}};
  json["code"] = result.code ? Json(info(*result.code).code) : Json(nullptr);
  for (const ConditionResult& part : result.parts) {
    json["parts"].push_back(outcomes_of(part));
  }
  return json;
}

Json outcomes_of(const Verdict& verdict) {
  Json json = {{"allowed", verdict.allowed}, {"policies", Json::array()}};
  for (const PolicyResult& policy : verdict.policies) {
    json["policies"].push_back(Json::array());
    for (const ConditionResult& condition : policy.conditions) {
      json["policies"].back().push_back(outcomes_of(condition));
    }
  }
  return json;
}

// Time passing changes an answer only at the instant that the verdict names.
TEST(Properties, VerdictHolds_UntilTheTimeThatItNames) {
  constexpr std::chrono::milliseconds kTick(1);
  int changed = 0;
  const auto property = [&](RandomCase& random) {
    const Facts facts = random.facts();
    const auto policies = random.policies();
    const auto at = [&](Timestamp time) {
      return evaluate(policies, workload_on_node(), one(facts), {}, DecisionPoint::kServe, time);
    };
    const Verdict verdict = at(now());
    const Json before = outcomes_of(verdict);
    const Timestamp until = verdict.valid_until.value_or(from_now(400LL * 24 * 3600));
    for (const Timestamp time : {now() + kTick, now() + (until - now()) / 2, until - kTick}) {
      if (time > now() && time < until) {
        EXPECT_EQ(outcomes_of(at(time)), before) << to_rfc3339(time) << " " << to_rfc3339(until);
      }
    }
    changed += verdict.valid_until && outcomes_of(at(until)) != before ? 1 : 0;
  };
  for_random_cases({.relations = true}, property, kCases, [&] { return changed > 50; });
  EXPECT_GT(changed, 50);
}

void shuffle(Json& array, RandomCase& random) {
  for (std::size_t i = array.size(); i > 1; --i) {
    std::swap(array[i - 1], array[random.below(i)]);
  }
}

// Whoever writes a statement chooses the order of its arrays. What looks at their items (each, any,
// none), or at them as sets, comes to the same for every order.
TEST(Properties, OrderOfArrays_ChangesNoOutcome) {
  std::size_t looked_at = 0;
  const auto property = [&](RandomCase& random) {
    Facts facts = random.facts();
    PolicyDocument policy = random.policy();
    StatementCondition items = stage_condition("approve");
    items.where = {random.items_test()};
    policy.require.push_back(condition("items", std::move(items)));
    const std::vector<ActivePolicy> policies = {active(std::move(policy))};
    const Verdict before = decide_on_node(policies, facts);
    bool moved = false;
    for (StatementFact& statement : facts.statements) {
      const Json written = statement.predicate;
      for (const char* name : {"i", "l"}) {
        if (Json& array = statement.predicate[name]; array.is_array()) {
          shuffle(array, random);
          for (Json& item : array) {
            if (item.is_object()) {
              shuffle(item["l"], random);
            }
          }
        } else if (!written.contains(name)) {
          statement.predicate.erase(name);
        }
      }
      moved = moved || (statement.stage == "approve" && statement.predicate != written);
    }
    const Verdict after = decide_on_node(policies, facts);
    EXPECT_EQ(outcomes_of(after), outcomes_of(before));
    EXPECT_EQ(after.reasons, before.reasons);
    looked_at += moved ? 1 : 0;
  };
  for_random_cases({}, property);
  EXPECT_GT(looked_at, 100U);
}

// `not` opens nothing for a node of which nothing can be relied on.
TEST(Properties, RevokedNode_IsNeverAllowedWhereItsConditionDecides) {
  for_random_cases({}, [](RandomCase& random) {
    Facts facts = random.facts();
    facts.node = node_fact();
    facts.node->revoked = Revocation{now(), "stolen"};
    NotCondition negation;
    negation.of = {condition("part", NodeCondition{})};
    PolicyDocument policy = random.policy();
    policy.require.push_back(random.below(2) == 0 ? condition("node", NodeCondition{})
                                                  : condition("node", std::move(negation)));
    EXPECT_FALSE(decide_on_node({active(std::move(policy))}, facts).allowed);
  });
}

}  // namespace
}  // namespace assay::policy::test
