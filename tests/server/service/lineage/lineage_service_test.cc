// SPDX-License-Identifier: Apache-2.0
// long-file: all tests share one fixture, a store in which one lineage grows.
// Decisions on what a model was made from, over a real store: collecting, recording, replay, and
// what comes between reading and writing.
#include <algorithm>
#include <cstdlib>
#include <future>

#include <sqlite3.h>

#include "attestation/dsse.h"
#include "schemas/core/sha.h"
#include "server/service/lineage/closure.h"
#include "server/service/lineage/steps.h"
#include "tests/server/service/fixture.h"
#include "tests/server/service/hooked_store.h"
#include "tests/server/service/lineage_policy.h"
#include "tests/support/stepping_clock.h"

namespace assay::server::test {
namespace {

using Codes = std::vector<Reason>;

class LineageService : public LineagePolicyTest<ServiceTest> {
 protected:
  LineageService() {
    change({AddKey{curator_.record}, AddKey{trainer_.record}});
    require_lineage(Json::object());
    store_model();
  }

  void change(std::vector<TrustOperation> operations) {
    const auto changed = apply_trust_change(
        *services_, trust_change(++trust_, std::move(operations), {&operator1_, &operator2_}),
        actor_);
    ASSERT_TRUE(changed) << to_string(changed.error());
  }

  Bytes statement(const std::string& stage, const Manifest& about,
                  const std::vector<Manifest>& inputs, const TestKey& key,
                  const std::string& comment = {}) {
    Lifecycle lifecycle = lifecycle_from(stage, inputs, comment);
    lifecycle.parameters = {{"license", "Apache-2.0"}};
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

  DecisionRequest request() { return request_about(model_); }
  Decision decide_now() { return decide_about(model_); }
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
  const std::function<Status()> always_ = [] { return Status(); };
  std::uint64_t trust_ = 0;
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

// Whoever said that a denied dataset went in cannot take it back, and say something else.
TEST_F(LineageService, WithdrawnStatementThatNamedADeniedDataset_StaysInTheWay) {
  require_lineage({{"deny", {{"digests", {id_of(secret_).text()}}}}});
  const Bytes before = statement("train", model_, {secret_}, trainer_);
  accept(before);
  EXPECT_EQ(reasons(), Codes{Reason::kAncestorDenied});
  const auto parsed = attestation::parse_envelope(before).value();
  const StatementId id = attestation::statement_id(parsed.payload_type, parsed.payload);
  change({WithdrawStatement{Withdrawal{id, "incorrect", "it was another one"}}});
  const Decision decision = decide_now();
  EXPECT_EQ(decision.verdict.reasons, Codes{Reason::kAncestorDenied});
  const auto again = replay(*services_, decision.id);
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_TRUE(again->reproduced);
  require_lineage(Json::object());
  EXPECT_EQ(reasons(), Codes());
}

TEST_F(LineageService, DeniedDataset_IsDenied) {
  require_lineage({{"deny", {{"digests", {id_of(corpus_).text()}}}}});
  EXPECT_EQ(reasons(), Codes{Reason::kAncestorDenied});
  require_lineage({{"licences", {{"allow", {"MIT"}}}}});
  EXPECT_EQ(reasons(), Codes{Reason::kLicenceNotAllowed});
  require_lineage({{"stages", {"collect", "train"}}, {"max_depth", 1}});
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
  require_lineage({{"edges", {{{"stage", "collect"}, {"signers", {{"at_least", 2}}}}}}});
  EXPECT_EQ(reasons(), Codes{Reason::kSignersInsufficient});
  EXPECT_EQ(reasons_while([&] { accept(statement("collect", corpus_, {}, second)); }), Codes());
  EXPECT_EQ(writes_, 2);
}

// --- strangers

// A signer and a publisher for names of their own, who hang statements on the digests of others.
class LineageStrangers : public LineageService {
 protected:
  LineageStrangers() {
    change({AddKey{stranger_.record}, AddKey{foreign_publisher_.record}});
    accept_foreign_chain(corpus_);
  }

  // 66 steps up from `from`, under names of the stranger.
  void accept_foreign_chain(const Manifest& from) {
    std::map<std::string, std::string> digest = subject_of(from).digest;
    for (int i = 0; i < 66; ++i) {
      const std::map<std::string, std::string> next = {
          {"assay-tree-v1-sha256", sha256(as_bytes("foreign " + std::to_string(i))).hex()}};
      Lifecycle lifecycle;
      lifecycle.stage = "train";
      lifecycle.inputs.push_back({"dataset", "mallory/y", next});
      const Statement made = to_statement(lifecycle, {{"mallory/x", digest}}).value();
      accept(statement_envelope(made, {&stranger_}));
      digest = next;
    }
  }

  TestKey stranger_ = make_key(KeyPurpose::kSigner, "mallory", {role("train", "mallory")});
  TestKey stranger_as_trainer_ = make_key(KeyPurpose::kSigner, "mallory", {role("train")});
  TestKey foreign_publisher_ =
      make_key(KeyPurpose::kPublisher, "mallory", {publisher_role("mallory")});
};

TEST_F(LineageStrangers, DenyNothing) {
  const Decision decision = decide_now();
  EXPECT_EQ(decision.verdict.reasons, Codes());
  const auto facts = lineage_facts(*services_, *store_->snapshot().value(), id_of(model_));
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->facts->lineage->statements().size(), 3U);
  EXPECT_EQ(facts->facts->lineage->rest().aside.size(), 1U);
  reopen();
  EXPECT_TRUE(replay(*services_, decision.id)->reproduced);
}

// What many digests of a lineage have in common is read once, else a few wide statements of a
// stranger about them cost as much as thousands.
TEST_F(LineageStrangers, WideStatementsAreReadOnce) {
  constexpr std::size_t kDigests = 40;
  constexpr std::size_t kStatements = 6;
  std::vector<std::string> digests;
  std::vector<Subject> subjects;
  for (std::size_t i = 0; i < kDigests; ++i) {
    const std::string hex = sha256(as_bytes("shard " + std::to_string(i))).hex();
    subjects.push_back({"mallory/x", {{"assay-tree-v1-sha256", hex}}});
    digests.push_back("assay-tree-v1-sha256:" + hex);
  }
  for (std::size_t i = 0; i < kStatements; ++i) {
    Lifecycle lifecycle = lifecycle_from("train", {corpus_}, std::to_string(i));
    accept(statement_envelope(to_statement(lifecycle, subjects).value(), {&stranger_}));
  }
  const auto snapshot = store_->snapshot().value();
  std::size_t read = 0;  // digests that were looked up, and rows
  auto reader = StatementReader::open(*snapshot, [&] {
    ++read;
    return Status();
  });
  ASSERT_TRUE(reader);
  for (const std::string& digest : digests) {
    EXPECT_EQ(reader->about(digest)->size(), kStatements);
  }
  EXPECT_EQ(read, kDigests + kStatements);
  EXPECT_EQ(reader->from(id_of(corpus_).text())->size(), kStatements + 1);
  EXPECT_EQ(read, kDigests + kStatements + 2) << "one more digest, and the training of the model";
}

// What was left out is part of the case: another role, granted later, changes only what is decided
// from then on.
TEST_F(LineageStrangers, GrantedARoleLater_AreFollowed) {
  const Decision before = decide_now();
  EXPECT_EQ(before.verdict.reasons, Codes());
  TestKey granted = make_key(KeyPurpose::kSigner, "mallory", {role("train")});
  change({AddKey{granted.record}});
  Lifecycle lifecycle;
  lifecycle.stage = "train";
  lifecycle.inputs.push_back({"dataset", "acme/y", subject_of(secret_).digest});
  accept(statement_envelope(to_statement(lifecycle, {subject_of(corpus_)}).value(), {&granted}));
  EXPECT_EQ(reasons(), Codes{Reason::kAncestorUnknown});
  change({RevokeKey{granted.record.id, "stolen"}});
  EXPECT_EQ(reasons(), Codes()) << "what a revoked key said is in nobody's way";
  EXPECT_TRUE(replay(*services_, before.id)->reproduced);
}

// The case keeps what was cut off, and answers alike when it is read again.
TEST_F(LineageStrangers, LimitOnACountedWay_IsDeniedAndReplays) {
  change({AddKey{stranger_as_trainer_.record}});
  std::map<std::string, std::string> digest = subject_of(corpus_).digest;
  for (int i = 0; i < 66; ++i) {
    const std::map<std::string, std::string> next = {
        {"assay-tree-v1-sha256", sha256(as_bytes("own " + std::to_string(i))).hex()}};
    Lifecycle lifecycle;
    lifecycle.stage = "train";
    lifecycle.inputs.push_back({"dataset", "acme/y", next});
    const std::string name = i == 0 ? "acme/corpus" : "acme/y";
    accept(statement_envelope(to_statement(lifecycle, {{name, digest}}).value(),
                              {&stranger_as_trainer_}));
    digest = next;
  }
  const Decision decision = decide_now();
  EXPECT_EQ(decision.verdict.reasons, Codes{Reason::kAncestorUnknown});
  const auto cut = lineage_facts(*services_, *store_->snapshot().value(), id_of(model_));
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->facts->lineage->reached(), std::vector<std::string>{"depth"});
  reopen();
  EXPECT_TRUE(replay(*services_, decision.id)->reproduced);
  change({RevokeKey{stranger_as_trainer_.record.id, "stolen"}});
  EXPECT_EQ(reasons(), Codes()) << "revoking the key heals";
}

TEST_F(LineageStrangers, JoinNothing) {
  require_lineage({{"deny", {{"digests", {"sha256:" + std::string(64, 'a')}}}}});
  EXPECT_EQ(reasons(), Codes());
  Manifest foreign = manifest("foreign", "mallory/x");
  Statement statement = to_statement(foreign).value();
  statement.subjects[0].digest["sha256"] = std::string(64, 'a');
  ASSERT_TRUE(
      accept_manifest(*services_, statement_envelope(statement, {&foreign_publisher_}), actor_));
  // The same bytes, under the stranger's name, joined with what is denied.
  Manifest same = corpus_;
  same.name = "mallory/corpus";
  statement = to_statement(same).value();
  statement.subjects[0].digest["sha256"] = std::string(64, 'a');
  ASSERT_TRUE(
      accept_manifest(*services_, statement_envelope(statement, {&foreign_publisher_}), actor_));
  EXPECT_EQ(reasons(), Codes());
}

// --- what somebody else pushes

TEST_F(LineageService, ASignatureOnSomethingElse_ChangesNothing) {
  const TestKey second = make_key(KeyPurpose::kSigner, "second", {role("collect")});
  change({AddKey{second.record}});
  accept(statement("collect", secret_, {}, curator_));
  EXPECT_EQ(reasons_while([&] { accept(statement("collect", secret_, {}, second)); }), Codes());
  EXPECT_EQ(writes_, 1);
}

// Whoever pushes without end about the model makes attempt after attempt void, but not the last.
TEST_F(LineageService, AFloodAboutTheModel_DoesNotStopDecisions) {
  const TestKey other = make_key(KeyPurpose::kSigner, "other", {role("train", "*")});
  change({AddKey{other.record}});
  std::vector<std::future<void>> pushes;
  std::unique_ptr<Services> services;
  bool pushing = false;
  StoreWithHook store(*store_, [&] {
    if (pushing) {
      return;  // the write of a push
    }
    ++writes_;
    pushing = true;
    pushes.push_back(std::async(std::launch::async, [&, number = writes_] {
      const Bytes bytes = statement("train", model_, {corpus_}, other, std::to_string(number));
      EXPECT_TRUE(accept_attestation(*services, bytes, actor_));
    }));
    pushes.back().wait_for(std::chrono::milliseconds(300));
    pushing = pushes.back().wait_for(std::chrono::seconds(0)) != std::future_status::ready;
  });
  services = std::unique_ptr<Services>(
      new Services{store, *service_key_, clock_, random_, "example.com/log"});
  const auto answer = decide(*services, request());
  EXPECT_TRUE(answer) << to_string(answer.error());
  EXPECT_EQ(writes_, 3);
  for (auto& push : pushes) {
    push.get();
  }
}

// A signature without a role that covers a statement means nothing there, so it is no signature of
// somebody whom a list denies.
TEST_F(LineageService, ASignatureWithoutARole_IsNotStored_AndDeniesNothing) {
  const TestKey mallory = make_key(KeyPurpose::kSigner, "mallory", {role("train", "mallory")});
  change({AddKey{mallory.record}});
  require_lineage({{"deny", {{"identities", {"mallory"}}}}});
  Lifecycle lifecycle;
  lifecycle.stage = "collect";
  lifecycle.parameters = {{"license", "Apache-2.0"}};
  lifecycle.comment = "signed by two";
  const Statement made = to_statement(lifecycle, {subject_of(corpus_)}).value();
  const auto accepted =
      accept_attestation(*services_, statement_envelope(made, {&mallory, &curator_}), actor_);
  ASSERT_TRUE(accepted) << to_string(accepted.error());
  ASSERT_EQ(accepted->row.signers.size(), 1U);
  EXPECT_EQ(accepted->row.signers[0].key, curator_.record.id);
  EXPECT_EQ(accepted->record["detail"]["signers"], Json::array({curator_.record.id.text()}));
  EXPECT_EQ(reasons(), Codes());
  // Who made it is denied.
  require_lineage({{"deny", {{"identities", {"curator"}}}}});
  EXPECT_EQ(reasons(), Codes{Reason::kAncestorDenied});
}

// --- the cache

TEST_F(LineageService, ClosureIsShared_UntilSomethingInItChanges) {
  const TestKey other = make_key(KeyPurpose::kSigner, "other", {role("collect")});
  change({AddKey{other.record}});
  const ArtifactId artifact = id_of(model_);
  const auto closure = [&] {
    return lineage_facts(*services_, *store_->snapshot().value(), artifact).value().facts;
  };
  const auto first = closure();
  EXPECT_EQ(closure(), first);
  accept(statement("collect", secret_, {}, curator_));
  EXPECT_EQ(closure(), first) << "about another thing";
  accept(statement("collect", secret_, {}, other));
  EXPECT_EQ(closure(), first) << "a signature about another thing";
  accept(statement("collect", corpus_, {}, curator_, "again"));
  const auto second = closure();
  EXPECT_NE(second, first);
  EXPECT_NE(second->head.id, first->head.id);
  change({RevokeKey{trainer_.record.id, "stolen"}});
  EXPECT_NE(closure()->head.id, second->head.id);
}

// A lineage that is judged under ever more policies takes no memory that nobody counts.
TEST_F(LineageService, WhatItsConditionsCameTo_CountsInTheWeightOfTheCache) {
  const auto facts = [&] {
    return lineage_facts(*services_, *store_->snapshot().value(), id_of(model_)).value().facts;
  };
  const auto first = facts();
  EXPECT_EQ(first->results->bytes(), 0U);
  const std::size_t before = services_->decisions.lineages.weight();
  EXPECT_GT(before, 0U);
  for (int depth = 1; depth <= 6; ++depth) {
    require_lineage({{"max_depth", depth}});
    const std::size_t kept = first->results->bytes();
    EXPECT_EQ(reasons(), Codes());
    EXPECT_GT(first->results->bytes(), kept);
    EXPECT_EQ(services_->decisions.lineages.weight(), before + first->results->bytes());
  }
  EXPECT_EQ(facts(), first);
  EXPECT_EQ(services_->decisions.lineages.weight(), before + first->results->bytes());
}

// What decisions about one lineage have in common is stored with the first of them, whether the
// service still knows it or reads it again.
TEST_F(LineageService, DecisionsAboutOneLineage_StoreItOnce) {
  const auto stored = [this] {
    store_.reset();
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open((directory_ / "assay.db").c_str(), &database), SQLITE_OK);
    std::int64_t count = -1;
    const auto take = [](void* out, int, char** columns, char**) {
      *static_cast<std::int64_t*>(out) = std::strtoll(columns[0], nullptr, 10);
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(database, "SELECT count(*) FROM documents", take, &count, nullptr),
              SQLITE_OK);
    sqlite3_close(database);
    reopen();
    return count;
  };
  const std::int64_t none = stored();
  decide_now();
  const std::int64_t first = stored() - none;
  decide_now();
  const std::int64_t again = stored() - none - first;
  decide_now();
  decide_now();
  EXPECT_EQ(stored() - none - first, 3 * again);
  // The closure, and its two statements and its manifest.
  EXPECT_GE(first, again + 4);
}

TEST_F(LineageService, ReadDown_FindsTheModel) {
  const auto lineage = read_lineage(*store_->snapshot().value(), id_of(corpus_).text(),
                                    policy::LineageDirection::kDown, 64, always_);
  ASSERT_TRUE(lineage) << to_string(lineage.error());
  const auto view = policy::view_of(**lineage, policy::LineageDirection::kDown, 64);
  ASSERT_EQ(view.nodes.size(), 2U);
  EXPECT_EQ(view.nodes[1].digests, std::vector<std::string>{id_of(model_).text()});
}

// A wide statement has for each digest of its subjects an edge for each of its inputs, and one.
TEST_F(LineageService, MadeFrom_EndsAtItsLimitOnEdges) {
  Lifecycle wide;
  wide.stage = "train";
  wide.inputs.push_back({"base-model", corpus_.name, subject_of(corpus_).digest});
  while (wide.inputs.size() < 100) {
    const std::string name = "part-" + std::to_string(wide.inputs.size());
    wide.inputs.push_back({"adapter", name, {{"sha256", sha256(as_bytes(name)).hex()}}});
  }
  accept(statement_envelope(to_statement(wide, {subject_of(secret_)}).value(), {&trainer_}));
  const auto made = [&](std::size_t edges) {
    return made_from_lineage(*store_->snapshot().value(), id_of(corpus_).text(), always_,
                             {.edges = edges})
        .value();
  };
  const std::size_t edges =
      (1 + 99 + subject_of(corpus_).digest.size()) * subject_of(secret_).digest.size();
  EXPECT_EQ(made(edges)->reached(), std::vector<std::string>());
  EXPECT_TRUE(made(edges)->mentions(id_of(secret_).text()));
  EXPECT_EQ(made(edges - 1)->reached(), std::vector<std::string>{"edges"});
}

// What is shown of a lineage ends at 2,000 statements. It has three: the manifest, and what the
// fixture says.
TEST_F(LineageService, ReadUp_EndsAtItsLimitOnStatements) {
  storage::StatementQuery query;
  query.subject = id_of(corpus_).text();
  const storage::StatementRow known = store_->snapshot().value()->statements(query)->items.at(0);
  const auto add_rows = [&](std::size_t from, std::size_t to) {
    const auto work = [&](storage::Transaction& transaction) -> Status {
      for (std::size_t i = from; i < to; ++i) {
        storage::StatementRow row = known;
        const std::string text = "collected " + std::to_string(i);
        ASSAY_ASSIGN(const DocumentId document,
                     transaction.put_document("text/plain", as_bytes(text)));
        ASSAY_ASSIGN(row.log_index, transaction.append({.type = "attestation.accepted",
                                                        .time = transaction.now(),
                                                        .actor = "t",
                                                        .subjects = {},
                                                        .documents = {document},
                                                        .detail = Json::object()}));
        row.id = StatementId(sha256(as_bytes(text)));
        row.signers.front().log_index = row.log_index;
        row.envelopes = {document};
        ASSAY_TRY(transaction.put_statement(row));
      }
      return {};
    };
    ASSERT_TRUE(store_->write(work));
  };
  const auto read = [&] {
    return read_lineage(*store_->snapshot().value(), id_of(model_).text(),
                        policy::LineageDirection::kUp, 64, always_)
        .value();
  };
  add_rows(3, 2000);
  EXPECT_EQ(read()->statements().size(), 2000U);
  EXPECT_EQ(read()->reached(), std::vector<std::string>());
  add_rows(2000, 2001);
  EXPECT_EQ(read()->statements().size(), 2000U);
  EXPECT_EQ(read()->reached(), std::vector<std::string>{"statements"});
}

// What is shown of a lineage ends at 100,000 edges.
TEST_F(LineageService, ReadUp_EndsAtItsLimitOnEdges) {
  const auto parts = [](std::size_t count, const std::string& start) {
    std::vector<Subject> made;
    while (made.size() < count) {
      const std::string name = start + std::to_string(made.size());
      made.push_back({"acme/" + start, {{"sha256", sha256(as_bytes(name)).hex()}}});
    }
    return made;
  };
  const auto say = [&](const std::vector<Subject>& about, std::size_t inputs,
                       const std::string& start) {
    Lifecycle wide;
    wide.stage = "train";
    for (const Subject& part : parts(inputs, start)) {
      wide.inputs.push_back({"dataset", part.name, part.digest});
    }
    accept(statement_envelope(to_statement(wide, about).value(), {&trainer_}));
  };
  const auto reached = [&](const Manifest& model) {
    return read_lineage(*store_->snapshot().value(), id_of(model).text(),
                        policy::LineageDirection::kUp, 64, always_)
        .value()
        ->reached();
  };
  ASSERT_EQ(subject_of(secret_).digest.size(), 1U);
  const Manifest other = manifest("other");
  std::vector<Subject> both = parts(98, "made-");
  both.push_back(subject_of(secret_));
  both.push_back(subject_of(other));
  say(both, 998, "a-");  // 100 times 999
  say({subject_of(secret_)}, 99, "b-");
  EXPECT_EQ(reached(secret_), std::vector<std::string>());
  say({subject_of(other)}, 100, "b-");
  EXPECT_EQ(reached(other), std::vector<std::string>{"edges"});
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
                                    policy::LineageDirection::kUp, 64, always_);
  ASSERT_TRUE(lineage) << to_string(lineage.error());
  ASSERT_EQ((*lineage)->statements().size(), 2U);
  const auto& inputs = (*lineage)->statements().back()->inputs;
  ASSERT_EQ(inputs.size(), 2U);
  EXPECT_EQ(inputs[0].role, policy::kDependencyRole);
  EXPECT_TRUE(inputs[1].digests.empty());
  EXPECT_EQ(inputs[1].name, "git+https://example.com/x");
  Json& dependencies = provenance.predicate["buildDefinition"]["resolvedDependencies"];
  dependencies = {{{"name", "acme/corpus"},
                   {"uri", "https://example.com/corpus"},
                   {"downloadLocation", "https://example.net/corpus"},
                   {"digest", {{"sha256", std::string(64, 'A')}}}}};
  accept(statement_envelope(provenance, {&builder}));
  {
    const auto read = read_lineage(*store_->snapshot().value(), id_of(built).text(),
                                   policy::LineageDirection::kUp, 64, always_);
    const policy::LineageStatement& newest = *(*read)->statements().back();
    EXPECT_TRUE(newest.unread) << "a digest in another form may be anything";
    EXPECT_EQ(newest.inputs[0].name, "acme/corpus");
    EXPECT_EQ(newest.inputs[0].also, (std::vector<std::string>{"https://example.com/corpus",
                                                               "https://example.net/corpus"}));
  }
  dependencies = "many";
  accept(statement_envelope(provenance, {&builder}));
  const auto again = read_lineage(*store_->snapshot().value(), id_of(built).text(),
                                  policy::LineageDirection::kUp, 64, always_);
  EXPECT_TRUE((*again)->statements().back()->unread);
}

TEST_F(LineageService, SurvivesARestart) {
  const Decision decision = decide_now();
  reopen();
  EXPECT_EQ(reasons(), Codes());
  EXPECT_TRUE(replay(*services_, decision.id)->reproduced);
}

// At whatever step of a lineage the deadline passes: no decision, and nothing is stored. What was
// read before the deadline is worth as much as it was.
TEST_F(LineageService, Deadline_EndsTheReadingAndTheJudgement) {
  require_lineage({{"deny", {{"names", {"acme/secret"}}}}});
  int stopped = 0;
  for (bool made = false; !made; ++stopped) {
    ASSERT_LT(stopped, 200);
    const SteppingClock clock(clock_.now());
    Services services{*store_, *service_key_, clock, random_, "example.com/log"};
    DecisionRequest asked = request();
    asked.deadline = clock_.now() + std::chrono::milliseconds(stopped + 1);
    const TreeSize before = log_size();
    const auto answer = decide(services, asked);
    made = answer.has_value();
    if (!made) {
      EXPECT_EQ(answer.error().code, ErrorCode::kEvaluationDeadline);
      EXPECT_EQ(log_size(), before);
      DecisionRequest patient = request();
      patient.dry_run = true;
      const auto whole = decide(services, patient);
      ASSERT_TRUE(whole) << to_string(whole.error());
      EXPECT_TRUE(whole->decision->verdict.allowed) << "nothing half judged is kept";
    }
  }
  EXPECT_GT(stopped, 10) << "each statement and the judgement look at the time";
}

// What is known from the decision before is not read again, and still takes time.
TEST_F(LineageService, Deadline_IsLookedAtOverAKnownLineage) {
  (void)decide_now();
  const auto late =
      lineage_facts(*services_, *store_->snapshot().value(), id_of(corpus_), clock_.now());
  EXPECT_EQ(refusal(late), ErrorCode::kEvaluationDeadline);
  const Decision decision = decide_now();
  EXPECT_EQ(refusal(replay(*services_, decision.id, clock_.now())), ErrorCode::kEvaluationDeadline);
}

}  // namespace
}  // namespace assay::server::test
