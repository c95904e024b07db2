// A partition: a table that has some of the buckets.
#include <gtest/gtest.h>

#include "core/hash.h"
#include "table_testing.h"
#include "thread_runner.h"
#include "usage_testing.h"

namespace estimator_plugin {
namespace testing {
namespace {

constexpr int kBuckets = 16;
constexpr int64_t kDim = 2;

int BucketOf(int64_t key) { return BucketOfHash(MixKey(key), 64 - 4); }

Keys KeysIn(int first, int end, int64_t n) {
  Keys keys;
  for (int64_t key = 0; static_cast<int64_t>(keys.size()) < n; ++key) {
    if (BucketOf(key) >= first && BucketOf(key) < end) keys.push_back(key);
  }
  return keys;
}

std::unique_ptr<FloatTable> MakePartition(int first, int end) {
  TableOptions options = Options(kDim, kBuckets);
  options.first_bucket = first;
  options.end_bucket = end;
  return MakeTable(options);
}

void Train(FloatTable* table, const Keys& keys) {
  const Keys addresses = Lookup(table, keys).addresses;
  EXPECT_OK(
      Apply(table, *MakeRule("adagrad", {0.1, 0, 0.5}), addresses, Floats(keys.size() * kDim, 1)));
}

TEST(TablePartitionTest, TheRangeIsChecked) {
  std::unique_ptr<FloatTable> table;
  for (const auto& range : std::vector<std::pair<int, int>>{{-1, 4}, {4, 4}, {5, 4}, {0, 17}}) {
    TableOptions options = Options(kDim, kBuckets);
    options.first_bucket = range.first;
    options.end_bucket = range.second;
    EXPECT_ERROR(FloatTable::Create(options, &table), Code::kInvalidArgument, "first_bucket");
  }
}

TEST(TablePartitionTest, TakesOnlyKeysOfItsBuckets) {
  const auto table = MakePartition(5, 11);
  Keys keys = KeysIn(5, 11, 100);
  const Found found = Lookup(table.get(), keys);
  EXPECT_EQ(found.embedding(7), Fresh(keys[7], Options(kDim, kBuckets)));
  EXPECT_EQ(table->size(), 100);
  for (int first : {0, 11}) {
    const int64_t foreign = KeysIn(first, first + 5, 1)[0];
    EXPECT_EQ(Lookup(table.get(), {foreign}, OnMissing::kDefault).addresses, Keys{kNoAddress});
    InlineRunner runner;
    int64_t addresses[2];
    const int64_t mixed[2] = {KeysIn(5, 11, 101)[100], foreign};
    EXPECT_ERROR(table->Lookup(mixed, 2, OnMissing::kInsert, nullptr, addresses, nullptr, &runner),
                 Code::kInvalidArgument, "key " + std::to_string(foreign) + " of bucket ");
    EXPECT_EQ(Remove(table.get(), {foreign}), 0);
  }
  EXPECT_EQ(table->size(), 100) << "nothing of a refused batch is there";
}

TEST(TablePartitionTest, CountsOnlyKeysOfItsBuckets) {
  const auto table = MakePartition(5, 11);
  const Keys own = KeysIn(5, 11, 3);
  const KeyUse use = Use(7, 2);
  const int64_t foreign[2] = {own[0], KeysIn(0, 5, 1)[0]};
  int64_t addresses[2];
  InlineRunner runner;
  EXPECT_ERROR(
      table->Lookup(foreign, 2, OnMissing::kInsert, nullptr, addresses, nullptr, &runner, &use),
      Code::kInvalidArgument, "was sent to the partition of buckets 5 to 10");
  EXPECT_EQ(table->admission()->clock(), kNoClock);
  CountedLookup(table.get(), {own[0], own[1], own[1]}, use);
  EXPECT_EQ(WaitingSeen(*table), (SeenByKey{{own[0], {1, 7}}}));
  EXPECT_EQ(RowsSeen(*table), (SeenByKey{{own[1], {2, 7}}}));
  EXPECT_EQ(table->ExportWaiting().size(), 6u) << "of its own buckets";
}

TEST(TablePartitionTest, TakesInOnlyItsOwnWaitingKeys) {
  const auto whole = MakeTable(kDim, kBuckets);
  const Keys keys = KeysIn(0, kBuckets, 200);
  CountedLookup(whole.get(), keys, Use(3, 5));
  const auto waiting = whole->ExportWaiting();
  SeenByKey found;
  for (const auto& range : std::vector<std::pair<int, int>>{{0, 3}, {3, 10}, {10, kBuckets}}) {
    for (int num_parts : {kBuckets, 4}) {  // Of a table of that many buckets, as a warm start has.
      const auto part = MakePartition(range.first, range.second);
      InlineRunner runner;
      const int each = kBuckets / num_parts;
      ASSERT_OK(part->Import({kDim, {}}, SavedAs(), num_parts, &runner, [&](int p) {
        for (int b = p * each; b < (p + 1) * each; ++b) {
          EP_RETURN_IF_ERROR(part->ImportWaiting(p, num_parts, waiting[b]->view()));
        }
        return Status();
      }));
      const SeenByKey own = WaitingSeen(*part);
      for (const auto& key : own) {
        EXPECT_GE(BucketOf(key.first), range.first);
        EXPECT_LT(BucketOf(key.first), range.second);
      }
      EXPECT_EQ(part->stats().waiting, static_cast<int64_t>(own.size())) << "none is elsewhere";
      found.insert(own.begin(), own.end());
    }
  }
  EXPECT_EQ(found, WaitingSeen(*whole));
}

TEST(TablePartitionTest, TheSaveOfTwoPartitionsIsThatOfTheWhole) {
  const Keys keys = KeysIn(0, kBuckets, 500);
  const auto whole = MakeTable(kDim, kBuckets);
  Train(whole.get(), keys);
  std::map<int64_t, Floats> rows;
  SaveInfo info;
  for (const auto& range : std::vector<std::pair<int, int>>{{0, 5}, {5, kBuckets}}) {
    const auto part = MakePartition(range.first, range.second);
    Keys own;
    for (int64_t key : keys) {
      if (BucketOf(key) >= range.first && BucketOf(key) < range.second) own.push_back(key);
    }
    Train(part.get(), own);
    if (range.first == 0) {
      EXPECT_OK(part->PlanSave(SaveKind::kFull, &info));
    }
    const Snapshot snapshot = SavePart(part.get(), info);
    EXPECT_TRUE(part->CommitSave({info.save_id, "whole"}));
    for (const auto& row : snapshot.rows()) EXPECT_TRUE(rows.insert(row).second);
  }
  EXPECT_EQ(rows, Rows(*whole));
}

TEST(TablePartitionTest, RowsAreSavedWithTheSlotsOfThePlan) {
  const Keys keys = KeysIn(8, 16, 20);
  const auto fresh = MakePartition(0, 8);
  const auto trained = MakePartition(8, 16);
  Train(trained.get(), keys);
  SaveInfo info;
  EXPECT_OK(fresh->PlanSave(SaveKind::kFull, &info));
  const Snapshot narrow = SavePart(trained.get(), info);
  EXPECT_EQ(narrow.rows().at(keys[3]), Lookup(trained.get(), {keys[3]}).embeddings);
  EXPECT_OK(trained->PlanSave(SaveKind::kFull, &info));
  Lookup(fresh.get(), KeysIn(0, 8, 1));
  const Floats row = SavePart(fresh.get(), info).rows().at(KeysIn(0, 8, 1)[0]);
  EXPECT_EQ(Floats(row.begin() + kDim, row.end()), (Floats{0.5, 0.5}));
}

TEST(TablePartitionTest, ADeltaIsRelativeToTheSaveOfThePlan) {
  const auto first = MakePartition(0, 8);
  const auto second = MakePartition(8, 16);
  SaveInfo full;
  EXPECT_OK(first->PlanSave(SaveKind::kFull, &full));
  SavePart(first.get(), full);
  SavePart(second.get(), full);
  EXPECT_TRUE(first->CommitSave({full.save_id, "full"}));
  SaveInfo delta;
  EXPECT_OK(first->PlanSave(SaveKind::kDelta, &delta));
  const auto visit = [](int, const BucketView<float>&, const Keys&) { return Status(); };
  EXPECT_ERROR(second->Export(delta, visit), Code::kFailedPrecondition, "relative to");
  EXPECT_TRUE(second->CommitSave({full.save_id, "full"}));
  Train(second.get(), KeysIn(8, 16, 3));
  EXPECT_EQ(SavePart(second.get(), delta).rows().size(), 3u);
}

TEST(TablePartitionTest, ImportsOnlyWhatItOwns) {
  const auto whole = MakeTable(kDim, kBuckets);
  Train(whole.get(), KeysIn(0, kBuckets, 500));
  const Snapshot snapshot = TakeSnapshot(*whole);
  std::map<int64_t, Floats> rows;
  for (const auto& range : std::vector<std::pair<int, int>>{{0, 3}, {3, 10}, {10, kBuckets}}) {
    for (int num_parts : {1, 4, 16}) {  // From a table of that many buckets, or of as many.
      const auto part = MakePartition(range.first, range.second);
      std::set<int> loaded;
      std::mutex mutex;
      ThreadRunner runner(3);
      ASSERT_OK(part->Import(snapshot.layout, SavedAs(), num_parts, &runner, [&](int p) {
        {
          std::lock_guard<std::mutex> lock(mutex);
          loaded.insert(p);
        }
        const int each = kBuckets / num_parts;
        for (int b = p * each; b < (p + 1) * each; ++b) {
          EP_RETURN_IF_ERROR(
              part->ImportRows(p, num_parts, RowsOf(snapshot.layout, snapshot.parts[b])));
        }
        return Status();
      }));
      EXPECT_EQ(*loaded.begin(), range.first * num_parts / kBuckets);
      EXPECT_EQ(*loaded.rbegin(), (range.second - 1) * num_parts / kBuckets);
      const auto own = Rows(*part);
      for (const auto& row : own) {
        EXPECT_GE(BucketOf(row.first), range.first);
        EXPECT_LT(BucketOf(row.first), range.second);
      }
      if (num_parts == 16) rows.insert(own.begin(), own.end());
      EXPECT_EQ(part->size(), static_cast<int64_t>(own.size()));
    }
  }
  EXPECT_EQ(rows, snapshot.rows());
}

}  // namespace
}  // namespace testing
}  // namespace estimator_plugin
