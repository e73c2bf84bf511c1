// SPDX-License-Identifier: Apache-2.0
// The map's root says of every entry whether it is there, and what is in it.
#include "storage/record_map.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

#include "tests/support/seed.h"

namespace assay::storage {
namespace {

MapName name_of(std::uint32_t number) {
  MapName name{};
  for (std::size_t i = 0; i < 4; ++i) {
    name.at(i) = static_cast<std::uint8_t>(number >> (24 - 8 * i));
  }
  return name;
}

MapValue value_of(std::uint32_t number) {
  MapValue value{};
  value.back() = static_cast<std::uint8_t>(number);
  value.front() = 1;
  return value;
}

// A map and its buckets, as a store keeps them.
struct Kept {
  RecordMap map;
  std::map<BucketNumber, MapBucket> buckets;

  void put(std::uint32_t number, std::uint32_t value) {
    MapBucket& bucket = buckets[bucket_of(name_of(number))];
    bucket.put(name_of(number), value_of(value));
    update(bucket_of(name_of(number)));
  }
  void erase(std::uint32_t number) {
    buckets[bucket_of(name_of(number))].erase(name_of(number));
    update(bucket_of(name_of(number)));
  }
  void update(BucketNumber number) {
    const std::pair<BucketNumber, MapHash> change{number, buckets[number].hash()};
    map = map.with({&change, 1});
  }
  // The root of a map that is made of the same buckets at once.
  [[nodiscard]] MapHash made_at_once() const {
    std::vector<std::pair<BucketNumber, MapHash>> all;
    for (const auto& [number, bucket] : buckets) {
      all.emplace_back(number, bucket.hash());
    }
    return RecordMap().with(all).root();
  }
};

TEST(RecordMap, OfNothing_HasTheRootOfNothing) {
  EXPECT_EQ(RecordMap().root(), MapHash{});
  Kept kept;
  kept.put(7, 1);
  EXPECT_NE(kept.map.root(), MapHash{});
  kept.erase(7);
  EXPECT_EQ(kept.map.root(), MapHash{});
}

TEST(RecordMap, Root_SaysWhichEntriesThereAreAndNotInWhichOrderTheyCame) {
  Kept one;
  Kept other;
  for (std::uint32_t i = 0; i < 64; ++i) {
    one.put(i << 14, i);
    other.put((63 - i) << 14, 63 - i);
  }
  EXPECT_EQ(one.map.root(), other.map.root());
  EXPECT_EQ(one.map.root(), one.made_at_once());
  for (const std::uint32_t number : {0U, 1U << 14, 63U << 14}) {
    Kept changed = one;
    changed.put(number, 77);
    EXPECT_NE(changed.map.root(), one.map.root()) << "another value";
    changed = one;
    changed.erase(number);
    EXPECT_NE(changed.map.root(), one.map.root()) << "one less";
    changed = one;
    changed.put(number + 1, 1);
    EXPECT_NE(changed.map.root(), one.map.root()) << "one more";
  }
}

TEST(RecordMap, Copies_KeepWhatTheyHad) {
  Kept kept;
  kept.put(1, 1);
  const RecordMap before = kept.map;
  const MapHash root = before.root();
  kept.put(1, 2);
  kept.put(1U << 31, 3);
  EXPECT_EQ(before.root(), root);
  EXPECT_EQ(before.bucket(bucket_of(name_of(1U << 31))), MapHash{});
}

TEST(RecordMap, RandomChanges_AgreeWithOneThatIsMadeAtOnce) {
  const std::uint64_t seed = random_test_seed();
  SCOPED_TRACE(test_seed_text(seed));
  std::mt19937_64 random(seed);
  Kept kept;
  std::map<std::uint32_t, std::uint32_t> plain;
  for (int i = 0; i < 2000; ++i) {
    // Names share buckets and nodes of all levels.
    const auto number = static_cast<std::uint32_t>(random()) & 0xf0f0000fU;
    const auto value = static_cast<std::uint32_t>(random() % 200);
    if (random() % 3 == 0) {
      kept.erase(number);
      plain.erase(number);
    } else {
      kept.put(number, value);
      plain[number] = value;
    }
  }
  EXPECT_EQ(kept.map.root(), kept.made_at_once());
  for (auto& [number, bucket] : kept.buckets) {
    EXPECT_EQ(kept.map.bucket(number), bucket.hash());
    const auto read = MapBucket::decode(number, bucket.encode());
    ASSERT_TRUE(read);
    EXPECT_EQ(read->entries(), bucket.entries());
  }
  for (const auto& [number, value] : plain) {
    EXPECT_EQ(kept.buckets[bucket_of(name_of(number))].find(name_of(number)), value_of(value));
  }
}

TEST(MapBucketTest, BytesThatAreNoBucket_AreRefused) {
  MapBucket bucket;
  bucket.put(name_of(1), value_of(1));
  bucket.put(name_of(2), value_of(2));
  const Bytes whole = bucket.encode();
  ASSERT_TRUE(MapBucket::decode(0, whole));
  EXPECT_FALSE(MapBucket::decode(1, whole)) << "entries of another bucket";
  EXPECT_FALSE(MapBucket::decode(0, ByteView(whole).first(whole.size() - 1)));
  Bytes turned(whole.begin() + 32, whole.end());
  turned.insert(turned.end(), whole.begin(), whole.begin() + 32);
  EXPECT_FALSE(MapBucket::decode(0, turned)) << "not ascending";
  Bytes twice(whole.begin(), whole.begin() + 32);
  twice.insert(twice.end(), whole.begin(), whole.begin() + 32);
  EXPECT_FALSE(MapBucket::decode(0, twice));
}

}  // namespace
}  // namespace assay::storage
