// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/cpu_leaves.h"

#include <algorithm>

#include "schemas/core/merkle.h"

namespace assay::gpu_hash {
namespace {

ByteView take(ByteView& bytes, std::uint64_t size) {
  const ByteView head = bytes.first(std::min<std::uint64_t>(size, bytes.size()));
  bytes = bytes.subspan(head.size());
  return head;
}

}  // namespace

std::vector<Digest> hash_grains(const TreeParameters& parameters, ByteView bytes,
                                std::uint64_t grain) {
  std::vector<Digest> digests;
  digests.reserve((bytes.size() + grain - 1) / grain);
  while (!bytes.empty()) {
    ByteView run = take(bytes, grain);
    MerkleAccumulator subtree(parameters.hash);
    while (!run.empty()) {
      subtree.append(merkle_leaf(parameters.hash, take(run, parameters.chunk_size)));
    }
    digests.push_back(subtree.root());
  }
  return digests;
}

}  // namespace assay::gpu_hash
