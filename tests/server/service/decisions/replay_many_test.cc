// SPDX-License-Identifier: Apache-2.0
// Ten thousand decisions of many kinds (ASSAY_DECISIONS: so many) are replayed after a restart: on
// statements, lineages, stage evidence, reference sets and releases. Each gives its digest.
#include <array>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <thread>

#include "schemas/release.h"
#include "server/service/governance/withdrawals.h"
#include "tests/server/service/stage_fixture.h"

namespace assay::server {
namespace {

std::size_t decisions() {
  const char* const text = std::getenv("ASSAY_DECISIONS");
  return text == nullptr ? 10'000 : static_cast<std::size_t>(std::atoi(text));
}

// Writes are durable one by one; many at a time share what that costs.
constexpr std::size_t kThreads = 16;

// Calls `work` with 0 to `count` - 1, on several threads.
void for_each_number(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  std::array<std::thread, kThreads> threads;
  for (std::thread& thread : threads) {
    thread = std::thread([&] {
      for (std::size_t i = next++; i < count; i = next++) {
        work(i);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

// What decisions of one kind rest on; each has a policy for its own namespaces.
constexpr std::array<const char*, 5> kKinds = {"plain", "lineage", "evidence", "set", "release"};

class ReplayManyTest : public test::StageTest {
 protected:
  ReplayManyTest() {
    store_good_model(good_);
    put_policy_in_force();
    EXPECT_TRUE(attest(train()));
    put_set(1, {"cora", "tina"});
    put_policy("lineage", {{"lineage",
                            {{"stages", {"collect", "train"}},
                             {"deny", {{"names", {"acme/secret"}}}},
                             {"max_depth", 4}}}});
    put_policy("evidence", {{"lineage",
                             {{"edges",
                               {{{"stage", "train"},
                                 {"signers", {{"at_least", 1}}},
                                 {"evidence", {{"anchors", {anchor().text()}}}}}}}}}});
    put_policy("set", {{"statement",
                        {{"predicate_type", std::string(kLifecyclePredicateType)},
                         {"stage", "train"},
                         {"signers", {{"identities", {"set:makers"}}}}}}});
    put_policy("release", {{"parameters", {{"hash", {"sha256"}}}}});
    first_ = release(trained_, "1.0.0", {});
  }

  void put_in_force(std::string_view type, const Json& document) {
    const auto accepted = accept_policy(
        *services_, envelope(type, canonical_json(document).value(), {&author_}), actor_);
    ASSERT_TRUE(accepted) << to_string(accepted.error());
    const std::uint64_t next = store_->snapshot().value()->epochs()->policy + 1;
    const auto applied =
        apply_policy_approval(*services_, PolicyApproval::Action::kActivate, accepted->row.id,
                              policy_approval(accepted->row.id, next, policy_approver_), actor_);
    ASSERT_TRUE(applied) << to_string(applied.error());
  }
  void put_set(std::uint64_t version, const std::vector<std::string>& values) {
    put_in_force(
        kReferenceSetPayloadType,
        {{"name", "makers"}, {"version", version}, {"kind", "identities"}, {"values", values}});
  }
  // A publisher and one more condition, for the namespaces of this kind.
  void put_policy(const std::string& kind, Json condition) {
    condition["id"] = "it";
    const Json published = {{"id", "published"},
                            {"manifest", {{"signers", {{"identities", {"release"}}}}}}};
    put_in_force(kPolicyPayloadType, {{"name", kind},
                                      {"version", 1},
                                      {"mode", "enforce"},
                                      {"match", {{"namespaces", {kind + "-*"}}}},
                                      {"names", {{"resolve", "release"}}},
                                      {"require", {published, condition}}});
  }
  StatementId release(const Manifest& manifest, const std::string& version,
                      const std::optional<StatementId>& supersedes) {
    const Release made{"acme/demo", version, id_of(manifest), supersedes};
    const auto accepted = accept_attestation(
        *services_, statement_envelope(to_statement(made).value(), {&publisher_}), actor_);
    EXPECT_TRUE(accepted) << to_string(accepted.error());
    return accepted->row.id;
  }

  // Allows and denials, about known and unknown models, at several times and in many namespaces.
  std::string decide_number(std::size_t number) {
    const std::string kind = kKinds.at(number % kKinds.size());
    const std::size_t round = number / kKinds.size();
    const std::string known = kind == "release" ? "acme/demo"
                              : kind == "plain" ? id_of(good_).text()
                                                : id_of(trained_).text();
    const DecisionRequest request{
        .point = DecisionPoint::kCreate,
        .models = {round % 3 == 0 ? "acme/unknown" : known},
        .workload = {kind + "-" + std::to_string(round % 97),
                     {},
                     {kind == "plain" ? "nvidia.com/gpu" : "example.com/npu"}},
        .context = {{"number", number}},
        .principal = "tester"};
    clock_.advance(std::chrono::seconds(1));
    const auto answer = decide(*services_, request);
    return answer ? answer->decision->id : to_string(answer.error());
  }

  // What changes later is not part of what was decided before.
  void change_everything() {
    put_set(2, {"cora"});
    release(good_, "2.0.0", first_);
    const std::string payload =
        canonical_json(to_json(Withdrawal{collected_, "incorrect", "not ours", {}})).value();
    const auto withdrawn = accept_withdrawal(
        *services_, envelope(kWithdrawalPayloadType, payload, {&curator_}), actor_);
    ASSERT_TRUE(withdrawn) << to_string(withdrawn.error());
    const auto applied = change_trust(
        {RevokeKey{approver_a_.record.id, "lost"}, RevokeKey{trainer_.record.id, "stolen"}});
    ASSERT_TRUE(applied) << to_string(applied.error());
  }

  Manifest good_ = manifest("good");
  StatementId collected_ = state("collect", corpus_, {}, curator_, "again");
  std::optional<StatementId> first_;
};

TEST_F(ReplayManyTest, EveryStoredDecision_GivesItsDigestAfterARestart) {
  const std::size_t half = decisions() / 2;
  std::vector<std::string> ids(2 * half);
  for_each_number(half, [&](std::size_t i) { ids[i] = decide_number(i); });
  change_everything();
  for_each_number(half, [&](std::size_t i) { ids[half + i] = decide_number(i); });
  reopen();
  std::array<std::atomic<std::size_t>, kKinds.size()> before{};
  std::array<std::atomic<std::size_t>, kKinds.size()> after{};
  std::atomic<std::size_t> reproduced = 0;
  for_each_number(ids.size(), [&](std::size_t i) {
    const auto answer = replay(*services_, ids[i]);
    EXPECT_TRUE(answer) << ids[i] << (answer ? "" : to_string(answer.error()));
    reproduced += answer && answer->reproduced ? 1U : 0U;
    (i < half ? before : after).at(i % half % kKinds.size()) +=
        answer && answer->verdict.allowed ? 1U : 0U;
  });
  EXPECT_EQ(reproduced, ids.size());
  for (std::size_t kind = 0; kind < kKinds.size(); ++kind) {
    const std::string name = kKinds.at(kind);
    EXPECT_GT(before.at(kind), half / kKinds.size() / 2) << name;
    EXPECT_LT(before.at(kind), half / kKinds.size()) << name;
    EXPECT_EQ(after.at(kind) > 0, name == "release") << name;
  }
}

}  // namespace
}  // namespace assay::server
