// SPDX-License-Identifier: Apache-2.0
#include "storage/sqlite/map_table.h"

#include <algorithm>
#include <utility>

#include "storage/sqlite/connection.h"
#include "storage/sqlite/seals.h"

namespace assay::storage::sqlite {
namespace {

std::unexpected<Error> another(BucketNumber number) {
  return fail(ErrorCode::kDataLoss,
              "the stored record map was changed by something else than this service; see "
              "docs/recovery.md",
              "bucket " + std::to_string(number));
}

// Tells a damaged bucket from one that is whole: which one a root does not say.
Seal seal_of_bucket(const Connection& connection, BucketNumber number, ByteView entries) {
  Bytes message = to_bytes("bucket\n" + std::to_string(number) + "\n");
  message.insert(message.end(), entries.begin(), entries.end());
  return seal_of(connection, message);
}

}  // namespace

void MapTable::trust(RecordMap map) {
  map_ = std::move(map);
  group_.clear();
  work_.clear();
  last_.reset();
  collects_ = false;
}

void MapTable::collect() {
  trust({});
  collects_ = true;
}

Result<const MapBucket*> MapTable::read(BucketNumber number) {
  for (const Buckets* changed : {&work_, &group_}) {
    if (const auto found = changed->find(number); found != changed->end()) {
      return &found->second;
    }
  }
  if (last_ && last_->first == number) {
    return &last_->second;
  }
  MapBucket bucket;
  {
    Query query = connection_.query(Sql::kMapGet);
    ASSAY_ASSIGN(const bool found, query.bind(number).next());
    if (found) {
      ASSAY_ASSIGN(bucket, MapBucket::decode(number, query.view(0)));
    }
  }
  if (bucket.hash() != map_.bucket(number)) {
    return another(number);
  }
  last_.emplace(number, std::move(bucket));
  return &last_->second;
}

Result<std::optional<MapValue>> MapTable::find(const MapName& name) {
  ASSAY_ASSIGN(const MapBucket* bucket, read(bucket_of(name)));
  return bucket->find(name);
}

Result<bool> MapTable::holds(const MapName& name, const MapValue& value) {
  if (collects_) {
    ASSAY_TRY(put(name, value));
    return true;
  }
  ASSAY_ASSIGN(const auto entry, find(name));
  return entry == value;
}

Result<MapBucket*> MapTable::change(const MapName& name) {
  const BucketNumber number = bucket_of(name);
  const auto known = work_.find(number);
  if (known != work_.end()) {
    return &known->second;
  }
  ASSAY_ASSIGN(const MapBucket* bucket, read(number));
  return &work_.emplace(number, *bucket).first->second;
}

Status MapTable::put(const MapName& name, const MapValue& value) {
  ASSAY_ASSIGN(MapBucket * bucket, change(name));
  bucket->put(name, value);
  return {};
}

Status MapTable::erase(const MapName& name) {
  ASSAY_ASSIGN(MapBucket * bucket, change(name));
  bucket->erase(name);
  return {};
}

void MapTable::keep_work() {
  for (auto& [number, bucket] : work_) {
    group_.insert_or_assign(number, std::move(bucket));
  }
  work_.clear();
}

Result<RecordMap> MapTable::store() {
  std::vector<std::pair<BucketNumber, MapHash>> changes;
  for (const auto& [number, bucket] : group_) {
    const Bytes entries = bucket.encode();
    ASSAY_TRY(connection_.query(Sql::kMapPut)
                  .bind(number)
                  .bind(ByteView(entries))
                  .bind(seal_of_bucket(connection_, number, entries))
                  .run());
    changes.emplace_back(number, bucket.hash());
  }
  return map_.with(changes);
}

Result<StoredMap> load_map(Connection& connection) {
  StoredMap stored;
  std::vector<std::pair<BucketNumber, MapHash>> hashes;
  Query query = connection.query(Sql::kMapScan);
  while (true) {
    ASSAY_ASSIGN(const bool found, query.next());
    if (!found) {
      break;
    }
    const auto number = static_cast<BucketNumber>(query.integer(0));
    const auto bucket = MapBucket::decode(number, query.view(1));
    const bool in_order = hashes.empty() || hashes.back().first < number;
    if (!bucket || !in_order ||
        !std::ranges::equal(query.view(2), seal_of_bucket(connection, number, query.view(1)))) {
      stored.damaged.push_back(number);
    } else {
      hashes.emplace_back(number, bucket->hash());
    }
  }
  stored.map = RecordMap().with(hashes);
  return stored;
}

Result<RecordMap> verified_map(Connection& connection, const MapHash& root) {
  ASSAY_ASSIGN(StoredMap stored, load_map(connection));
  if (!stored.damaged.empty()) {
    return another(stored.damaged.front());
  }
  if (stored.map.root() != root) {
    return fail(ErrorCode::kDataLoss,
                "the stored record map is not the one of the newest write: rows were put back or "
                "taken away; see docs/recovery.md");
  }
  return std::move(stored.map);
}

}  // namespace assay::storage::sqlite
