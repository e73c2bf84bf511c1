// SPDX-License-Identifier: Apache-2.0
// Proofs that one file, tensor or chunk belongs to an artifact (schemas/tree.md section 8), as
// documents. Pure: uses no files.
#pragma once

#include <cstdint>
#include <optional>

#include "gpu_hash/prove.h"
#include "schemas/core/artifact.h"
#include "schemas/core/json.h"

namespace assay::cli {

// A chunk of a proven entry, with its bytes.
struct ProvenChunk {
  gpu_hash::ChunkProof proof;
  Bytes bytes;
};

// Makes a proof:
// {"v":1,"artifact","leaves","parameters":{"leaf","path"},"entry":{"leaf","index","path"},
//  "chunk"?:{"index","bytes","path"}}
// `entry` is a position in artifact.entries.
[[nodiscard]] Result<Json> make_proof(const Artifact& artifact, std::size_t entry,
                                      const std::optional<ProvenChunk>& chunk);

// The statements that a proof proves about the artifact.
struct Proven {
  TreeParameters parameters;
  Entry entry;
  std::optional<std::uint64_t> chunk;       // index
  std::optional<std::uint64_t> chunk_size;  // bytes
};

// Checks that everything in the proof leads to the root of `artifact`. The caller must know
// `artifact` from another source, because a proof alone proves nothing. Errors: proof-invalid;
// schema-violation for another form.
[[nodiscard]] Result<Proven> check_proof(const Json& proof, const ArtifactId& artifact);

}  // namespace assay::cli
