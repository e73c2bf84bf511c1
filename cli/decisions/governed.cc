// SPDX-License-Identifier: Apache-2.0
#include "cli/decisions/governed.h"

#include <algorithm>
#include <iterator>

#include "attestation/keys.h"
#include "attestation/sigstore/trusted_root.h"
#include "schemas/policy_document.h"
#include "schemas/reference_set.h"

namespace assay::cli {
namespace {

using attestation::VerifiedSignature;

std::unexpected<Error> does_not_follow(const char* why, LeafIndex index) {
  return fail(ErrorCode::kExportInconsistent, why, "log entry " + std::to_string(index));
}

// Follows one record after the other.
class Follower {
 public:
  Follower(Governed& governed, ExportedDocuments& documents)
      : governed_(governed), documents_(documents) {}

  Status take(const ProvenEntry& entry) {
    const std::string& type = entry.record.type;
    if (type == event::kTrustBootstrapped) {
      return take_bootstrap(entry);
    }
    if (type == event::kTrustChanged) {
      return take_change(entry);
    }
    if (type == event::kPolicyAccepted) {
      return take_policy(entry);
    }
    if (type == event::kPolicyActivated || type == event::kPolicyDeactivated) {
      return take_approval(entry);
    }
    return {};
  }

  [[nodiscard]] bool begun() const { return begun_; }

 private:
  // The signed document of a record, and who signed it.
  struct Signed {
    attestation::Envelope envelope;
    std::vector<VerifiedSignature> signatures;
  };
  Result<Signed> open(const ProvenEntry& entry, std::string_view payload_type) {
    if (entry.record.documents.size() != 1) {
      return does_not_follow("the record names no signed document", entry.index);
    }
    ASSAY_ASSIGN(attestation::Envelope envelope,
                 documents_.envelope(entry.record.documents.front()));
    if (!payload_type.empty() && envelope.payload_type != payload_type) {
      return does_not_follow("the document of the record is of another type", entry.index);
    }
    ASSAY_ASSIGN(auto signatures, signatures_at(governed_, envelope, entry.record.time));
    return Signed{std::move(envelope), std::move(signatures)};
  }

  Status take_bootstrap(const ProvenEntry& entry) {
    // Anywhere else it could be one that nobody sees who follows the log.
    if (begun_ || entry.index != 0 || entry.record.documents.size() != 1) {
      return does_not_follow(
          "the first trust is not the first entry of the log, alone, with its "
          "document",
          entry.index);
    }
    governed_.first_trust = entry.record.documents.front();
    begun_ = true;
    ASSAY_ASSIGN(const ByteView document, documents_.bytes(entry.record.documents.front()));
    ASSAY_ASSIGN(const Bootstrap bootstrap, parse_bootstrap(document));
    for (const PutTrustedRoot& root : bootstrap.trusted_roots) {
      ASSAY_TRY(put_root(root));
    }
    for (const TrustedKey& key : bootstrap.keys) {
      ASSAY_TRY(add_key(key, entry));
    }
    return {};
  }

  Status put_root(const PutTrustedRoot& put) {
    ASSAY_ASSIGN(const std::string text, canonical_json(put.document));
    ASSAY_ASSIGN(auto root, attestation::sigstore::parse_trusted_root(as_bytes(text)));
    governed_.roots.insert_or_assign(put.name, std::move(root));
    return {};
  }

  Status add_key(const TrustedKey& key, const ProvenEntry& entry) {
    if (governed_.key(key.id) != nullptr) {
      return does_not_follow("a key is added twice", entry.index);
    }
    if (key.algorithm) {
      ASSAY_ASSIGN(const auto parsed,
                   attestation::PublicKey::from_der(key.public_key, *key.algorithm));
      if (parsed.id() != key.id) {
        return does_not_follow("the id of a key does not fit its bytes", entry.index);
      }
    }
    governed_.keys.push_back(key);
    return {};
  }

  Status revoke(const RevokeKey& revoked, const ProvenEntry& entry) {
    const auto key = std::ranges::find(governed_.keys, revoked.key, &TrustedKey::id);
    if (key == governed_.keys.end()) {
      return does_not_follow("a key is revoked that nobody added", entry.index);
    }
    key->revoked = Revocation{entry.record.time, revoked.reason, revoked.since};
    return {};
  }

  Status take_change(const ProvenEntry& entry) {
    ASSAY_ASSIGN(const Signed change, open(entry, kTrustChangePayloadType));
    ASSAY_ASSIGN(const auto operators, attestation::require_signers(
                                           change.signatures, {KeyPurpose::kOperator, {}, {}, {}},
                                           kTrustChangeThreshold, entry.record.time));
    ASSAY_ASSIGN(const TrustChange parsed, parse_trust_change(change.envelope.payload));
    if (!begun_ || parsed.sequence != governed_.trust_epoch + 1) {
      return does_not_follow("a change of trust is missing before this one", entry.index);
    }
    governed_.trust_epoch = parsed.sequence;
    for (const TrustOperation& operation : parsed.operations) {
      if (const auto* add = std::get_if<AddKey>(&operation)) {
        ASSAY_TRY(add_key(add->key, entry));
      } else if (const auto* gone = std::get_if<RevokeKey>(&operation)) {
        ASSAY_TRY(revoke(*gone, entry));
      } else if (const auto* root = std::get_if<PutTrustedRoot>(&operation)) {
        ASSAY_TRY(put_root(*root));
      } else if (const auto* withdraw = std::get_if<WithdrawStatement>(&operation)) {
        const Withdrawal& withdrawal = withdraw->withdrawal;
        governed_.withdrawn.insert_or_assign(
            withdrawal.statement,
            policy::WithdrawnFact{withdrawal.reason, withdrawal.since.value_or(entry.record.time),
                                  identities_of(operators), true});
      }
    }
    return {};
  }

  Result<std::string> name_of(const attestation::Envelope& envelope) {
    if (envelope.payload_type == kReferenceSetPayloadType) {
      ASSAY_ASSIGN(const ReferenceSet set, parse_reference_set(envelope.payload));
      return set_entry(set.name);
    }
    ASSAY_ASSIGN(const PolicyDocument policy, parse_policy(envelope.payload));
    return policy.name;
  }

  Status take_policy(const ProvenEntry& entry) {
    ASSAY_ASSIGN(Signed policy, open(entry, {}));
    const std::string& type = policy.envelope.payload_type;
    if (type != kPolicyPayloadType && type != kReferenceSetPayloadType) {
      return does_not_follow("the document of the record is no policy", entry.index);
    }
    ASSAY_TRY(attestation::require_signers(policy.signatures, {KeyPurpose::kAuthor, {}, {}, {}}, 1,
                                           entry.record.time));
    const StatementId id = attestation::statement_id(type, policy.envelope.payload);
    ASSAY_ASSIGN(std::string name, name_of(policy.envelope));
    GovernedPolicy& known = governed_.policies[id];
    known.name = std::move(name);
    known.payload_type = type;
    known.payload = std::move(policy.envelope.payload);
    for (const VerifiedSignature& signature : policy.signatures) {
      if (signature.key.purpose == KeyPurpose::kAuthor) {
        known.authors.insert(signature.key.identity);
      }
    }
    return {};
  }

  // Ascending, each once.
  static std::vector<std::string> identities_of(const std::vector<VerifiedSignature>& signatures) {
    std::set<std::string> identities;
    for (const VerifiedSignature& signature : signatures) {
      identities.insert(signature.key.identity);
    }
    return {identities.begin(), identities.end()};
  }

  // Four eyes: what the policy's own authors sign is no approval.
  static Result<std::set<std::string>> approvers_of(const Signed& approval,
                                                    const GovernedPolicy& policy, Timestamp time) {
    std::vector<VerifiedSignature> others;
    std::ranges::copy_if(approval.signatures, std::back_inserter(others), [&](const auto& one) {
      return !policy.authors.contains(one.key.identity);
    });
    ASSAY_ASSIGN(const auto counted, attestation::require_signers(
                                         others, {KeyPurpose::kApprover, {}, {}, {}}, 1, time));
    const std::vector<std::string> identities = identities_of(counted);
    return std::set<std::string>(identities.begin(), identities.end());
  }

  Status take_approval(const ProvenEntry& entry) {
    ASSAY_ASSIGN(const Signed approval, open(entry, kPolicyApprovalPayloadType));
    ASSAY_ASSIGN(const PolicyApproval parsed, parse_policy_approval(approval.envelope.payload));
    const auto policy = governed_.policies.find(parsed.policy);
    if (policy == governed_.policies.end() || parsed.sequence != governed_.policy_epoch + 1) {
      return does_not_follow("an approval, or the policy that it approves, is missing before this",
                             entry.index);
    }
    governed_.policy_epoch = parsed.sequence;
    ASSAY_ASSIGN(auto approvers, approvers_of(approval, policy->second, entry.record.time));
    if (parsed.action == PolicyApproval::Action::kActivate) {
      policy->second.approvers = std::move(approvers);
      governed_.in_force.insert_or_assign(policy->second.name, parsed.policy);
      return {};
    }
    const auto active = governed_.in_force.find(policy->second.name);
    if (active == governed_.in_force.end() || active->second != parsed.policy) {
      return does_not_follow("a policy goes out of force that is not in force", entry.index);
    }
    governed_.in_force.erase(active);
    return {};
  }

  Governed& governed_;
  ExportedDocuments& documents_;
  bool begun_ = false;
};

}  // namespace

const TrustedKey* Governed::key(const KeyId& id) const {
  const auto found = std::ranges::find(keys, id, &TrustedKey::id);
  return found == keys.end() ? nullptr : &*found;
}

Result<std::vector<VerifiedSignature>> signatures_at(const Governed& governed,
                                                     const attestation::Envelope& envelope,
                                                     Timestamp time) {
  ASSAY_ASSIGN(auto signatures, attestation::verify_signatures(envelope, governed.keys));
  ASSAY_ASSIGN(auto more,
               attestation::verify_certificates(envelope, governed.keys, governed.roots, time));
  std::ranges::move(more, std::back_inserter(signatures));
  return signatures;
}

Result<Governed> follow_governance(const ProvenLog& log, TreeSize known,
                                   ExportedDocuments& documents) {
  Governed governed;
  Follower follower(governed, documents);
  for (const ProvenEntry& entry : log.entries) {
    if (entry.index < known) {
      auto taken = follower.take(entry);
      if (!taken) {
        if (taken.error().where.empty()) {
          taken.error().where = "log entry " + std::to_string(entry.index);
        }
        return std::unexpected(std::move(taken).error());
      }
    }
  }
  return follower.begun() ? Result<Governed>(std::move(governed))
                          : fail(ErrorCode::kExportInconsistent,
                                 "the file lacks the first trust of the service");
}

}  // namespace assay::cli
