// SPDX-License-Identifier: Apache-2.0
// Artifacts and outlines as the store has them.
#pragma once

#include <optional>

#include "schemas/core/artifact.h"
#include "schemas/core/outline.h"
#include "server/service/services.h"

namespace assay::server {

// Longest outline that is taken.
inline constexpr std::size_t kMaxOutlineBytes = 64U << 20;

// False for a manifest of before kManifestForm: its ignore rules are bound by nothing, so it counts
// neither as a fact, nor for a reference, nor for a report.
[[nodiscard]] bool is_current_manifest(const storage::StatementRow& row);

// The entries of an artifact, from any manifest of it (its root binds them); not-found.
[[nodiscard]] Result<Artifact> load_artifact(storage::Snapshot& snapshot, const ArtifactId& id);

// The stored outline, checked against the artifact; nothing when there is none.
[[nodiscard]] Result<std::optional<Outline>> load_outline(storage::Snapshot& snapshot,
                                                          const ArtifactId& id,
                                                          const Artifact& artifact);

// Largest span that is taken: a larger one can be made from the manifest alone, stays for ever, and
// leaves next to nothing for spot checks to draw.
inline constexpr std::uint64_t kMaxStoredSpan = std::uint64_t{4} << 20;
static_assert(kMaxStoredSpan >= kDefaultOutlineSpan && kMaxStoredSpan >= kMaxChunkSize);

struct OutlineAccepted {
  DocumentId document;
  std::uint64_t span;  // bytes
  bool created;        // false: this very outline was there
  Json receipt;        // null unless created
};
// Stores the outline of an artifact that has a manifest: not-found otherwise. malformed-outline
// unless it leads to the manifest's roots; invalid-parameter for a span above kMaxStoredSpan;
// conflict when another one is stored.
[[nodiscard]] Result<OutlineAccepted> accept_outline(Services& services, const ArtifactId& id,
                                                     ByteView blob, const Principal& actor);

}  // namespace assay::server
