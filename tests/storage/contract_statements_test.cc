// SPDX-License-Identifier: Apache-2.0
// Contract of storage/store.h: statements and how they are found.
#include <algorithm>

#include "tests/storage/store_contract.h"

namespace assay::storage {
namespace {

SignerRow signer_row(const std::string& key) {
  return {KeyId(digest_of(key)), Timestamp(std::chrono::hours(7)), 0};
}

TEST_P(StoreContract, Statement_PutAndGet_EveryFieldKept) {
  StatementRow row = make_statement("acme/full");
  row.kind = StatementKind::kAttestation;
  row.stage = "train";
  row.version = 7;
  row.subjects = {"sha256:bb", "sha256:aa", "gitCommit:cc"};
  row.locations = {"pvc://prod/models/b", "oci://registry/a"};
  row.signers = {signer_row("two"), signer_row("one")};
  row.contents = R"({"objects":"both"})";
  row.bytes = 12345;
  write([&](Transaction& transaction) -> Status {
    ASSAY_ASSIGN(row, put(transaction, row));
    return {};
  });
  EXPECT_EQ(snapshot()->statement(row.id).value(), row);
  EXPECT_EQ(snapshot()->statement(StatementId(digest_of("none"))).error().code,
            ErrorCode::kNotFound);
}

TEST_P(StoreContract, Statement_PutTwice_IsAConflictThatTheCallerMaySurvive) {
  StatementRow row = make_statement("acme/once");
  write([&](Transaction& transaction) -> Status {
    ASSAY_ASSIGN(row, put(transaction, row));
    return {};
  });
  const LogState state = write([&](Transaction& transaction) -> Status {
    StatementRow again = row;
    ASSAY_ASSIGN(again.log_index, transaction.append(make_record("manifest.accepted")));
    EXPECT_EQ(transaction.put_statement(again).error().code, ErrorCode::kConflict);
    return {};
  });
  EXPECT_EQ(state.size, 2U);
  EXPECT_EQ(snapshot()->statement(row.id)->log_index, 0U);
}

TEST_P(StoreContract, Statement_LogIndexTakenOrBehind_IsAConflict) {
  append(2);
  StatementRow row = make_statement("acme/first");
  write([&](Transaction& transaction) -> Status {
    ASSAY_ASSIGN(row, put(transaction, row));
    return {};
  });
  for (const LeafIndex index : {row.log_index, LeafIndex{0}}) {
    StatementRow other = make_statement("acme/other");
    other.envelopes = row.envelopes;
    other.log_index = index;
    EXPECT_EQ(write_error([&](Transaction& t) { return t.put_statement(other); }),
              ErrorCode::kConflict);
  }
}

TEST_P(StoreContract, Statement_BeyondTheLog_IsInvalid) {
  StatementRow row = make_statement("acme/far");
  row.log_index = 1;
  append(1);
  EXPECT_EQ(write_error([&](Transaction& t) { return t.put_statement(row); }),
            ErrorCode::kInvalidParameter);
}

TEST_P(StoreContract, Statement_EnvelopeNotStored_IsNotFound) {
  StatementRow row = make_statement("acme/empty");
  row.envelopes = {DocumentId(digest_of("nowhere"))};
  EXPECT_EQ(write_error([&](Transaction& t) -> Status {
              ASSAY_TRY(put(t, row));
              return {};
            }),
            ErrorCode::kNotFound);
  EXPECT_EQ(snapshot()->log_state()->size, 0U);
}

TEST_P(StoreContract, AddEnvelope_NewSigners_AreAddedOnceInOrder) {
  StatementRow row = make_statement("acme/signed");
  row.signers = {signer_row("a")};
  write([&](Transaction& transaction) -> Status {
    ASSAY_ASSIGN(row, put(transaction, row));
    return {};
  });
  clock_.advance(std::chrono::seconds(5));
  std::optional<DocumentId> second;
  append(1);
  for (int i = 0; i < 2; ++i) {
    write([&](Transaction& transaction) -> Status {
      ASSAY_ASSIGN(second, transaction.put_document("application/json", as_bytes("second")));
      return transaction.add_envelope(row.id, *second,
                                      {KeyId(digest_of("b")), KeyId(digest_of("a"))}, 1);
    });
    const auto now = snapshot()->statement(row.id).value();
    EXPECT_EQ(now.envelopes, (std::vector{row.envelopes[0], *second}));
    ASSERT_EQ(now.signers.size(), 2U);
    EXPECT_EQ(now.signers[0], row.signers[0]) << "the first signature keeps its time";
    EXPECT_EQ(now.signers[1], (SignerRow{KeyId(digest_of("b")), clock_.now(), 1}));
  }
  EXPECT_EQ(write_error([&](Transaction& t) {
              return t.add_envelope(StatementId(digest_of("none")), *second, {}, 1);
            }),
            ErrorCode::kNotFound);
  EXPECT_EQ(write_error([&](Transaction& t) {
              return t.add_envelope(row.id, DocumentId(digest_of("none")), {}, 1);
            }),
            ErrorCode::kNotFound);
  EXPECT_EQ(write_error([&](Transaction& t) { return t.add_envelope(row.id, *second, {}, 2); }),
            ErrorCode::kInvalidParameter);
  StatementQuery query;
  query.signer = KeyId(digest_of("b"));
  EXPECT_EQ(snapshot()->statements(query)->items.size(), 1U);
}

// Rows that differ in one field each, and every filter alone and together.
TEST_P(StoreContract, Statements_EveryFilter_FindsExactlyItsRows) {
  struct Case {
    const char* description;
    std::function<void(StatementRow&)> mark;
    std::function<void(StatementQuery&)> ask;
  };
  const std::vector<Case> cases = {
      {"kind", [](auto& r) { r.kind = StatementKind::kPolicy; },
       [](auto& q) { q.kind = StatementKind::kPolicy; }},
      {"subject", [](auto& r) { r.subjects.push_back("sha256:special"); },
       [](auto& q) { q.subject = "sha256:special"; }},
      {"predicate type", [](auto& r) { r.predicate_type = "https://example.com/p"; },
       [](auto& q) { q.predicate_type = "https://example.com/p"; }},
      {"stage", [](auto& r) { r.stage = "evaluate"; }, [](auto& q) { q.stage = "evaluate"; }},
      {"name", [](auto& r) { r.name = "acme/special"; }, [](auto& q) { q.name = "acme/special"; }},
      {"signer", [](auto& r) { r.signers.push_back(signer_row("k")); },
       [](auto& q) { q.signer = KeyId(digest_of("k")); }}};
  // Row i has mark j when bit j of i is set: every combination, several times.
  const unsigned combinations = 1U << cases.size();
  write([&](Transaction& transaction) -> Status {
    for (unsigned i = 0; i < 2 * combinations; ++i) {
      StatementRow row = make_statement("acme/" + std::to_string(i));
      for (std::size_t j = 0; j < cases.size(); ++j) {
        if ((i >> j & 1U) != 0) {
          cases[j].mark(row);
        }
      }
      ASSAY_TRY(put(transaction, row));
    }
    return {};
  });
  const auto view = snapshot();
  for (unsigned wanted = 0; wanted < combinations; ++wanted) {
    StatementQuery query;
    query.bounds.limit = 7;
    for (std::size_t j = 0; j < cases.size(); ++j) {
      if ((wanted >> j & 1U) != 0) {
        cases[j].ask(query);
      }
    }
    std::vector<LeafIndex> expected;
    for (unsigned i = 0; i < 2 * combinations; ++i) {
      if ((i & wanted) == wanted) {
        expected.push_back(i);
      }
    }
    EXPECT_EQ(indexes_of(all_pages<StatementRow>(*view, &Snapshot::statements, query)), expected)
        << wanted;
  }
}

TEST_P(StoreContract, Statements_TimeBounds_SinceIsInUntilIsOut) {
  const Timestamp start = clock_.now();
  write([&](Transaction& transaction) -> Status {
    ASSAY_TRY(put(transaction, make_statement("acme/0")));
    return {};
  });
  for (int i = 1; i < 6; ++i) {
    clock_.advance(std::chrono::seconds(1));
    write([&](Transaction& transaction) -> Status {
      ASSAY_TRY(put(transaction, make_statement("acme/" + std::to_string(i))));
      return {};
    });
  }
  StatementQuery query;
  query.since = start + std::chrono::seconds(2);
  query.until = start + std::chrono::seconds(4);
  EXPECT_EQ(indexes_of(snapshot()->statements(query)->items), (std::vector<LeafIndex>{2, 3}));
  query.until.reset();
  EXPECT_EQ(indexes_of(snapshot()->statements(query)->items), (std::vector<LeafIndex>{2, 3, 4, 5}));
  query.since.reset();
  query.until = Timestamp::max();
  EXPECT_EQ(snapshot()->statements(query)->items.size(), 6U);
  query.until = start;
  EXPECT_TRUE(snapshot()->statements(query)->items.empty());
}

TEST_P(StoreContract, Statements_Pages_AreStableWhileOthersWrite) {
  const auto add = [&](int begin, int end) {
    write([&](Transaction& transaction) -> Status {
      for (int i = begin; i < end; ++i) {
        ASSAY_TRY(put(transaction, make_statement("acme/" + std::to_string(i))));
      }
      return {};
    });
  };
  add(0, 20);
  StatementQuery query;
  query.bounds.limit = 6;
  std::vector<LeafIndex> seen;
  for (int page_number = 0; page_number < 10; ++page_number) {
    const auto page = snapshot()->statements(query).value();
    if (!query.bounds.below) {
      query.bounds.below = page.tree_size;
    }
    for (const StatementRow& row : page.items) {
      seen.push_back(row.log_index);
    }
    add(100 + 3 * page_number, 103 + 3 * page_number);
    if (!page.next) {
      break;
    }
    query.bounds.after = page.next;
  }
  ASSERT_EQ(seen.size(), 20U);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i], i);
  }
}

TEST_P(StoreContract, Statements_Bounds_AreChecked) {
  write([&](Transaction& transaction) -> Status {
    ASSAY_TRY(put(transaction, make_statement("acme/one")));
    return {};
  });
  StatementQuery query;
  for (const std::size_t limit : {std::size_t{0}, std::size_t{1001}}) {
    query.bounds.limit = limit;
    EXPECT_EQ(snapshot()->statements(query).error().code, ErrorCode::kInvalidParameter);
  }
  query.bounds.limit = 1000;
  EXPECT_EQ(snapshot()->statements(query)->items.size(), 1U);
  query.bounds.after = 0;
  EXPECT_TRUE(snapshot()->statements(query)->items.empty());
  query.bounds.after = ~LeafIndex{0};
  EXPECT_TRUE(snapshot()->statements(query)->items.empty());
  query.bounds.after.reset();
  query.bounds.below = 0;
  EXPECT_TRUE(snapshot()->statements(query)->items.empty());
  query.bounds.below = ~TreeSize{0};
  const auto page = snapshot()->statements(query).value();
  EXPECT_EQ(page.items.size(), 1U);
  EXPECT_EQ(page.tree_size, 1U);
  EXPECT_EQ(page.root, snapshot()->log_state()->root);
  EXPECT_FALSE(page.next);
}

TEST_P(StoreContract, SignedAt_PlaceAndThoseAbove_AreFoundInLogOrder) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> manifests = {
      {"acme/0", {"pvc://prod/models/llm"}},
      {"acme/1", {"pvc://prod/models", "oci://registry/x"}},
      {"acme/2", {"pvc://prod/models/llm2"}},
      {"acme/3", {"pvc://prod/models/llm/v1/deep"}},
      {"acme/4", {"pvc://prod/models/llm", "pvc://prod/models"}}};
  write([&](Transaction& transaction) -> Status {
    for (const auto& [name, locations] : manifests) {
      StatementRow row = make_statement(name);
      row.locations = locations;
      row.signers = {signer_row("k")};
      ASSAY_TRY(put(transaction, row));
    }
    StatementRow placement = make_statement("acme/5");
    placement.kind = StatementKind::kAttestation;
    placement.locations = {"pvc://prod/models"};
    placement.signers = {signer_row("k")};
    ASSAY_TRY(put(transaction, placement));
    return {};
  });
  const auto view = snapshot();
  const auto at = [&](const char* uri) {
    std::vector<LeafIndex> indexes;
    const auto found = view->signed_at(uri).value();
    for (const SignedBy& one : found) {
      EXPECT_EQ(one.key, view->statement_at(one.index)->signers.front().key);
      indexes.push_back(one.index);
    }
    return indexes;
  };
  EXPECT_EQ(at("pvc://prod/models/llm/v1"), (std::vector<LeafIndex>{0, 1, 4, 5}));
  EXPECT_EQ(at("pvc://prod/models/llm"), (std::vector<LeafIndex>{0, 1, 4, 5}));
  EXPECT_EQ(at("pvc://prod/models"), (std::vector<LeafIndex>{1, 4, 5}));
  EXPECT_EQ(at("pvc://prod/models/llm2/x"), (std::vector<LeafIndex>{1, 2, 4, 5}));
  EXPECT_EQ(at("pvc://prod"), std::vector<LeafIndex>());
  EXPECT_EQ(at("oci://registry/x"), (std::vector<LeafIndex>{1}));
  EXPECT_EQ(at(""), std::vector<LeafIndex>());
}

TEST_P(StoreContract, SignedUnder_IsOfManifestsOfThatNameWithEverySigner) {
  StatementRow manifest = make_statement("acme/demo");
  manifest.signers = {signer_row("a"), signer_row("b")};
  StatementRow other = make_statement("acme/demo2");
  other.signers = {signer_row("a")};
  StatementRow placement = make_statement("acme/demo placed");
  placement.kind = StatementKind::kAttestation;
  placement.name = manifest.name;
  placement.signers = {signer_row("a")};
  write([&](Transaction& transaction) -> Status {
    for (const StatementRow& row : {manifest, other, placement}) {
      ASSAY_TRY(put(transaction, row));
    }
    return {};
  });
  std::vector<SignedBy> expected = {{0, signer_row("a").key}, {0, signer_row("b").key}};
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(snapshot()->signed_under("acme/demo").value(), expected);
  EXPECT_TRUE(snapshot()->signed_under("acme").value().empty());
  EXPECT_EQ(snapshot()->statement_at(7).error().code, ErrorCode::kDataLoss);
}

// What is counted by name and place: manifests and placements, not policies.
TEST_P(StoreContract, Usage_CountsNamesAndLocations) {
  const TrustedKey key = make_key(1);
  const auto counted = [&](TopicKind kind, const std::string& text) {
    return snapshot()->usage({kind, text}, key.identity)->statements;
  };
  write([&](Transaction& transaction) -> Status {
    ASSAY_TRY(transaction.put_key(key));
    for (const StatementKind kind :
         {StatementKind::kManifest, StatementKind::kAttestation, StatementKind::kPolicy}) {
      StatementRow row = make_statement("acme/" + std::to_string(std::to_underlying(kind)));
      row.kind = kind;
      row.name = "acme/used";
      row.locations = {"pvc://prod/models", "pvc://prod/other"};
      row.signers = {{key.id, transaction.now(), 0}};
      ASSAY_TRY(put(transaction, row));
    }
    return {};
  });
  EXPECT_EQ(counted(TopicKind::kName, "acme/used"), 2U);
  EXPECT_EQ(counted(TopicKind::kLocation, "pvc://prod/other"), 2U);
  EXPECT_EQ(counted(TopicKind::kLocation, "pvc://prod"), 0U);
  EXPECT_EQ(counted(TopicKind::kName, "pvc://prod/other"), 0U) << "another kind of topic";
}

// Two keys of one identity are one signer, and a key that is not trusted is nobody.
TEST_P(StoreContract, Usage_CountsStatementsOfEachIdentity) {
  TrustedKey first = make_key(1);
  TrustedKey second = make_key(2);
  second.identity = first.identity;
  const Topic about{TopicKind::kArtifact, ArtifactId(digest_of("artifact acme/used")).text()};
  StatementRow manifest = make_statement("acme/used");
  manifest.bytes = 1000;
  StatementRow statement = make_statement("acme/used");
  statement.id = StatementId(digest_of("statement about acme/used"));
  statement.kind = StatementKind::kAttestation;
  statement.bytes = 10;
  write([&](Transaction& transaction) -> Status {
    ASSAY_TRY(transaction.put_key(first));
    ASSAY_TRY(transaction.put_key(second));
    manifest.signers = {{first.id, transaction.now(), 0}, {second.id, transaction.now(), 0}};
    ASSAY_TRY(put(transaction, manifest));
    statement.signers = {{first.id, transaction.now(), 1}, signer_row("nobody")};
    ASSAY_ASSIGN(statement, put(transaction, statement));
    return {};
  });
  const auto expect = [&](std::uint64_t statements, std::uint64_t manifests, std::uint64_t bytes) {
    const SignerUsage usage = snapshot()->usage(about, first.identity).value();
    EXPECT_EQ(usage.statements, statements);
    EXPECT_EQ(usage.manifests, manifests);
    EXPECT_EQ(usage.bytes, bytes);
  };
  expect(2, 1, 10);
  EXPECT_EQ(snapshot()->usage(about, "somebody else")->statements, 0U);
  const Topic other{TopicKind::kArtifact, ArtifactId(digest_of("x")).text()};
  EXPECT_EQ(snapshot()->usage(other, first.identity)->statements, 0U);
  write([&](Transaction& transaction) -> Status {
    ASSAY_ASSIGN(const DocumentId more, transaction.put_document("a/b", as_bytes("more")));
    return transaction.add_envelope(statement.id, more, {second.id}, 1);
  });
  expect(2, 1, 10);
  EXPECT_TRUE(snapshot()->has_document(statement.envelopes.front()).value());
  EXPECT_FALSE(snapshot()->has_document(DocumentId(digest_of("none"))).value());
}

}  // namespace
}  // namespace assay::storage
