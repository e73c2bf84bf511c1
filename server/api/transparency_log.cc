// SPDX-License-Identifier: Apache-2.0
// The transparency log: proofs as JSON for callers, checkpoint and tiles (C2SP) for everybody.
#include "attestation/scitt/receipt.h"
#include "schemas/core/merkle.h"
#include "schemas/tiles.h"
#include "server/api/handlers.h"
#include "server/api/view.h"

namespace assay::server {
namespace {

constexpr std::string_view kCheckpointCache = "public, max-age=5";
// A partial tile goes when the full one comes.
constexpr std::string_view kPartialTileCache = "public, max-age=3600";

Result<LeafIndex> leaf_index(const Call& call, const storage::LogState& state) {
  ASSAY_ASSIGN(const LeafIndex index, number(call.capture("index"), "index"));
  if (index >= state.size) {
    return fail(ErrorCode::kNotFound, "the log has " + std::to_string(state.size) + " entries");
  }
  return index;
}

Result<TreeSize> size_parameter(const Call& call, std::string_view name, TreeSize fallback) {
  const auto text = call.parameter(name);
  if (!text) {
    return fallback;
  }
  return number(*text, name);
}

// What not everybody may have, caches in between may not keep.
Response tile_response(const Call& call, const Bytes& bytes, unsigned width) {
  Response response;
  response.content_type = kBinary;
  response.body = std::string(as_text(bytes));
  const bool full = width == kTileWidth;
  if (call.principal.name.empty()) {
    return with_etag(call, std::move(response), full ? kPublicImmutable : kPartialTileCache);
  }
  return with_etag(call, std::move(response), full ? kImmutable : kRevalidate);
}

// The log's key signs this root, as it signed the checkpoint over it or over a tree that begins
// with it: a snapshot has no other.
Result<Response> cose_receipt(const Api& api, const attestation::scitt::InclusionProof& proof,
                              const Digest& leaf, const Digest& root) {
  if (api.log_key == nullptr) {
    return fail(ErrorCode::kNotAcceptable, "this service makes no receipts in COSE");
  }
  ASSAY_ASSIGN(const Bytes receipt, attestation::scitt::make_receipt(api.services.log_origin, proof,
                                                                     leaf, root, *api.log_key));
  Response response;
  response.content_type = kCoseReceipt;
  response.body = std::string(as_text(receipt));
  return response;
}

}  // namespace

Result<Response> get_checkpoint(Api& api, const Call& call) {
  ASSAY_ASSIGN(const auto snapshot, api.services.store.snapshot());
  ASSAY_ASSIGN(const storage::LogState state, snapshot->log_state());
  const Json body = {{"origin", api.services.log_origin},
                     {"tree_size", state.size},
                     {"root", state.root.hex()},
                     {"checkpoint", state.note},
                     {"verifier_key", api.log_verifier_key}};
  return with_etag(call, json_response(200, body), "private, max-age=5");
}

Result<Response> get_log_entry(Api& api, const Call& call) {
  ASSAY_ASSIGN(const auto snapshot, api.services.store.snapshot());
  ASSAY_ASSIGN(const storage::LogState state, snapshot->log_state());
  ASSAY_ASSIGN(const LeafIndex index, leaf_index(call, state));
  ASSAY_ASSIGN(const Bytes record, snapshot->log_record(index));
  Response response;
  response.body = std::string(as_text(record));
  return with_etag(call, std::move(response), kImmutable);
}

Result<Response> get_inclusion(Api& api, const Call& call) {
  ASSAY_ASSIGN(const auto snapshot, api.services.store.snapshot());
  ASSAY_ASSIGN(const storage::LogState state, snapshot->log_state());
  ASSAY_ASSIGN(const LeafIndex index, leaf_index(call, state));
  ASSAY_ASSIGN(const TreeSize size, size_parameter(call, "tree_size", state.size));
  ASSAY_ASSIGN(const auto path, snapshot->inclusion_proof(index, size));
  ASSAY_ASSIGN(const Digest root, snapshot->log_root(size));
  ASSAY_ASSIGN(const Bytes record, snapshot->log_record(index));
  const Digest leaf = merkle_leaf(HashAlgorithm::kSha256, record);
  if (call.media_type == kCoseReceipt) {
    return cose_receipt(api, {size, index, path}, leaf, root);
  }
  return json_response(200, Json{{"index", index},
                                 {"leaf_hash", leaf.hex()},
                                 {"tree_size", size},
                                 {"root", root.hex()},
                                 {"inclusion", hex_list(path)}});
}

Result<Response> get_consistency(Api& api, const Call& call) {
  ASSAY_ASSIGN(const auto snapshot, api.services.store.snapshot());
  ASSAY_ASSIGN(const storage::LogState state, snapshot->log_state());
  if (!call.parameter("first")) {
    return fail(ErrorCode::kInvalidParameter, "name the older tree size", "first");
  }
  ASSAY_ASSIGN(const TreeSize first, size_parameter(call, "first", 0));
  ASSAY_ASSIGN(const TreeSize second, size_parameter(call, "second", state.size));
  ASSAY_ASSIGN(const auto proof, snapshot->consistency_proof(first, second));
  ASSAY_ASSIGN(const Digest first_root, snapshot->log_root(first));
  ASSAY_ASSIGN(const Digest second_root, snapshot->log_root(second));
  return json_response(200, Json{{"first", first},
                                 {"second", second},
                                 {"first_root", first_root.hex()},
                                 {"second_root", second_root.hex()},
                                 {"consistency", hex_list(proof)}});
}

Result<Response> get_checkpoint_note(Api& api, const Call& call) {
  ASSAY_ASSIGN(const auto snapshot, api.services.store.snapshot());
  ASSAY_ASSIGN(const storage::LogState state, snapshot->log_state());
  Response response;
  response.content_type = kText;
  response.body = state.note;
  return with_etag(call, std::move(response), kCheckpointCache);
}

Result<Response> get_tile(Api& api, const Call& call) {
  ASSAY_ASSIGN(const TileAddress tile,
               parse_tile_path("tile/" + call.capture("level") + "/" + call.capture("index")));
  if (!tile.level) {  // a bundle has a route of its own, with other roles: never served by this one
    return fail(ErrorCode::kNotFound, "The log has no such tile");
  }
  ASSAY_ASSIGN(const auto snapshot, api.services.store.snapshot());
  ASSAY_ASSIGN(const Bytes bytes, snapshot->tile(*tile.level, tile.index, tile.width));
  return tile_response(call, bytes, tile.width);
}

Result<Response> get_entry_bundle(Api& api, const Call& call) {
  ASSAY_ASSIGN(const TileAddress tile, parse_tile_path("tile/entries/" + call.capture("index")));
  ASSAY_ASSIGN(const auto snapshot, api.services.store.snapshot());
  ASSAY_ASSIGN(const Bytes bytes, snapshot->entry_bundle(tile.index, tile.width));
  return tile_response(call, bytes, tile.width);
}

}  // namespace assay::server
