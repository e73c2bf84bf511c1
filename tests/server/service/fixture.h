// SPDX-License-Identifier: Apache-2.0
// A service over a real SQLite store in a temporary directory, with an injected clock, real keys
// and a trust store: two operators, publisher, evaluator, approvers, author, approver of policies.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "attestation/dsse.h"
#include "attestation/keys.h"
#include "schemas/lifecycle.h"
#include "schemas/manifest.h"
#include "schemas/policy_document.h"
#include "server/service/decisions/collect_node.h"
#include "server/service/decisions/decide.h"
#include "server/service/governance/policies.h"
#include "server/service/governance/trust.h"
#include "server/service/references/resolve.h"
#include "tests/support/manual_clock.h"

namespace assay::server::test {

// A key with the record that the trust store has of it.
struct TestKey {
  std::unique_ptr<Signer> signer;
  TrustedKey record;
};

class ServiceTest : public ::testing::Test {
 protected:
  ServiceTest();
  ~ServiceTest() override;

  // Makes a key; `roles` as in TrustedKey. It is trusted only when the bootstrap or a change says
  // so.
  static TestKey make_key(KeyPurpose purpose, const std::string& identity,
                          std::vector<SignerRole> roles = {});
  static SignerRole role(const std::string& stage, const std::string& name_space = "acme");
  static SignerRole publisher_role(const std::string& name_space = "acme");

  // Envelopes, signed by the keys given, as bytes.
  static Bytes envelope(std::string_view payload_type, std::string_view payload,
                        std::initializer_list<const TestKey*> keys);
  static Bytes statement_envelope(const Statement& statement,
                                  std::initializer_list<const TestKey*> keys);
  // A model whose one file has the content digest of `seed`: different seeds, different artifacts.
  static Manifest manifest(const std::string& seed, const std::string& name = "acme/demo");
  static ArtifactId id_of(const Manifest& manifest);
  static Subject subject_of(const Manifest& manifest);
  Bytes signed_manifest(const Manifest& manifest, std::initializer_list<const TestKey*> keys = {});
  Bytes evaluation(const Manifest& manifest, double accuracy);
  Bytes approval(const Manifest& manifest, const TestKey& key, const std::string& comment = "ok");
  // The story's policy: publisher, accuracy at least 0.9, two approvals.
  Bytes policy(std::uint64_t version = 1, const std::string& mode = "enforce");
  Bytes policy_approval(const StatementId& policy, std::uint64_t sequence, const TestKey& key,
                        PolicyApproval::Action action = PolicyApproval::Action::kActivate);
  Bytes trust_change(std::uint64_t sequence, std::vector<TrustOperation> operations,
                     std::initializer_list<const TestKey*> keys);

  // Everything the story needs: manifest, evaluation, two approvals; policy in force.
  void store_good_model(const Manifest& manifest);
  StatementId put_policy_in_force();

  TreeSize log_size();
  // Closes the store and opens it again, as a restart does.
  void reopen();

  std::filesystem::path directory_;
  ManualClock clock_;
  SystemRandom random_;
  std::unique_ptr<Signer> log_key_;
  std::unique_ptr<Signer> service_key_;
  std::unique_ptr<storage::Store> store_;
  std::unique_ptr<Services> services_;
  Principal actor_{"tester", {}, {}, {}};

  TestKey operator1_ = make_key(KeyPurpose::kOperator, "olga");
  TestKey operator1_second_ = make_key(KeyPurpose::kOperator, "olga");
  TestKey operator2_ = make_key(KeyPurpose::kOperator, "omar");
  TestKey publisher_ = make_key(KeyPurpose::kPublisher, "release", {publisher_role()});
  TestKey evaluator_ = make_key(KeyPurpose::kSigner, "eva", {role("evaluate")});
  TestKey approver_a_ = make_key(KeyPurpose::kSigner, "anna", {role("approve")});
  TestKey approver_a_second_ = make_key(KeyPurpose::kSigner, "anna", {role("approve")});
  TestKey approver_b_ = make_key(KeyPurpose::kSigner, "ben", {role("approve")});
  TestKey author_ = make_key(KeyPurpose::kAuthor, "paula");
  TestKey policy_approver_ = make_key(KeyPurpose::kApprover, "quentin");
};

// Runs an accepting function and returns the code it refused with, or nothing.
template <typename T>
std::optional<ErrorCode> refusal(const Result<T>& result) {
  return result ? std::nullopt : std::optional<ErrorCode>(result.error().code);
}

}  // namespace assay::server::test
