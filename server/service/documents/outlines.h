// SPDX-License-Identifier: Apache-2.0
// Artifacts and outlines in the store. An outline has digests of inner nodes of an artifact's tree,
// one for each span of bytes, which show where bytes differ.
#pragma once

#include <optional>

#include "schemas/core/artifact.h"
#include "schemas/core/outline.h"
#include "server/service/services.h"

namespace assay::server {

// Limit on the bytes of an outline.
inline constexpr std::size_t kMaxOutlineBytes = 64U << 20;

// Returns false for a manifest in a form older than kManifestForm. Such a manifest is not used for
// decisions, references or reports, because its root does not depend on its ignore rules.
[[nodiscard]] bool is_current_manifest(const storage::StatementRow& row);

// Returns the entries of an artifact. All manifests of the artifact have the same entries, because
// the root depends on the entries. Errors: not-found.
[[nodiscard]] Result<Artifact> load_artifact(storage::Snapshot& snapshot, const ArtifactId& id);

// A manifest of more bytes takes up to two seconds to read, however short the request is that needs
// it. Of each principal one such request at a time is handled.
inline constexpr std::size_t kMaxManifestAtOnce = std::size_t{4} << 20;

// An artifact, and the turn of the principal for whom a long manifest was read.
struct ArtifactInTurn {
  Artifact artifact;
  PrincipalTurns::Held turn;  // null for a short one; hold it until the request is answered
};
// Does what load_artifact() does, for a request of `principal` that no other limit bounds. Errors:
// not-found; busy while another such request of `principal` is handled.
[[nodiscard]] Result<ArtifactInTurn> load_artifact_in_turn(Services& services,
                                                           storage::Snapshot& snapshot,
                                                           const ArtifactId& id,
                                                           const std::string& principal);

// Returns the stored outline of an artifact after checking it against `artifact`. Returns nullopt
// when no outline is stored.
[[nodiscard]] Result<std::optional<Outline>> load_outline(storage::Snapshot& snapshot,
                                                          const ArtifactId& id,
                                                          const Artifact& artifact);

// Limit on the span of an outline, in bytes. An outline with a larger span can be made from the
// manifest alone, and leaves few spans for spot checks. Such an outline is refused, because a
// stored outline is never replaced.
inline constexpr std::uint64_t kMaxStoredSpan = std::uint64_t{4} << 20;
static_assert(kMaxStoredSpan >= kDefaultOutlineSpan && kMaxStoredSpan >= kMaxChunkSize);

// An accepted outline.
struct OutlineAccepted {
  DocumentId document;
  std::uint64_t span;  // bytes
  bool created;        // false: the same outline was stored before
  Json receipt;        // null unless created
};
// Stores the outline of an artifact. Errors: those of load_artifact_in_turn();
// malformed-outline when the outline does not lead to the manifest's roots; invalid-parameter for a
// span above kMaxStoredSpan; conflict when another outline is stored.
[[nodiscard]] Result<OutlineAccepted> accept_outline(Services& services, const ArtifactId& id,
                                                     ByteView blob, const Principal& actor);

}  // namespace assay::server
