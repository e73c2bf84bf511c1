// SPDX-License-Identifier: Apache-2.0
// The buckets of the record map (storage/record_map.h) in the database, as one connection sees
// them: held against a map that the caller trusts, and with changes that are not stored yet.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "storage/record_map.h"

namespace assay::storage::sqlite {

class Connection;

// Not thread-safe, as its connection. The caller must set the map of each transaction.
class MapTable {
 public:
  explicit MapTable(Connection& connection) : connection_(connection) {}

  // Sets the map that is held against what the transaction reads, and forgets all changes.
  void trust(RecordMap map);
  // Returns the value of an entry; nullopt when there is none. Errors: data-loss when the bucket is
  // not the one of the map.
  [[nodiscard]] Result<std::optional<MapValue>> find(const MapName& name);
  // Returns whether the entry of a name has this value.
  [[nodiscard]] Result<bool> holds(const MapName& name, const MapValue& value);
  // Change the entry of a name. Errors: those of find().
  [[nodiscard]] Status put(const MapName& name, const MapValue& value);
  [[nodiscard]] Status erase(const MapName& name);

  // Between these calls, what holds() is asked for becomes the entry of the name: a repair makes
  // the map again from the rows that it has judged. The caller must have emptied the table.
  void collect();
  void collected() { collects_ = false; }

  // The works of a group share a commit. The first takes the changes since the last call of either
  // into the group; the second drops them.
  void keep_work();
  void drop_work() { work_.clear(); }
  // Stores the buckets that the group changed, and returns the map that they make. The caller calls
  // trust() with it once they are committed.
  [[nodiscard]] Result<RecordMap> store();

 private:
  using Buckets = std::map<BucketNumber, MapBucket>;
  [[nodiscard]] Result<const MapBucket*> read(BucketNumber number);
  [[nodiscard]] Result<MapBucket*> change(const MapName& name);

  Connection& connection_;
  RecordMap map_;
  Buckets group_;
  Buckets work_;
  std::optional<std::pair<BucketNumber, MapBucket>> last_;  // that was read, unchanged
  bool collects_ = false;
};

// What the buckets in a database make, whoever wrote them.
struct StoredMap {
  RecordMap map;
  std::vector<BucketNumber> damaged;  // do not fit their seals, and are not in `map`
};
[[nodiscard]] Result<StoredMap> load_map(Connection& connection);
// Runs load_map(), and compares the root. Errors: data-loss when it is another one, or a bucket is
// damaged.
[[nodiscard]] Result<RecordMap> verified_map(Connection& connection, const MapHash& root);

}  // namespace assay::storage::sqlite
