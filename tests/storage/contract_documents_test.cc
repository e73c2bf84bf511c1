// SPDX-License-Identifier: Apache-2.0
// Contract of storage/store.h: documents, keys, principals, epochs, policies in force.
#include <algorithm>

#include "tests/storage/store_contract.h"

namespace assay::storage {
namespace {

TEST_P(StoreContract, Document_PutAndGet_ExactBytesAndFirstMediaType) {
  Bytes every_byte(256);
  for (std::size_t i = 0; i < every_byte.size(); ++i) {
    every_byte[i] = static_cast<std::uint8_t>(i);
  }
  const std::vector<Bytes> contents = {{}, {0}, every_byte, Bytes(300000, 0x5a)};
  for (const Bytes& content : contents) {
    std::optional<DocumentId> id;
    write([&](Transaction& transaction) -> Status {
      ASSAY_ASSIGN(id, transaction.put_document("application/x", content));
      return {};
    });
    ASSERT_EQ(id->digest(), digest_of(as_text(content)));
    const auto document = snapshot()->document(*id);
    ASSERT_TRUE(document) << to_string(document.error());
    EXPECT_EQ(document->bytes, content);
    EXPECT_EQ(document->media_type, "application/x");
    EXPECT_EQ(document->id, *id);
  }
}

TEST_P(StoreContract, Document_PutAgain_ChangesNothing) {
  const DocumentId id(digest_of("content"));
  for (const char* media_type : {"text/plain", "application/json"}) {
    write([&](Transaction& transaction) -> Status {
      EXPECT_EQ(transaction.put_document(media_type, as_bytes("content")), id);
      return {};
    });
  }
  EXPECT_EQ(snapshot()->document(id)->media_type, "text/plain");
}

// Whoever reads a document has its id from something that is stored.
TEST_P(StoreContract, Document_Missing_IsDataLoss) {
  EXPECT_EQ(snapshot()->document(DocumentId(digest_of("none"))).error().code, ErrorCode::kDataLoss);
}

TEST_P(StoreContract, Key_PutAndGet_EveryFieldKept) {
  TrustedKey key = make_key(1);
  TrustedKey bare = make_key(2);
  bare.roles.clear();
  bare.purpose = KeyPurpose::kOperator;
  bare.algorithm = SignatureAlgorithm::kEcdsaP384;
  write([&](Transaction& transaction) -> Status {
    ASSAY_TRY(transaction.put_key(key));
    return transaction.put_key(bare);
  });
  const auto view = snapshot();
  EXPECT_EQ(view->key(key.id), key);
  EXPECT_EQ(view->key(bare.id), bare);
  const auto keys = view->keys().value();
  EXPECT_EQ(keys.size(), 2U);
  EXPECT_TRUE(std::find(keys.begin(), keys.end(), key) != keys.end());
  EXPECT_TRUE(std::find(keys.begin(), keys.end(), bare) != keys.end());
  EXPECT_EQ(view->key(make_key(3).id).error().code, ErrorCode::kNotFound);
}

TEST_P(StoreContract, Key_Revoked_ReplacesAndStaysRevoked) {
  TrustedKey key = make_key(1);
  write([&](Transaction& transaction) { return transaction.put_key(key); });
  TrustedKey revoked = key;
  revoked.revoked = Revocation{clock_.now(), "lost"};
  revoked.roles.pop_back();
  write([&](Transaction& transaction) { return transaction.put_key(revoked); });
  EXPECT_EQ(snapshot()->key(key.id), revoked);
  EXPECT_EQ(write_error([&](Transaction& transaction) { return transaction.put_key(key); }),
            ErrorCode::kConflict);
  EXPECT_EQ(snapshot()->key(key.id), revoked);
}

TEST_P(StoreContract, Principal_PutReplaceRemove_FollowsTheLastWrite) {
  Principal principal = make_principal("alice");
  write([&](Transaction& transaction) { return transaction.put_principal(principal); });
  EXPECT_EQ(snapshot()->principals().value(), std::vector{principal});
  EXPECT_EQ(snapshot()->principal_by(principal.credentials[1]), principal);

  const Credential dropped = principal.credentials[0];
  principal.credentials.erase(principal.credentials.begin());
  principal.roles = {AccessRole::kAdmin};
  principal.not_after.reset();
  write([&](Transaction& transaction) { return transaction.put_principal(principal); });
  EXPECT_EQ(snapshot()->principal_by(principal.credentials[0]), principal);
  EXPECT_EQ(snapshot()->principal_by(dropped).error().code, ErrorCode::kNotFound);

  write([&](Transaction& transaction) { return transaction.remove_principal("alice"); });
  EXPECT_TRUE(snapshot()->principals()->empty());
  EXPECT_EQ(snapshot()->principal_by(principal.credentials[0]).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(write_error([](Transaction& t) { return t.remove_principal("alice"); }),
            ErrorCode::kNotFound);
}

TEST_P(StoreContract, Principal_CredentialOfAnother_IsAConflictAndChangesNothing) {
  const Principal alice = make_principal("alice");
  Principal bob = make_principal("bob");
  write([&](Transaction& transaction) -> Status {
    ASSAY_TRY(transaction.put_principal(alice));
    return transaction.put_principal(bob);
  });
  Principal thief = bob;
  thief.roles = {AccessRole::kAdmin};
  thief.credentials.push_back(alice.credentials[0]);
  write([&](Transaction& transaction) -> Status {
    // Also when the caller goes on after the refusal.
    EXPECT_EQ(transaction.put_principal(thief).error().code, ErrorCode::kConflict);
    return {};
  });
  EXPECT_EQ(snapshot()->principal_by(alice.credentials[0]), alice);
  EXPECT_EQ(snapshot()->principal_by(bob.credentials[0]), bob);
}

TEST_P(StoreContract, Principal_SameDigestOfAnotherKind_IsAnotherCredential) {
  Principal alice = make_principal("alice");
  Principal bob = make_principal("bob");
  bob.credentials = {{CredentialKind::kClientCertificate, alice.credentials[0].sha256}};
  write([&](Transaction& transaction) -> Status {
    ASSAY_TRY(transaction.put_principal(alice));
    return transaction.put_principal(bob);
  });
  EXPECT_EQ(snapshot()->principal_by(alice.credentials[0])->name, "alice");
  EXPECT_EQ(snapshot()->principal_by(bob.credentials[0])->name, "bob");
}

TEST_P(StoreContract, Principal_CredentialTwice_IsAConflict) {
  Principal alice = make_principal("alice");
  alice.credentials.push_back(alice.credentials[0]);
  EXPECT_EQ(write_error([&](Transaction& t) { return t.put_principal(alice); }),
            ErrorCode::kConflict);
}

TEST_P(StoreContract, Epochs_Set_AscendAndNeverGoBack) {
  EXPECT_EQ(*snapshot()->epochs(), Epochs());
  const Epochs epochs{{4, 3}, 2};
  write([&](Transaction& transaction) -> Status {
    ASSAY_TRY(transaction.set_epochs(epochs));
    EXPECT_EQ(*transaction.epochs(), epochs);
    return {};
  });
  EXPECT_EQ(*snapshot()->epochs(), epochs);
  for (const Epochs& older : {Epochs{{3, 3}, 2}, Epochs{{4, 2}, 2}, Epochs{{4, 3}, 1}}) {
    EXPECT_EQ(write_error([&](Transaction& transaction) { return transaction.set_epochs(older); }),
              ErrorCode::kTrustSequence);
  }
  EXPECT_EQ(*snapshot()->epochs(), epochs);
}

TEST_P(StoreContract, Policy_Activate_ReplacesTheVersionOfThatName) {
  const ActivePolicyRow first{StatementId(digest_of("p1")), "gate", 1, to_bytes("one")};
  const ActivePolicyRow second{StatementId(digest_of("p2")), "gate", 2, to_bytes("two")};
  const ActivePolicyRow other{StatementId(digest_of("q")), "audit", 1, {}};
  write([&](Transaction& transaction) -> Status {
    ASSAY_TRY(transaction.activate_policy(first));
    return transaction.activate_policy(other);
  });
  write([&](Transaction& transaction) { return transaction.activate_policy(second); });
  const auto active = snapshot()->active_policies().value();
  ASSERT_EQ(active.size(), 2U);
  EXPECT_EQ(active[0].name, "audit");
  EXPECT_EQ(active[1].name, "gate");
  EXPECT_EQ(active[1].version, 2U);
  EXPECT_EQ(active[1].id, second.id);
  EXPECT_EQ(active[1].payload, second.payload);
}

TEST_P(StoreContract, Policy_Deactivate_TakesTheNameOut) {
  write([&](Transaction& transaction) {
    return transaction.activate_policy({StatementId(digest_of("p1")), "gate", 1, {}});
  });
  write([&](Transaction& transaction) { return transaction.deactivate_policy("gate"); });
  EXPECT_TRUE(snapshot()->active_policies()->empty());
  EXPECT_EQ(write_error([](Transaction& t) { return t.deactivate_policy("gate"); }),
            ErrorCode::kNotFound);
}

}  // namespace
}  // namespace assay::storage
