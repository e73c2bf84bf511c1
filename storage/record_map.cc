// SPDX-License-Identifier: Apache-2.0
// A tree of four levels with sixteen children each. What hashes begins with a byte that tells
// buckets from nodes.
#include "storage/record_map.h"

#include <algorithm>

#include "schemas/core/sha.h"

namespace assay::storage {
namespace {

constexpr std::size_t kFanOut = 16;
constexpr unsigned kBitsOfLevel = 4;
constexpr unsigned kTopLevel = 3;
constexpr std::size_t kEntryBytes = sizeof(MapName) + sizeof(MapValue);
constexpr std::array<std::uint8_t, 1> kOfBucket = {0};
constexpr std::array<std::uint8_t, 1> kOfNode = {1};

MapHash hash_of(ByteView kind, ByteView bytes) {
  const Digest digest = sha(HashAlgorithm::kSha256, {kind, bytes});
  MapHash hash{};
  std::ranges::copy(digest.bytes(), hash.begin());
  return hash;
}

std::size_t child_of(BucketNumber number, unsigned level) {
  return number >> (level * kBitsOfLevel) & (kFanOut - 1);
}

}  // namespace

BucketNumber bucket_of(const MapName& name) {
  return static_cast<BucketNumber>(name[0]) << 8 | name[1];
}

Result<MapBucket> MapBucket::decode(BucketNumber number, ByteView bytes) {
  const auto damaged = [&] {
    return fail(ErrorCode::kDataLoss, "a bucket of the record map cannot be read",
                std::to_string(number));
  };
  if (bytes.size() % kEntryBytes != 0) {
    return damaged();
  }
  MapBucket bucket;
  bucket.entries_.resize(bytes.size() / kEntryBytes);
  for (std::size_t i = 0; i < bucket.entries_.size(); ++i) {
    MapEntry& entry = bucket.entries_[i];
    const ByteView own = bytes.subspan(i * kEntryBytes, kEntryBytes);
    std::ranges::copy(own.first(sizeof(MapName)), entry.name.begin());
    std::ranges::copy(own.last(sizeof(MapValue)), entry.value.begin());
    const bool in_order = i == 0 || bucket.entries_[i - 1].name < entry.name;
    if (bucket_of(entry.name) != number || !in_order) {
      return damaged();
    }
  }
  return bucket;
}

Bytes MapBucket::encode() const {
  Bytes bytes;
  bytes.reserve(entries_.size() * kEntryBytes);
  for (const MapEntry& entry : entries_) {
    bytes.insert(bytes.end(), entry.name.begin(), entry.name.end());
    bytes.insert(bytes.end(), entry.value.begin(), entry.value.end());
  }
  return bytes;
}

MapHash MapBucket::hash() const {
  return entries_.empty() ? MapHash{} : hash_of(kOfBucket, encode());
}

std::optional<MapValue> MapBucket::find(const MapName& name) const {
  const auto found = std::ranges::lower_bound(entries_, name, {}, &MapEntry::name);
  return found != entries_.end() && found->name == name ? std::optional(found->value)
                                                        : std::nullopt;
}

void MapBucket::put(const MapName& name, const MapValue& value) {
  const auto found = std::ranges::lower_bound(entries_, name, {}, &MapEntry::name);
  if (found != entries_.end() && found->name == name) {
    found->value = value;
  } else {
    entries_.insert(found, {name, value});
  }
}

void MapBucket::erase(const MapName& name) {
  std::erase_if(entries_, [&](const MapEntry& entry) { return entry.name == name; });
}

struct RecordMap::Node {
  std::array<MapHash, kFanOut> hashes{};
  std::array<std::shared_ptr<const Node>, kFanOut> children{};  // none above the buckets

  [[nodiscard]] MapHash hash() const {
    const bool empty =
        std::ranges::all_of(hashes, [](const MapHash& one) { return one == MapHash{}; });
    return empty ? MapHash{} : hash_of(kOfNode, ByteView(hashes.front().data(), sizeof(hashes)));
  }

  using Changes = std::span<const std::pair<BucketNumber, MapHash>>;
  static std::shared_ptr<const Node> with(const std::shared_ptr<const Node>& before, unsigned level,
                                          Changes changes) {
    auto node = before ? std::make_shared<Node>(*before) : std::make_shared<Node>();
    while (!changes.empty()) {
      const std::size_t child = child_of(changes.front().first, level);
      std::size_t same = 1;
      while (same < changes.size() && child_of(changes[same].first, level) == child) {
        ++same;
      }
      if (level == 0) {
        node->hashes.at(child) = changes[same - 1].second;
      } else {
        node->children.at(child) = with(node->children.at(child), level - 1, changes.first(same));
        node->hashes.at(child) = node->children.at(child)->hash();
      }
      changes = changes.subspan(same);
    }
    return node;
  }
};

MapHash RecordMap::root() const { return top_ ? top_->hash() : MapHash{}; }

MapHash RecordMap::bucket(BucketNumber number) const {
  const Node* node = top_.get();
  for (unsigned level = kTopLevel; node != nullptr && level > 0; --level) {
    node = node->children.at(child_of(number, level)).get();
  }
  return node != nullptr ? node->hashes.at(child_of(number, 0)) : MapHash{};
}

RecordMap RecordMap::with(Node::Changes changes) const {
  return changes.empty() ? *this : RecordMap(Node::with(top_, kTopLevel, changes));
}

}  // namespace assay::storage
