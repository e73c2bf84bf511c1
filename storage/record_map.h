// SPDX-License-Identifier: Apache-2.0
// The record map: an authenticated dictionary over the records that decisions rest on. It holds a
// value for the name of each record, so its root says of every record whether it exists and what is
// in it. A database may then lose, alter, add or put back what it likes: whoever reads against a
// root that he trusts notices it (docs/adr/0021-nothing-in-the-database-is-believed.md).
//
// Names and values are halves of HMACs, so nobody without the key can choose where an entry lies.
// Entries are kept in 65,536 buckets. The tree above the buckets lives in memory.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "schemas/core/bytes.h"
#include "schemas/core/error.h"

namespace assay::storage {

using MapName = std::array<std::uint8_t, 16>;
using MapValue = std::array<std::uint8_t, 16>;
using MapHash = std::array<std::uint8_t, 32>;  // SHA-256; of nothing: zeros
using BucketNumber = std::uint32_t;

inline constexpr BucketNumber kMapBuckets = 65536;
[[nodiscard]] BucketNumber bucket_of(const MapName& name);

struct MapEntry {
  MapName name;
  MapValue value;
  bool operator==(const MapEntry&) const = default;
};

// The entries of one bucket, ascending by name.
class MapBucket {
 public:
  // Errors: data-loss when the bytes are no bucket of this number.
  [[nodiscard]] static Result<MapBucket> decode(BucketNumber number, ByteView bytes);
  [[nodiscard]] Bytes encode() const;
  [[nodiscard]] MapHash hash() const;

  [[nodiscard]] std::optional<MapValue> find(const MapName& name) const;
  void put(const MapName& name, const MapValue& value);
  // Changes nothing when there is no such entry.
  void erase(const MapName& name);
  [[nodiscard]] const std::vector<MapEntry>& entries() const { return entries_; }

 private:
  std::vector<MapEntry> entries_;
};

// The hashes of all buckets, and their root. A value: copies share what did not change, so each
// snapshot keeps the map of its commit. Threading: any thread may read one map.
class RecordMap {
 public:
  RecordMap() = default;  // no entry
  [[nodiscard]] MapHash root() const;
  [[nodiscard]] MapHash bucket(BucketNumber number) const;
  // Returns the map in which these buckets have these hashes. `changes` must ascend by number.
  [[nodiscard]] RecordMap with(std::span<const std::pair<BucketNumber, MapHash>> changes) const;

 private:
  struct Node;
  explicit RecordMap(std::shared_ptr<const Node> top) : top_(std::move(top)) {}

  std::shared_ptr<const Node> top_;  // null: no entry
};

// The root of the map after a write, and the number of that write (0: none).
struct MapState {
  std::uint64_t number = 0;
  MapHash root{};
  bool operator==(const MapState&) const = default;
};

}  // namespace assay::storage
