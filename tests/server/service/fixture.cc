// SPDX-License-Identifier: Apache-2.0
#include "tests/server/service/fixture.h"

#include <cstdlib>
#include <vector>

#include "schemas/core/sha.h"
#include "server/service/jobs/precedence.h"
#include "tests/support/log_page.h"

namespace assay::server::test {
namespace {

std::filesystem::path make_directory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "assay-service-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    std::abort();
  }
  return pattern;
}

Timestamp time_of(const char* text) { return parse_rfc3339(text).value(); }

std::string canonical(const Json& json) { return canonical_json(json).value(); }

}  // namespace

ServiceTest::ServiceTest() : directory_(make_directory()), clock_(time_of("2026-11-21T12:00:00Z")) {
  log_key_ = attestation::generate_key(SignatureAlgorithm::kEd25519).value();
  service_key_ = attestation::generate_key(SignatureAlgorithm::kEd25519).value();
  reopen();
  Bootstrap start;
  for (const TestKey* key :
       {&operator1_, &operator1_second_, &operator2_, &publisher_, &evaluator_, &approver_a_,
        &approver_a_second_, &approver_b_, &author_, &policy_approver_}) {
    start.keys.push_back(key->record);
  }
  start.principals.push_back(
      {"admin",
       {AccessRole::kAdmin},
       {{CredentialKind::kToken, sha256(as_bytes("assay_admin-token-of-the-tests"))}},
       {}});
  const auto started = bootstrap(*services_, as_bytes(canonical(to_json(start))));
  if (!started) {
    ADD_FAILURE() << to_string(started.error());
  }
}

namespace {

// Whatever a test made the service write is as schemas/log.md says.
void expect_records_of_the_page(storage::Store& store) {
  const auto snapshot = store.snapshot();
  if (!snapshot) {
    return;
  }
  storage::EventQuery query;
  while (true) {
    const auto page = (*snapshot)->events(query);
    if (!page) {
      return;
    }
    for (const storage::EventRow& row : page->items) {
      EXPECT_EQ(assay::test::beyond_log_page(row.record), "") << "schemas/log.md section 2.1";
    }
    if (!page->next) {
      return;
    }
    query.bounds.after = page->next;
  }
}

}  // namespace

ServiceTest::~ServiceTest() {
  if (store_) {
    expect_records_of_the_page(*store_);
  }
  services_.reset();
  store_.reset();
  std::filesystem::remove_all(directory_);
}

TestKey ServiceTest::make_key(KeyPurpose purpose, const std::string& identity,
                              std::vector<SignerRole> roles) {
  auto signer = attestation::generate_key(SignatureAlgorithm::kEd25519).value();
  TrustedKey record{signer->key_id(),
                    signer->algorithm(),
                    signer->public_key(),
                    purpose,
                    identity,
                    std::move(roles),
                    time_of("2026-01-01T00:00:00Z"),
                    time_of("2027-01-01T00:00:00Z"),
                    {}};
  return {std::move(signer), std::move(record)};
}

SignerRole ServiceTest::role(const std::string& stage, const std::string& name_space) {
  return {stage, std::string(kLifecyclePredicateType), name_space};
}

SignerRole ServiceTest::publisher_role(const std::string& name_space) {
  return {"*", std::string(kManifestPredicateType), name_space};
}

Bytes ServiceTest::envelope(std::string_view payload_type, std::string_view payload,
                            std::initializer_list<const TestKey*> keys) {
  std::vector<const Signer*> signers;
  for (const TestKey* key : keys) {
    signers.push_back(key->signer.get());
  }
  const auto signed_envelope =
      attestation::sign_envelope(payload_type, as_bytes(payload), signers).value();
  return to_bytes(attestation::encode_envelope(signed_envelope));
}

Bytes ServiceTest::statement_envelope(const Statement& statement,
                                      std::initializer_list<const TestKey*> keys) {
  return envelope(kStatementPayloadType, encode_statement(statement).value(), keys);
}

Manifest ServiceTest::manifest(const std::string& seed, const std::string& name) {
  Manifest manifest;
  manifest.name = name;
  manifest.artifact.entries.push_back(
      FileEntry{"model.bin", seed.size(), sha256(as_bytes(std::string("\0", 1) + seed))});
  manifest.locations = {"pvc://inference/" + seed};
  return manifest;
}

ArtifactId ServiceTest::id_of(const Manifest& manifest) { return artifact_id(manifest).value(); }

Subject ServiceTest::subject_of(const Manifest& manifest) {
  const ArtifactId id = id_of(manifest);
  return {manifest.name, {{id.digest_name(), id.root().hex()}}};
}

Bytes ServiceTest::signed_manifest(const Manifest& manifest,
                                   std::initializer_list<const TestKey*> keys) {
  const Statement statement = to_statement(manifest).value();
  return keys.size() == 0 ? statement_envelope(statement, {&publisher_})
                          : statement_envelope(statement, keys);
}

Bytes ServiceTest::evaluation(const Manifest& manifest, double accuracy) {
  Lifecycle lifecycle;
  lifecycle.stage = "evaluate";
  lifecycle.metrics["accuracy"] = {accuracy, "1"};
  return statement_envelope(to_statement(lifecycle, {subject_of(manifest)}).value(), {&evaluator_});
}

Bytes ServiceTest::approval(const Manifest& manifest, const TestKey& key,
                            const std::string& comment) {
  Lifecycle lifecycle;
  lifecycle.stage = "approve";
  lifecycle.comment = comment;
  return statement_envelope(to_statement(lifecycle, {subject_of(manifest)}).value(), {&key});
}

Bytes ServiceTest::policy(std::uint64_t version, const std::string& mode) {
  const Json lifecycle = std::string(kLifecyclePredicateType);
  const Json document = {
      {"name", "gpu-models"},
      {"version", version},
      {"mode", mode},
      {"match", {{"resources", {"nvidia.com/gpu"}}}},
      {"require",
       {{{"id", "published"}, {"manifest", {{"signers", {{"at_least", 1}}}}}},
        {{"id", "evaluated"},
         {"statement",
          {{"predicate_type", lifecycle},
           {"stage", "evaluate"},
           {"where", {{{"pointer", "/metrics/accuracy/value"}, {"op", ">="}, {"value", 0.9}}}}}}},
        {{"id", "approved"},
         {"statement",
          {{"predicate_type", lifecycle},
           {"stage", "approve"},
           {"signers", {{"at_least", 2}}}}}}}}};
  return envelope(kPolicyPayloadType, canonical(document), {&author_});
}

Bytes ServiceTest::policy_approval(const StatementId& policy, std::uint64_t sequence,
                                   const TestKey& key, PolicyApproval::Action action) {
  const PolicyApproval approval{action, policy, sequence};
  return envelope(kPolicyApprovalPayloadType, canonical(to_json(approval)), {&key});
}

Bytes ServiceTest::trust_change(std::uint64_t sequence, std::vector<TrustOperation> operations,
                                std::initializer_list<const TestKey*> keys) {
  const TrustChange change{sequence, std::move(operations)};
  return envelope(kTrustChangePayloadType, canonical(to_json(change)), keys);
}

void ServiceTest::store_good_model(const Manifest& manifest) {
  for (const auto& [bytes, is_manifest] :
       std::vector<std::pair<Bytes, bool>>{{signed_manifest(manifest), true},
                                           {evaluation(manifest, 0.95), false},
                                           {approval(manifest, approver_a_), false},
                                           {approval(manifest, approver_b_), false}}) {
    const auto accepted = is_manifest ? accept_manifest(*services_, bytes, actor_)
                                      : accept_attestation(*services_, bytes, actor_);
    ASSERT_TRUE(accepted) << to_string(accepted.error());
  }
}

StatementId ServiceTest::put_policy_in_force() {
  const auto accepted = accept_policy(*services_, policy(), actor_);
  EXPECT_TRUE(accepted) << to_string(accepted.error());
  const StatementId id = accepted->row.id;
  const auto applied = apply_policy_approval(*services_, PolicyApproval::Action::kActivate, id,
                                             policy_approval(id, 1, policy_approver_), actor_);
  EXPECT_TRUE(applied) << to_string(applied.error());
  return id;
}

void ServiceTest::reopen() {
  services_.reset();
  store_.reset();
  storage::SqliteOptions options;
  options.rules = &kReportRules;
  options.path = directory_ / "assay.db";
  options.create = true;
  options.origin = "example.com/log";
  options.anchor_path = directory_ / "anchor";
  options.readers = 1;  // who opens a second snapshot while holding one waits for itself
  store_ = storage::open_sqlite(options, *log_key_, clock_).value();
  services_ = std::unique_ptr<Services>(
      new Services{*store_, *service_key_, clock_, random_, "example.com/log"});
}

TreeSize ServiceTest::log_size() { return store_->snapshot().value()->log_state().value().size; }

}  // namespace assay::server::test
