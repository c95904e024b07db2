#include "core/key_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <unordered_map>
#include <vector>

#include "core/hash.h"
#include "crafted_keys.h"
#include "status_testing.h"

namespace estimator_plugin {
namespace {

using testing::KeyOfHash;
using testing::KeysOfOnePlace;

void Insert(KeyIndex* index, int64_t key, uint32_t row) {
  ASSERT_OK(index->Reserve(index->size() + 1));
  index->Insert(key, MixKey(key), row);
}

uint32_t Find(const KeyIndex& index, int64_t key) { return index.Find(key, MixKey(key)); }

uint32_t Remove(KeyIndex* index, int64_t key) { return index->Remove(key, MixKey(key)); }

// What an index without keys must look like: no entry taken and no group passed.
void ExpectNoTrace(const KeyIndex& index) {
  const KeyIndex::Reader reader = index.reader();
  for (uint64_t i = 0; i < reader.num_groups; ++i) {
    EXPECT_EQ(reader.groups[i].overflow, 0u) << "group " << i;
    for (int64_t key : reader.groups[i].keys) EXPECT_EQ(key, kNoKey) << "group " << i;
  }
}

TEST(KeyIndexTest, AnEmptyOneFindsAndRemovesNothing) {
  IndexArena arena;
  KeyIndex index(&arena, 0);
  for (int64_t key : {int64_t{0}, int64_t{1}, INT64_MIN, INT64_MAX, int64_t{-2}}) {
    EXPECT_EQ(Find(index, key), kNoRow);
    EXPECT_EQ(Remove(&index, key), kNoRow);
  }
  EXPECT_EQ(index.size(), 0);
  EXPECT_OK(index.Reserve(0));
  EXPECT_EQ(Find(index, 0), kNoRow);
}

TEST(KeyIndexTest, HoldsTheExtremeKeysAndRows) {
  IndexArena arena;
  KeyIndex index(&arena, 3);
  Insert(&index, INT64_MIN, 0);
  Insert(&index, INT64_MAX, kMaxRowsPerBucket - 1);
  Insert(&index, 0, 5);
  Insert(&index, -2, 6);
  EXPECT_EQ(Find(index, INT64_MIN), 0u);
  EXPECT_EQ(Find(index, INT64_MAX), kMaxRowsPerBucket - 1);
  EXPECT_EQ(Find(index, 0), 5u);
  EXPECT_EQ(Find(index, -2), 6u);
  EXPECT_EQ(Find(index, 1), kNoRow);
  EXPECT_EQ(index.size(), 4);
}

TEST(KeyIndexTest, ReserveMakesRoomForAllTheKeysAtOnce) {
  for (int64_t size : {1, 4, 5, 6, 63, 1000, 12345}) {
    IndexArena arena;
    KeyIndex index(&arena, static_cast<int>(size % 64));
    ASSERT_OK(index.Reserve(size));
    const int64_t bytes = index.bytes();
    for (int64_t key = 0; key < size; ++key) index.Insert(key, MixKey(key), key);
    EXPECT_EQ(index.bytes(), bytes) << "grew although room was reserved";
    EXPECT_EQ(index.size(), size);
    for (int64_t key = 0; key < size; ++key) ASSERT_EQ(Find(index, key), key);
    EXPECT_EQ(Find(index, size), kNoRow);
  }
}

// All in one home group, the last of the index, so that the search wraps around, too.
TEST(KeyIndexTest, FindsKeysThatShareTheirHomeGroup) {
  for (uint32_t low : {0u, 0x80000000u, 0xffffffffu}) {
    IndexArena arena;
    KeyIndex index(&arena, 0);
    const std::vector<int64_t> keys = KeysOfOnePlace(low, 7, 400);
    for (size_t i = 0; i < keys.size(); ++i) Insert(&index, keys[i], static_cast<uint32_t>(i));
    for (size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(Find(index, keys[i]), i);
    EXPECT_EQ(Find(index, KeyOfHash((uint64_t{8} << 48) | low)), kNoRow);
  }
}

TEST(KeyIndexTest, OverflowedKeysStayFoundWhenKeysBeforeThemGo) {
  IndexArena arena;
  KeyIndex index(&arena, 0);
  const std::vector<int64_t> keys = KeysOfOnePlace(0xffffffffu, 0, 60);
  for (size_t i = 0; i < keys.size(); ++i) Insert(&index, keys[i], static_cast<uint32_t>(i));
  for (size_t gone = 0; gone < keys.size(); ++gone) {
    ASSERT_EQ(Remove(&index, keys[gone]), gone);
    ASSERT_EQ(Remove(&index, keys[gone]), kNoRow);
    for (size_t i = 0; i < keys.size(); ++i) {
      ASSERT_EQ(Find(index, keys[i]), i <= gone ? kNoRow : i) << "after removing " << gone;
    }
  }
  EXPECT_EQ(index.size(), 0);
  ExpectNoTrace(index);
}

TEST(KeyIndexTest, RemovalLeavesNoTombstone) {
  IndexArena arena;
  KeyIndex index(&arena, 0);
  std::mt19937_64 random(7);
  ASSERT_OK(index.Reserve(1000));
  const int64_t bytes = index.bytes();
  for (int round = 0; round < 50; ++round) {
    std::vector<int64_t> keys(1000);
    for (int64_t& key : keys) key = static_cast<int64_t>(random() >> 1);  // Never kNoKey.
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    for (int64_t key : keys) Insert(&index, key, 1);
    std::shuffle(keys.begin(), keys.end(), random);
    for (int64_t key : keys) ASSERT_EQ(Remove(&index, key), 1u);
    ExpectNoTrace(index);
  }
  EXPECT_EQ(index.bytes(), bytes) << "a steady number of keys needs no growth";
}

TEST(KeyIndexTest, ARefusedReserveKeepsTheKeys) {
  IndexArena arena;
  KeyIndex index(&arena, 0);
  for (int64_t key = 0; key < 100; ++key) Insert(&index, key, key);
  EXPECT_ERROR(index.Reserve(int64_t{1} << 50), Code::kResourceExhausted, "");
  EXPECT_ERROR(index.Reserve(INT64_MAX), Code::kResourceExhausted, "");
  for (int64_t key = 0; key < 100; ++key) ASSERT_EQ(Find(index, key), key);
  Insert(&index, 100, 100);
  EXPECT_EQ(Find(index, 100), 100u);
}

TEST(KeyIndexTest, GrowsWithoutWaste) {
  for (int stagger : {0, 1, 31, 63, 4095}) {
    IndexArena arena;
    KeyIndex index(&arena, stagger);
    for (int64_t key = 0; key < 100000; ++key) Insert(&index, key, static_cast<uint32_t>(key));
    for (int64_t key = 0; key < 100000; ++key) ASSERT_EQ(Find(index, key), key);
    // Twelve bytes an entry and four a group at a full load; growth by half and a load that keeps
    // probes short cost less than three times that.
    EXPECT_LT(index.bytes(), 100000 * 40) << "stagger " << stagger;
  }
}

// `draw` makes keys; few distinct ones, so that inserts, finds and removals meet.
template <typename Draw>
void CompareWithModel(unsigned seed, int steps, const Draw& draw) {
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  IndexArena arena;
  KeyIndex index(&arena, static_cast<int>(seed % 64));
  std::unordered_map<int64_t, uint32_t> model;
  for (int step = 0; step < steps; ++step) {
    const int64_t key = draw(random);
    const auto found = model.find(key);
    const uint32_t expected = found == model.end() ? kNoRow : found->second;
    ASSERT_EQ(Find(index, key), expected) << "step " << step << " key " << key;
    if (expected != kNoRow && random() % 2 == 0) {
      ASSERT_EQ(Remove(&index, key), expected) << "step " << step << " key " << key;
      model.erase(key);
    } else if (expected == kNoRow && random() % 4 != 0) {
      const uint32_t row = static_cast<uint32_t>(random() % kMaxRowsPerBucket);
      Insert(&index, key, row);
      model[key] = row;
    }
    ASSERT_EQ(index.size(), static_cast<int64_t>(model.size()));
  }
  for (const auto& entry : model) ASSERT_EQ(Find(index, entry.first), entry.second);
  for (const auto& entry : model) ASSERT_EQ(Remove(&index, entry.first), entry.second);
  ExpectNoTrace(index);
}

TEST(KeyIndexTest, AgreesWithAMapOnRandomKeys) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    CompareWithModel(seed, 50000, [seed](std::mt19937_64& random) {
      return KeyOfHash(random() % (500 << (2 * seed)) * 0x9e3779b97f4a7c15ull | 1);
    });
  }
}

TEST(KeyIndexTest, AgreesWithAMapOnKeysOfFewPlaces) {
  std::vector<int64_t> keys;
  for (uint32_t low : {0u, 1u, 0x7fffffffu, 0xfffffffeu, 0xffffffffu}) {
    for (int64_t key : KeysOfOnePlace(low, 0x8000, 60)) keys.push_back(key);
  }
  for (unsigned seed = 101; seed <= 105; ++seed) {
    CompareWithModel(seed, 30000,
                     [&keys](std::mt19937_64& random) { return keys[random() % keys.size()]; });
  }
}

// Every hash has the same top bits, as all keys of one bucket do, and small low bits.
TEST(KeyIndexTest, AgreesWithAMapOnKeysAtTheStart) {
  for (unsigned seed = 201; seed <= 203; ++seed) {
    CompareWithModel(seed, 30000, [](std::mt19937_64& random) {
      return KeyOfHash((random() % 16 << 32) | random() % 100);
    });
  }
}

}  // namespace
}  // namespace estimator_plugin
