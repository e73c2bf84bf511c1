// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/model/shard_index.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>

#include "gpu_hash/model/name_list.h"
#include "gpu_hash/safetensors.h"
#include "schemas/core/json.h"

namespace assay::gpu_hash {
namespace {

constexpr JsonLimits kIndexLimits{.max_bytes = kMaxShardIndex,
                                  .max_memory = std::size_t{256} << 20};

// Path of the shard for each tensor.
using WeightMap = std::map<std::string, std::string>;
// For each tensor of the shards, the shard that has it. Borrows the shard's path.
using Places = std::unordered_map<std::string, std::string_view>;

// Paths of the shards are below the directory of the index.
Result<WeightMap> read_index(const WalkedFile& index) {
  if (index.source->size() > kMaxShardIndex) {
    return fail(ErrorCode::kLimitExceeded,
                "it is longer than " + std::to_string(kMaxShardIndex) + " bytes");
  }
  ASSAY_ASSIGN(const std::shared_ptr<const OpenFile> opened, index.source->open());
  Bytes content(static_cast<std::size_t>(index.source->size()));
  ASSAY_TRY(opened->read(0, content));
  ASSAY_ASSIGN(const Json json, parse_json(content, kIndexLimits));
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  if (map == json.end() || !map->is_object()) {
    return fail(ErrorCode::kSchemaViolation, "it has no object weight_map");
  }
  const std::filesystem::path folder = std::filesystem::path(index.path).parent_path();
  WeightMap weights;
  for (const auto& [tensor, shard] : map->items()) {
    if (!shard.is_string()) {
      return fail(ErrorCode::kSchemaViolation, "weight_map does not name a file for each tensor");
    }
    weights.emplace(tensor,
                    (folder / shard.get_ref<const std::string&>()).lexically_normal().string());
  }
  return weights;
}

const WalkedFile* find(const std::vector<WalkedFile>& files, const std::string& path) {
  const auto found = std::ranges::lower_bound(files, path, {}, &WalkedFile::path);
  return found != files.end() && found->path == path ? &*found : nullptr;
}

// What is wrong between an index and its shards.
struct Findings {
  NameList missing, unread, absent, elsewhere, doubled;

  [[nodiscard]] std::string text() const {
    std::string text;
    missing.tell("shards that it names are missing or ignored", text);
    unread.tell("shards that it names cannot be read", text);
    absent.tell("tensors that it names stand in no shard", text);
    elsewhere.tell("tensors stand in another shard than it says", text);
    doubled.tell("tensors stand in two shards", text);
    return text;
  }
};

// Of two shards with one tensor, the one that the index names counts.
void add_tensors(const WalkedFile& shard, const std::vector<Tensor>& tensors,
                 const WeightMap& weights, Places& places, Findings& findings) {
  for (const Tensor& tensor : tensors) {
    const auto [place, is_new] = places.try_emplace(tensor.name, shard.path);
    if (is_new) {
      continue;
    }
    findings.doubled.add(tensor.name + " (" + std::string(place->second) + " and " + shard.path +
                         ")");
    const auto named = weights.find(tensor.name);
    if (named != weights.end() && named->second == shard.path) {
      place->second = shard.path;
    }
  }
}

// `unknown`: shards of which it is not known what they hold.
void compare(const WeightMap& weights, const std::set<std::string>& unknown, const Places& places,
             Findings& findings) {
  for (const auto& [tensor, shard] : weights) {
    const auto place = places.find(tensor);
    if (place == places.end()) {
      if (!unknown.contains(shard)) {
        findings.absent.add(tensor + " (" + shard + ")");
      }
    } else if (place->second != shard && !unknown.contains(shard)) {
      findings.elsewhere.add(tensor + " (in " + std::string(place->second) + ", not in " + shard +
                             ")");
    }
  }
}

}  // namespace

bool is_shard_index(std::string_view path) {
  const std::size_t place = path.rfind(".safetensors.index.");
  return place != std::string_view::npos && path.find('/', place) == std::string_view::npos &&
         path.ends_with(".json");
}

std::string ShardIndexes::lack_of(const WalkedFile& index) {
  const auto weights = read_index(index);
  if (!weights) {
    return "this cannot be read as an index of shards: " + weights.error().detail;
  }
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : *weights) {
    shards.insert(shard);
  }
  Findings findings;
  Places places;
  std::set<std::string> unknown;
  for (const std::string& path : shards) {
    const WalkedFile* shard = find(files_, path);
    if (shard == nullptr) {
      findings.missing.add(path);
      unknown.insert(path);
      continue;
    }
    if (header_bytes_ > max_headers_) {
      findings.unread.add(path + " (too many headers)");
      unknown.insert(path);
      continue;
    }
    const auto header = read_safetensors(*shard->source);
    if (!header) {
      findings.unread.add(path + " (" + header.error().detail + ")");
      unknown.insert(path);
      continue;
    }
    header_bytes_ += header->data_start;
    add_tensors(*shard, header->tensors, *weights, places, findings);
  }
  compare(*weights, unknown, places, findings);
  return findings.text();
}

}  // namespace assay::gpu_hash
