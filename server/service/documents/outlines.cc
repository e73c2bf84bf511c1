// SPDX-License-Identifier: Apache-2.0
#include "server/service/documents/outlines.h"

#include "attestation/dsse.h"
#include "schemas/core/sha.h"
#include "schemas/log_record.h"
#include "schemas/manifest.h"
#include "server/service/documents/receipt.h"

namespace assay::server {
namespace {

constexpr std::string_view kOutlineMediaType = "application/vnd.assay.outline";

Status require_fits(ByteView blob) {
  if (blob.size() > kMaxOutlineBytes) {
    return fail(ErrorCode::kPayloadTooLarge, "the outline is too long; make it with a larger span");
  }
  return {};
}

Status require_span(std::uint64_t span) {
  if (span > kMaxStoredSpan) {
    return fail(ErrorCode::kInvalidParameter,
                "the span is too large for spot checks; the largest is " +
                    std::to_string(kMaxStoredSpan) + " bytes");
  }
  return {};
}

// The envelope of a manifest of this artifact.
Result<storage::Document> manifest_of(storage::Snapshot& snapshot, const ArtifactId& id) {
  storage::StatementQuery query;
  query.kind = storage::StatementKind::kManifest;
  query.subject = id.text();
  query.bounds.limit = 1;
  for (;;) {
    ASSAY_ASSIGN(const auto page, snapshot.statements(query));
    // A manifest may name the artifact beside its own root, which is its first subject.
    if (!page.items.empty() && is_current_manifest(page.items.front()) &&
        page.items.front().subjects.front() == id.text()) {
      return snapshot.document(page.items.front().envelopes.front());
    }
    if (!page.next) {
      return fail(ErrorCode::kNotFound, "there is no manifest of this artifact");
    }
    query.bounds.after = page.next;
  }
}

Result<Artifact> artifact_in(const storage::Document& manifest) {
  ASSAY_ASSIGN(const attestation::Envelope envelope, attestation::parse_envelope(manifest.bytes));
  ASSAY_ASSIGN(const Statement statement, parse_statement(envelope.payload));
  ASSAY_ASSIGN(Manifest read, manifest_from(statement));
  return std::move(read.artifact);
}

}  // namespace

bool is_current_manifest(const storage::StatementRow& row) {
  return row.kind == storage::StatementKind::kManifest && row.version == kManifestForm;
}

Result<Artifact> load_artifact(storage::Snapshot& snapshot, const ArtifactId& id) {
  ASSAY_ASSIGN(const storage::Document manifest, manifest_of(snapshot, id));
  return artifact_in(manifest);
}

Result<ArtifactInTurn> load_artifact_in_turn(Services& services, storage::Snapshot& snapshot,
                                             const ArtifactId& id, const std::string& principal) {
  ASSAY_ASSIGN(const storage::Document manifest, manifest_of(snapshot, id));
  PrincipalTurns::Held turn;
  if (manifest.bytes.size() > kMaxManifestAtOnce) {
    turn = services.long_manifests.try_take(principal);
    if (turn == nullptr) {
      return fail(ErrorCode::kBusy, "another long manifest is read for this principal");
    }
  }
  ASSAY_ASSIGN(Artifact artifact, artifact_in(manifest));
  return ArtifactInTurn{std::move(artifact), std::move(turn)};
}

Result<std::optional<Outline>> load_outline(storage::Snapshot& snapshot, const ArtifactId& id,
                                            const Artifact& artifact) {
  const auto stored = snapshot.outline(id);
  if (!stored) {
    return stored.error().code == ErrorCode::kNotFound
               ? Result<std::optional<Outline>>(std::nullopt)
               : std::unexpected(stored.error());
  }
  ASSAY_ASSIGN(const storage::Document document, snapshot.document(*stored));
  ASSAY_ASSIGN(Outline outline, decode_outline(document.bytes, artifact));
  return outline;
}

Result<OutlineAccepted> accept_outline(Services& services, const ArtifactId& id, ByteView blob,
                                       const Principal& actor) {
  ASSAY_TRY(require_fits(blob));
  OutlineAccepted accepted{DocumentId(sha256(blob)), 0, false, Json()};
  {
    ASSAY_ASSIGN(const auto snapshot, services.store.snapshot());
    ASSAY_ASSIGN(const ArtifactInTurn read,
                 load_artifact_in_turn(services, *snapshot, id, actor.name));
    ASSAY_ASSIGN(const Outline outline, decode_outline(blob, read.artifact));
    ASSAY_TRY(require_span(outline.span));
    accepted.span = outline.span;
  }
  LeafIndex index = 0;
  const auto work = [&](storage::Transaction& transaction) -> Status {
    accepted.created = false;
    const auto stored = transaction.outline(id);
    if (stored && *stored == accepted.document) {
      return {};
    }
    if (!stored && stored.error().code != ErrorCode::kNotFound) {
      return std::unexpected(stored.error());
    }
    ASSAY_TRY(transaction.put_document(kOutlineMediaType, blob));
    ASSAY_TRY(transaction.put_outline(id, accepted.document));
    ASSAY_ASSIGN(index, transaction.append({.type = std::string(event::kOutlineAccepted),
                                            .time = transaction.now(),
                                            .actor = actor.name,
                                            .subjects = {id.text()},
                                            .documents = {accepted.document},
                                            .detail = {{"span", accepted.span}}}));
    accepted.created = true;
    return {};
  };
  ASSAY_TRY(services.store.write(work));
  if (accepted.created) {
    ASSAY_ASSIGN(const auto snapshot, services.store.snapshot());
    ASSAY_ASSIGN(accepted.receipt, log_receipt(*snapshot, index));
  }
  return accepted;
}

}  // namespace assay::server
