// SPDX-License-Identifier: Apache-2.0
// Proofs that one file, tensor or chunk belongs to an artifact (schemas/tree.md section 8), as
// documents. Pure: no files.
#pragma once

#include <cstdint>
#include <optional>

#include "gpu_hash/prove.h"
#include "schemas/core/artifact.h"
#include "schemas/core/json.h"

namespace assay::cli {

// Chunk of a proven entry, with its bytes.
struct ProvenChunk {
  gpu_hash::ChunkProof proof;
  Bytes bytes;
};

// {"v":1,"artifact","leaves","parameters":{"leaf","path"},"entry":{"leaf","index","path"},
//  "chunk"?:{"index","bytes","path"}}. `entry` is a position in artifact.entries.
[[nodiscard]] Result<Json> make_proof(const Artifact& artifact, std::size_t entry,
                                      const std::optional<ProvenChunk>& chunk);

// What a proof proves about the artifact it was held against.
struct Proven {
  TreeParameters parameters;
  Entry entry;
  std::optional<std::uint64_t> chunk;       // index
  std::optional<std::uint64_t> chunk_size;  // bytes
};

// proof-invalid unless everything in the proof leads to the root of `artifact`, which the caller
// knows from elsewhere: a proof alone shows nothing. schema-violation for another shape.
[[nodiscard]] Result<Proven> check_proof(const Json& proof, const ArtifactId& artifact);

}  // namespace assay::cli
