// SPDX-License-Identifier: Apache-2.0
// What `assayd repair` makes from a document is what accepting the document wrote: two forms of one
// row would be two answers to one question.
#include "server/service/upkeep/rebuild.h"

#include <tuple>

#include "schemas/placement.h"
#include "tests/server/service/fixture.h"

namespace assay::server::test {
namespace {

class Rebuild : public ServiceTest {
 protected:
  // Every member of the row.
  static auto all_of(const storage::StatementRow& row) {
    return std::tuple(row.id, row.kind, row.payload_type, row.predicate_type, row.stage, row.name,
                      row.version, row.subjects, row.locations, row.signers, row.envelopes,
                      row.log_index, row.accepted_at, row.contents, row.bytes);
  }
  void expect_same_row(const Result<Accepted>& accepted) {
    ASSERT_TRUE(accepted) << to_string(accepted.error());
    const auto snapshot = store_->snapshot().value();
    const storage::StatementRow stored = snapshot->statement(accepted->row.id).value();
    const auto record = parse_log_record(snapshot->log_record(stored.log_index).value()).value();
    const auto made = rebuild_statement(
        [&](const DocumentId& id) { return snapshot->document(id); }, {stored.log_index, record});
    ASSERT_TRUE(made) << to_string(made.error());
    EXPECT_EQ(all_of(*made), all_of(stored));
  }
};

TEST_F(Rebuild, Manifest_IsTheRowThatWasAccepted) {
  Manifest model = manifest("m");
  model.locations = {"pvc://inference/models"};
  model.other_digests["sha256"] = std::string(64, '0');  // sorts before the artifact's own root
  expect_same_row(accept_manifest(*services_, signed_manifest(model), actor_));
}

TEST_F(Rebuild, Placement_IsTheRowThatWasAccepted) {
  const Manifest model = manifest("m");
  Placement placement{model.name, id_of(model), {"pvc://inference/elsewhere"}};
  expect_same_row(accept_attestation(
      *services_, statement_envelope(to_statement(placement).value(), {&publisher_}), actor_));
}

TEST_F(Rebuild, LifecycleStatement_IsTheRowThatWasAccepted) {
  expect_same_row(accept_attestation(*services_, evaluation(manifest("m"), 0.95), actor_));
}

TEST_F(Rebuild, Policy_IsTheRowThatWasAccepted) {
  expect_same_row(accept_policy(*services_, policy(), actor_));
}

}  // namespace
}  // namespace assay::server::test
