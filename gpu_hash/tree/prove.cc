// SPDX-License-Identifier: Apache-2.0
// Hashes the subtrees beside a chunk and checks that they lead to the root.
#include "gpu_hash/prove.h"

#include <algorithm>
#include <utility>

#include "schemas/core/merkle.h"

namespace assay::gpu_hash {
namespace {

std::uint64_t chunk_count(std::uint64_t size, std::uint64_t chunk_size) {
  return (size + chunk_size - 1) / chunk_size;
}

// Root that `leaf` and `path` lead to (RFC 9162 section 2.1.3.2 without the comparison).
Digest lead(const Digest& leaf, std::uint64_t index, const std::vector<Digest>& path,
            const std::vector<LeafRange>& ranges) {
  Digest node = leaf;
  for (std::size_t i = 0; i < path.size(); ++i) {
    node = ranges[i].end <= index ? merkle_node(path[i], node) : merkle_node(node, path[i]);
  }
  return node;
}

}  // namespace

Result<ChunkProof> prove_chunk(Engine& engine, const Region& object,
                               const TreeParameters& parameters, std::uint64_t index,
                               std::stop_token stop) {
  ASSAY_TRY(check(parameters));
  ASSAY_ASSIGN(const std::uint64_t size, region_size(object));
  const std::uint64_t chunks = chunk_count(size, parameters.chunk_size);
  if (index >= chunks) {
    return fail(ErrorCode::kInvalidParameter,
                "the object has " + std::to_string(chunks) + " chunks");
  }
  ASSAY_ASSIGN(std::vector<LeafRange> ranges, inclusion_ranges(index, chunks));
  // The hash of a run of leaves is the root of the object that consists of their chunks.
  std::vector<Region> regions;
  const auto add = [&](const LeafRange& range) {
    const std::uint64_t begin = range.begin * parameters.chunk_size;
    const std::uint64_t end = std::min(range.end * parameters.chunk_size, size);
    regions.push_back(sub_region(object, begin, end - begin));
  };
  add({index, index + 1});
  std::for_each(ranges.begin(), ranges.end(), add);
  HashRequest request{parameters, 0, {}, std::move(stop)};
  ASSAY_ASSIGN(const std::vector<ObjectDigests> digests, engine.hash(regions, request));

  std::vector<Digest> path;
  for (std::size_t i = 1; i < digests.size(); ++i) {
    path.push_back(digests[i].root);
  }
  const Digest& leaf = digests.front().root;
  Digest root = lead(leaf, index, path, ranges);
  return ChunkProof{index, chunks, leaf, std::move(path), std::move(root)};
}

Status verify_chunk(const TreeParameters& parameters, const ChunkProof& proof, ByteView chunk,
                    std::uint64_t size, const Digest& root) {
  ASSAY_TRY(check(parameters));
  if (proof.chunks != chunk_count(size, parameters.chunk_size) || proof.index >= proof.chunks) {
    return fail(ErrorCode::kProofInvalid, "the proof's chunk numbers do not follow from the size");
  }
  const std::uint64_t begin = proof.index * parameters.chunk_size;
  if (chunk.size() != std::min<std::uint64_t>(parameters.chunk_size, size - begin)) {
    return fail(ErrorCode::kProofInvalid, "the chunk has the wrong length");
  }
  if (root.algorithm() != parameters.hash || proof.root != root ||
      proof.leaf != merkle_leaf(parameters.hash, chunk)) {
    return fail(ErrorCode::kProofInvalid, "the proof is about another chunk or object");
  }
  return verify_inclusion(proof.leaf, proof.index, proof.chunks, proof.path, root);
}

}  // namespace assay::gpu_hash
