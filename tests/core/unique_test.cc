#include "core/unique.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <unordered_map>

#include "core/hash.h"
#include "crafted_keys.h"

namespace estimator_plugin {
namespace {

using Values = std::vector<int64_t>;

struct Unique {
  Values values;
  std::vector<int32_t> counts;
  std::vector<int32_t> indices;
};

Unique Of(const Values& values) {
  UniqueResult result;
  result.values = {1, 2, 3};  // What an earlier batch left.
  result.counts = {4, 5, 6};
  std::vector<int32_t> indices(values.size(), -7);
  UniqueWithCounts(values.data(), static_cast<int64_t>(values.size()), indices.data(), &result);
  return {result.values, result.counts, indices};
}

// The definition, word for word.
Unique Model(const Values& values) {
  Unique unique;
  std::unordered_map<int64_t, int32_t> numbers;
  for (int64_t value : values) {
    const auto inserted = numbers.emplace(value, static_cast<int32_t>(numbers.size()));
    if (inserted.second) {
      unique.values.push_back(value);
      unique.counts.push_back(0);
    }
    ++unique.counts[inserted.first->second];
    unique.indices.push_back(inserted.first->second);
  }
  return unique;
}

void Compare(const Values& values) {
  const Unique unique = Of(values);
  const Unique model = Model(values);
  ASSERT_EQ(unique.values, model.values);
  ASSERT_EQ(unique.counts, model.counts);
  ASSERT_EQ(unique.indices, model.indices);
}

TEST(UniqueTest, KeepsTheOrderOfFirstAppearance) {
  const Unique unique = Of({7, -1, 7, 3, -1, 7});
  EXPECT_EQ(unique.values, Values({7, -1, 3}));
  EXPECT_EQ(unique.counts, std::vector<int32_t>({3, 2, 1}));
  EXPECT_EQ(unique.indices, std::vector<int32_t>({0, 1, 0, 2, 1, 0}));
}

TEST(UniqueTest, AnEmptyBatchHasNoValues) {
  const Unique unique = Of({});
  EXPECT_TRUE(unique.values.empty());
  EXPECT_TRUE(unique.counts.empty());
}

TEST(UniqueTest, EveryInt64IsAValue) {
  Compare({0, INT64_MIN, INT64_MAX, -1, 0, -1, INT64_MAX, 1, INT64_MIN});
  Compare({-1});
  Compare(Values(1000, -1));
  Compare(Values(1000, 0));
}

TEST(UniqueTest, AgreesWithAMapWhateverTheShareOfDuplicates) {
  const unsigned seed = 20240503;
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  // Sizes go up and down: working memory is kept from batch to batch.
  for (size_t n : {1, 31, 32, 33, 64, 65, 100000, 5, 1000, 63, 100, 30000}) {
    for (uint64_t range : {uint64_t{2}, uint64_t{50}, uint64_t{100000}, ~uint64_t{0}}) {
      Values values(n);
      for (int64_t& value : values) value = static_cast<int64_t>(random() % range);
      Compare(values);
    }
  }
}

TEST(UniqueTest, AgreesWithAMapOnValuesOfOnePlace) {
  Values values = testing::KeysOfOnePlace(0, 0, 2000);
  const Values again = values;
  values.insert(values.end(), again.rbegin(), again.rend());
  Compare(values);
}

TEST(UniqueTest, ThreadsDoNotMeet) {
  std::vector<std::thread> threads;
  std::vector<int> wrong(8, 0);
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([thread, &wrong] {
      for (int round = 0; round < 30; ++round) {
        Values values;
        for (int64_t i = 0; i < 2000; ++i) values.push_back(i * i % (thread * 100 + 7));
        wrong[thread] += Of(values).indices != Model(values).indices;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(8, 0));
}

}  // namespace
}  // namespace estimator_plugin
