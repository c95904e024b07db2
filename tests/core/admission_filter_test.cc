// The filters that count keys before they are admitted, and the set of rows that are free.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <set>

#include "core/count_sketch.h"
#include "core/free_rows.h"
#include "core/hash.h"
#include "core/waiting_keys.h"

namespace estimator_plugin {
namespace {

void Count(AdmissionFilter* filter, int64_t key, int32_t times, int64_t now = 1) {
  Counting counting;
  counting.coefficient = times;
  counting.now = now;
  const MissingKey missing = {key, 0};
  filter->Count(&missing, 1, counting);
}

TEST(WaitingKeysTest, AgreesWithAMap) {
  std::mt19937_64 random(3);
  WaitingKeys filter;
  std::map<int64_t, std::pair<int32_t, int64_t>> model;
  for (int step = 0; step < 200000; ++step) {
    const int64_t key = static_cast<int64_t>(random() % 3000);
    const int32_t times = static_cast<int32_t>(random() % 3);
    switch (random() % 8) {
      case 0: {
        const auto found = model.find(key);
        ASSERT_EQ(filter.Take(key), found == model.end() ? 0 : found->second.first);
        model.erase(key);
        break;
      }
      case 1:
        ASSERT_EQ(filter.CountOf(key), model.count(key) == 0 ? 0 : model[key].first);
        break;
      default:
        Count(&filter, key, times, step);
        model[key].first += times;
        model[key].second = step;
    }
    if (step % 20000 == 0) {
      int64_t removed = 0;
      for (auto it = model.begin(); it != model.end();) {
        if (it->second.second <= step - 5000) {
          it = model.erase(it);
          ++removed;
        } else {
          ++it;
        }
      }
      ASSERT_EQ(filter.RemoveOlder(step - 5000), removed);
    }
    ASSERT_EQ(filter.waiting(), static_cast<int64_t>(model.size()));
  }
  WaitingRecords records;
  filter.Save(&records);
  WaitingKeys loaded;
  loaded.Load(records.view());
  ASSERT_EQ(records.keys.size(), model.size());
  for (const auto& entry : model) ASSERT_EQ(loaded.CountOf(entry.first), entry.second.first);
}

TEST(WaitingKeysTest, GivesMemoryBackWhenKeysLeave) {
  WaitingKeys filter;
  for (int64_t key = 0; key < 100000; ++key) Count(&filter, key, 1, key);
  const int64_t full = filter.bytes();
  EXPECT_EQ(filter.RemoveOlder(99990), 99991);
  EXPECT_EQ(filter.waiting(), 9);
  EXPECT_LT(filter.bytes(), full / 1000);
}

// The bound that count_sketch.h states: at most e * N / width too much, but for a share of e^-4.
TEST(CountSketchTest, IsNeverTooLowAndSeldomMuchTooHigh) {
  const int64_t width = 1024;
  CountSketch sketch(width);
  std::mt19937_64 random(11);
  std::map<int64_t, int32_t> counts;
  int64_t total = 0;
  for (int i = 0; i < 200000; ++i) {
    const int64_t key = static_cast<int64_t>(random() % 20000);
    Count(&sketch, key, 1);
    ++counts[key];
    ++total;
  }
  const double bound = std::exp(1.0) * static_cast<double>(total) / width;
  int64_t beyond = 0;
  for (const auto& entry : counts) {
    const int32_t estimate = sketch.CountOf(entry.first);
    ASSERT_GE(estimate, entry.second);
    beyond += estimate > entry.second + bound;
  }
  EXPECT_LE(static_cast<double>(beyond), std::exp(-4.0) * static_cast<double>(counts.size()));
  EXPECT_EQ(sketch.Take(5), sketch.CountOf(5));
}

TEST(CountSketchTest, ALargeOneCountsExactly) {
  CountSketch sketch(1 << 16);
  for (int64_t key = 0; key < 1000; ++key) Count(&sketch, key, static_cast<int32_t>(key));
  int64_t exact = 0;
  for (int64_t key = 0; key < 1000; ++key) exact += sketch.CountOf(key) == key;
  EXPECT_GE(exact, 999);
  EXPECT_EQ(sketch.CountOf(INT64_MIN), 0);
}

TEST(CountSketchTest, AnotherWidthTakesItOverWithoutLosingCounts) {
  for (int64_t width : {256, 1024, 4096}) {
    CountSketch from(1024);
    for (int64_t key = 0; key < 500; ++key) Count(&from, key, static_cast<int32_t>(key % 9));
    WaitingRecords records;
    from.Save(&records);
    ASSERT_TRUE(CountSketch::IsCells(static_cast<int64_t>(records.sketch.size())));
    CountSketch to(width);
    to.Load(records.view());
    for (int64_t key = 0; key < 500; ++key) {
      ASSERT_GE(to.CountOf(key), key % 9) << width;
      ASSERT_TRUE(width != 1024 || to.CountOf(key) == from.CountOf(key));
    }
  }
  CountSketch to(1024);
  const int64_t key = 77;
  const int32_t count = 6;
  const int64_t time = 1;
  WaitingView exact;
  exact.n = 1;
  exact.keys = &key;
  exact.counts = &count;
  exact.last_seen = &time;
  to.Load(exact);
  EXPECT_EQ(to.CountOf(77), 6);
}

TEST(CountSketchTest, WidthsFitTheirBytes) {
  EXPECT_EQ(CountSketch::WidthFor(64 << 20, 64), 65536);  // 64 MiB / 64 / (4 rows x 4 bytes).
  EXPECT_EQ(CountSketch::WidthFor((64 << 20) - 1, 64), 32768);
  EXPECT_EQ(CountSketch::WidthFor(1, 64), 64);
  for (int64_t cells : {-4, 0, 3, 4 * 3, 4 * 64 + 1}) EXPECT_FALSE(CountSketch::IsCells(cells));
  EXPECT_TRUE(CountSketch::IsCells(4 * 64));
}

TEST(FreeRowsTest, GivesTheLowestFirst) {
  std::mt19937_64 random(9);
  FreeRows rows;
  std::set<uint32_t> model;
  for (int step = 0; step < 100000; ++step) {
    if (random() % 5 < 3 && model.size() < 3000) {
      const uint32_t row = static_cast<uint32_t>(random() % 20000);
      if (model.insert(row).second) rows.Add(row);
    } else if (!model.empty()) {
      ASSERT_EQ(rows.TakeLowest(), *model.begin());
      model.erase(model.begin());
    }
    ASSERT_EQ(rows.size(), static_cast<int64_t>(model.size()));
  }
}

TEST(FreeRowsTest, KnowsWhetherARangeIsFree) {
  FreeRows rows;
  for (uint32_t row = 100; row < 300; ++row) {
    if (row != 200) rows.Add(row);
  }
  EXPECT_TRUE(rows.HasAll(100, 200));
  EXPECT_TRUE(rows.HasAll(201, 300));
  EXPECT_TRUE(rows.HasAll(128, 192));
  EXPECT_TRUE(rows.HasAll(5, 5));
  EXPECT_FALSE(rows.HasAll(99, 101));
  EXPECT_FALSE(rows.HasAll(199, 201));
  EXPECT_FALSE(rows.HasAll(250, 301));
  EXPECT_FALSE(rows.HasAll(250, 100000));
}

}  // namespace
}  // namespace estimator_plugin
