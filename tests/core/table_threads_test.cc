// One thread or eight: the same calls leave the same bits, row numbers included.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "table_testing.h"
#include "thread_runner.h"

namespace estimator_plugin {
namespace testing {
namespace {

constexpr int64_t kDim = 5;
constexpr int64_t kBatch = 50000;  // More than eight shards' worth.

// Everything a training run produces.
struct Trace {
  std::vector<Keys> addresses;
  std::vector<Floats> embeddings;
  Snapshot end;
  TableStats stats;
};

Keys Batch(std::mt19937_64* random) {
  Keys keys(kBatch);
  for (int64_t& key : keys) {
    const uint64_t draw = (*random)();
    key = static_cast<int64_t>(draw % 100 == 0 ? uint64_t{0} : draw % 60000) - 1;  // Some are -1.
  }
  return keys;
}

void Train(FloatTable* table, const UpdateRule<float>& rule, ParallelRunner* runner,
           std::mt19937_64* random, Trace* trace) {
  const Found first = Lookup(table, Batch(random), OnMissing::kInsert, runner);
  const Found second = Lookup(table, Batch(random), OnMissing::kInsert, runner);
  trace->addresses.push_back(first.addresses);
  trace->addresses.push_back(second.addresses);
  trace->embeddings.push_back(first.embeddings);
  Floats gathered(second.embeddings.size());
  EXPECT_OK(table->Gather(second.addresses.data(), kBatch, nullptr, gathered.data(), runner));
  trace->embeddings.push_back(gathered);
  Floats gradients(kBatch * kDim);
  for (float& value : gradients) value = static_cast<float>((*random)() % 2001) * 1e-4f - 0.1f;
  UpdateResult result;
  EXPECT_OK(table->ApplyGradients(rule,
                                  {{first.addresses.data(), gradients.data(), kBatch},
                                   {second.addresses.data(), first.embeddings.data(), kBatch}},
                                  OnNonFinite::kReject, runner, &result));
}

Trace RunTraining(int shards) {
  std::mt19937_64 random(99);
  ThreadRunner runner(shards);
  const auto table = MakeTable(kDim);
  Trace trace;
  for (int step = 0; step < 2; ++step) {
    Train(table.get(), *MakeRule("adagrad", {0.1, 0, 0.1}), &runner, &random, &trace);
    Remove(table.get(), Batch(&random));
    Train(table.get(), *MakeRule("ftrl", {0.1, -0.5, 1e-3, 1e-3, 0, 0.1, 0}), &runner, &random,
          &trace);
  }
  trace.end = TakeSnapshot(*table);
  trace.stats = table->stats();
  return trace;
}

void ExpectSameTrace(const Trace& a, const Trace& b) {
  EXPECT_EQ(a.addresses, b.addresses);
  ASSERT_EQ(a.embeddings.size(), b.embeddings.size());
  for (size_t i = 0; i < a.embeddings.size(); ++i) {
    EXPECT_TRUE(SameBits(a.embeddings[i], b.embeddings[i])) << "batch " << i;
  }
  ASSERT_EQ(a.end.parts.size(), b.end.parts.size());
  for (size_t bucket = 0; bucket < a.end.parts.size(); ++bucket) {
    EXPECT_EQ(a.end.parts[bucket].keys, b.end.parts[bucket].keys) << "bucket " << bucket;
    EXPECT_TRUE(SameBits(a.end.parts[bucket].values, b.end.parts[bucket].values));
  }
  EXPECT_EQ(a.stats.keys_looked_up, b.stats.keys_looked_up);
  EXPECT_EQ(a.stats.keys_found, b.stats.keys_found);
  EXPECT_EQ(a.stats.rows_inserted, b.stats.rows_inserted);
  EXPECT_EQ(a.stats.rows_removed, b.stats.rows_removed);
  EXPECT_EQ(a.stats.rows_updated, b.stats.rows_updated);
}

TEST(TableThreadsTest, TheThreadCountChangesNoBit) {
  const Trace one = RunTraining(1);
  EXPECT_GT(one.stats.rows_updated, 0);
  for (int shards : {2, 3, 5, 8}) {
    SCOPED_TRACE(::testing::Message() << shards << " shards");
    ExpectSameTrace(one, RunTraining(shards));
  }
}

// The keys arrive in another order: other rows, the same starting values.
TEST(TableThreadsTest, TheOrderOfArrivalChangesNoStart) {
  std::mt19937_64 random(100);
  Keys keys = Batch(&random);
  const auto first = MakeTable(kDim), second = MakeTable(kDim);
  Lookup(first.get(), keys);
  std::shuffle(keys.begin(), keys.end(), random);
  ThreadRunner runner(4);
  Lookup(second.get(), keys, OnMissing::kInsert, &runner);
  EXPECT_EQ(Rows(*first), Rows(*second));
}

}  // namespace
}  // namespace testing
}  // namespace estimator_plugin
