// Which rows leave, and what becomes of them.
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "usage_testing.h"

namespace estimator_plugin {
namespace testing {
namespace {

std::set<int64_t> KeysOf(FloatTable& table) {
  std::set<int64_t> keys;
  for (const auto& row : Rows(table)) keys.insert(row.first);
  return keys;
}

using KeySet = std::set<int64_t>;

TEST(TableEvictTest, RowsAndWaitingKeysLeaveByAge) {
  const auto table = MakeTable(2);
  CountedLookup(table.get(), {1, 1, 2, 2, 3}, Use(100, 2));
  CountedLookup(table.get(), {2, 4}, Use(150, 2));
  EXPECT_EQ(Evict(table.get(), "older_than", 51), 0) << "150 - 100 is less";
  EXPECT_EQ(Evict(table.get(), "older_than", 50), 1);
  EXPECT_EQ(KeysOf(*table), KeySet({2}));
  EXPECT_EQ(WaitingSeen(*table), SeenByKey({{4, {1, 150}}}));
  // A key that left counts from zero.
  EXPECT_EQ(CountedLookup(table.get(), {1}, Use(151, 2)), Keys({kNoAddress}));
  const TableStats stats = table->stats();
  EXPECT_EQ(stats.rows_evicted, 1);
  EXPECT_EQ(stats.rows_removed, 1);
  EXPECT_EQ(stats.waiting_evicted, 1);
  EXPECT_EQ(Evict(table.get(), "older_than", 0), 1) << "everything is as old as that";
  EXPECT_TRUE(WaitingSeen(*table).empty());
}

TEST(TableEvictTest, WithoutAClockNothingIsOld) {
  const auto table = MakeTable(2);
  Lookup(table.get(), {1, 2});
  EXPECT_EQ(Evict(table.get(), "older_than", 0), 0);
  CountedLookup(table.get(), {3}, Use(1000000));
  EXPECT_EQ(Evict(table.get(), "older_than", 1), 0) << "rows without a time have the first";
}

TEST(TableEvictTest, RowsLeaveByNorm) {
  TableOptions options = Options(2);
  options.initializer.kind = "constant";
  options.initializer.arguments = {0};
  const auto table = MakeTable(options);
  const Keys a = Lookup(table.get(), {1, 2, 3}).addresses;
  EXPECT_OK(Apply(table.get(), *MakeRule("sgd", {1, 0}), a, {3, 4, 0.3f, 0.4f, -3, -3.9f}));
  EXPECT_EQ(Evict(table.get(), "small_norm", 0.4), 0);
  EXPECT_EQ(Evict(table.get(), "small_norm", 5), 2) << "norms 5, 0.5 and 4.92";
  EXPECT_EQ(KeysOf(*table), KeySet({1}));
}

TEST(TableEvictTest, ARowBudgetKeepsTheMostRecentAndTheMostFrequent) {
  for (const char* policy : {"least_recent", "least_frequent"}) {
    const auto table = MakeTable(2);
    CountedLookup(table.get(), {10, 11, 12, 13}, Use(1));
    CountedLookup(table.get(), {12, 20, 20, 20}, Use(2));
    CountedLookup(table.get(), {10, 30}, Use(3));
    EXPECT_EQ(Evict(table.get(), policy, 6), 0);
    EXPECT_EQ(Evict(table.get(), policy, 4), 2);
    // Last seen: 11 and 13 at 1. Counts: 11, 13 and 30 once; the smaller keys go first.
    EXPECT_EQ(KeysOf(*table), KeySet({10, 12, 20, 30})) << policy;
    EXPECT_EQ(Evict(table.get(), policy, 2), 2);
    EXPECT_EQ(KeysOf(*table),
              std::string(policy) == "least_recent" ? KeySet({10, 30}) : KeySet({12, 20}))
        << policy;
    EXPECT_EQ(Evict(table.get(), policy, 0), 2);
    EXPECT_EQ(table->size(), 0);
  }
}

TEST(TableEvictTest, BadRulesAreRefusedAndChangeNothing) {
  const auto table = MakeTable(2);
  CountedLookup(table.get(), {1}, Use(1));
  InlineRunner runner;
  int64_t evicted;
  EXPECT_ERROR(table->Evict({"oldest", 1}, &runner, &evicted), Code::kInvalidArgument, "oldest");
  EXPECT_ERROR(table->Evict({"older_than", -1}, &runner, &evicted), Code::kInvalidArgument, "-1");
  EXPECT_ERROR(
      table->Evict({"small_norm", std::numeric_limits<double>::quiet_NaN()}, &runner, &evicted),
      Code::kInvalidArgument, "colours");
  EXPECT_OK(
      table->Evict({"older_than", std::numeric_limits<double>::infinity()}, &runner, &evicted));
  EXPECT_OK(table->Evict({"least_recent", 1e300}, &runner, &evicted));
  EXPECT_EQ(table->size(), 1);
}

TEST(TableEvictTest, AReusedRowStartsFreshInEverything) {
  const auto table = MakeTable(2, 1);
  const auto rule = MakeRule("adagrad", {1, 0, 0.5});
  const Keys old = CountedLookup(table.get(), {1, 1, 1}, Use(10));
  EXPECT_OK(Apply(table.get(), *rule, {old[0]}, {3, 3}));
  EXPECT_EQ(Evict(table.get(), "older_than", 0), 1);
  const Keys fresh = CountedLookup(table.get(), {7}, Use(11));
  EXPECT_EQ(RowOfAddress(fresh[0]), RowOfAddress(old[0]));
  Floats expected = Fresh(7, table->options());
  expected.insert(expected.end(), {0.5f, 0.5f});
  EXPECT_EQ(Rows(*table).at(7), expected);
  EXPECT_EQ(RowsSeen(*table), SeenByKey({{7, {1, 11}}}));
}

TEST(TableEvictTest, ADeltaRemovesWhatWasEvicted) {
  const auto table = MakeTable(2);
  CountedLookup(table.get(), {1, 2, 3}, Use(10));
  const Snapshot full = TakeSnapshot(*table);
  EXPECT_TRUE(table->CommitSave({full.info.save_id, "base"}));
  CountedLookup(table.get(), {2}, Use(20));
  EXPECT_EQ(Evict(table.get(), "older_than", 5), 2);
  const Snapshot delta = Save(table.get(), SaveKind::kDelta);
  EXPECT_EQ(delta.removed(), KeySet({1, 3}));
  EXPECT_EQ(RowsSeen(delta), SeenByKey({{2, {2, 20}}})) << "counted, so it is in the delta";
  const auto restored = MakeTable(2);
  EXPECT_OK(ImportChain(restored.get(), {full, delta}));
  EXPECT_EQ(RowsSeen(*restored), RowsSeen(*table));
}

Keys Range(int64_t begin, int64_t end) {
  Keys keys;
  for (int64_t key = begin; key < end; ++key) keys.push_back(key);
  return keys;
}

TEST(TableEvictTest, MemoryDoesNotGrowWhenRowsComeAndGo) {
  const auto table = MakeTable(32, 4);
  CountedLookup(table.get(), Range(0, 40000), Use(1, 1));
  const int64_t bytes = table->stats().bytes;
  for (int64_t round = 2; round < 10; ++round) {
    CountedLookup(table.get(), Range((round - 1) * 20000, round * 20000), Use(round, 1));
    EXPECT_EQ(Evict(table.get(), "older_than", 1), 20000);
    CountedLookup(table.get(), Range(round * 20000, (round + 1) * 20000), Use(round, 1));
    EXPECT_EQ(table->size(), 40000);
  }
  EXPECT_LE(table->stats().bytes, bytes * 1.05);
}

TEST(TableEvictTest, PagesThatWereEmptiedAreGivenBack) {
  const auto table = MakeTable(256, 1);  // 2,048 rows a huge page.
  CountedLookup(table.get(), Range(0, 10000), Use(1));
  CountedLookup(table.get(), Range(10000, 20000), Use(2));
  const int64_t full = table->stats().bytes;
  EXPECT_EQ(Evict(table.get(), "older_than", 1), 10000);
  EXPECT_LT(table->stats().bytes, full - 8000 * 1024) << "four of them are empty now";
  const Keys again = Range(20000, 30000);
  CountedLookup(table.get(), again, Use(3));
  EXPECT_LE(table->stats().bytes, full * 1.01);
  const auto rows = Rows(*table);
  for (int64_t key : Range(10000, 30000)) ASSERT_EQ(rows.at(key), Fresh(key, table->options()));
}

}  // namespace
}  // namespace testing
}  // namespace estimator_plugin
