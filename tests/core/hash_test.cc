// The vectors were computed apart from the C++, with Python's integers. Checkpoints depend on them:
// a change of any number here needs a new kHashVersion.
#include "core/hash.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "crafted_keys.h"

namespace estimator_plugin {
namespace {

struct Vector {
  int64_t key;
  uint64_t hash;
  int buckets[5];  // Of 1, 2, 64, 4096 and 65536.
};

// The first one is the published first output of SplitMix64 with seed 0.
const Vector kVectors[] = {
    {0, 0xe220a8397b1dcdafull, {0, 1, 56, 3618, 57888}},
    {1, 0x910a2dec89025cc1ull, {0, 1, 36, 2320, 37130}},
    {-2, 0xf3203e9039f4a821ull, {0, 1, 60, 3890, 62240}},
    {2147483648, 0x25493cc63225736cull, {0, 0, 9, 596, 9545}},
    {-2147483648, 0xee1591ea220fb185ull, {0, 1, 59, 3809, 60949}},
    {4294967296, 0xc42c5a1aa3820138ull, {0, 1, 49, 3138, 50220}},
    {42, 0xbdd732262feb6e95ull, {0, 1, 47, 3037, 48599}},
    {INT64_MIN, 0x481ec0a212a9f3dbull, {0, 0, 18, 1153, 18462}},
    {INT64_MAX, 0x2a67d7552e039ea7ull, {0, 0, 10, 678, 10855}},
    {1234567890123456789, 0x9904eee77e231db2ull, {0, 1, 38, 2448, 39172}},
};

TEST(HashTest, MixMatchesTheVectors) {
  for (const Vector& vector : kVectors) EXPECT_EQ(MixKey(vector.key), vector.hash) << vector.key;
}

TEST(HashTest, BucketMatchesTheVectors) {
  const int bucket_bits[] = {0, 1, 6, 12, 16};
  for (const Vector& vector : kVectors) {
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(BucketOfHash(MixKey(vector.key), 64 - bucket_bits[i]), vector.buckets[i])
          << vector.key << " among " << (1 << bucket_bits[i]);
    }
  }
}

TEST(HashTest, MixIsABijection) {
  std::mt19937_64 random(20240501);
  for (int i = 0; i < 100000; ++i) {
    const int64_t key = static_cast<int64_t>(random());
    ASSERT_EQ(testing::KeyOfHash(MixKey(key)), key);
  }
}

// Consecutive ids are what real vocabularies look like. For 64 equal buckets of 1e6 / 64 keys the
// count has a standard deviation of about 124; 6 of them are never reached by a good mix.
TEST(HashTest, ConsecutiveKeysSpreadEvenly) {
  int counts[64] = {};
  for (int64_t key = 0; key < 1000000; ++key) ++counts[BucketOfHash(MixKey(key), 58)];
  for (int bucket = 0; bucket < 64; ++bucket) EXPECT_NEAR(counts[bucket], 15625, 744) << bucket;
}

TEST(HashTest, CraftedKeysShareTheirPlace) {
  const std::vector<int64_t> keys = testing::KeysOfOnePlace(0xffffffffu, 0x1234, 500);
  EXPECT_EQ(std::set<int64_t>(keys.begin(), keys.end()).size(), 500u);
  for (int64_t key : keys) {
    EXPECT_EQ(MixKey(key) & 0xffffffffu, 0xffffffffu);
    EXPECT_EQ(BucketOfHash(MixKey(key), 48), 0x1234);
  }
}

}  // namespace
}  // namespace estimator_plugin
