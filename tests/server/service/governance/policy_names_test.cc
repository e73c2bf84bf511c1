// SPDX-License-Identifier: Apache-2.0
// To whom the name of a policy belongs, and which of its versions was in force.
#include "tests/server/service/fixture.h"

namespace assay::server::test {
namespace {

class PolicyNames : public ServiceTest {
 protected:
  PolicyNames() {
    const auto changed = apply_trust_change(
        *services_, trust_change(1, {AddKey{mallory_.record}}, {&operator1_, &operator2_}), actor_);
    EXPECT_TRUE(changed) << to_string(changed.error());
  }
  Result<Accepted> store(std::uint64_t version, std::initializer_list<const TestKey*> authors) {
    const Json document = {{"name", "prod"},
                           {"version", version},
                           {"mode", "enforce"},
                           {"match", {{"namespaces", {"prod"}}}},
                           {"require", {{{"id", "published"}, {"manifest", Json::object()}}}}};
    return accept_policy(*services_,
                         envelope(kPolicyPayloadType, canonical_json(document).value(), authors),
                         actor_);
  }
  void activate(const StatementId& id) {
    const auto applied =
        apply_policy_approval(*services_, PolicyApproval::Action::kActivate, id,
                              policy_approval(id, ++epoch_, policy_approver_), actor_);
    ASSERT_TRUE(applied) << to_string(applied.error());
  }
  std::optional<Activation> activation(const StatementId& id) {
    return last_activation(*store_->snapshot().value(), id).value();
  }

  TestKey mallory_ = make_key(KeyPurpose::kAuthor, "mallory");
  std::uint64_t epoch_ = 0;
};

TEST_F(PolicyNames, BelongToTheAuthorsOfWhatWasInForce) {
  // Before anything was in force, whoever may sign policies may use the name.
  ASSERT_TRUE(store(7, {&mallory_}));
  const auto first = store(1, {&author_});
  ASSERT_TRUE(first);
  EXPECT_EQ(activation(first->row.id), std::nullopt);
  activate(first->row.id);
  EXPECT_EQ(refusal(store(2, {&mallory_})), ErrorCode::kRoleNotGranted);
  EXPECT_EQ(refusal(store(1, {&mallory_})), ErrorCode::kRoleNotGranted) << "one more signature";
  EXPECT_TRUE(store(2, {&author_}));
}

TEST_F(PolicyNames, AreHandedOnByAVersionThatBothSign) {
  const auto first = store(1, {&author_});
  activate(first->row.id);
  const auto second = store(2, {&author_, &mallory_});
  ASSERT_TRUE(second) << to_string(second.error());
  EXPECT_EQ(refusal(store(3, {&mallory_})), ErrorCode::kRoleNotGranted);
  activate(second->row.id);
  EXPECT_TRUE(store(3, {&mallory_}));
}

// The signature of the author is public; whoever puts his own beside it was given nothing.
TEST_F(PolicyNames, AreNotTakenByOneMoreSignatureOnWhatWasInForce) {
  const auto first = store(1, {&author_});
  activate(first->row.id);
  const auto both = store(1, {&author_, &mallory_});
  ASSERT_TRUE(both) << to_string(both.error());
  ASSERT_EQ(both->row.signers.size(), 2U);
  EXPECT_EQ(refusal(store(2, {&mallory_})), ErrorCode::kRoleNotGranted);
  EXPECT_TRUE(store(2, {&author_}));
}

TEST_F(PolicyNames, AreFreeWhenNoAuthorIsLeft) {
  const auto first = store(1, {&author_});
  activate(first->row.id);
  ASSERT_TRUE(apply_trust_change(
      *services_,
      trust_change(2, {RevokeKey{author_.record.id, "lost"}}, {&operator1_, &operator2_}), actor_));
  EXPECT_TRUE(store(2, {&mallory_}));
}

TEST_F(PolicyNames, LastActivation_IsTheNewest) {
  const auto first = store(1, {&author_});
  const auto second = store(2, {&author_});
  for (const StatementId& id : {first->row.id, second->row.id, first->row.id}) {
    clock_.advance(std::chrono::minutes(1));
    activate(id);
  }
  EXPECT_EQ(activation(first->row.id)->policy_epoch, 3U);
  EXPECT_EQ(activation(first->row.id)->time, clock_.now());
  EXPECT_EQ(activation(second->row.id)->policy_epoch, 2U);
}

}  // namespace
}  // namespace assay::server::test
