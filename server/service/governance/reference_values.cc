// SPDX-License-Identifier: Apache-2.0
#include "server/service/governance/reference_values.h"

#include <algorithm>
#include <set>
#include <span>

#include "attestation/keys.h"
#include "schemas/evidence.h"
#include "schemas/members.h"
#include "server/service/if_found.h"

namespace assay::server {
namespace {

namespace corim = attestation::corim;
namespace cose = attestation::cose;

constexpr std::string_view kRevokedSigner = "the key that signed the reference values was revoked";

// --- reading

Status verify_with(const cose::Sign1& envelope, const TrustedKey& key) {
  if (!key.algorithm) {
    return fail(ErrorCode::kUntrustedSigner, "reference values are signed by a key");
  }
  ASSAY_ASSIGN(const auto parsed, attestation::PublicKey::from_der(key.public_key, *key.algorithm));
  return cose::verify_sign1(envelope, parsed);
}

bool is_named(const cose::Sign1& envelope, const TrustedKey& key) {
  return std::ranges::equal(envelope.key_id, key.id.digest().bytes());
}

// The key that the message names, or else the first of a signer that verifies: other tools write
// other key ids.
Result<TrustedKey> find_signer(const cose::Sign1& envelope, std::span<const TrustedKey> keys) {
  for (const TrustedKey& key : keys) {
    if (is_named(envelope, key)) {
      ASSAY_TRY(verify_with(envelope, key));
      return key;
    }
  }
  for (const TrustedKey& key : keys) {
    if (key.purpose == KeyPurpose::kSigner && key.algorithm == envelope.scheme.algorithm &&
        verify_with(envelope, key)) {
      return key;
    }
  }
  return fail(ErrorCode::kUntrustedSigner,
              "the reference values are not signed by a key of the trust store");
}

Status check_times(const corim::DocumentTag& tag, Timestamp now) {
  for (const ImportedSet& set : tag.sets) {
    if ((set.not_before && now < *set.not_before) || (set.not_after && now > *set.not_after)) {
      return fail(ErrorCode::kReferenceExpired, "these reference values do not count now",
                  set.name);
    }
  }
  return {};
}

Result<ReadReferences> read(const PutReferenceValues& operation, std::span<const TrustedKey> keys,
                            Timestamp now) {
  ASSAY_ASSIGN(auto document, corim::read_reference_document(operation.document));
  if (operation.is_unsigned == document.envelope.has_value()) {
    return fail(ErrorCode::kReferenceUnsigned,
                operation.is_unsigned ? "the document is signed, and the operation says it is not"
                                      : "the document is not signed, and nobody says so");
  }
  if (document.evidence_type != operation.evidence_type) {
    return fail(ErrorCode::kReferenceClassMismatch,
                "the values are for evidence of type " + document.evidence_type, "/evidence_type");
  }
  // No other verifier looks at imported values: they would constrain nothing.
  if (document.evidence_type != kTdxEvidence && document.evidence_type != kSnpEvidence) {
    return fail(ErrorCode::kEvidenceTypeUnknown,
                "reference values are imported for TDX and SEV-SNP evidence alone",
                "/evidence_type");
  }
  ReadReferences references{std::move(document), std::nullopt};
  if (references.document.envelope) {
    ASSAY_ASSIGN(references.signer, find_signer(*references.document.envelope, keys));
  }
  for (const corim::DocumentTag& tag : references.document.tags) {
    ASSAY_TRY(check_times(tag, now));
    if (references.signer) {
      const SigningContext context{
          KeyPurpose::kSigner, {}, std::string(kReferenceValuesPredicate), tag.tag_id};
      ASSAY_TRY(check_grant(*references.signer, context, now, now));
    }
  }
  return references;
}

// --- what is in force

using Tags = std::map<std::string, ReferenceTag>;

Result<Tags> tags_of(storage::Transaction& transaction, const std::string& appraisal) {
  ASSAY_ASSIGN(auto all, transaction.reference_tags());
  Tags tags;
  for (ReferenceTag& tag : all) {
    if (tag.appraisal == appraisal) {
      tags.emplace(tag.tag_id, std::move(tag));
    }
  }
  return tags;
}

Status check_version(const ReferenceTag& before, const corim::DocumentTag& tag) {
  const std::string version = std::to_string(before.version);
  if (tag.version < before.version) {
    return fail(ErrorCode::kReferenceRollback, "version " + version + " was imported before",
                tag.tag_id);
  }
  if (tag.version == before.version && (before.removed.empty() || tag.sets != before.sets)) {
    return fail(ErrorCode::kReferenceRollback,
                before.removed.empty() ? "version " + version + " is in force"
                                       : "version " + version + " had other values",
                tag.tag_id);
  }
  return {};
}

// Whoever brought a tag that is in force is the only one to bring its next version: names are
// chosen by those who write documents.
Status check_holder(const ReferenceTag& before, const std::optional<TrustedKey>& signer) {
  const bool same = before.identity.empty() || (signer && signer->identity == before.identity);
  return same || !before.removed.empty()
             ? Status()
             : fail(ErrorCode::kConflict,
                    "the tag in force was signed by " + before.identity + "; remove it first",
                    before.tag_id);
}

Status check_replaced(const Tags& tags, const corim::DocumentTag& tag) {
  for (const std::string& id : tag.replaces) {
    const auto found = tags.find(id);
    if (found != tags.end() && found->second.removed.empty()) {
      return fail(
          ErrorCode::kConflict,
          "the tag " + tag.tag_id + " replaces this one, which is in force; remove it first", id);
    }
  }
  return {};
}

Status check_room(const Tags& tags) {
  std::size_t sets = 0;
  for (const auto& [id, tag] : tags) {
    sets += tag.removed.empty() ? tag.sets.size() : 0;
  }
  return tags.size() <= kMaxReferenceTags && sets <= kMaxReferenceSets
             ? Status()
             : fail(ErrorCode::kLimitExceeded,
                    "an appraisal has at most 256 tags, and 1024 sets of values in force");
}

std::vector<std::string> constrained_by(const ReferenceTag* before,
                                        const std::vector<ImportedSet>& sets) {
  std::set<std::string> names;
  if (before != nullptr) {
    names.insert(before->constrains.begin(), before->constrains.end());
  }
  for (const ImportedSet& set : sets) {
    for (const auto& [measurement, values] : set.values) {
      names.insert(measurement);
    }
  }
  return {names.begin(), names.end()};
}

Status require_appraisal(storage::Transaction& transaction, const std::string& name) {
  ASSAY_ASSIGN(const auto known, if_found(transaction.appraisal(name)));
  return known ? Status()
               : fail(ErrorCode::kConflict,
                      "no appraisal is stored for this evidence; a change of trust puts one "
                      "(put_appraisal)",
                      name);
}

// An earlier operation of the same change may have revoked the key.
Status require_unrevoked(storage::Transaction& transaction,
                         const std::optional<TrustedKey>& signer) {
  if (!signer) {
    return {};
  }
  ASSAY_ASSIGN(const TrustedKey key, transaction.key(signer->id));
  return key.revoked
             ? fail(ErrorCode::kKeyRevoked, "this change revokes the signer's key", key.id.text())
             : Status();
}

ReferenceTag make_tag(const std::string& appraisal, const corim::DocumentTag& tag,
                      const ReadReferences& read, const DocumentId& document, Timestamp now) {
  ReferenceTag made{appraisal, tag.tag_id, tag.version, document};
  if (read.signer) {
    made.key = read.signer->id;
    made.identity = read.signer->identity;
  }
  made.imported_at = now;
  made.sets = tag.sets;
  return made;
}

}  // namespace

Result<PreparedReferences> prepare_references(Services& services, const TrustChange& change,
                                              Timestamp now) {
  PreparedReferences prepared;
  ASSAY_ASSIGN(const auto snapshot, services.store.snapshot());
  ASSAY_ASSIGN(const auto keys, snapshot->keys());
  for (std::size_t i = 0; i < change.operations.size(); ++i) {
    if (const auto* put = std::get_if<PutReferenceValues>(&change.operations[i])) {
      auto references = read(*put, keys, now);
      if (!references) {
        return members::under("/operations/" + std::to_string(i) + "/put_reference_values",
                              std::move(references).error());
      }
      prepared.emplace(put, *std::move(references));
    }
  }
  return prepared;
}

Result<Json> put_references(storage::Transaction& transaction, const PutReferenceValues& operation,
                            const ReadReferences& read) {
  const std::string name = appraisal_name(operation.evidence_type, operation.stage);
  ASSAY_TRY(require_appraisal(transaction, name));
  ASSAY_TRY(require_unrevoked(transaction, read.signer));
  ASSAY_ASSIGN(Tags tags, tags_of(transaction, name));
  ASSAY_ASSIGN(const DocumentId document,
               transaction.put_document(read.document.media_type, operation.document));
  Json summary = {{"op", "put-reference-values"},
                  {"appraisal", name},
                  {"document", document.text()},
                  {"tags", Json::array()}};
  if (read.signer) {
    summary["key_id"] = read.signer->id.text();
  }
  for (const corim::DocumentTag& tag : read.document.tags) {
    const auto before = tags.find(tag.tag_id);
    if (before != tags.end()) {
      ASSAY_TRY(check_version(before->second, tag));
      ASSAY_TRY(check_holder(before->second, read.signer));
    }
    ReferenceTag made = make_tag(name, tag, read, document, transaction.now());
    made.constrains = constrained_by(before == tags.end() ? nullptr : &before->second, tag.sets);
    ASSAY_TRY(transaction.put_reference_tag(made));
    tags.insert_or_assign(tag.tag_id, std::move(made));
    summary["tags"].push_back(tag.tag_id + "@" + std::to_string(tag.version));
  }
  for (const corim::DocumentTag& tag : read.document.tags) {
    ASSAY_TRY(check_replaced(tags, tag));
  }
  ASSAY_TRY(check_room(tags));
  return summary;
}

Result<Json> remove_references(storage::Transaction& transaction,
                               const RemoveReferenceValues& operation) {
  const std::string name = appraisal_name(operation.evidence_type, operation.stage);
  ASSAY_ASSIGN(Tags tags, tags_of(transaction, name));
  const auto found = tags.find(operation.tag_id);
  if (found == tags.end()) {
    return fail(ErrorCode::kNotFound, "no reference values were imported under this tag id",
                operation.tag_id);
  }
  ReferenceTag& tag = found->second;
  const bool frees = operation.dangerous_unconstrain && !tag.constrains.empty();
  if (!tag.removed.empty() && !frees) {
    return fail(ErrorCode::kConflict, "the tag was removed already", operation.tag_id);
  }
  tag.removed = operation.reason;
  if (operation.dangerous_unconstrain) {
    tag.constrains.clear();
  }
  ASSAY_TRY(transaction.put_reference_tag(tag));
  return Json{{"op", "remove-reference-values"},
              {"appraisal", name},
              {"tag", tag.tag_id + "@" + std::to_string(tag.version)},
              {"reason", operation.reason},
              {"dangerous_unconstrain", operation.dangerous_unconstrain}};
}

Result<std::vector<std::string>> remove_references_of(storage::Transaction& transaction,
                                                      const KeyId& key) {
  ASSAY_ASSIGN(auto tags, transaction.reference_tags());
  std::vector<std::string> removed;
  for (ReferenceTag& tag : tags) {
    if (tag.key == key && tag.removed.empty()) {
      tag.removed = kRevokedSigner;
      ASSAY_TRY(transaction.put_reference_tag(tag));
      removed.push_back(tag.appraisal + " " + tag.tag_id);
    }
  }
  return removed;
}

}  // namespace assay::server
