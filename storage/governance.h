// SPDX-License-Identifier: Apache-2.0
// Governance is the state that says what is trusted and in force: keys, principals, appraisals,
// registrations (docs/glossary.md explains these words), revoked nodes, withdrawn statements, and
// policies. The state is two documents. Each change of it is a record in the log, and these records
// form a chain: each names the previous one, and the digests of both documents after the change
// (docs/adr/0021-nothing-in-the-database-is-believed.md, schemas/log.md). A store reads the
// documents once, when it opens, and keeps the state in memory.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/core/ids.h"
#include "schemas/log_record.h"
#include "schemas/trust.h"

namespace assay::storage {

// A policy version in force.
struct ActivePolicyRow {
  StatementId id;
  std::string name;
  std::uint64_t version;
  Bytes payload;  // of the policy envelope
};

// A trusted root of a sigstore instance (schemas/trust.h), with the trust epoch of the change that
// brought it.
struct TrustedRootRow {
  PutTrustedRoot root;
  std::uint64_t version = 0;
};

struct Epochs {
  TrustEpochs trust;
  std::uint64_t policy = 0;  // sequence number of the last activation or deactivation
  bool operator==(const Epochs&) const = default;
};

// The canonical JSON of the trust state, and of the policies in force (schemas/log.md section 2.3).
struct GovernanceDocuments {
  std::string trust;
  std::string policies;
};
// Most bytes of each document, and of withdrawals by signers in it: nobody but operators can fill
// the rest, in which they revoke.
inline constexpr std::size_t kMaxGovernanceBytes = std::size_t{64} << 20;
inline constexpr std::size_t kMaxWithdrawnBytes = std::size_t{32} << 20;

// The SHA-256 digests of both documents.
struct GovernanceDigests {
  Digest trust;
  Digest policies;
  bool operator==(const GovernanceDigests&) const = default;
};
[[nodiscard]] GovernanceDigests digests_of(const GovernanceDocuments& documents);

// The newest record of the chain.
struct ChainHead {
  LeafIndex index;
  Digest leaf;  // leaf hash of the record
  GovernanceDigests state;
  bool operator==(const ChainHead&) const = default;
};

// A link of the chain. Each record of the chain contains one, as its detail "chain".
struct ChainLink {
  GovernanceDigests state;
  // Index and leaf hash of the previous record; absent in the first record of the chain.
  std::optional<std::pair<LeafIndex, Digest>> previous;
};

// Returns the JSON of the link that the next record of the chain contains.
[[nodiscard]] Json link_to_json(const GovernanceDigests& state,
                                const std::optional<ChainHead>& previous);
// Parses the link in a record. Errors: data-loss when the record holds no link.
[[nodiscard]] Result<ChainLink> link_of(const LogRecord& record);

// The state of governance as a plain value. Functions that change the state return the errors of
// the functions with the same names in Transaction (storage/store.h).
class Governance {
 public:
  [[nodiscard]] Status put_key(const TrustedKey& key);
  [[nodiscard]] Status put_principal(const Principal& principal);
  [[nodiscard]] Status remove_principal(const std::string& name);
  [[nodiscard]] Status put_appraisal(const Appraisal& appraisal);
  // Inserts or replaces the tag of this appraisal and id. Errors: not-found without the appraisal.
  [[nodiscard]] Status put_reference_tag(const ReferenceTag& tag);
  [[nodiscard]] Status put_registration(const Registration& registration);
  [[nodiscard]] Status remove_registration(const std::string& id);
  void put_trusted_root(const TrustedRootRow& root);
  [[nodiscard]] Status set_epochs(const Epochs& epochs);
  [[nodiscard]] Status activate_policy(const ActivePolicyRow& policy);
  [[nodiscard]] Status deactivate_policy(const std::string& name);
  void revoke_node(const std::string& name, const Revocation& revocation);
  [[nodiscard]] Status put_withdrawal(const Withdrawn& withdrawn);

  [[nodiscard]] Result<TrustedKey> key(const KeyId& id) const;
  [[nodiscard]] std::vector<TrustedKey> keys() const;
  [[nodiscard]] std::vector<Principal> principals() const;
  [[nodiscard]] Result<Principal> principal_by(const Credential& credential) const;
  // Returns the appraisal with what its reference tags add.
  [[nodiscard]] Result<Appraisal> appraisal(const std::string& evidence_type) const;
  // Returns the appraisals as they were put.
  [[nodiscard]] std::vector<Appraisal> appraisals() const;
  [[nodiscard]] std::vector<ReferenceTag> reference_tags() const;
  [[nodiscard]] Result<DocumentId> appraisal_id(const std::string& evidence_type) const;
  [[nodiscard]] Result<Registration> registration_of(const std::string& node) const;
  [[nodiscard]] std::vector<Registration> registrations() const;
  [[nodiscard]] std::vector<TrustedRootRow> trusted_roots() const;
  [[nodiscard]] std::vector<ActivePolicyRow> policies() const;
  [[nodiscard]] const Epochs& epochs() const { return epochs_; }
  // Returns the revocation of a node; nullopt when the node is not revoked.
  [[nodiscard]] std::optional<Revocation> revocation_of(const std::string& node) const;

  // Returns the withdrawal of a statement; nullopt when the statement is not withdrawn.
  [[nodiscard]] std::optional<Withdrawn> withdrawal_of(const StatementId& statement) const;
  [[nodiscard]] std::vector<Withdrawn> withdrawals() const;

  // Errors: limit-exceeded when a document has more than kMaxGovernanceBytes.
  [[nodiscard]] Result<GovernanceDocuments> documents() const;
  // Returns the state that the documents say. The caller must compare their digests with those in
  // the log. Errors: data-loss when a document cannot be read.
  [[nodiscard]] static Result<Governance> from_documents(const GovernanceDocuments& documents);

  // Returns the newest record of the chain; nullopt while the log has no such record.
  [[nodiscard]] const std::optional<ChainHead>& head() const { return head_; }
  void set_head(ChainHead head) { head_ = std::move(head); }

 private:
  [[nodiscard]] Status compose(const std::string& appraisal);
  [[nodiscard]] Status read_trust(const Json& json);
  [[nodiscard]] Status read_policies(const Json& json);

  using CredentialKey = std::pair<CredentialKind, Digest>;

  std::map<KeyId, TrustedKey> keys_;
  std::map<std::string, Principal> principals_;
  std::map<CredentialKey, std::string> owners_;  // principal of each credential
  std::map<std::string, Appraisal> appraisals_;
  std::map<std::pair<std::string, std::string>, ReferenceTag> reference_tags_;
  // Appraisals with what was imported, and the ids of both: evidence is compared with them often.
  std::map<std::string, std::pair<Appraisal, DocumentId>> in_force_;
  std::map<std::string, Registration> registrations_;
  std::map<std::string, TrustedRootRow> trusted_roots_;
  std::map<std::string, Revocation> revoked_nodes_;
  std::map<StatementId, Withdrawn> withdrawn_;
  std::size_t withdrawn_bytes_ = 0;  // of those by signers, as JSON
  std::map<std::string, ActivePolicyRow> policies_;
  Epochs epochs_;
  std::optional<ChainHead> head_;
};

}  // namespace assay::storage
