#include "core/change_log.h"

#include <gtest/gtest.h>

namespace estimator_plugin {
namespace {

using Rows = std::vector<uint32_t>;
using Keys = std::vector<int64_t>;

constexpr int64_t kManyLive = 1 << 20;

ChangeLog LogOf(uint32_t rows) {
  ChangeLog log;
  for (uint32_t row = 0; row < rows; ++row) log.AddRow(row);
  return log;
}

TEST(ChangeLogTest, ACommittedSaveEndsTheChanges) {
  ChangeLog log = LogOf(20);
  log.Capture();
  EXPECT_EQ(log.CapturedRows().size(), 20u);
  log.Commit();
  EXPECT_TRUE(log.CapturedRows().empty());
  log.MarkChanged(17);
  log.MarkChanged(3);
  log.Capture();
  EXPECT_EQ(log.CapturedRows(), (Rows{3, 17}));
}

TEST(ChangeLogTest, AnUncommittedSaveLosesNothing) {
  ChangeLog log = LogOf(9);
  log.Capture();
  log.Commit();
  log.MarkChanged(2);
  log.Capture();  // Fails.
  log.MarkChanged(8);
  log.Capture();
  EXPECT_EQ(log.CapturedRows(), (Rows{2, 8}));
}

TEST(ChangeLogTest, ARowTouchedDuringASaveBelongsToTheNext) {
  ChangeLog log = LogOf(4);
  log.Capture();
  log.MarkChanged(1);
  EXPECT_EQ(log.CapturedRows(), (Rows{0, 1, 2, 3}));
  log.Commit();
  log.Capture();
  EXPECT_EQ(log.CapturedRows(), Rows{1});
}

TEST(ChangeLogTest, RemovalsFollowTheSameRule) {
  ChangeLog log = LogOf(4);
  log.RemoveRow(0, 100, kManyLive);
  log.Capture();
  EXPECT_TRUE(log.captured_removals().empty()) << "no save knows the key";
  log.RemoveRow(1, 101, kManyLive);
  log.Capture();
  log.RemoveRow(2, 102, kManyLive);
  EXPECT_EQ(log.captured_removals(), Keys{101});
  log.Capture();
  EXPECT_EQ(log.captured_removals(), (Keys{101, 102}));
  log.Commit();
  log.Capture();
  EXPECT_TRUE(log.captured_removals().empty());
}

TEST(ChangeLogTest, ARemovedRowIsNoChangedRow) {
  ChangeLog log = LogOf(3);
  log.RemoveRow(1, 5, kManyLive);
  log.Capture();
  EXPECT_EQ(log.CapturedRows(), (Rows{0, 2}));
}

TEST(ChangeLogTest, TooManyRemovalsAskForAFullSave) {
  ChangeLog log = LogOf(5000);
  log.Capture();
  log.Commit();
  for (uint32_t row = 0; row < 3000; ++row) log.RemoveRow(row, row, 5000 - row);
  EXPECT_FALSE(log.complete());
  log.Capture();
  EXPECT_FALSE(log.complete()) << "the save that is to make up for it is not whole yet";
  log.Commit();
  EXPECT_TRUE(log.complete());
}

TEST(ChangeLogTest, FewRemovalsAreKeptHoweverSmallTheBucket) {
  ChangeLog log = LogOf(1000);
  log.Capture();
  log.Commit();
  for (uint32_t row = 0; row < 1000; ++row) log.RemoveRow(row, row, 999 - row);
  EXPECT_TRUE(log.complete());
}

TEST(ChangeLogTest, LoadedRowsAreSaved) {
  ChangeLog log = LogOf(30);
  log.MarkAllSaved(30);
  log.Capture();
  EXPECT_TRUE(log.CapturedRows().empty());
}

}  // namespace
}  // namespace estimator_plugin
