// SPDX-License-Identifier: Apache-2.0
#include "server/service/documents/receipt.h"

#include "schemas/core/merkle.h"

namespace assay::server {

Result<Json> log_receipt(storage::Snapshot& snapshot, LeafIndex index) {
  ASSAY_ASSIGN(const storage::LogState state, snapshot.log_state());
  ASSAY_ASSIGN(const Bytes record, snapshot.log_record(index));
  ASSAY_ASSIGN(const auto path, snapshot.inclusion_proof(index, state.size));
  ASSAY_ASSIGN(const SignedCheckpoint checkpoint, parse_checkpoint(state.note));
  Json inclusion = Json::array();
  for (const Digest& digest : path) {
    inclusion.push_back(digest.hex());
  }
  return Json{{"origin", checkpoint.checkpoint.origin},
              {"index", index},
              {"leaf_hash", merkle_leaf(HashAlgorithm::kSha256, record).hex()},
              {"tree_size", state.size},
              {"checkpoint", state.note},
              {"inclusion", std::move(inclusion)}};
}

}  // namespace assay::server
