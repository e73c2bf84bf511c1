// SPDX-License-Identifier: Apache-2.0
#include "server/service/documents/store_statement.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "attestation/identities/certificate_signers.h"
#include "server/service/documents/receipt.h"
#include "server/service/documents/trusted_roots.h"
#include "server/service/write_change.h"

namespace assay::server {
namespace {

// Keys of `verified` that `known` does not have, each once.
std::vector<storage::AddedSignature> further_signers(const VerifiedEnvelope& verified,
                                                     const std::vector<storage::SignerRow>& known) {
  std::set<KeyId> seen;
  for (const storage::SignerRow& signer : known) {
    seen.insert(signer.key);
  }
  std::vector<storage::AddedSignature> further;
  for (const auto& signature : verified.signatures) {
    if (seen.insert(signature.key.id).second) {
      further.emplace_back(signature.key.id, signature.certificate);
    }
  }
  return further;
}

Result<LeafIndex> append_record(storage::Transaction& transaction, const NewStatement& statement,
                                Json detail, const DocumentId& document,
                                const std::vector<storage::AddedSignature>& signers,
                                const Principal& actor) {
  LogRecord record{.type = std::string(statement.event_type),
                   .time = transaction.now(),
                   .actor = actor.name,
                   .subjects = {statement.row.id.text()},
                   .documents = {document},
                   .detail = std::move(detail)};
  for (const std::string& subject : statement.row.subjects) {
    if (subject.starts_with("assay-tree-v1-")) {
      record.subjects.push_back(subject);
    }
  }
  Json keys = Json::array();
  for (const storage::AddedSignature& signer : signers) {
    keys.push_back(signer.key.text());
    if (signer.certificate) {
      record.detail[kCertificates][signer.key.text()] = to_json(*signer.certificate);
    }
  }
  record.detail["signers"] = std::move(keys);
  return transaction.append(std::move(record));
}

// Identities that sign the statement now and had not before.
Result<std::set<std::string>> new_identities(storage::Transaction& transaction,
                                             const VerifiedEnvelope& verified,
                                             const std::vector<storage::SignerRow>& known) {
  std::set<std::string> identities;
  for (const auto& signature : verified.signatures) {
    identities.insert(signature.key.identity);
  }
  for (const storage::SignerRow& signer : known) {
    ASSAY_ASSIGN(const TrustedKey key, transaction.key(signer.key));
    identities.erase(key.identity);
  }
  return identities;
}

bool is_full(const storage::SignerUsage& usage, storage::TopicKind kind,
             const storage::StatementRow& row) {
  if (usage.bytes + storage::counted_bytes(row) > kMaxBytesPerSigner) {
    return true;
  }
  switch (kind) {
    case storage::TopicKind::kName:
      return usage.statements >= kMaxSignedUnderName;
    case storage::TopicKind::kLocation:
      return usage.statements >= kMaxSignedAtLocation;
    case storage::TopicKind::kArtifact:
      break;
  }
  const bool manifest = row.kind == storage::StatementKind::kManifest;
  return usage.statements >= kMaxStatementsPerSigner ||
         (manifest && usage.manifests >= kMaxManifestsPerSigner);
}

// The public key that made a signature: the trusted one, or that of the certificate.
const KeyId& public_key_of(const KeyId& signer, const std::optional<CertificateUse>& certificate) {
  return certificate ? certificate->key : signer;
}

bool same_person(const attestation::VerifiedSignature& a, const storage::SignerRow& b) {
  return public_key_of(a.key.id, a.certificate) == public_key_of(b.key, b.certificate) ||
         (a.certificate && b.certificate && a.certificate->issuer == b.certificate->issuer &&
          a.certificate->subject == b.certificate->subject);
}

// A certificate stands outside of the signed bytes, and a key can be trusted with one or without:
// one person must not sign a statement twice under two identities. Revoked signatures count for
// nobody.
Status require_same_identity(storage::Transaction& transaction, const VerifiedEnvelope& verified,
                             const std::vector<storage::SignerRow>& known) {
  for (const auto& signature : verified.signatures) {
    for (const storage::SignerRow& signer : known) {
      if (!same_person(signature, signer)) {
        continue;
      }
      ASSAY_ASSIGN(const TrustedKey before, transaction.key(signer.key));
      if (before.identity != signature.key.identity && !is_revoked(before, signer.signed_at)) {
        return fail(ErrorCode::kIdentityAmbiguous,
                    before.identity + " signed this statement with the same certificate or key");
      }
    }
  }
  return {};
}

// Every identity whose signature is new may have this much more about each topic.
Status require_room(storage::Transaction& transaction, const VerifiedEnvelope& verified,
                    const std::vector<storage::SignerRow>& known,
                    const storage::StatementRow& row) {
  ASSAY_ASSIGN(const auto identities, new_identities(transaction, verified, known));
  for (const storage::Topic& topic : storage::topics_of(row)) {
    for (const std::string& identity : identities) {
      ASSAY_ASSIGN(const storage::SignerUsage usage, transaction.usage(topic, identity));
      if (is_full(usage, topic.kind, row)) {
        return fail(ErrorCode::kSignerLimitExceeded,
                    identity + " has as much stored about " + topic.text + " as one signer may");
      }
    }
  }
  return {};
}

std::string_view media_type(const VerifiedEnvelope& verified) {
  return verified.envelope.bundle.empty() ? kEnvelopeMediaType : kBundleMediaType;
}

Status insert(storage::Transaction& transaction, const VerifiedEnvelope& verified, ByteView bytes,
              const NewStatement& statement, const Principal& actor) {
  storage::StatementRow row = statement.row;
  const std::vector<storage::AddedSignature> signers = further_signers(verified, {});
  Json detail = statement.detail;
  if (statement.when_new) {
    ASSAY_TRY(statement.when_new(transaction, detail));
  }
  ASSAY_ASSIGN(const DocumentId document, transaction.put_document(media_type(verified), bytes));
  row.envelopes = {document};
  row.accepted_at = transaction.now();
  ASSAY_ASSIGN(row.log_index,
               append_record(transaction, statement, std::move(detail), document, signers, actor));
  for (const storage::AddedSignature& signer : signers) {
    row.signers.push_back({signer.key, transaction.now(), row.log_index, signer.certificate});
  }
  return transaction.put_statement(row);
}

Status extend(storage::Transaction& transaction, const VerifiedEnvelope& verified,
              const std::vector<storage::AddedSignature>& further, ByteView bytes,
              const NewStatement& statement, const Principal& actor) {
  ASSAY_ASSIGN(const DocumentId document, transaction.put_document(media_type(verified), bytes));
  ASSAY_ASSIGN(const LeafIndex record,
               append_record(transaction, statement, statement.detail, document, further, actor));
  return transaction.add_envelope(statement.row.id, document, further, record);
}

// The newest record that names a signature of `verified`: that of these very bytes when they
// brought a signature, now or before. The record of the first signer would promise nothing to the
// second.
LeafIndex own_record(const VerifiedEnvelope& verified, const storage::StatementRow& row) {
  LeafIndex newest = row.log_index;
  for (const storage::SignerRow& signer : row.signers) {
    const bool ours =
        std::any_of(verified.signatures.begin(), verified.signatures.end(),
                    [&](const auto& signature) { return signature.key.id == signer.key; });
    newest = ours ? std::max(newest, signer.log_index) : newest;
  }
  return newest;
}

}  // namespace

namespace {

Result<attestation::Envelope> envelope_of(ByteView bytes, std::string_view payload_type) {
  ASSAY_ASSIGN(attestation::Envelope envelope, attestation::parse_envelope(bytes));
  if (envelope.payload_type != payload_type) {
    return fail(ErrorCode::kPayloadTypeUnknown,
                "this route takes envelopes with payloadType " + std::string(payload_type));
  }
  return envelope;
}

Result<VerifiedEnvelope> verify(storage::Snapshot& snapshot, attestation::Envelope envelope,
                                Timestamp now) {
  ASSAY_ASSIGN(const storage::Epochs epochs, snapshot.epochs());
  ASSAY_ASSIGN(const auto keys, snapshot.keys());
  ASSAY_ASSIGN(auto signatures, attestation::verify_signatures(envelope, keys));
  if (!envelope.bundle.empty()) {
    ASSAY_ASSIGN(const attestation::TrustedRoots roots, trusted_roots(snapshot));
    ASSAY_ASSIGN(auto more, attestation::verify_certificates(envelope, keys, roots, now));
    std::ranges::move(more, std::back_inserter(signatures));
  }
  if (signatures.empty()) {  // before anything of the payload is read
    return fail(ErrorCode::kUntrustedSigner, "no signature comes from a trusted key");
  }
  StatementId id = attestation::statement_id(envelope.payload_type, envelope.payload);
  return VerifiedEnvelope{std::move(envelope), std::move(id), std::move(signatures), epochs, now};
}

}  // namespace

Result<VerifiedEnvelope> verify_envelope(Services& services, ByteView bytes,
                                         std::string_view payload_type) {
  ASSAY_ASSIGN(attestation::Envelope envelope, envelope_of(bytes, payload_type));
  const Timestamp now = services.clock.now();
  ASSAY_ASSIGN(const auto snapshot, services.store.snapshot());
  return verify(*snapshot, std::move(envelope), now);
}

Result<VerifiedEnvelope> verify_envelope(storage::Snapshot& snapshot, ByteView bytes,
                                         std::string_view payload_type, Timestamp now) {
  ASSAY_ASSIGN(attestation::Envelope envelope, envelope_of(bytes, payload_type));
  return verify(snapshot, std::move(envelope), now);
}

Status require_same_trust(storage::Transaction& transaction, const VerifiedEnvelope& verified) {
  ASSAY_ASSIGN(const storage::Epochs epochs, transaction.epochs());
  if (epochs.trust != verified.epochs.trust) {
    return fail(ErrorCode::kUnavailable, "the trust store changed meanwhile; send it again");
  }
  return {};
}

Result<Accepted> store_statement(Services& services, const VerifiedEnvelope& verified,
                                 ByteView bytes, const NewStatement& statement,
                                 const Principal& actor) {
  bool created = false;
  const auto work = [&](storage::Transaction& transaction) -> Status {
    created = false;
    ASSAY_TRY(require_same_trust(transaction, verified));
    if (statement.precondition) {
      ASSAY_TRY(statement.precondition(transaction));
    }
    const auto known = transaction.statement(statement.row.id);
    if (!known && known.error().code != ErrorCode::kNotFound) {
      return std::unexpected(known.error());
    }
    if (!known) {
      ASSAY_TRY(require_room(transaction, verified, {}, statement.row));
      created = true;
      return insert(transaction, verified, bytes, statement, actor);
    }
    const auto further = further_signers(verified, known->signers);
    if (further.empty()) {
      return {};
    }
    ASSAY_TRY(require_same_identity(transaction, verified, known->signers));
    ASSAY_TRY(require_room(transaction, verified, known->signers, *known));
    created = true;
    return extend(transaction, verified, further, bytes, statement, actor);
  };
  ASSAY_TRY(write_change(services, work));
  ASSAY_ASSIGN(const auto snapshot, services.store.snapshot());
  ASSAY_ASSIGN(storage::StatementRow row, snapshot->statement(statement.row.id));
  const LeafIndex index = own_record(verified, row);
  ASSAY_ASSIGN(Json receipt, log_receipt(*snapshot, index));
  ASSAY_ASSIGN(const Bytes record, snapshot->log_record(index));
  ASSAY_ASSIGN(Json logged, parse_json(record));
  return Accepted{std::move(row), created, std::move(receipt), std::move(logged)};
}

}  // namespace assay::server
