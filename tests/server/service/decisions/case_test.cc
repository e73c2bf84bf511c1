// SPDX-License-Identifier: Apache-2.0
// Cases made of parts: what decisions share, what one more statement costs, that predicates stay in
// their envelopes, and that a replay misses nothing that is gone.
#include <optional>
#include <set>

#include <sqlite3.h>

#include "policy/statement_index.h"
#include "schemas/core/sha.h"
#include "server/service/decisions/case_file.h"
#include "server/service/documents/accept.h"
#include "server/service/facts/artifact_facts.h"
#include "server/service/governance/trust.h"
#include "tests/server/service/fixture.h"
#include "tests/support/kept_triggers.h"

namespace assay::server::test {
namespace {

// A statement on the database file; the store is closed.
class Database {
 public:
  explicit Database(const std::string& path) {
    EXPECT_EQ(sqlite3_open(path.c_str(), &database_), SQLITE_OK);
    triggers_.emplace(database_);
  }
  ~Database() { sqlite3_close(database_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void put_triggers_back() const { triggers_->put_back(); }
  void run(const std::string& sql) {
    EXPECT_EQ(sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database_);
  }
  std::int64_t number(const std::string& sql) {
    std::int64_t value = -1;
    const auto take = [](void* out, int, char** columns, char**) {
      *static_cast<std::int64_t*>(out) = std::strtoll(columns[0], nullptr, 10);
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(database_, sql.c_str(), take, &value, nullptr), SQLITE_OK);
    return value;
  }

 private:
  sqlite3* database_ = nullptr;
  std::optional<assay::test::KeptTriggers> triggers_;
};

// Counts for good.
Status add(NamespaceQuota& cases, const std::string& name_space, std::size_t bytes, Timestamp now) {
  ASSAY_ASSIGN(const auto room, cases.reserve(name_space, bytes, now));
  if (room) {
    room->keep();
  }
  return {};
}

class Cases : public ServiceTest {
 protected:
  Cases() { put_policy_in_force(); }

  DecisionRequest request(const Manifest& model) {
    return {.point = DecisionPoint::kCreate,
            .models = {model.name},
            .workload = {"inference", {{"app", "chat"}}, {"nvidia.com/gpu"}},
            .context = {{"uid", "1"}},
            .principal = "kube-apiserver"};
  }
  Decision decide_on(const DecisionRequest& asked) {
    const auto answer = decide(*services_, asked);
    EXPECT_TRUE(answer) << to_string(answer.error());
    return answer->decision.value();
  }
  // Closes the store, does `work` on its file, and opens it again.
  void on_file(const std::function<void(Database&)>& work) {
    services_.reset();
    store_.reset();
    {
      Database database((directory_ / "assay.db").string());
      database.run("ATTACH '" + (directory_ / "aside.db").string() + "' AS aside");
      database.run("DROP TRIGGER IF EXISTS documents_keep_delete");
      database.run("DROP TRIGGER IF EXISTS documents_keep_update");
      work(database);
      database.put_triggers_back();
    }
    reopen();
  }
  std::int64_t stored_bytes() {
    std::int64_t bytes = 0;
    on_file([&](Database& database) {
      bytes = database.number("SELECT sum(length(bytes)) FROM documents");
    });
    return bytes;
  }
  Json document(const DocumentId& id) {
    return parse_json(store_->snapshot().value()->document(id).value().bytes).value();
  }
  // Every document that the case is made of.
  std::set<std::string> parts_of(const DocumentId& id) {
    std::set<std::string> ids = {id.text()};
    const Json json = document(id);
    const auto add = [&](const Json& text) {
      const auto below = parts_of(DocumentId::parse(text.get<std::string>()).value());
      ids.insert(below.begin(), below.end());
    };
    if (json.is_object() && json.contains("parts")) {
      std::for_each(json["parts"].begin(), json["parts"].end(), add);
    } else if (json.is_object() && json.contains("evaluator")) {
      add(json["workload"]);
      add(json["policies"]);
      for (const Json& model : json["models"]) {
        add(model["statements"]);
        add(model["keys"]);
      }
    }
    return ids;
  }
};

std::string hex(const std::string& id) { return id.substr(id.find(':') + 1); }

TEST_F(Cases, DecisionsThatDifferInWhatNoPolicyReads_ShareTheirCase) {
  const Manifest model = manifest("m");
  ASSERT_TRUE(accept_manifest(*services_, signed_manifest(model), actor_));
  const Decision first = decide_on(request(model));
  EXPECT_FALSE(first.verdict.allowed);
  clock_.advance(std::chrono::hours(3));
  DecisionRequest other = request(model);
  other.context = {{"uid", "2"}};
  other.workload.labels = {{"app", "batch"}, {"pod-template-hash", "59d8"}};
  const Decision second = decide_on(other);
  EXPECT_EQ(second.facts, first.facts);
  EXPECT_EQ(second.results, first.results);
  EXPECT_NE(second.replay_digest, first.replay_digest) << "the time is in it";
  for (int i = 0; i < 256; ++i) {
    other.workload.resources.push_back(std::to_string(i) + ".example/" + std::string(200, 'x'));
    other.workload.accelerators.push_back("env:" + std::to_string(i));
  }
  EXPECT_EQ(decide_on(other).facts, first.facts);
  other.workload.name_space = "elsewhere";
  EXPECT_NE(decide_on(other).facts, first.facts);
}

TEST_F(Cases, DenialOfAKnownKind_StoresUnder4KiBOfDocuments) {
  const Manifest model = manifest("m");
  ASSERT_TRUE(accept_manifest(*services_, signed_manifest(model), actor_));
  decide_on(request(model));
  const std::int64_t before = stored_bytes();
  decide_on(request(model));
  EXPECT_LT(stored_bytes() - before, 2'000) << "two of them fit a page of the database";
}

// As many mounts as a pod may have, at paths that are about as long as they may be.
policy::Workload long_paths(const std::string& different = "") {
  policy::Workload workload{"inference", {}, {"nvidia.com/gpu"}};
  workload.pod = true;
  for (int i = 0; i < 1000; ++i) {
    workload.mounts.push_back({.container = "server",
                               .path = "/" + different + std::string(100, 'p') + std::to_string(i),
                               .volume = "data",
                               .source = "persistentVolumeClaim",
                               .location = "pvc://inference/unknown",
                               .read_only = true});
  }
  return workload;
}

TEST_F(Cases, DenialsOfOneTemplateWithLongPaths_ShareThem) {
  const Manifest model = manifest("m");
  ASSERT_TRUE(accept_manifest(*services_, signed_manifest(model), actor_));
  DecisionRequest asked = request(model);
  asked.workload = long_paths();
  decide_on(request(model));
  const std::int64_t before = stored_bytes();
  const Decision first = decide_on(asked);
  const std::int64_t once = stored_bytes();
  EXPECT_GT(once - before, 200'000);
  EXPECT_LT(once - before, static_cast<std::int64_t>(kMaxWorkloadBytes));
  asked.context = {{"uid", "2"}};
  const Decision second = decide_on(asked);
  EXPECT_LT(stored_bytes() - once, 2'000) << "two of them fit a page of the database";
  EXPECT_EQ(second.facts, first.facts);
  EXPECT_TRUE(replay(*services_, second.id)->reproduced);
}

TEST_F(Cases, LongestWorkload_IsKeptAndNoLonger) {
  const Manifest model = manifest("m");
  DecisionRequest asked = request(model);
  asked.workload = long_paths();
  const std::size_t bytes = make_part(policy::to_json(asked.workload)).value().bytes.size();
  std::string& path = asked.workload.mounts.front().path;
  path += std::string(kMaxWorkloadBytes - bytes, 'x');
  EXPECT_FALSE(decide_on(asked).verdict.allowed);
  path += 'x';
  EXPECT_EQ(refusal(decide(*services_, asked)), ErrorCode::kLimitExceeded);
}

// Ever new paths fill no disk: the namespace that tries it is refused, pods of a kind that is known
// and ordinary ones go on, and so does everybody else.
TEST_F(Cases, DenialsThatDifferInLongPaths_EndForTheirNamespace) {
  const Manifest model = manifest("m");
  ASSERT_TRUE(accept_manifest(*services_, signed_manifest(model), actor_));
  DecisionRequest asked = request(model);
  asked.cluster = "cluster-a";
  ASSERT_TRUE(add(services_->namespace_quota, "cluster-a/inference",
                  kMaxNewBytesAnHour - kMaxWorkloadBytes, clock_.now()));
  asked.workload = long_paths("0");
  EXPECT_EQ(refusal(decide(*services_, asked)), std::nullopt);
  asked.workload = long_paths("1");
  const TreeSize size = log_size();
  EXPECT_EQ(refusal(decide(*services_, asked)), ErrorCode::kLimitExceeded);
  EXPECT_EQ(log_size(), size);
  asked.workload = long_paths("0");
  EXPECT_EQ(refusal(decide(*services_, asked)), std::nullopt) << "known";
  asked.workload = request(model).workload;
  EXPECT_EQ(refusal(decide(*services_, asked)), std::nullopt) << "ordinary";
  asked.workload = long_paths("never seen");
  asked.dry_run = true;
  EXPECT_EQ(refusal(decide(*services_, asked)), std::nullopt) << "nothing is kept";
  asked.dry_run = false;
  EXPECT_EQ(refusal(decide(*services_, asked)), ErrorCode::kLimitExceeded);
  asked.workload.name_space = "elsewhere";
  EXPECT_EQ(refusal(decide(*services_, asked)), std::nullopt);
  asked.workload.name_space = "inference";
  clock_.advance(std::chrono::hours(1));
  EXPECT_EQ(refusal(decide(*services_, asked)), std::nullopt);
}

TEST(NamespaceQuota, AreCountedUpToTheLimitOfTheHour) {
  const Timestamp start(std::chrono::hours(1));
  NamespaceQuota cases;
  EXPECT_TRUE(add(cases, "a", kMaxNewBytesAnHour, start));
  EXPECT_EQ(refusal(add(cases, "a", kMaxUncountedBytes + 1, start)), ErrorCode::kLimitExceeded);
  EXPECT_TRUE(add(cases, "a", kMaxUncountedBytes, start));
  EXPECT_EQ(refusal(add(cases, "b", kMaxNewBytesAnHour + 1, start)), ErrorCode::kLimitExceeded);
  EXPECT_TRUE(add(cases, "b", kMaxNewBytesAnHour, start));
  const auto last = start + std::chrono::minutes(60) - std::chrono::milliseconds(1);
  EXPECT_EQ(refusal(add(cases, "a", kMaxUncountedBytes + 1, last)), ErrorCode::kLimitExceeded);
  EXPECT_TRUE(add(cases, "a", kMaxNewBytesAnHour, start + std::chrono::minutes(60)));
}

TEST(NamespaceQuota, WhatIsNotKept_IsGivenBackToItsHour) {
  const Timestamp start(std::chrono::hours(1));
  NamespaceQuota cases;
  {
    const auto room = cases.reserve("a", kMaxNewBytesAnHour, start).value();
    EXPECT_EQ(refusal(add(cases, "a", kMaxUncountedBytes + 1, start)), ErrorCode::kLimitExceeded);
  }
  auto room = cases.reserve("a", kMaxNewBytesAnHour, start).value();
  const auto later = start + std::chrono::hours(1);
  EXPECT_TRUE(add(cases, "a", kMaxNewBytesAnHour, later));
  room.reset();
  EXPECT_EQ(refusal(add(cases, "a", kMaxUncountedBytes + 1, later)), ErrorCode::kLimitExceeded)
      << "another hour";
}

TEST(NamespaceQuota, MoreNamespacesThanAreCountedApart_AreCountedTogether) {
  const Timestamp start(std::chrono::hours(1));
  NamespaceQuota cases;
  for (std::size_t i = 0; i < kMaxCountedNamespaces; ++i) {
    ASSERT_TRUE(add(cases, std::to_string(i), kMaxNewBytesAnHour, start));
  }
  EXPECT_TRUE(add(cases, "x", kMaxNewBytesAnHour, start));
  EXPECT_EQ(refusal(add(cases, "y", kMaxUncountedBytes + 1, start)), ErrorCode::kLimitExceeded);
  EXPECT_EQ(refusal(add(cases, "7", kMaxUncountedBytes + 1, start)), ErrorCode::kLimitExceeded);
  const auto later = start + std::chrono::hours(1);
  EXPECT_TRUE(add(cases, "y", kMaxNewBytesAnHour, later));
  EXPECT_TRUE(add(cases, "7", kMaxNewBytesAnHour, later));
}

TEST_F(Cases, StoredDecision_ComesWithItsResults) {
  const Manifest model = manifest("m");
  ASSERT_TRUE(accept_manifest(*services_, signed_manifest(model), actor_));
  const Decision decision = decide_on(request(model));
  const auto load = [&] {
    const auto snapshot = store_->snapshot().value();
    return load_decision(*snapshot, snapshot->decision(decision.id).value());
  };
  EXPECT_EQ(load().value(), to_json(decision));
  on_file([&](Database& database) {
    database.run("DELETE FROM documents WHERE id = x'" + hex(decision.results.text()) + "'");
  });
  EXPECT_EQ(refusal(load()), ErrorCode::kDataLoss);
}

TEST_F(Cases, Predicates_StayInTheirEnvelopes) {
  const Manifest model = manifest("m");
  store_good_model(model);
  Lifecycle large;
  large.stage = "evaluate";
  large.metrics["accuracy"] = {0.95, "1"};
  large.parameters["notes"] = std::string(200'000, 'x');
  const Statement statement = to_statement(large, {subject_of(model)}).value();
  ASSERT_TRUE(accept_attestation(*services_, statement_envelope(statement, {&evaluator_}), actor_));
  const std::int64_t before = stored_bytes();
  const Decision decision = decide_on(request(model));
  EXPECT_TRUE(decision.verdict.allowed) << to_json(decision.verdict).dump(1);
  EXPECT_LT(stored_bytes() - before, 16'000);
  const auto again = replay(*services_, decision.id);
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_TRUE(again->reproduced);
}

TEST_F(Cases, OneList_NamesPartsUpToTheLimitAndNotOnePast) {
  const auto list_of = [&](std::size_t count) {
    std::vector<SharedPart> items;
    while (items.size() < count) {
      items.push_back(make_shared_part({{"item", items.size()}}).value());
    }
    const PartList list = PartList::of(items).value();
    EXPECT_TRUE(store_->write([&](storage::Transaction& transaction) -> Status {
      ASSAY_TRY(list.put(transaction));
      ASSAY_TRY(transaction.append({.type = "test.appended",
                                    .time = transaction.now(),
                                    .actor = "t",
                                    .subjects = {},
                                    .documents = {},
                                    .detail = Json::object()}));
      return {};
    }));
    auto snapshot = store_->snapshot().value();
    EXPECT_EQ(policy::read_case_list(reader_of(*snapshot), list.root()).value().size(), count);
    snapshot.reset();
    return document(list.root());
  };
  const Json full = list_of(PartList::kFanOut);
  EXPECT_EQ(full["level"], 1);
  EXPECT_EQ(full["parts"].size(), PartList::kFanOut);
  const Json over = list_of(PartList::kFanOut + 1);
  EXPECT_EQ(over["level"], 2);
  EXPECT_EQ(over["parts"].size(), 2U);
}

TEST_F(Cases, OneMoreStatement_AddsItselfAndOneListALevel) {
  const Manifest model = manifest("m");
  store_good_model(model);
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(accept_attestation(
        *services_, approval(model, approver_a_, "again " + std::to_string(i)), actor_));
  }
  const auto before = parts_of(decide_on(request(model)).facts);
  EXPECT_GT(before.size(), 40U);
  ASSERT_TRUE(accept_attestation(*services_, approval(model, approver_a_, "one more"), actor_));
  auto after = parts_of(decide_on(request(model)).facts);
  std::erase_if(after, [&](const std::string& id) { return before.contains(id); });
  EXPECT_EQ(after.size(), 4U) << "the statement, the last list, the list of lists, the case";
}

TEST_F(Cases, AnyPartThatIsMissingOrDamaged_IsDataLoss) {
  const Manifest model = manifest("m");
  store_good_model(model);
  const Decision decision = decide_on(request(model));
  ASSERT_TRUE(replay(*services_, decision.id)->reproduced);
  const auto parts = parts_of(decision.facts);
  EXPECT_EQ(parts.size(), 8U);
  for (const std::string& part : parts) {
    const std::string where = " WHERE id = x'" + hex(part) + "'";
    on_file([&](Database& database) {
      database.run("CREATE TABLE aside.kept AS SELECT * FROM documents" + where);
      database.run("DELETE FROM documents" + where);
    });
    EXPECT_EQ(refusal(replay(*services_, decision.id)), ErrorCode::kDataLoss) << part;
    on_file([&](Database& database) {
      database.run("INSERT INTO documents SELECT id, media_type, 0, x'7b7d', seal FROM kept");
    });
    EXPECT_EQ(refusal(replay(*services_, decision.id)), ErrorCode::kDataLoss) << part;
    on_file([&](Database& database) {
      database.run("DELETE FROM documents" + where);
      database.run("INSERT INTO documents SELECT * FROM kept");
      database.run("DROP TABLE aside.kept");
    });
  }
  EXPECT_TRUE(replay(*services_, decision.id)->reproduced);
}

TEST_F(Cases, EnvelopeWithAPredicateThatIsRead_IsMissed) {
  const Manifest model = manifest("m");
  ASSERT_TRUE(accept_manifest(*services_, signed_manifest(model), actor_));
  const auto accepted = accept_attestation(*services_, evaluation(model, 0.95), actor_);
  ASSERT_TRUE(accepted);
  const Decision decision = decide_on(request(model));
  const std::string id = hex(accepted->row.envelopes.front().text());
  on_file([&](Database& database) {
    database.run("UPDATE documents SET bytes = x'7b7d' WHERE id = x'" + id + "'");
  });
  EXPECT_EQ(refusal(replay(*services_, decision.id)), ErrorCode::kDataLoss);
  EXPECT_EQ(refusal(decide(*services_, request(model))), ErrorCode::kDataLoss);
}

// --- facts that are kept between decisions

TEST_F(Cases, Facts_AreReadAgainOnlyWhenSomethingWasAdded) {
  const Manifest model = manifest("m");
  store_good_model(model);
  const auto facts = [&] {
    const auto snapshot = store_->snapshot().value();
    return artifact_facts(*services_, *snapshot, id_of(model)).value();
  };
  const auto first = facts();
  EXPECT_EQ(facts(), first);
  ASSERT_TRUE(accept_manifest(*services_, signed_manifest(manifest("other")), actor_));
  EXPECT_EQ(facts(), first) << "about another model";
  ASSERT_TRUE(accept_attestation(*services_, evaluation(model, 0.5), actor_));
  const auto second = facts();
  EXPECT_NE(second, first);
  EXPECT_EQ(second->facts.statements.size(), 3U) << "two people approve one statement";
  ASSERT_TRUE(apply_trust_change(
      *services_,
      trust_change(1, {RevokeKey{approver_b_.record.id, "left"}}, {&operator1_, &operator2_}),
      actor_));
  EXPECT_NE(facts(), second);
}

// A name that no store gave: it stays as long as what was known is taken over.
void mark(Services& services, const ArtifactId& artifact) {
  auto known = services.decisions.artifacts.find(artifact.text()).value();
  auto marked = std::make_shared<ArtifactFacts>(*known.facts);
  marked->facts.name = "marked";
  known.facts = std::move(marked);
  services.decisions.artifacts.put(artifact.text(), known);
}

TEST_F(Cases, Facts_TakeOverWhatWasKnownAndAddWhatIsNew) {
  const Manifest model = manifest("m");
  store_good_model(model);
  const auto facts = [&] {
    const auto snapshot = store_->snapshot().value();
    return artifact_facts(*services_, *snapshot, id_of(model)).value();
  };
  const auto whole = [&] {
    services_->decisions.artifacts.put(id_of(model).text(), {}, DecisionCache::kMaxFactBytes + 1);
    return facts();
  };
  const auto expect_whole = [&](const ArtifactFacts& known) {
    const auto read = whole();
    EXPECT_EQ(known.statements.root(), read->statements.root());
    EXPECT_EQ(known.keys.id, read->keys.id);
    EXPECT_EQ(known.envelopes, read->envelopes);
    EXPECT_EQ(policy::to_json(known.facts)["statements"],
              policy::to_json(read->facts)["statements"]);
    EXPECT_EQ(known.facts.index->source, known.facts.statements.shared());
  };
  const Bytes again = approval(model, approver_a_, "by two");
  ASSERT_TRUE(accept_attestation(*services_, again, actor_));
  facts();
  for (int i = 0; i < 70; ++i) {  // more than two lists of parts
    mark(*services_, id_of(model));
    ASSERT_TRUE(accept_attestation(
        *services_, approval(model, approver_a_, "again " + std::to_string(i)), actor_));
    const auto known = facts();
    EXPECT_EQ(known->facts.name, "marked");
    if (i % 10 == 0 || i > 60) {
      expect_whole(*known);
    }
  }
  mark(*services_, id_of(model));
  Manifest moved = model;
  moved.locations = {"pvc://inference/elsewhere"};
  ASSERT_TRUE(accept_manifest(*services_, signed_manifest(moved), actor_));
  const auto known = facts();
  EXPECT_EQ(known->facts.name, "marked");
  EXPECT_EQ(known->facts.manifests.size(), whole()->facts.manifests.size());
  expect_whole(*known);
  mark(*services_, id_of(model));
  ASSERT_TRUE(accept_attestation(*services_, approval(model, approver_b_, "by two"), actor_));
  EXPECT_EQ(facts()->facts.name, "") << "a signature on a statement that was known";
  expect_whole(*facts());
}

TEST_F(Cases, TestsOfPredicates_AreRunOnce) {
  const Manifest model = manifest("m");
  store_good_model(model);
  EXPECT_EQ(services_->decisions.tests.weight(), 0U);
  EXPECT_TRUE(decide_on(request(model)).verdict.allowed);
  EXPECT_EQ(services_->decisions.tests.weight(), 1U) << "of the evaluation";
  EXPECT_TRUE(decide_on(request(model)).verdict.allowed);
  EXPECT_EQ(services_->decisions.tests.weight(), 1U);
  ASSERT_TRUE(accept_attestation(*services_, evaluation(model, 0.5), actor_));
  EXPECT_FALSE(decide_on(request(model)).verdict.allowed);
  EXPECT_EQ(services_->decisions.tests.weight(), 2U);
}

TEST(Lru, ForgetsWhatWasUsedLongestAgo_AndWhatWeighsTooMuch) {
  Lru<std::string, int> lru(3);
  lru.put("a", 1);
  lru.put("b", 2);
  lru.put("c", 3);
  EXPECT_EQ(lru.find("a"), 1);
  lru.put("d", 4);
  EXPECT_EQ(lru.find("b"), std::nullopt);
  EXPECT_EQ(lru.find("a"), 1);
  lru.put("a", 5, 4);
  EXPECT_EQ(lru.find("a"), std::nullopt) << "neither the old value nor one that weighs too much";
  EXPECT_EQ(lru.weight(), 2U);
  lru.put("e", 6, 3);
  EXPECT_EQ(lru.weight(), 3U);
  EXPECT_EQ(lru.find("d"), std::nullopt);
}

TEST(Lru, WeighedAgain_CountsForTheNewWeight) {
  Lru<std::string, int> lru(4);
  lru.put("a", 1);
  lru.put("b", 2);
  lru.put("c", 3);
  lru.weigh("a", [](int value) { return static_cast<std::size_t>(value) + 1; });
  EXPECT_EQ(lru.weight(), 4U);
  lru.weigh("c", [](int) { return 2U; });
  EXPECT_EQ(lru.find("b"), std::nullopt) << "used longest ago";
  EXPECT_EQ(lru.weight(), 4U);
  lru.weigh("b", [](int) { return 1U; });
  EXPECT_EQ(lru.weight(), 4U) << "what is not there has no weight";
  lru.weigh("a", [](int) { return 5U; });
  EXPECT_EQ(lru.find("a"), std::nullopt);
  EXPECT_EQ(lru.weight(), 0U);
}

}  // namespace
}  // namespace assay::server::test
