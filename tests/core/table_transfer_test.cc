#include <gtest/gtest.h>

#include <atomic>

#include "core/hash.h"
#include "table_testing.h"
#include "thread_runner.h"

namespace estimator_plugin {
namespace testing {
namespace {

// A table with optimizer state and with freed rows between the live ones.
std::unique_ptr<FloatTable> UsedTable() {
  auto table = MakeTable(3);
  Keys keys;
  for (int64_t key = -500; key < 1500; ++key) keys.push_back(key);
  const Keys addresses = Lookup(table.get(), keys).addresses;
  Floats gradients;
  for (size_t i = 0; i < addresses.size() * 3; ++i) gradients.push_back(0.001f * i);
  EXPECT_OK(Apply(table.get(), *MakeRule("adagrad", {0.1, 0, 0.5}), addresses, gradients));
  EXPECT_EQ(Remove(table.get(), {-3, 0, 1, 2, 77}), 5);
  return table;
}

int BucketOf(int64_t key, int num_buckets = 16) {
  int shift = 64;
  for (int n = num_buckets; n > 1; n /= 2) --shift;
  return BucketOfHash(MixKey(key), shift);
}

TEST(TableTransferTest, ExportShowsEveryKeyOnceInItsBucket) {
  const auto table = UsedTable();
  const Snapshot snapshot = TakeSnapshot(*table);
  EXPECT_EQ(snapshot.layout.width(), 6);
  ASSERT_EQ(snapshot.parts.size(), 16u);
  for (int bucket = 0; bucket < 16; ++bucket) {
    for (int64_t key : snapshot.parts[bucket].keys) {
      EXPECT_NE(key, kNoKey);
      EXPECT_EQ(BucketOf(key), bucket);
    }
  }
  const auto rows = snapshot.rows();
  EXPECT_EQ(static_cast<int64_t>(rows.size()), table->size());
  EXPECT_EQ(rows.size(), 1994u);  // 2000 less -1 and the five removed.
  for (int64_t gone : {-3, -1, 0, 77}) EXPECT_EQ(rows.count(gone), 0u);
  const Floats row = rows.at(5);
  EXPECT_EQ(Lookup(table.get(), {5}).embeddings, Floats(row.begin(), row.begin() + 3));
}

TEST(TableTransferTest, ExportCopiesNothing) {
  const auto table = MakeTable(3, 1);
  const Keys a = Lookup(table.get(), {1, 2}).addresses;
  SaveInfo info;
  EXPECT_OK(table->PlanSave(SaveKind::kFull, &info));
  BucketView<float> held;
  EXPECT_OK(table->Export(info, [&held](int, const BucketView<float>& view, const Keys&) {
    EXPECT_EQ(view.rows, 2);
    EXPECT_NE(view.owner, nullptr);
    held = view;
    return Status();
  }));
  EXPECT_OK(Apply(table.get(), *MakeRule("sgd", {1, 0}), {a[0]}, {1, 1, 1}));
  EXPECT_EQ(Floats(held.values, held.values + 3), Lookup(table.get(), {1}).embeddings);
}

TEST(TableTransferTest, ExportStopsAtTheFirstError) {
  const auto table = UsedTable();
  SaveInfo info;
  EXPECT_OK(table->PlanSave(SaveKind::kFull, &info));
  int visited = 0;
  const auto visit = [&visited](int bucket, const BucketView<float>&, const Keys&) {
    ++visited;
    return bucket == 3 ? Error(Code::kDataLoss, "disk") : Status();
  };
  EXPECT_ERROR(table->Export(info, visit), Code::kDataLoss, "disk");
  EXPECT_EQ(visited, 4);
  Lookup(table.get(), {123456});  // No lock is left behind.
  EXPECT_OK(table->Clear());
}

TEST(TableTransferTest, ARoundTripKeepsEveryBit) {
  const auto table = UsedTable();
  const Snapshot snapshot = TakeSnapshot(*table);
  for (int shards : {1, 2, 5, 8, 40}) {
    const auto copy = MakeTable(3);
    Lookup(copy.get(), {999999});  // Goes away.
    ThreadRunner runner(shards);
    ASSERT_OK(ImportSnapshot(copy.get(), snapshot, &runner));
    EXPECT_EQ(copy->layout().slots, table->layout().slots);
    EXPECT_EQ(copy->size(), table->size());
    EXPECT_EQ(Rows(*copy), snapshot.rows());
    const Snapshot again = TakeSnapshot(*copy);
    for (int bucket = 0; bucket < 16; ++bucket) {
      EXPECT_EQ(again.parts[bucket].keys, snapshot.parts[bucket].keys) << "order is kept";
      EXPECT_TRUE(SameBits(again.parts[bucket].values, snapshot.parts[bucket].values));
    }
  }
}

TEST(TableTransferTest, TrainingGoesOnAsIfNeverStopped) {
  const auto table = UsedTable();
  const auto copy = MakeTable(3);
  ASSERT_OK(ImportSnapshot(copy.get(), TakeSnapshot(*table)));
  const auto rule = MakeRule("adagrad", {0.1, 0, 0.5});
  for (FloatTable* each : {table.get(), copy.get()}) {
    const Keys a = Lookup(each, {5, 100000, 6, 0}).addresses;
    UpdateResult result;
    EXPECT_OK(Apply(each, *rule, a, Floats(12, 0.3f), &result));
    EXPECT_FALSE(result.slots_changed);
  }
  EXPECT_EQ(Rows(*copy), Rows(*table));
}

TEST(TableTransferTest, CountsAndTimesTravel) {
  const auto table = MakeTable(1, 1);
  RowLayout layout;
  layout.dim = 1;
  const Keys keys = {10, 20, INT64_MIN};
  const Floats values = {1, 2, 3};
  const std::vector<int32_t> counts = {0, 7, INT32_MAX};
  const Keys last_seen = {0, -5, INT64_MAX};
  InlineRunner runner;
  ASSERT_OK(table->Import(layout, SavedAs(), 1, &runner, [&](int part) {
    return table->ImportRows(part, 1, RowsOf(layout, {keys, values, counts, last_seen, {}}));
  }));
  const Snapshot snapshot = TakeSnapshot(*table);
  EXPECT_EQ(snapshot.parts[0].keys, keys);
  EXPECT_EQ(snapshot.parts[0].values, values);
  EXPECT_EQ(snapshot.parts[0].counts, counts);
  EXPECT_EQ(snapshot.parts[0].last_seen, last_seen);
  EXPECT_EQ(Remove(table.get(), {20}), 1);
  Lookup(table.get(), {30});
  const Snapshot reused = TakeSnapshot(*table);
  for (size_t r = 0; r < 3; ++r) {
    if (reused.parts[0].keys[r] != 30) continue;
    EXPECT_EQ(reused.parts[0].counts[r], 0);
    EXPECT_EQ(reused.parts[0].last_seen[r], 0);
  }
  ASSERT_OK(table->Import(layout, SavedAs(), 1, &runner, [&](int part) {
    return table->ImportRows(part, 1, RowsOf(layout, {keys, values, {}, {}, {}}));
  }));
  EXPECT_EQ(TakeSnapshot(*table).parts[0].counts, std::vector<int32_t>(3, 0));
}

Status ImportKeys(FloatTable* table, int bad_bucket, const Keys& keys) {
  const Floats values(keys.size() * 3, 1.0f);
  RowLayout layout;
  layout.dim = 3;
  InlineRunner runner;
  return table->Import(layout, SavedAs(), 16, &runner, [&](int bucket) {
    if (bucket != bad_bucket) return Status();
    return table->ImportRows(bucket, 16, RowsOf(layout, {keys, values, {}, {}, {}}));
  });
}

TEST(TableTransferTest, DamagedKeysAreDataLossAndLeaveTheTableEmpty) {
  const int bucket = BucketOf(1);
  int64_t same_bucket = 2;
  while (BucketOf(same_bucket) != bucket) ++same_bucket;
  int64_t other_bucket = 2;
  while (BucketOf(other_bucket) == bucket) ++other_bucket;
  const Keys damaged[] = {{1, other_bucket}, {1, same_bucket, 1}, {1, kNoKey}};
  for (const Keys& keys : damaged) {
    const auto table = UsedTable();
    const Status status = ImportKeys(table.get(), bucket, keys);
    EXPECT_ERROR(status, Code::kDataLoss, "colours");
    EXPECT_ERROR(status, Code::kDataLoss, std::to_string(keys.back()));
    EXPECT_EQ(table->size(), 0);
    EXPECT_TRUE(Rows(*table).empty());
    EXPECT_EQ(Lookup(table.get(), {1}).embeddings, Fresh(1, table->options()));
  }
  // The bucket of kNoKey itself is no exception.
  const auto table = MakeTable(3);
  EXPECT_ERROR(ImportKeys(table.get(), BucketOf(kNoKey), {kNoKey}), Code::kDataLoss, "colours");
}

TEST(TableTransferTest, AnErrorOfTheLoaderLeavesTheTableEmpty) {
  for (int shards : {1, 4}) {
    const auto table = UsedTable();
    const Snapshot snapshot = TakeSnapshot(*table);
    ThreadRunner runner(shards);
    const Status status = table->Import(snapshot.layout, SavedAs(), 16, &runner, [&](int bucket) {
      if (bucket == 9) return Error(Code::kDataLoss, "checksum");
      return table->ImportRows(bucket, 16, RowsOf(snapshot.layout, snapshot.parts[bucket]));
    });
    EXPECT_ERROR(status, Code::kDataLoss, "checksum");
    EXPECT_EQ(table->size(), 0);
    ASSERT_OK(ImportSnapshot(table.get(), snapshot, &runner));
    EXPECT_EQ(Rows(*table), snapshot.rows());
  }
}

TEST(TableTransferTest, MoreRowsThanABucketHoldsAreRefused) {
  const auto table = UsedTable();
  RowLayout layout;
  layout.dim = 3;
  InlineRunner runner;
  const Status status = table->Import(layout, SavedAs(), 16, &runner, [&](int part) {
    ImportedRows<float> rows;
    rows.layout = layout;
    rows.width = layout.width();
    rows.rows = int64_t{1} << 40;
    return table->ImportRows(part, 16, rows);
  });
  EXPECT_ERROR(status, Code::kResourceExhausted, "colours");
  EXPECT_EQ(table->size(), 0);
}

TEST(TableTransferTest, RowsThatWereThereLeaveNoTrace) {
  const auto small = UsedTable();
  const Snapshot snapshot = TakeSnapshot(*small);
  const auto table = UsedTable();
  Keys keys;
  for (int64_t key = 5000; key < 60000; ++key) keys.push_back(key);
  Lookup(table.get(), keys);
  const int64_t big = table->stats().bytes;
  ASSERT_OK(ImportSnapshot(table.get(), snapshot));
  EXPECT_EQ(Rows(*table), snapshot.rows());
  EXPECT_LT(table->stats().bytes, big / 8);
  EXPECT_EQ(Lookup(table.get(), {7777}).embeddings, Fresh(7777, table->options()));
  // Rows in memory that rows were in before start like any others.
  Lookup(table.get(), keys);
  EXPECT_EQ(Lookup(table.get(), {keys[30000]}).embeddings, Fresh(keys[30000], table->options()));
  for (const Snapshot::Part& part : TakeSnapshot(*table).parts) {
    EXPECT_EQ(part.counts, std::vector<int32_t>(part.counts.size(), 0));
  }
}

TEST(TableTransferTest, RowsOfAnotherWidthAreRefused) {
  const auto table = UsedTable();
  const auto before = Rows(*table);
  RowLayout layout;
  layout.dim = 7;
  InlineRunner runner;
  const Status status = table->Import(layout, SavedAs(), 16, &runner, [](int) {
    ADD_FAILURE() << "nothing may be loaded";
    return Status();
  });
  EXPECT_ERROR(status, Code::kInvalidArgument, "colours");
  EXPECT_ERROR(status, Code::kInvalidArgument, "3");
  EXPECT_ERROR(status, Code::kInvalidArgument, "7");
  EXPECT_EQ(Rows(*table), before);
}

TEST(TableTransferTest, EveryBucketIsLoadedOnce) {
  const auto table = MakeTable(1, 64);
  RowLayout layout;
  layout.dim = 1;
  for (int shards : {1, 3, 8, 100}) {
    std::vector<std::atomic<int>> loaded(64);
    ThreadRunner runner(shards);
    ASSERT_OK(table->Import(layout, SavedAs(), 64, &runner, [&](int bucket) {
      ++loaded[bucket];
      return Status();
    }));
    for (int bucket = 0; bucket < 64; ++bucket) EXPECT_EQ(loaded[bucket], 1) << bucket;
  }
}

}  // namespace
}  // namespace testing
}  // namespace estimator_plugin
