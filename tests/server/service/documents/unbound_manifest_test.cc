// SPDX-License-Identifier: Apache-2.0
// Manifests of before their ignore rules were bound by the root: they count for nothing, and are no
// error for the others.
#include "schemas/log_record.h"
#include "server/service/documents/accept.h"
#include "server/service/documents/outlines.h"
#include "server/service/documents/store_statement.h"
#include "server/service/facts/artifact_facts.h"
#include "server/service/references/resolve.h"
#include "server/service/upkeep/check_store.h"
#include "tests/server/service/fixture.h"

namespace assay::server::test {
namespace {

class UnboundManifests : public ServiceTest {
 protected:
  UnboundManifests() { put_policy_in_force(); }

  // Of the same root as `model`, with rules beside the parameters.
  Bytes old_manifest(const Manifest& model) {
    Statement statement = to_statement(model).value();
    statement.predicate["ignore"] = {"*.py"};
    statement.predicate["follow_symlinks"] = false;
    return statement_envelope(statement, {&publisher_});
  }
  // Stores it as an earlier version did.
  StatementId store_old(const Manifest& model) {
    const Bytes bytes = old_manifest(model);
    const auto verified = verify_envelope(*services_, bytes, kStatementPayloadType);
    EXPECT_TRUE(verified) << to_string(verified.error());
    const storage::StatementRow row = {.id = verified->id,
                                       .kind = storage::StatementKind::kManifest,
                                       .payload_type = verified->envelope.payload_type,
                                       .predicate_type = std::string(kManifestPredicateType),
                                       .stage = {},
                                       .name = model.name,
                                       .version = 0,
                                       .subjects = {id_of(model).text()},
                                       .locations = model.locations,
                                       .signers = {},
                                       .envelopes = {},
                                       .log_index = 0,
                                       .accepted_at = verified->now};
    const auto stored = store_statement(
        *services_, *verified, bytes, {row, event::kManifestAccepted, Json::object(), {}}, actor_);
    EXPECT_TRUE(stored) << to_string(stored.error());
    return verified->id;
  }
  policy::Facts facts_of(const Manifest& model) {
    return artifact_facts(*services_, *store_->snapshot().value(), id_of(model)).value()->facts;
  }
  std::vector<Finding> findings() {
    return check_store(*store_->snapshot().value(), false).value();
  }

  Manifest model_ = manifest("good");
};

TEST_F(UnboundManifests, AreNotTakenAnyMore) {
  EXPECT_EQ(refusal(accept_manifest(*services_, old_manifest(model_), actor_)),
            ErrorCode::kUnknownMember);
}

TEST_F(UnboundManifests, CountForNothing) {
  store_old(model_);
  EXPECT_TRUE(facts_of(model_).manifests.empty());
  EXPECT_EQ(refusal(load_artifact(*store_->snapshot().value(), id_of(model_))),
            ErrorCode::kNotFound);
  const auto resolved =
      resolve(*services_, *store_->snapshot().value(),
              {{model_.name}, policy::Workload(), {}, DecisionPoint::kCreate, clock_.now()});
  ASSERT_TRUE(resolved) << to_string(resolved.error());
  EXPECT_TRUE(resolved->models.empty());
}

// Signed again in today's form, or by somebody else: neither ambiguous nor an error.
TEST_F(UnboundManifests, AreNoErrorForOthers) {
  store_old(model_);
  Manifest other = manifest("other");
  store_old(other);
  store_good_model(model_);
  EXPECT_EQ(facts_of(model_).manifests.size(), 1U);
  EXPECT_EQ(load_artifact(*store_->snapshot().value(), id_of(model_)), model_.artifact);
  const auto resolved =
      resolve(*services_, *store_->snapshot().value(),
              {{model_.name}, policy::Workload(), {}, DecisionPoint::kCreate, clock_.now()});
  ASSERT_TRUE(resolved) << to_string(resolved.error());
  ASSERT_EQ(resolved->models.size(), 1U);
  EXPECT_EQ(resolved->models.front().artifact, id_of(model_));
}

TEST_F(UnboundManifests, AreListedByTheCheck) {
  store_good_model(model_);
  EXPECT_TRUE(findings().empty());
  const StatementId old = store_old(manifest("old"));
  const auto found = findings();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().check, "unbound-manifest");
  EXPECT_EQ(found.front().id, old.text());
}

// Case 1 of two publishers: the manifest that leaves out code is of another artifact, so a decision
// about the first one does not see it, and no policy accepts the other.
class SecondPublisher : public ServiceTest {
 protected:
  SecondPublisher() { put_policy_in_force(); }
};

TEST_F(SecondPublisher, WithOtherPatterns_SpeaksOfAnotherArtifact) {
  const Manifest model = manifest("good");
  store_good_model(model);
  Manifest evil = model;
  evil.artifact.parameters.ignore = {"*.py"};
  ASSERT_NE(id_of(evil), id_of(model));
  ASSERT_TRUE(accept_manifest(*services_, signed_manifest(evil), actor_));
  const auto snapshot = store_->snapshot().value();
  const auto facts = artifact_facts(*services_, *snapshot, id_of(model)).value()->facts;
  ASSERT_EQ(facts.manifests.size(), 1U);
  EXPECT_TRUE(facts.manifests.front().parameters.ignore.empty());
  EXPECT_EQ(facts.manifests.front().objects, Objects::kFiles);
  EXPECT_EQ(facts.manifests.front().formats, std::vector{ModelFormat::kExecutable});
  EXPECT_EQ(load_artifact(*snapshot, id_of(model)).value().parameters, model.artifact.parameters);
  const auto others = artifact_facts(*services_, *snapshot, id_of(evil)).value()->facts;
  EXPECT_EQ(others.manifests.front().parameters.ignore, std::vector<std::string>{"*.py"});
}

}  // namespace
}  // namespace assay::server::test
