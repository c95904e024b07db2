#include "core/row_set.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <thread>

namespace estimator_plugin {
namespace {

using Rows = std::vector<uint32_t>;

Rows Sorted(const std::set<uint32_t>& rows) { return Rows(rows.begin(), rows.end()); }

TEST(RowSetTest, HoldsWhatASetHolds) {
  std::mt19937 random(3);
  RowSet sets[2];
  std::set<uint32_t> models[2];
  uint32_t room = 0;
  for (int i = 0; i < 5000; ++i) {
    const int which = static_cast<int>(random() % 2);
    const uint32_t draw = static_cast<uint32_t>(random());
    if (room == 0 || draw % 50 == 0) {
      room += draw % 97;
      for (RowSet& set : sets) set.Reserve(room);
    } else if (draw % 50 == 1) {
      sets[which].Take(&sets[1 - which]);
      models[which].insert(models[1 - which].begin(), models[1 - which].end());
      models[1 - which].clear();
    } else if (draw % 3 == 0) {
      const uint32_t row = draw / 3 % (2 * room + 1);  // Of some there was never room.
      sets[which].Remove(row);
      models[which].erase(row);
    } else if (room > 0) {
      sets[which].Add(draw / 3 % room);
      models[which].insert(draw / 3 % room);
    }
    ASSERT_EQ(sets[which].rows(), Sorted(models[which])) << "after " << i << " changes";
  }
  sets[0].Clear();
  EXPECT_TRUE(sets[0].rows().empty());
  EXPECT_EQ(sets[1].rows(), Sorted(models[1]));
}

TEST(RowSetTest, ARangeIsItsNumbers) {
  for (uint32_t begin : {0u, 1u, 63u, 64u, 100u}) {
    for (uint32_t end : {100u, 127u, 128u, 129u, 200u}) {
      RowSet set;
      set.Reserve(end);
      set.AddRange(begin, end);
      Rows expected;
      for (uint32_t row = begin; row < end; ++row) expected.push_back(row);
      EXPECT_EQ(set.rows(), expected) << begin << ", " << end;
    }
  }
}

TEST(RowSetTest, TakesFromALargerSetWhatThereIsNoRoomFor) {
  RowSet small, large;
  small.Reserve(10);
  small.Add(9);
  large.Reserve(1000);
  large.Add(999);
  small.Take(&large);
  EXPECT_EQ(small.rows(), (Rows{9, 999}));
  EXPECT_TRUE(large.rows().empty());
}

TEST(RowSetTest, ThreadsAddAtOnce) {
  constexpr uint32_t kRows = 6400;
  constexpr uint32_t kThreads = 4;
  RowSet set;
  set.Reserve(kRows);
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&set, t] {
      for (uint32_t row = t; row < kRows; row += kThreads) set.Add(row);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(set.rows().size(), kRows);
}

}  // namespace
}  // namespace estimator_plugin
