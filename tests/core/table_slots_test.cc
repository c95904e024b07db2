// What happens to the optimizer's state in the rows when the optimizer changes.
#include <gtest/gtest.h>

#include "table_testing.h"

namespace estimator_plugin {
namespace testing {
namespace {

// Rows start at zero and have two values, so that a row reads [w w | slot slot | ...].
std::unique_ptr<FloatTable> ZeroTable() {
  TableOptions options = Options(2);
  options.initializer = InitializerSpec();
  return MakeTable(options);
}

const std::vector<double> kAdam = {0.5, 0.5, 0.5, 1e-8, 0.5, 0.5};

TEST(TableSlotsTest, TheFirstRuleAddsItsSlotsFresh) {
  const auto table = ZeroTable();
  const Keys a = Lookup(table.get(), {1, 2}).addresses;
  UpdateResult result;
  EXPECT_OK(Apply(table.get(), *MakeRule("adagrad", {1, 0, 0.25}), {a[0]}, {0, 0}, &result));
  EXPECT_FALSE(result.slots_changed) << "no optimizer's state was lost";
  EXPECT_EQ(table->layout().width(), 4);
  EXPECT_EQ(Rows(*table).at(1), Floats({0, 0, 0.25f, 0.25f}));
  EXPECT_EQ(Rows(*table).at(2), Floats({0, 0, 0.25f, 0.25f}));
  EXPECT_EQ(Lookup(table.get(), {1, 2}).addresses, a);
}

TEST(TableSlotsTest, RowsInsertedLaterHaveTheSlots) {
  const auto table = ZeroTable();
  const auto rule = MakeRule("adagrad", {1, 0, 0.25});
  EXPECT_OK(Apply(table.get(), *rule, {}, {}));
  Lookup(table.get(), {1});
  EXPECT_EQ(Rows(*table).at(1), Floats({0, 0, 0.25f, 0.25f}));
}

TEST(TableSlotsTest, MatchingSlotsAreKeptAndMissingOnesAreFresh) {
  const auto table = ZeroTable();
  const Keys a = Lookup(table.get(), {1, 2, 3}).addresses;
  EXPECT_EQ(Remove(table.get(), {3}), 1);
  EXPECT_OK(Apply(table.get(), *MakeRule("adam", kAdam), {a[0]}, {4, -4}));
  const Floats adam = Rows(*table).at(1);  // w, m, v of two values each.
  ASSERT_EQ(adam.size(), 6u);
  EXPECT_EQ(Floats(adam.begin() + 2, adam.end()), Floats({2, -2, 8, 8}));
  UpdateResult result;
  EXPECT_OK(Apply(table.get(), *MakeRule("amsgrad", kAdam), {a[1]}, {4, -4}, &result));
  EXPECT_TRUE(result.slots_changed);
  EXPECT_EQ(table->layout().slots.size(), 3u);
  Floats expected = adam;  // Row 1 was not in the batch: m and v as they were, vhat fresh.
  expected.insert(expected.end(), {0, 0});
  EXPECT_EQ(Rows(*table).at(1), expected);
  EXPECT_EQ(Lookup(table.get(), {1, 2}, OnMissing::kDefault).addresses, Keys({a[0], a[1]}));
  EXPECT_OK(Apply(table.get(), *MakeRule("sgd", {1, 0}), {}, {}, &result));
  EXPECT_EQ(Rows(*table).at(1), Floats({adam[0], adam[1]}));
}

TEST(TableSlotsTest, TheSameRuleAgainChangesNothing) {
  const auto table = ZeroTable();
  const Keys a = Lookup(table.get(), {1}).addresses;
  const auto rule = MakeRule("adagrad", {1, 0, 0.25});
  EXPECT_OK(Apply(table.get(), *rule, a, {1, 1}));
  UpdateResult result;
  EXPECT_OK(Apply(table.get(), *rule, a, {1, 1}, &result));
  EXPECT_FALSE(result.slots_changed);
  EXPECT_EQ(Rows(*table).at(1)[2], 2.25f);
}

// Another learning rate or initial value is the same optimizer: its accumulators stay.
TEST(TableSlotsTest, AnotherInitialValueIsForNewRowsOnly) {
  const auto table = ZeroTable();
  const Keys a = Lookup(table.get(), {1}).addresses;
  EXPECT_OK(Apply(table.get(), *MakeRule("adagrad", {1, 0, 0.25}), a, {1, 1}));
  UpdateResult result;
  EXPECT_OK(Apply(table.get(), *MakeRule("adagrad", {1, 0, 9}), a, {1, 1}, &result));
  EXPECT_FALSE(result.slots_changed);
  EXPECT_EQ(Rows(*table).at(1)[2], 2.25f);
  Lookup(table.get(), {2});
  EXPECT_EQ(Rows(*table).at(2)[2], 9.0f);
}

TEST(TableSlotsTest, AnEmptyTableHasNoStateToLose) {
  const auto table = ZeroTable();
  EXPECT_OK(Apply(table.get(), *MakeRule("adagrad", {1, 0, 0.25}), {}, {}));
  UpdateResult result;
  EXPECT_OK(Apply(table.get(), *MakeRule("momentum", {1, 0, 0}), {}, {}, &result));
  EXPECT_FALSE(result.slots_changed);
  EXPECT_EQ(table->layout().slots[0].name, "momentum");
}

TEST(TableSlotsTest, FreedRowsAndFreeOnesSurviveTheChange) {
  const auto table = ZeroTable();
  Keys keys;
  for (int64_t key = 0; key < 2000; ++key) keys.push_back(key);
  const Keys a = Lookup(table.get(), keys).addresses;
  Keys odd;
  for (int64_t key = 1; key < 2000; key += 2) odd.push_back(key);
  EXPECT_EQ(Remove(table.get(), odd), 1000);
  EXPECT_OK(Apply(table.get(), *MakeRule("ftrl", {1, -0.5, 0, 0, 0, 0.1, 0}), {a[0]}, {1, 1}));
  EXPECT_EQ(table->size(), 1000);
  InlineRunner runner;
  Floats embedding(2);
  for (int64_t& key : odd) key += 5000;
  Lookup(table.get(), odd);
  EXPECT_OK(table->Gather(&a[1], 1, nullptr, embedding.data(), &runner));
  EXPECT_EQ(table->stats().stale_reads, 1) << "generations survive too";
  EXPECT_EQ(table->size(), 2000);
  EXPECT_EQ(Lookup(table.get(), {0, 2}, OnMissing::kDefault).addresses, Keys({a[0], a[2]}));
  EXPECT_EQ(Rows(*table).size(), 2000u);
}

}  // namespace
}  // namespace testing
}  // namespace estimator_plugin
