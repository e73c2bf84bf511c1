// SPDX-License-Identifier: Apache-2.0
// Inclusion proofs of single chunks in an object: a file that is one segment, a header, or a
// tensor. Spec: schemas/tree.md section 8, RFC 9162 section 2.1.3.
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "gpu_hash/engine.h"
#include "schemas/core/artifact.h"
#include "schemas/core/error.h"

namespace assay::gpu_hash {

// A proof that one chunk belongs to an object.
struct ChunkProof {
  std::uint64_t index;   // of the chunk, from 0
  std::uint64_t chunks;  // number of chunks of the object
  Digest leaf;           // leaf digest of the chunk
  std::vector<Digest> path;
  Digest root;  // of the object; `leaf` and `path` lead to it
};

// Reads the object once and makes the proof that chunk `index` belongs to `object`.
// verify_inclusion of schemas/core/merkle.h checks such a proof. Memory does not grow with the
// object. Errors: invalid-parameter when the object has no such chunk (an empty object has no
// chunks); those of the engine.
[[nodiscard]] Result<ChunkProof> prove_chunk(Engine& engine, const Region& object,
                                             const TreeParameters& parameters, std::uint64_t index,
                                             std::stop_token stop = {});

// Checks that `chunk` is chunk `proof.index` of an object of `size` bytes whose root is `root`.
// Also checks the chunk's length, the number of chunks and the proof's own root. Errors:
// proof-invalid.
[[nodiscard]] Status verify_chunk(const TreeParameters& parameters, const ChunkProof& proof,
                                  ByteView chunk, std::uint64_t size, const Digest& root);

}  // namespace assay::gpu_hash
