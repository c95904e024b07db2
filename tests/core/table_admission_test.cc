// Which keys get a row, with counts worked out by hand.
#include <gtest/gtest.h>

#include "thread_runner.h"
#include "usage_testing.h"

namespace estimator_plugin {
namespace testing {
namespace {

std::vector<bool> Admitted(FloatTable* table, const Keys& keys, const KeyUse& use) {
  std::vector<bool> admitted;
  for (int64_t address : CountedLookup(table, keys, use)) admitted.push_back(address >= 0);
  return admitted;
}

using Bools = std::vector<bool>;

TEST(TableAdmissionTest, AKeyIsAdmittedOnceItsCountWithTheBatchReachesTheThreshold) {
  const auto table = MakeTable(2);
  EXPECT_EQ(Admitted(table.get(), {5, 6}, Use(10, 3)), Bools({false, false}));
  EXPECT_EQ(table->size(), 0);
  EXPECT_EQ(WaitingSeen(*table), SeenByKey({{5, {1, 10}}, {6, {1, 10}}}));
  // Both occurrences of 5 count before either is tested: 1 + 2.
  EXPECT_EQ(Admitted(table.get(), {5, 6, 5}, Use(20, 3)), Bools({true, false, true}));
  EXPECT_EQ(RowsSeen(*table), SeenByKey({{5, {3, 20}}})) << "the count moves into the row";
  EXPECT_EQ(WaitingSeen(*table), SeenByKey({{6, {2, 20}}}));
  EXPECT_EQ(Rows(*table).at(5), Fresh(5, table->options()));
  // Counts of rows go on.
  EXPECT_EQ(Admitted(table.get(), {5, 5}, Use(30, 3)), Bools({true, true}));
  EXPECT_EQ(RowsSeen(*table), SeenByKey({{5, {5, 30}}}));
  const TableStats stats = table->stats();
  EXPECT_EQ(stats.rows_admitted, 1);
  EXPECT_EQ(stats.waiting, 1);
  EXPECT_EQ(stats.keys_refused, 3);
}

TEST(TableAdmissionTest, TheCoefficientMultipliesOccurrences) {
  const auto table = MakeTable(2);
  EXPECT_EQ(Admitted(table.get(), {1, 2, 2}, Use(1, 5, 2)), Bools({false, false, false}));
  EXPECT_EQ(WaitingSeen(*table), SeenByKey({{1, {2, 1}}, {2, {4, 1}}}));
  EXPECT_EQ(Admitted(table.get(), {1, 2}, Use(2, 5, 2)), Bools({false, true}));
  EXPECT_EQ(RowsSeen(*table), SeenByKey({{2, {6, 2}}}));
  // Another lookup of the table may have another one.
  EXPECT_EQ(Admitted(table.get(), {1}, Use(2, 5, 3)), Bools({true}));
  EXPECT_EQ(RowsSeen(*table), SeenByKey({{1, {7, 2}}, {2, {6, 2}}}));
}

TEST(TableAdmissionTest, OccurrencesOfUniqueKeysAreTakenAtTheirWord) {
  const auto table = MakeTable(2);
  KeyUse use = Use(1, 4, 2);
  const int32_t occurrences[] = {2, 1, 0};
  use.occurrences = occurrences;
  EXPECT_EQ(Admitted(table.get(), {1, 2, 3}, use), Bools({true, false, false}));
  EXPECT_EQ(RowsSeen(*table), SeenByKey({{1, {4, 1}}}));
  EXPECT_EQ(WaitingSeen(*table), SeenByKey({{2, {2, 1}}, {3, {0, 1}}}));
}

TEST(TableAdmissionTest, NoThresholdAdmitsAndCountsZeroAdmitsAndDoesNot) {
  const auto counting = MakeTable(2);
  EXPECT_EQ(Admitted(counting.get(), {1, 1, 2, -1}, Use(7)), Bools({true, true, true, false}));
  EXPECT_EQ(RowsSeen(*counting), SeenByKey({{1, {2, 7}}, {2, {1, 7}}}));
  const auto plain = MakeTable(2);
  EXPECT_EQ(Admitted(plain.get(), {1, 1, 2}, Use(7, 0)), Bools({true, true, true}));
  EXPECT_EQ(Admitted(plain.get(), {1}, Use(9, 0)), Bools({true}));
  EXPECT_EQ(RowsSeen(*plain), SeenByKey({{1, {0, 9}}, {2, {0, 7}}}));
  EXPECT_EQ(counting->stats().waiting + plain->stats().waiting, 0);
}

TEST(TableAdmissionTest, WhatDoesNotTrainChangesNothing) {
  const auto table = MakeTable(2);
  CountedLookup(table.get(), {1, 1, 2}, Use(5, 2));
  const SeenByKey rows = RowsSeen(*table);
  const SeenByKey waiting = WaitingSeen(*table);
  for (int i = 0; i < 5; ++i) Lookup(table.get(), {1, 2, 3}, OnMissing::kDefault);
  EXPECT_EQ(RowsSeen(*table), rows);
  EXPECT_EQ(WaitingSeen(*table), waiting);
  EXPECT_EQ(table->size(), 1);
}

TEST(TableAdmissionTest, ThresholdsChangeInTheMiddleOfTraining) {
  const auto table = MakeTable(2);
  CountedLookup(table.get(), {1, 2, 2, 3, 3, 3}, Use(1, 5));
  EXPECT_OK(table->admission()->SetThreshold(3, 5));
  // 3 has waited with a count of 3; 2 comes to 3; 1 to 2.
  EXPECT_EQ(Admitted(table.get(), {1, 2, 3}, Use(2, 5)), Bools({false, true, true}));
  EXPECT_EQ(RowsSeen(*table), SeenByKey({{2, {3, 2}}, {3, {4, 2}}}));
  EXPECT_OK(table->admission()->SetThreshold(100, 5));
  EXPECT_EQ(Admitted(table.get(), {1, 2, 3}, Use(3, 5)), Bools({false, true, true}));
  // Another threshold of the program itself wins over what was set.
  EXPECT_EQ(Admitted(table.get(), {1}, Use(4, 4)), Bools({true}));
  EXPECT_EQ(RowsSeen(*table).at(1), (Seen{4, 4}));
}

TEST(TableAdmissionTest, ZeroFreezesCountsAndALaterThresholdGoesOn) {
  const auto table = MakeTable(2);
  CountedLookup(table.get(), {1, 1, 1, 2, 2, 3}, Use(1, 3));
  EXPECT_OK(table->admission()->SetThreshold(0, 3));
  const auto expect = [&](int64_t now) {
    EXPECT_EQ(Admitted(table.get(), {1, 2, 2, 4}, Use(now, 3)), Bools({true, false, false, false}));
    EXPECT_EQ(RowsSeen(*table), SeenByKey({{1, {3, now}}})) << "times go on, counts do not";
    EXPECT_EQ(WaitingSeen(*table), SeenByKey({{2, {2, 1}}, {3, {1, 1}}}));
  };
  expect(2);
  expect(3);
  EXPECT_TRUE(table->admission()->state().frozen);
  EXPECT_EQ(table->admission()->state().threshold, 3);
  EXPECT_OK(table->admission()->SetThreshold(3, 3));
  EXPECT_EQ(Admitted(table.get(), {2, 4}, Use(4, 3)), Bools({true, false}));
  EXPECT_EQ(RowsSeen(*table), SeenByKey({{1, {3, 3}}, {2, {3, 4}}}));
}

TEST(TableAdmissionTest, AFrozenCountThatIsEnoughAdmits) {
  const auto table = MakeTable(2);
  CountedLookup(table.get(), {1, 1, 2}, Use(1, 5));
  EXPECT_OK(table->admission()->SetThreshold(2, 5));
  EXPECT_OK(table->admission()->SetThreshold(0, 5));
  EXPECT_EQ(Admitted(table.get(), {1, 2, 2}, Use(2, 5)), Bools({true, false, false}));
}

TEST(TableAdmissionTest, ThresholdsThatCannotBeAreRefused) {
  const auto table = MakeTable(2);
  EXPECT_ERROR(table->admission()->SetThreshold(-1, 2), Code::kInvalidArgument, "-1");
  EXPECT_ERROR(table->admission()->SetThreshold(int64_t{1} << 31, 2), Code::kInvalidArgument,
               "2147483648");
  EXPECT_EQ(table->admission()->state().threshold, kNoThreshold);
}

TEST(TableAdmissionTest, ABadUseIsRefusedAndCountsNothing) {
  const auto table = MakeTable(1);
  InlineRunner runner;
  const int64_t key = 1;
  int64_t address;
  for (const KeyUse& use : {Use(-1, 2), Use(1, 2, 0), Use(1, 2, -3)}) {
    EXPECT_ERROR(
        table->Lookup(&key, 1, OnMissing::kInsert, nullptr, &address, nullptr, &runner, &use),
        Code::kInvalidArgument, "colours");
  }
  EXPECT_TRUE(WaitingSeen(*table).empty());
  EXPECT_EQ(table->admission()->clock(), kNoClock);
}

TEST(TableAdmissionTest, TheClockDoesNotGoBack) {
  const auto table = MakeTable(2);
  CountedLookup(table.get(), {1, 2}, Use(100));
  CountedLookup(table.get(), {2}, Use(50));
  EXPECT_EQ(RowsSeen(*table), SeenByKey({{1, {1, 100}}, {2, {2, 100}}}));
  EXPECT_EQ(table->admission()->clock(), 100);
  EXPECT_EQ(table->stats().backward_clocks, 1);
  CountedLookup(table.get(), {2}, Use(100));
  EXPECT_EQ(table->stats().backward_clocks, 1);
}

TEST(TableAdmissionTest, TheFirstLateTimeIsTakenOnce) {
  const auto table = MakeTable(2);
  CountedLookup(table.get(), {1}, Use(100));
  EXPECT_EQ(table->admission()->TakeFirstLate(), kNoClock);
  CountedLookup(table.get(), {1}, Use(50));
  CountedLookup(table.get(), {1}, Use(40));
  EXPECT_EQ(table->admission()->TakeFirstLate(), 50);
  CountedLookup(table.get(), {1}, Use(30));
  EXPECT_EQ(table->admission()->TakeFirstLate(), kNoClock);
}

TEST(TableAdmissionTest, CountsStopAtTheLargestNumber) {
  const auto table = MakeTable(1);
  for (int i = 0; i < 3; ++i) CountedLookup(table.get(), {1}, Use(1, kMaxCount, kMaxCount / 2 + 9));
  EXPECT_EQ(RowsSeen(*table).at(1).count, kMaxCount);
  CountedLookup(table.get(), {1, 1}, Use(1, kMaxCount, kMaxCount));
  EXPECT_EQ(RowsSeen(*table).at(1).count, kMaxCount);
}

// Rows that were there before time began, in a table that was trained without it, are not older
// than those that come.
TEST(TableAdmissionTest, RowsWithoutATimeGetTheFirst) {
  const auto table = MakeTable(2);
  Lookup(table.get(), {1, 2});
  CountedLookup(table.get(), {3}, Use(1000));
  EXPECT_EQ(RowsSeen(*table), SeenByKey({{1, {0, 1000}}, {2, {0, 1000}}, {3, {1, 1000}}}));
  Lookup(table.get(), {4});
  EXPECT_EQ(RowsSeen(*table).at(4), (Seen{0, 1000}));
}

TEST(TableAdmissionTest, ARowThatIsInsertedWithoutCountingTakesItsCountAlong) {
  const auto table = MakeTable(2);
  CountedLookup(table.get(), {1, 1}, Use(3, 9));
  Lookup(table.get(), {1});
  EXPECT_EQ(RowsSeen(*table), SeenByKey({{1, {2, 3}}}));
  EXPECT_TRUE(WaitingSeen(*table).empty());
}

TEST(TableAdmissionTest, ClearForgetsCountsTimesAndThresholds) {
  const auto table = MakeTable(2);
  CountedLookup(table.get(), {1, 1, 2}, Use(3, 2));
  EXPECT_OK(table->admission()->SetThreshold(7, 2));
  EXPECT_OK(table->Clear());
  EXPECT_TRUE(WaitingSeen(*table).empty());
  EXPECT_EQ(table->admission()->clock(), kNoClock);
  EXPECT_EQ(Admitted(table.get(), {1, 1, 2}, Use(1, 2)), Bools({true, true, false}));
}

// The same numbers with any number of threads, in a batch that is large enough for many shards.
TEST(TableAdmissionTest, ThreadsDoNotMatter) {
  Keys keys;
  for (int64_t i = 0; i < 60000; ++i) keys.push_back(i * i % 9973);
  std::vector<SeenByKey> rows, waiting;
  for (int threads : {1, 3, 8}) {
    const auto table = MakeTable(2);
    ThreadRunner runner(threads);
    for (int64_t step = 1; step <= 3; ++step) {
      CountedLookup(table.get(), keys, Use(step, 30, 2), &runner);
    }
    rows.push_back(RowsSeen(*table));
    waiting.push_back(WaitingSeen(*table));
  }
  std::map<int64_t, int32_t> occurrences;
  for (int64_t key : keys) occurrences[key] += 6;
  for (const auto& entry : occurrences) {
    SeenByKey& seen = entry.second >= 30 ? rows[0] : waiting[0];
    ASSERT_EQ(seen[entry.first], (Seen{entry.second, 3})) << entry.first;
  }
  EXPECT_EQ(rows[0].size() + waiting[0].size(), occurrences.size());
  EXPECT_EQ(rows[1], rows[0]);
  EXPECT_EQ(rows[2], rows[0]);
  EXPECT_EQ(waiting[1], waiting[0]);
  EXPECT_EQ(waiting[2], waiting[0]);
}

TEST(TableAdmissionTest, TablesThatShareARecordAddUpTheirCounts) {
  const auto users = MakeTable(2, 16);
  const auto items = MakeTable(2, 128);
  KeyUse use_users = Use(1, 4);
  use_users.admission.combined = std::make_shared<CombinedCounts>();
  KeyUse use_items = Use(1, 3, 2);
  use_items.admission.combined = use_users.admission.combined;
  EXPECT_EQ(Admitted(users.get(), {7, 7}, use_users), Bools({false, false}));
  EXPECT_EQ(Admitted(items.get(), {7, 8}, use_items), Bools({true, false})) << "2 + 1 x 2";
  EXPECT_EQ(Admitted(users.get(), {8, 7}, use_users), Bools({false, true})) << "2 + 1; 4 + 1";
  EXPECT_EQ(RowsSeen(*items), SeenByKey({{7, {4, 1}}}));
  EXPECT_EQ(RowsSeen(*users), SeenByKey({{7, {5, 1}}}));
  // After admission the record goes on counting: 9 is alone in `users` until `items` has counted.
  Admitted(items.get(), {9, 9}, use_items);
  Admitted(items.get(), {9}, use_items);
  EXPECT_EQ(Admitted(users.get(), {9}, use_users), Bools({true}));
  EXPECT_EQ(RowsSeen(*users).at(9), (Seen{7, 1}));
}

TEST(TableAdmissionTest, ARecordOfSeveralTablesKeepsWhatOneOfThemNeeds) {
  const auto users = MakeTable(2, 16);
  const auto items = MakeTable(2, 16);
  KeyUse use = Use(1, 3);
  use.admission.combined = std::make_shared<CombinedCounts>();
  CountedLookup(users.get(), {1, 1}, use);
  use.now = 11;
  CountedLookup(users.get(), {2}, use);
  CountedLookup(items.get(), {2}, use);
  EXPECT_EQ(Evict(users.get(), "older_than", 10), 0);
  EXPECT_EQ(users->stats().waiting_evicted, 0) << "items has not evicted yet";
  EXPECT_EQ(Evict(items.get(), "older_than", 5), 0);
  EXPECT_EQ(items->stats().waiting_evicted, 1) << "1 was last seen at 1, both are past it";
  EXPECT_EQ(Admitted(users.get(), {1, 2}, use), Bools({false, true}));
}

TEST(TableAdmissionTest, ASketchAdmitsNoLaterThanExactCounts) {
  const auto exact = MakeTable(1);
  const auto sketch = MakeTable(1);
  Keys keys;
  for (int64_t i = 0; i < 20000; ++i) keys.push_back(i * i % 4001);
  KeyUse use = Use(1, 8);
  KeyUse sketched = use;
  sketched.admission.filter = FilterKind::kSketch;
  sketched.admission.sketch_bytes = 1 << 20;
  CountedLookup(exact.get(), keys, use);
  CountedLookup(sketch.get(), keys, sketched);
  const SeenByKey rows = RowsSeen(*exact);
  const SeenByKey estimated = RowsSeen(*sketch);
  EXPECT_GT(rows.size(), 100u);
  for (const auto& entry : rows) {
    ASSERT_EQ(estimated.count(entry.first), 1u);
    ASSERT_GE(estimated.at(entry.first).count, entry.second.count);
  }
  EXPECT_LE(estimated.size(), rows.size() * 1.02);
}

}  // namespace
}  // namespace testing
}  // namespace estimator_plugin
