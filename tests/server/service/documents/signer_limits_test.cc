// SPDX-License-Identifier: Apache-2.0
// What one identity may have stored about one artifact: a limit that is reached is its own problem.
#include "attestation/dsse.h"
#include "schemas/core/sha.h"
#include "schemas/log_record.h"
#include "schemas/placement.h"
#include "server/service/documents/store_statement.h"
#include "tests/server/service/fixture.h"

namespace assay::server::test {
namespace {

constexpr std::string_view kNotes = "https://example.com/notes/v1";

class SignerLimits : public ServiceTest {
 protected:
  SignerLimits() {
    EXPECT_TRUE(
        apply_trust_change(*services_,
                           trust_change(1,
                                        {AddKey{notes_.record}, AddKey{notes_second_.record},
                                         AddKey{other_.record}, AddKey{second_.record}},
                                        {&operator1_, &operator2_}),
                           actor_));
  }

  // A statement whose payload has exactly `bytes` bytes, or whatever it has when that is 0.
  Bytes note(const Manifest& model, const TestKey& key, const std::string& text,
             std::size_t bytes = 0) {
    Statement statement{{subject_of(model)}, std::string(kNotes), {{"text", text}}};
    if (bytes > 0) {
      const std::size_t now = encode_statement(statement).value().size();
      statement.predicate["text"] = text + std::string(bytes - now, '.');
    }
    return statement_envelope(statement, {&key});
  }
  std::optional<ErrorCode> push(const Bytes& bytes) {
    return refusal(accept_attestation(*services_, bytes, actor_));
  }
  std::optional<ErrorCode> push(Manifest model, const std::string& place, const TestKey& key) {
    model.locations = {place};
    return refusal(accept_manifest(*services_, signed_manifest(model, {&key}), actor_));
  }
  // Rows of `count` statements by `key` that say nothing that a policy reads; of manifests of other
  // artifacts, each at one of `places`, where there are some.
  void fill(const Manifest& model, const TestKey& key, std::size_t count,
            const std::vector<std::string>& places = {}) {
    fill_rows(model, key, count, [&](storage::StatementRow& row, std::size_t i) {
      if (!places.empty()) {
        row.kind = storage::StatementKind::kManifest;
        row.name = model.name;
        row.subjects = {ArtifactId(row.id.digest()).text()};
        row.locations = {places[i % places.size()]};
      }
    });
  }
  // Rows of manifests of other artifacts under the same name, each at all of `places`.
  void fill_places(const Manifest& model, const TestKey& key, std::size_t count,
                   const std::vector<std::string>& places) {
    fill_rows(model, key, count, [&](storage::StatementRow& row, std::size_t i) {
      row.kind = storage::StatementKind::kManifest;
      row.name = model.name;
      row.subjects = {ArtifactId(row.id.digest()).text()};
      // No place is named so often that this were the limit.
      for (const std::string& place : places) {
        row.locations.push_back(place.substr(0, place.size() - 4) + std::to_string(2000 + i));
      }
    });
  }
  template <typename Change>
  void fill_rows(const Manifest& model, const TestKey& key, std::size_t count, Change change) {
    const Json named = {{id_of(model).text(), Json::array({model.name})}};
    const std::string names = canonical_json({{"names", named}}).value();
    const auto work = [&](storage::Transaction& transaction) -> Status {
      for (std::size_t i = 0; i < count; ++i) {
        const std::string text = key.record.id.text() + std::to_string(i);
        ASSAY_ASSIGN(const DocumentId document,
                     transaction.put_document(kEnvelopeMediaType, as_bytes(text)));
        LogRecord record{.type = std::string(event::kAttestationAccepted),
                         .time = transaction.now(),
                         .actor = "t",
                         .subjects = {},
                         .documents = {document},
                         .detail = Json::object()};
        ASSAY_ASSIGN(const LeafIndex index, transaction.append(std::move(record)));
        storage::StatementRow row{.id = StatementId(sha256(as_bytes(text))),
                                  .kind = storage::StatementKind::kAttestation,
                                  .payload_type = std::string(kStatementPayloadType),
                                  .predicate_type = std::string(kNotes),
                                  .stage = {},
                                  .name = {},
                                  .version = 0,
                                  .subjects = {id_of(model).text()},
                                  .locations = {},
                                  .signers = {{key.record.id, transaction.now(), index}},
                                  .envelopes = {document},
                                  .log_index = index,
                                  .accepted_at = transaction.now(),
                                  .contents = names,
                                  .bytes = 10};
        change(row, i);
        ASSAY_TRY(transaction.put_statement(row));
      }
      return {};
    };
    const auto written = store_->write(work);
    ASSERT_TRUE(written) << to_string(written.error());
  }

  SignerRole notes_role_{"*", std::string(kNotes), "acme"};
  TestKey notes_ = make_key(KeyPurpose::kSigner, "nora", {notes_role_});
  TestKey notes_second_ = make_key(KeyPurpose::kSigner, "nora", {notes_role_});
  TestKey other_ = make_key(KeyPurpose::kSigner, "otto", {notes_role_});
  TestKey second_ = make_key(KeyPurpose::kPublisher, "second", {publisher_role()});
};

TEST_F(SignerLimits, StatementsOfOneIdentity_AreCountedOverItsKeys) {
  const Manifest model = manifest("m");
  fill(model, notes_, kMaxStatementsPerSigner - 1);
  const Bytes last = note(model, notes_second_, "last");
  EXPECT_EQ(push(last), std::nullopt);
  EXPECT_EQ(push(note(model, notes_, "one more")), ErrorCode::kSignerLimitExceeded);
  EXPECT_EQ(push(note(model, notes_second_, "one more")), ErrorCode::kSignerLimitExceeded);
  EXPECT_EQ(push(last), std::nullopt) << "it is there already";
  EXPECT_EQ(push(note(model, other_, "another signer")), std::nullopt);
  EXPECT_EQ(push(note(manifest("another"), notes_, "another model")), std::nullopt);
}

TEST_F(SignerLimits, StatementOfTwo_IsRefusedWhenOneOfThemIsAtItsLimit) {
  const Manifest model = manifest("m");
  fill(model, notes_, kMaxStatementsPerSigner);
  Statement statement{{subject_of(model)}, std::string(kNotes), {{"text", "both"}}};
  EXPECT_EQ(push(statement_envelope(statement, {&other_, &notes_})),
            ErrorCode::kSignerLimitExceeded);
  EXPECT_EQ(push(statement_envelope(statement, {&other_})), std::nullopt);
  EXPECT_EQ(push(statement_envelope(statement, {&notes_})), ErrorCode::kSignerLimitExceeded)
      << "signing what is there already adds to it, too";
}

TEST_F(SignerLimits, SecondKeyOnTheSameStatement_CountsOnce) {
  const Manifest model = manifest("m");
  fill(model, notes_, kMaxStatementsPerSigner - 1);
  Statement statement{{subject_of(model)}, std::string(kNotes), {{"text", "twice"}}};
  EXPECT_EQ(push(statement_envelope(statement, {&notes_})), std::nullopt);
  EXPECT_EQ(push(statement_envelope(statement, {&notes_second_})), std::nullopt);
  const storage::Topic topic{storage::TopicKind::kArtifact, id_of(model).text()};
  const auto usage = store_->snapshot().value()->usage(topic, "nora").value();
  EXPECT_EQ(usage.statements, kMaxStatementsPerSigner);
}

TEST_F(SignerLimits, Bytes_AreTakenUpToTheLimitAndNotOnePast) {
  const Manifest model = manifest("m");
  constexpr std::size_t kHalf = kMaxBytesPerSigner / 4;
  for (const char* text : {"a", "b", "c"}) {
    ASSERT_EQ(push(note(model, notes_, text, kHalf)), std::nullopt);
  }
  EXPECT_EQ(push(note(model, notes_, "d", kHalf + 1)), ErrorCode::kSignerLimitExceeded);
  EXPECT_EQ(push(note(model, notes_, "d", kHalf)), std::nullopt);
  EXPECT_EQ(push(note(model, notes_, "e")), ErrorCode::kSignerLimitExceeded);
  EXPECT_EQ(push(note(model, other_, "e", kHalf)), std::nullopt);
}

// What manifests say of places is kept with every decision's facts.
TEST_F(SignerLimits, BytesOfLocationsOfManifests_CountWithTheOthers) {
  Manifest model = manifest("m");
  model.locations = {"pvc://inference/c/" + std::string(982, 'a'),
                     "pvc://inference/c/" + std::string(1006, 'b')};
  constexpr std::size_t kLocations = 1000 + 1024;
  const TestKey nora = make_key(KeyPurpose::kPublisher, "nora", {publisher_role()});
  ASSERT_TRUE(apply_trust_change(
      *services_, trust_change(2, {AddKey{nora.record}}, {&operator1_, &operator2_}), actor_));
  constexpr std::size_t kQuarter = kMaxBytesPerSigner / 32;
  for (int i = 0; i < 31; ++i) {
    ASSERT_EQ(push(note(model, notes_, "n" + std::to_string(i), kQuarter)), std::nullopt);
  }
  const auto publish = [&](const Manifest& one) {
    return refusal(accept_manifest(*services_, signed_manifest(one, {&nora}), actor_));
  };
  ASSERT_EQ(push(note(model, notes_, "last", kQuarter - kLocations)), std::nullopt);
  Manifest longer = model;
  longer.locations.back() += "b";
  EXPECT_EQ(publish(longer), ErrorCode::kSignerLimitExceeded);
  EXPECT_EQ(publish(model), std::nullopt);
  EXPECT_EQ(push(note(model, notes_, "one more")), ErrorCode::kSignerLimitExceeded);
  Manifest nowhere = model;
  nowhere.locations.clear();
  EXPECT_EQ(publish(nowhere), std::nullopt) << "the manifest itself is not counted";
}

// Under one name there may be as many bytes as about one artifact.
TEST_F(SignerLimits, BytesOfLocationsUnderOneName_EndForTheirIdentityAlone) {
  std::vector<std::string> places;
  for (std::size_t i = 0; i < 16; ++i) {
    places.push_back("pvc://inference/c/" + std::string(2026, 'a') + std::to_string(1000 + i));
  }
  fill_places(manifest("m"), second_, kMaxBytesPerSigner / (16 * 2048) - 1, places);
  Manifest model = manifest("m");
  model.locations = places;
  Manifest longer = model;
  longer.locations.emplace_back("pvc://inference/a");
  EXPECT_EQ(refusal(accept_manifest(*services_, signed_manifest(longer, {&second_}), actor_)),
            ErrorCode::kSignerLimitExceeded);
  EXPECT_EQ(refusal(accept_manifest(*services_, signed_manifest(model, {&second_}), actor_)),
            std::nullopt);
  EXPECT_EQ(refusal(accept_manifest(*services_, signed_manifest(longer), actor_)), std::nullopt)
      << "another publisher";
}

TEST_F(SignerLimits, Manifests_HaveALimitOfTheirOwn) {
  Manifest model = manifest("m");
  for (std::uint64_t i = 0; i <= kMaxManifestsPerSigner; ++i) {
    model.locations = {"pvc://inference/place-" + std::to_string(i)};
    EXPECT_EQ(
        refusal(accept_manifest(*services_, signed_manifest(model), actor_)),
        i < kMaxManifestsPerSigner ? std::nullopt : std::optional(ErrorCode::kSignerLimitExceeded));
  }
}

TEST_F(SignerLimits, ManifestsAndPlacementsUnderOneName_EndForTheirIdentityAlone) {
  const auto place = [](int number) { return "pvc://inference/" + std::to_string(number); };
  std::vector<std::string> places;
  for (int i = 100; i < 200; ++i) {
    places.push_back(place(i));
  }
  fill(manifest("m"), publisher_, kMaxSignedUnderName - 1, places);
  const Manifest last = manifest("last");
  EXPECT_EQ(push(last, place(1), publisher_), std::nullopt);
  EXPECT_EQ(push(last, place(1), publisher_), std::nullopt) << "it is there already";
  EXPECT_EQ(push(last, place(2), publisher_), ErrorCode::kSignerLimitExceeded);
  Statement placement{{subject_of(last)},
                      std::string(kPlacementPredicateType),
                      {{"name", last.name}, {"locations", {place(3)}}}};
  EXPECT_EQ(push(statement_envelope(placement, {&publisher_})), ErrorCode::kSignerLimitExceeded);
  EXPECT_EQ(push(statement_envelope(placement, {&second_})), std::nullopt) << "another identity";
  EXPECT_EQ(push(last, place(2), second_), std::nullopt) << "another identity";
  EXPECT_EQ(push(manifest("other", "acme/other"), place(2), publisher_), std::nullopt);
}

TEST_F(SignerLimits, ManifestsAtOneLocation_EndForTheirIdentityAlone) {
  const std::string place = "pvc://inference/full";
  fill(manifest("m", "acme/other"), publisher_, kMaxSignedAtLocation - 1, {place});
  EXPECT_EQ(push(manifest("last"), place, publisher_), std::nullopt);
  EXPECT_EQ(push(manifest("more"), place, publisher_), ErrorCode::kSignerLimitExceeded);
  EXPECT_EQ(push(manifest("more"), place + "/below", publisher_), std::nullopt);
  EXPECT_EQ(push(manifest("more"), place, second_), std::nullopt) << "another identity";
}

// As many signers as it takes: what they say is not read, and stops nobody.
TEST_F(SignerLimits, ThousandsOfStatements_LeaveTheModelDecidable) {
  put_policy_in_force();
  const Manifest model = manifest("m");
  store_good_model(model);
  fill(model, notes_, 2'500);
  fill(model, other_, 2'500);
  const DecisionRequest request{.point = DecisionPoint::kCreate,
                                .models = {model.name},
                                .workload = {"inference", {}, {"nvidia.com/gpu"}},
                                .context = Json::object(),
                                .principal = "kube-apiserver"};
  const auto answer = decide(*services_, request);
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_TRUE(answer->decision->verdict.allowed);
  const auto again = replay(*services_, answer->decision->id);
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_TRUE(again->reproduced);
}

}  // namespace
}  // namespace assay::server::test
