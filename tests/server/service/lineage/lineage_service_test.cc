// SPDX-License-Identifier: Apache-2.0
// Decisions on what a model was made from, over a real store: collecting, recording, replay, and
// what comes between reading and writing.
#include <algorithm>

#include "server/service/lineage/closure.h"
#include "tests/server/service/fixture.h"
#include "tests/server/service/hooked_store.h"

namespace assay::server::test {
namespace {

using Codes = std::vector<Reason>;

class LineageService : public ServiceTest {
 protected:
  LineageService() {
    change({AddKey{curator_.record}, AddKey{trainer_.record}});
    put_lineage_policy(Json::object());
    store_model();
  }

  void change(std::vector<TrustOperation> operations) {
    const auto changed = apply_trust_change(
        *services_, trust_change(++trust_, std::move(operations), {&operator1_, &operator2_}),
        actor_);
    ASSERT_TRUE(changed) << to_string(changed.error());
  }

  // Published, and a lineage condition.
  void put_lineage_policy(const Json& condition) {
    const Json document = {{"name", "lineage"},
                           {"version", ++version_},
                           {"mode", "enforce"},
                           {"match", {{"resources", {"nvidia.com/gpu"}}}},
                           {"require",
                            {{{"id", "published"}, {"manifest", Json::object()}},
                             {{"id", "lineage"}, {"lineage", condition}}}}};
    const auto accepted = accept_policy(
        *services_, envelope(kPolicyPayloadType, canonical_json(document).value(), {&author_}),
        actor_);
    ASSERT_TRUE(accepted) << to_string(accepted.error());
    const StatementId id = accepted->row.id;
    const auto applied =
        apply_policy_approval(*services_, PolicyApproval::Action::kActivate, id,
                              policy_approval(id, version_, policy_approver_), actor_);
    ASSERT_TRUE(applied) << to_string(applied.error());
  }

  Bytes statement(const std::string& stage, const Manifest& about, std::vector<Manifest> inputs,
                  const TestKey& key, const std::string& comment = {}) {
    Lifecycle lifecycle;
    lifecycle.stage = stage;
    lifecycle.comment = comment;
    lifecycle.parameters = {{"license", "Apache-2.0"}};
    for (const Manifest& input : inputs) {
      lifecycle.inputs.push_back({"dataset", input.name, subject_of(input).digest});
    }
    return statement_envelope(to_statement(lifecycle, {subject_of(about)}).value(), {&key});
  }
  void accept(const Bytes& bytes) {
    const auto accepted = accept_attestation(*services_, bytes, actor_);
    ASSERT_TRUE(accepted) << to_string(accepted.error());
  }

  // The model was trained from `corpus_`, which was collected.
  void store_model() {
    ASSERT_TRUE(accept_manifest(*services_, signed_manifest(model_), actor_));
    accept(statement("train", model_, {corpus_}, trainer_));
    accept(statement("collect", corpus_, {}, curator_));
  }

  DecisionRequest request() {
    return {.point = DecisionPoint::kCreate,
            .models = {id_of(model_).text()},
            .workload = {"inference", {}, {"nvidia.com/gpu"}},
            .context = Json::object(),
            .principal = "kube-apiserver"};
  }
  Decision decide_now() {
    const auto answer = decide(*services_, request());
    EXPECT_TRUE(answer) << to_string(answer.error());
    return answer->decision.value();
  }
  Codes reasons() { return decide_now().verdict.reasons; }

  // Decides; `happens` runs before the decision is written, once.
  Codes reasons_while(const std::function<void()>& happens) {
    writes_ = 0;
    StoreWithHook store(*store_, [&] {
      if (writes_++ < 1) {
        happens();
      }
    });
    Services services{store, *service_key_, clock_, random_, "example.com/log"};
    const auto answer = decide(services, request());
    EXPECT_TRUE(answer) << to_string(answer.error());
    return answer ? answer->decision->verdict.reasons : Codes();
  }

  TestKey curator_ = make_key(KeyPurpose::kSigner, "curator", {role("collect")});
  TestKey trainer_ = make_key(KeyPurpose::kSigner, "trainer", {role("train")});
  Manifest model_ = manifest("model");
  Manifest corpus_ = manifest("corpus", "acme/corpus");
  Manifest secret_ = manifest("secret", "acme/secret");
  std::uint64_t trust_ = 0;
  std::uint64_t version_ = 0;
  int writes_ = 0;
};

TEST_F(LineageService, KnownLineage_IsAllowed_AndReplays) {
  const Decision decision = decide_now();
  EXPECT_EQ(decision.verdict.reasons, Codes()) << to_json(decision.verdict).dump();
  reopen();
  const auto again = replay(*services_, decision.id);
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_TRUE(again->reproduced);
}

// What came later does not change a decision that was made.
TEST_F(LineageService, Replay_UsesTheLineageOfThatTime) {
  const Decision decision = decide_now();
  accept(statement("train", model_, {corpus_, secret_}, trainer_));
  EXPECT_EQ(reasons(), Codes{Reason::kAncestorUnknown});
  const auto again = replay(*services_, decision.id);
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_TRUE(again->reproduced);
}

TEST_F(LineageService, UnknownParent_IsDenied) {
  accept(statement("train", corpus_, {secret_}, trainer_));
  EXPECT_EQ(reasons(), Codes{Reason::kAncestorUnknown});
  accept(statement("collect", secret_, {}, curator_));
  EXPECT_EQ(reasons(), Codes());
}

TEST_F(LineageService, RevokedTrainer_IsDenied) {
  EXPECT_EQ(reasons(), Codes());
  change({RevokeKey{trainer_.record.id, "stolen"}});
  EXPECT_EQ(reasons(), Codes{Reason::kAncestorUnknown});
}

TEST_F(LineageService, DeniedDataset_IsDenied) {
  put_lineage_policy({{"deny", {{"digests", {id_of(corpus_).text()}}}}});
  EXPECT_EQ(reasons(), Codes{Reason::kAncestorDenied});
  put_lineage_policy({{"licences", {{"allow", {"MIT"}}}}});
  EXPECT_EQ(reasons(), Codes{Reason::kLicenceNotAllowed});
  put_lineage_policy({{"stages", {"collect", "train"}}, {"max_depth", 1}});
  EXPECT_EQ(reasons(), Codes());
}

TEST_F(LineageService, Nothing_IsOneAttempt) {
  EXPECT_EQ(reasons_while([] {}), Codes());
  EXPECT_EQ(writes_, 1);
}

TEST_F(LineageService, AStatementAboutAnAncestor_IsNotMissed) {
  EXPECT_EQ(reasons_while([&] { accept(statement("train", corpus_, {secret_}, trainer_)); }),
            Codes{Reason::kAncestorUnknown});
  EXPECT_EQ(writes_, 2);
}

TEST_F(LineageService, ARevokedMaker_IsNotMissed) {
  EXPECT_EQ(reasons_while([&] { change({RevokeKey{curator_.record.id, "stolen"}}); }),
            Codes{Reason::kAncestorUnknown});
}

TEST_F(LineageService, AStatementAboutSomethingElse_ChangesNothing) {
  EXPECT_EQ(reasons_while([&] { accept(statement("train", secret_, {}, trainer_)); }), Codes());
  EXPECT_EQ(writes_, 1);
}

// A second person signs a stored statement about an ancestor: that can be what was missing.
TEST_F(LineageService, FurtherSignature_IsNotMissed) {
  const TestKey second = make_key(KeyPurpose::kSigner, "second", {role("collect")});
  change({AddKey{second.record}});
  put_lineage_policy({{"edges", {{{"stage", "collect"}, {"signers", {{"at_least", 2}}}}}}});
  EXPECT_EQ(reasons(), Codes{Reason::kSignersInsufficient});
  EXPECT_EQ(reasons_while([&] { accept(statement("collect", corpus_, {}, second)); }), Codes());
  EXPECT_EQ(writes_, 2);
}

// --- the cache

TEST_F(LineageService, ClosureIsShared_UntilSomethingInItChanges) {
  const ArtifactId artifact = id_of(model_);
  const auto closure = [&] {
    return lineage_facts(*services_, *store_->snapshot().value(), artifact).value().facts;
  };
  const auto first = closure();
  EXPECT_EQ(closure(), first);
  accept(statement("collect", secret_, {}, curator_));
  EXPECT_EQ(closure(), first) << "about another thing";
  accept(statement("collect", corpus_, {}, curator_, "again"));
  const auto second = closure();
  EXPECT_NE(second, first);
  EXPECT_NE(second->head.id, first->head.id);
  change({RevokeKey{trainer_.record.id, "stolen"}});
  EXPECT_NE(closure()->head.id, second->head.id);
}

TEST_F(LineageService, ReadDown_FindsTheModel) {
  const auto lineage = read_lineage(*store_->snapshot().value(), id_of(corpus_).text(),
                                    policy::LineageDirection::kDown, 64);
  ASSERT_TRUE(lineage) << to_string(lineage.error());
  const auto view = policy::view_of(**lineage, policy::LineageDirection::kDown, 64);
  ASSERT_EQ(view.nodes.size(), 2U);
  EXPECT_EQ(view.nodes[1].digests, std::vector<std::string>{id_of(model_).text()});
}

TEST_F(LineageService, SlsaProvenance_LeadsToDependencies) {
  Manifest built = manifest("built", "acme/built");
  Statement provenance{{subject_of(built)},
                       "https://slsa.dev/provenance/v1",
                       {{"buildDefinition",
                         {{"buildType", "https://example.com/build"},
                          {"resolvedDependencies",
                           {{{"name", "acme/corpus"}, {"digest", subject_of(corpus_).digest}},
                            {{"uri", "git+https://example.com/x"}}}}}}}};
  TestKey builder =
      make_key(KeyPurpose::kSigner, "builder", {{"*", "https://slsa.dev/provenance/v1", "acme"}});
  change({AddKey{builder.record}});
  accept(statement_envelope(provenance, {&builder}));
  const auto lineage = read_lineage(*store_->snapshot().value(), id_of(built).text(),
                                    policy::LineageDirection::kUp, 64);
  ASSERT_TRUE(lineage) << to_string(lineage.error());
  ASSERT_EQ((*lineage)->statements().size(), 2U);
  const auto& inputs = (*lineage)->statements().back()->inputs;
  ASSERT_EQ(inputs.size(), 2U);
  EXPECT_EQ(inputs[0].role, policy::kDependencyRole);
  EXPECT_TRUE(inputs[1].digests.empty());
  EXPECT_EQ(inputs[1].name, "git+https://example.com/x");
  provenance.predicate["buildDefinition"]["resolvedDependencies"] = "many";
  accept(statement_envelope(provenance, {&builder}));
  const auto again = read_lineage(*store_->snapshot().value(), id_of(built).text(),
                                  policy::LineageDirection::kUp, 64);
  EXPECT_TRUE((*again)->statements().back()->unread);
}

TEST_F(LineageService, SurvivesARestart) {
  const Decision decision = decide_now();
  reopen();
  EXPECT_EQ(reasons(), Codes());
  EXPECT_TRUE(replay(*services_, decision.id)->reproduced);
}

}  // namespace
}  // namespace assay::server::test
