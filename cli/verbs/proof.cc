// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/proof.h"

#include <initializer_list>
#include <utility>

#include "schemas/core/merkle.h"

namespace assay::cli {

namespace {

constexpr std::size_t kMaxPath = 64;

Json path_json(std::span<const Digest> path) {
  Json list = Json::array();
  for (const Digest& digest : path) {
    list.push_back(digest.hex());
  }
  return list;
}

std::unexpected<Error> bad_shape(const std::string& what) {
  return fail(ErrorCode::kSchemaViolation, "This is no proof: " + what);
}

// An object with exactly these members.
Status check_members(const Json& json, std::initializer_list<const char*> names,
                     const char* optional = nullptr) {
  if (!json.is_object()) {
    return bad_shape("an object is missing");
  }
  std::size_t expected = names.size();
  for (const char* name : names) {
    if (!json.contains(name)) {
      return bad_shape(std::string(name) + " is missing");
    }
  }
  expected += optional != nullptr && json.contains(optional) ? 1U : 0U;
  return json.size() == expected ? Status() : bad_shape("it has a member that is not defined");
}

Result<std::uint64_t> read_number(const Json& json, const char* member) {
  const Json& value = json.at(member);
  if (!value.is_number_unsigned()) {
    return bad_shape(std::string(member) + " is no number");
  }
  return value.get<std::uint64_t>();
}

Result<std::vector<Digest>> read_path(const Json& json, HashAlgorithm algorithm) {
  const Json& list = json.at("path");
  if (!list.is_array() || list.size() > kMaxPath) {
    return bad_shape("path is no short list");
  }
  std::vector<Digest> path;
  for (const Json& item : list) {
    if (!item.is_string()) {
      return bad_shape("path holds something else than digests");
    }
    ASSAY_ASSIGN(Digest digest, Digest::from_hex(algorithm, item.get<std::string>()));
    path.push_back(std::move(digest));
  }
  return path;
}

// Leaf `index` of the artifact tree is the canonical form of `leaf`.
Status check_leaf(const Json& leaf, const Json& part, std::uint64_t index, std::uint64_t leaves,
                  const Digest& root) {
  ASSAY_ASSIGN(const std::string data, canonical_json(leaf));
  ASSAY_ASSIGN(const std::vector<Digest> path, read_path(part, root.algorithm()));
  return verify_inclusion(merkle_leaf(root.algorithm(), as_bytes(data)), index, leaves, path, root);
}

Status check_chunk(const Json& json, Proven& proven) {
  ASSAY_TRY(check_members(json, {"index", "bytes", "path"}));
  ASSAY_ASSIGN(const std::uint64_t index, read_number(json, "index"));
  ASSAY_ASSIGN(std::vector<Digest> path, read_path(json, proven.parameters.hash));
  if (!json.at("bytes").is_string()) {
    return bad_shape("bytes is no text");
  }
  ASSAY_ASSIGN(const Bytes bytes, base64_decode(json.at("bytes").get<std::string>()));
  const std::uint64_t size = own_size(proven.entry);
  const Digest& root = own_root(proven.entry);
  const std::uint64_t chunk_size = proven.parameters.chunk_size;
  const gpu_hash::ChunkProof proof{.index = index,
                                   .chunks = size / chunk_size + (size % chunk_size != 0 ? 1 : 0),
                                   .leaf = merkle_leaf(proven.parameters.hash, bytes),
                                   .path = std::move(path),
                                   .root = root};
  ASSAY_TRY(gpu_hash::verify_chunk(proven.parameters, proof, bytes, size, root));
  proven.chunk = index;
  proven.chunk_size = bytes.size();
  return {};
}

}  // namespace

Result<Json> make_proof(const Artifact& artifact, std::size_t entry,
                        const std::optional<ProvenChunk>& chunk) {
  ASSAY_ASSIGN(const ArtifactId id, artifact_id(artifact));
  ASSAY_ASSIGN(const std::vector<Digest> leaves, artifact_leaves(artifact));
  const HashAlgorithm hash = artifact.parameters.hash;
  ASSAY_ASSIGN(const auto parameters_path, inclusion_path(hash, leaves, 0));
  ASSAY_ASSIGN(const auto entry_path, inclusion_path(hash, leaves, entry + 1));
  Json json = {{"v", 1},
               {"artifact", id.text()},
               {"leaves", leaves.size()},
               {"parameters",
                {{"leaf", to_json(artifact.parameters)}, {"path", path_json(parameters_path)}}},
               {"entry",
                {{"leaf", to_json(artifact.entries.at(entry))},
                 {"index", entry + 1},
                 {"path", path_json(entry_path)}}}};
  if (chunk) {
    json["chunk"] = {{"index", chunk->proof.index},
                     {"bytes", base64_encode(chunk->bytes)},
                     {"path", path_json(chunk->proof.path)}};
  }
  return json;
}

Result<Proven> check_proof(const Json& proof, const ArtifactId& artifact) {
  const Digest& root = artifact.root();
  ASSAY_TRY(check_members(proof, {"v", "artifact", "leaves", "parameters", "entry"}, "chunk"));
  if (proof.at("v") != 1) {
    return bad_shape("its version is not 1");
  }
  if (proof.at("artifact") != artifact.text()) {
    return fail(ErrorCode::kProofInvalid, "The proof is about another artifact");
  }
  ASSAY_ASSIGN(const std::uint64_t leaves, read_number(proof, "leaves"));
  const Json& first = proof.at("parameters");
  ASSAY_TRY(check_members(first, {"leaf", "path"}));
  ASSAY_TRY(check_leaf(first.at("leaf"), first, 0, leaves, root));
  ASSAY_ASSIGN(const TreeParameters parameters, tree_parameters_from_json(first.at("leaf")));
  if (parameters.hash != root.algorithm()) {
    return fail(ErrorCode::kProofInvalid, "The parameters name another hash than the artifact id");
  }
  const Json& second = proof.at("entry");
  ASSAY_TRY(check_members(second, {"leaf", "index", "path"}));
  ASSAY_ASSIGN(const std::uint64_t index, read_number(second, "index"));
  if (index == 0) {
    return fail(ErrorCode::kProofInvalid, "Leaf 0 is no entry");
  }
  ASSAY_TRY(check_leaf(second.at("leaf"), second, index, leaves, root));
  ASSAY_ASSIGN(Entry entry, entry_from_json(second.at("leaf"), parameters.hash));
  Proven proven{parameters, std::move(entry), std::nullopt, std::nullopt};
  if (proof.contains("chunk")) {
    ASSAY_TRY(check_chunk(proof.at("chunk"), proven));
  }
  return proven;
}

}  // namespace assay::cli
