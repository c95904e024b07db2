#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "crafted_keys.h"
#include "table_testing.h"

namespace estimator_plugin {
namespace testing {
namespace {

Keys Range(int64_t begin, int64_t end) {
  Keys keys;
  for (int64_t key = begin; key < end; ++key) keys.push_back(key);
  return keys;
}

TEST(TableRemoveTest, RemovesTheKeysThatAreThere) {
  const auto table = MakeTable(2);
  Lookup(table.get(), {1, 2, 3, INT64_MIN});
  EXPECT_EQ(Remove(table.get(), {2, 99, -1, INT64_MIN, 2}), 2);
  EXPECT_EQ(table->size(), 2);
  const Found found = Lookup(table.get(), {1, 2, 3, INT64_MIN}, OnMissing::kDefault);
  EXPECT_NE(found.addresses[0], kNoAddress);
  EXPECT_EQ(found.addresses[1], kNoAddress);
  EXPECT_NE(found.addresses[2], kNoAddress);
  EXPECT_EQ(found.addresses[3], kNoAddress);
  EXPECT_EQ(Remove(table.get(), {}), 0);
}

TEST(TableRemoveTest, AReusedRowStartsFromItsInitializerWithFreshSlots) {
  const auto table = MakeTable(2, 1);
  const auto rule = MakeRule("adagrad", {1, 0, 0.5});
  const Keys a = Lookup(table.get(), {1, 2}).addresses;
  EXPECT_OK(Apply(table.get(), *rule, a, Floats(4, 3.0f)));
  EXPECT_EQ(Remove(table.get(), {1}), 1);
  const Found found = Lookup(table.get(), {7});
  EXPECT_EQ(RowOfAddress(found.addresses[0]), RowOfAddress(a[0])) << "the freed row is used again";
  Floats expected = Fresh(7, table->options());
  expected.insert(expected.end(), {0.5f, 0.5f});
  EXPECT_EQ(Rows(*table).at(7), expected);
  EXPECT_EQ(Remove(table.get(), {7}), 1);
  Lookup(table.get(), {1});
  Floats again = Fresh(1, table->options());
  again.insert(again.end(), {0.5f, 0.5f});
  EXPECT_EQ(Rows(*table).at(1), again) << "a key that comes back starts anew";
}

TEST(TableRemoveTest, ReusesMemory) {
  const auto table = MakeTable(16, 4);
  Lookup(table.get(), Range(0, 20000));
  const int64_t bytes = table->stats().bytes;
  for (int64_t round = 1; round < 10; ++round) {
    EXPECT_EQ(Remove(table.get(), Range((round - 1) * 20000, round * 20000)), 20000);
    EXPECT_EQ(table->size(), 0);
    Lookup(table.get(), Range(round * 20000, (round + 1) * 20000));
  }
  EXPECT_EQ(table->size(), 20000);
  EXPECT_LE(table->stats().bytes, bytes * 1.1);
}

TEST(TableRemoveTest, OverflowedKeysOfOnePlaceStayFound) {
  const auto table = MakeTable(1, 2);
  const Keys keys = KeysOfOnePlace(0xffffffffu, 0x8000, 100);
  Lookup(table.get(), keys);
  for (size_t gone = 0; gone < keys.size(); gone += 3) {
    ASSERT_EQ(Remove(table.get(), {keys[gone]}), 1);
    const Found found = Lookup(table.get(), keys, OnMissing::kDefault);
    for (size_t i = 0; i < keys.size(); ++i) {
      const bool removed = i % 3 == 0 && i <= gone;
      ASSERT_EQ(found.addresses[i] == kNoAddress, removed) << i << " after " << gone;
    }
  }
}

TEST(TableRemoveTest, ClearForgetsEverything) {
  const auto table = MakeTable(8);
  const auto rule = MakeRule("adagrad", {1, 0, 0.5});
  const Keys keys = Range(0, 5000);
  const Keys a = Lookup(table.get(), keys).addresses;
  EXPECT_OK(Apply(table.get(), *rule, a, Floats(5000 * 8, 1.0f)));
  EXPECT_OK(table->Clear());
  EXPECT_EQ(table->size(), 0);
  EXPECT_LE(table->stats().bytes, MakeTable(8)->stats().bytes);
  EXPECT_TRUE(Rows(*table).empty());
  InlineRunner runner;
  Floats embedding(8);
  EXPECT_ERROR(table->Gather(a.data(), 1, nullptr, embedding.data(), &runner),
               Code::kInvalidArgument, std::to_string(a[0]));
  EXPECT_EQ(Lookup(table.get(), {3}).embeddings, Fresh(3, table->options()));
  EXPECT_OK(table->Clear());
  EXPECT_OK(table->Clear());
  EXPECT_EQ(table->size(), 0);
}

// Exports a table and keeps the views, as an asynchronous save does.
struct Held {
  RowLayout layout;
  std::vector<BucketView<float>> views;

  std::map<int64_t, Floats> rows() const {
    Snapshot snapshot;
    snapshot.layout = layout;
    for (const BucketView<float>& view : views) {
      snapshot.parts.push_back(CopyView(view, layout.width()));
    }
    return snapshot.rows();
  }
};

Held Hold(FloatTable& table) {
  Held held;
  SaveInfo info;
  EXPECT_OK(table.PlanSave(SaveKind::kFull, &info));
  held.layout = info.layout;
  EXPECT_OK(table.Export(info, [&held](int, const BucketView<float>& view, const Keys&) {
    held.views.push_back(view);
    return Status();
  }));
  return held;
}

TEST(TableRemoveTest, AViewStaysWholeWhileRowsGoAndCome) {
  const auto table = MakeTable(4, 4);
  Lookup(table.get(), Range(0, 3000));
  const auto before = Rows(*table);
  Held held = Hold(*table);
  EXPECT_EQ(Remove(table.get(), Range(0, 2000)), 2000);
  Lookup(table.get(), Range(10000, 30000));
  EXPECT_EQ(held.rows(), before);
  EXPECT_EQ(table->size(), 21000);
  Keys now;  // A second export shows the table as it is now.
  for (const auto& entry : Rows(*table)) now.push_back(entry.first);
  Keys expected = Range(2000, 3000);
  for (int64_t key : Range(10000, 30000)) expected.push_back(key);
  EXPECT_EQ(now, expected);
  EXPECT_EQ(held.rows(), before);
  held = Held();
  const int64_t bytes = table->stats().bytes;
  Lookup(table.get(), Range(50000, 51900));  // Into the 2000 rows that the view kept.
  EXPECT_LE(table->stats().bytes, bytes * 1.02);
}

TEST(TableRemoveTest, AViewStaysWholeWhenTheTableIsClearedReplacedAndDestroyed) {
  auto table = MakeTable(4, 4);
  Lookup(table.get(), Range(0, 3000));
  const auto before = Rows(*table);
  const Held first = Hold(*table);
  EXPECT_OK(table->Clear());
  Lookup(table.get(), Range(5000, 9000));
  EXPECT_EQ(first.rows(), before);
  const auto second_rows = Rows(*table);
  const Held second = Hold(*table);
  EXPECT_OK(Apply(table.get(), *MakeRule("adam", {0.5, 0.5, 0.5, 1e-8, 0.5, 0.5}), {}, {}));
  EXPECT_EQ(second.rows(), second_rows) << "rows were laid out anew under the view";
  EXPECT_OK(ImportSnapshot(table.get(), TakeSnapshot(*table)));
  table.reset();
  EXPECT_EQ(first.rows(), before);
  EXPECT_EQ(second.rows(), second_rows);
}

// Rows freed before, under and after a view are all reused in the end, and never twice.
TEST(TableRemoveTest, NoRowIsGivenToTwoKeys) {
  const auto table = MakeTable(1, 2);
  Lookup(table.get(), Range(0, 100));
  Remove(table.get(), Range(0, 20));
  Held held = Hold(*table);
  Remove(table.get(), Range(20, 60));
  Lookup(table.get(), Range(200, 230));
  held = Held();
  Remove(table.get(), Range(60, 80));
  Held again = Hold(*table);
  Lookup(table.get(), Range(300, 400));
  Keys keys = Range(80, 100);
  for (int64_t key : Range(200, 230)) keys.push_back(key);
  for (int64_t key : Range(300, 400)) keys.push_back(key);
  const Keys addresses = Lookup(table.get(), keys, OnMissing::kDefault).addresses;
  EXPECT_EQ(std::set<int64_t>(addresses.begin(), addresses.end()).size(), keys.size());
  EXPECT_EQ(std::count(addresses.begin(), addresses.end(), kNoAddress), 0);
  EXPECT_EQ(table->size(), static_cast<int64_t>(keys.size()));
}

}  // namespace
}  // namespace testing
}  // namespace estimator_plugin
