#include "core/row_store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <random>
#include <set>
#include <unordered_map>

#include "core/address.h"
#include "status_testing.h"

namespace estimator_plugin {
namespace {

constexpr int64_t kSmallRange = 64 << 10;  // Used up after some hundred rows.

// Fills a row with bytes that only `key` has.
void Write(const RowStore& store, uint32_t row, int64_t key) {
  std::memset(store.row(row), static_cast<int>(key * 37 % 251), store.row_bytes());
}

bool Holds(const char* row, int64_t row_bytes, int64_t key) {
  const char wanted = static_cast<char>(key * 37 % 251);
  for (int64_t i = 0; i < row_bytes; ++i) {
    if (row[i] != wanted) return false;
  }
  return true;
}

uint32_t Add(RowStore* store, int64_t key) {
  uint32_t row = kNoRow;
  EXPECT_OK(store->Add(key, &row));
  Write(*store, row, key);
  return row;
}

TEST(RowStoreTest, AnEmptyOneHasNoRow) {
  const RowStore store(64);
  EXPECT_EQ(store.used(), 0u);
  EXPECT_EQ(store.live(), 0);
  EXPECT_EQ(store.bytes(), 0);
  EXPECT_FALSE(store.IsLive(0));
  EXPECT_FALSE(store.IsLive(kNoRow));
  const std::shared_ptr<const void> pin = store.Pin();  // Of nothing; must not crash.
}

TEST(RowStoreTest, RowsAreNumberedInOrderAndContiguous) {
  RowStore store(40);
  for (int64_t key = 0; key < 1000; ++key) ASSERT_EQ(Add(&store, key * 3), key);
  EXPECT_EQ(store.used(), 1000u);
  EXPECT_EQ(store.live(), 1000);
  for (uint32_t row = 0; row < 1000; ++row) {
    ASSERT_EQ(store.row(row), store.row(0) + row * 40);
    ASSERT_TRUE(store.IsLive(row));
    ASSERT_EQ(store.keys()[row], row * 3);
    ASSERT_EQ(store.uses()[row].count, 0);
    ASSERT_EQ(store.uses()[row].last_seen, 0);
    ASSERT_TRUE(Holds(store.row(row), 40, row * 3));
  }
  EXPECT_FALSE(store.IsLive(1000));
}

TEST(RowStoreTest, RowsAreAlignedForTheirValues) {
  for (int64_t first_range : {int64_t{1}, kSmallRange, RowStore::kFirstRangeBytes}) {
    RowStore store(64, first_range);
    Add(&store, 1);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(store.row(0)) % 64, 0u) << first_range;
  }
}

// Row numbers, and so addresses, outlive every move into a larger range.
TEST(RowStoreTest, GrowsFarBeyondItsFirstRange) {
  for (int64_t row_bytes : {4, 60, 4096, 3 << 20}) {
    RowStore store(row_bytes, kSmallRange);
    const int64_t rows = row_bytes > 4096 ? 40 : 20000;
    for (int64_t key = 0; key < rows; ++key) {
      const uint32_t row = Add(&store, key);
      ASSERT_EQ(row, key);
      store.SetUsage(row, static_cast<int32_t>(key), key + 5);
    }
    for (int64_t key = 0; key < rows; ++key) {
      const uint32_t row = static_cast<uint32_t>(key);
      ASSERT_TRUE(Holds(store.row(row), row_bytes, key)) << key;
      ASSERT_EQ(store.keys()[row], key);
      ASSERT_EQ(store.uses()[row].count, key);
      ASSERT_EQ(store.uses()[row].last_seen, key + 5);
    }
    EXPECT_EQ(store.live(), rows);
  }
}

TEST(RowStoreTest, FreedRowsAreReusedWithZeroedMetadata) {
  RowStore store(16, kSmallRange);
  for (int64_t key = 0; key < 100; ++key) store.SetUsage(Add(&store, key), 7, 9);
  std::set<uint32_t> freed;
  for (uint32_t row = 10; row < 60; row += 5) {
    store.Free(row);
    freed.insert(row);
    EXPECT_FALSE(store.IsLive(row));
  }
  EXPECT_EQ(store.live(), 90);
  EXPECT_EQ(store.used(), 100u);
  for (int64_t key = 200; !freed.empty(); ++key) {
    const uint32_t row = Add(&store, key);
    ASSERT_EQ(freed.erase(row), 1u) << "row " << row << " was not free";
    EXPECT_TRUE(store.IsLive(row));
    EXPECT_EQ(store.keys()[row], key);
    EXPECT_EQ(store.uses()[row].count, 0);
    EXPECT_EQ(store.uses()[row].last_seen, 0);
  }
  EXPECT_EQ(Add(&store, 999), 100u);
  EXPECT_EQ(store.live(), 101);
}

TEST(RowStoreTest, APinnedRowIsKeptUntilThePinIsDropped) {
  RowStore store(16, kSmallRange);
  for (int64_t key = 0; key < 10; ++key) Add(&store, key);
  std::shared_ptr<const void> pin = store.Pin();
  std::shared_ptr<const void> second = store.Pin();
  store.Free(3);
  EXPECT_FALSE(store.IsLive(3));
  EXPECT_EQ(store.live(), 9);
  EXPECT_EQ(store.keys()[3], 3) << "a view still reads it";
  EXPECT_EQ(Add(&store, 100), 10u);
  pin.reset();
  EXPECT_EQ(Add(&store, 101), 11u) << "the second view is still alive";
  EXPECT_TRUE(Holds(store.row(3), 16, 3));
  second.reset();
  EXPECT_EQ(Add(&store, 102), 3u);
  EXPECT_EQ(store.keys()[3], 102);
}

TEST(RowStoreTest, ARowFreedBeforeThePinStaysReusable) {
  RowStore store(16, kSmallRange);
  for (int64_t key = 0; key < 10; ++key) Add(&store, key);
  store.Free(4);
  const std::shared_ptr<const void> pin = store.Pin();
  store.Free(5);
  // A row that was free when the view was made is in no view; 5 is.
  for (int64_t key = 20; key < 25; ++key) EXPECT_NE(Add(&store, key), 5u);
  EXPECT_EQ(store.keys()[5], 5);
}

TEST(RowStoreTest, AViewOutlivesGrowthAndTheStore) {
  std::unique_ptr<RowStore> store(new RowStore(60, kSmallRange));
  for (int64_t key = 0; key < 300; ++key) store->SetUsage(Add(store.get(), key), 1, key);
  std::shared_ptr<const void> pin = store->Pin();
  const int64_t* keys = store->keys();
  const RowUse* uses = store->uses();
  const char* rows = store->row(0);
  store->Free(7);
  for (int64_t key = 300; key < 20000; ++key) Add(store.get(), key);
  ASSERT_NE(store->row(0), rows) << "the range was meant to be used up";
  EXPECT_EQ(store->live(), 20000 - 1);
  store.reset();
  for (int64_t key = 0; key < 300; ++key) {
    ASSERT_EQ(keys[key], key);
    ASSERT_EQ(uses[key].last_seen, key);
    ASSERT_TRUE(Holds(rows + key * 60, 60, key)) << key;
  }
}

TEST(RowStoreTest, RowsFreedUnderAViewAreReusedAfterGrowth) {
  RowStore store(60, kSmallRange);
  for (int64_t key = 0; key < 100; ++key) Add(&store, key);
  std::shared_ptr<const void> pin = store.Pin();
  for (uint32_t row = 0; row < 50; ++row) store.Free(row);
  ASSERT_OK(store.Reserve(50000));
  pin.reset();
  std::set<uint32_t> rows;
  for (int64_t key = 200; key < 250; ++key) rows.insert(Add(&store, key));
  EXPECT_EQ(rows.size(), 50u);
  EXPECT_EQ(*rows.rbegin(), 49u) << "reuses the freed rows first";
  EXPECT_EQ(store.used(), 100u);
  EXPECT_EQ(store.live(), 100);
}

TEST(RowStoreTest, ReserveChangesNoRow) {
  RowStore store(60, kSmallRange);
  EXPECT_OK(store.Reserve(0));
  EXPECT_OK(store.Reserve(10));
  for (int64_t key = 0; key < 100; ++key) Add(&store, key);
  EXPECT_OK(store.Reserve(50));
  EXPECT_OK(store.Reserve(100000));
  for (int64_t key = 0; key < 100; ++key) ASSERT_TRUE(Holds(store.row(key), 60, key)) << key;
  EXPECT_EQ(store.used(), 100u);
  for (int64_t key = 100; key < 100000; ++key) ASSERT_EQ(Add(&store, key), key);
}

TEST(RowStoreTest, RefusesMoreRowsThanABucketHolds) {
  RowStore store(16, kSmallRange);
  Add(&store, 1);
  EXPECT_ERROR(store.Reserve(static_cast<int64_t>(kMaxRowsPerBucket) + 1), Code::kResourceExhausted,
               "");
  EXPECT_EQ(Add(&store, 2), 1u);
}

TEST(RowStoreTest, RefusesMoreThanTheAddressSpace) {
  RowStore store(int64_t{8192} * 4 * 4, kSmallRange);
  Add(&store, 1);
  EXPECT_ERROR(store.Reserve(kMaxRowsPerBucket), Code::kResourceExhausted, "");
  EXPECT_TRUE(Holds(store.row(0), store.row_bytes(), 1));
  EXPECT_EQ(Add(&store, 2), 1u);
}

// The sanitizers keep memory of their own beside the program's.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kShadow = 8;
#else
constexpr int kShadow = 1;
#endif

int64_t ResidentBytes() {
  long total = 0, resident = 0;
  FILE* file = std::fopen("/proc/self/statm", "r");
  if (file != nullptr) {
    if (std::fscanf(file, "%ld %ld", &total, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return resident * sysconf(_SC_PAGESIZE);
}

TEST(RowStoreTest, TakesLittleMoreMemoryThanItsRows) {
  const int64_t before = ResidentBytes();
  RowStore store(128);
  const int64_t rows = 300000;
  for (int64_t key = 0; key < rows; ++key) Add(&store, key);
  const int64_t payload = rows * (128 + 8);  // Row and key; usage costs nothing yet.
  EXPECT_GE(store.bytes(), payload);
  EXPECT_LE(store.bytes(), payload * 1.1);
  EXPECT_LE(ResidentBytes() - before, kShadow * (payload * 1.1 + (8 << 20)));
}

TEST(RowStoreTest, CopiedMetadataKeepsRowNumbersAndFreeRows) {
  RowStore from(16, kSmallRange);
  for (int64_t key = 0; key < 5000; ++key) from.SetUsage(Add(&from, key), 3, key);
  from.Free(11);
  RowStore to(48, kSmallRange);
  ASSERT_OK(to.CopyMetadata(from));
  EXPECT_EQ(to.used(), 5000u);
  EXPECT_EQ(to.live(), 4999);
  EXPECT_FALSE(to.IsLive(11));
  EXPECT_EQ(to.keys()[4000], 4000);
  EXPECT_EQ(to.uses()[4000].count, 3);
  EXPECT_EQ(to.uses()[4000].last_seen, 4000);
  for (uint32_t row = 0; row < 5000; ++row) Write(to, row, row);
  EXPECT_EQ(Add(&to, 6000), 11u);
  EXPECT_EQ(to.uses()[11].count, 0);
  EXPECT_EQ(Add(&to, 6001), 5000u);
  EXPECT_TRUE(Holds(to.row(4999), 48, 4999));
}

// Rows come, go, are looked at through views that live for a while, and move.
TEST(RowStoreTest, AgreesWithAMapUnderViews) {
  const unsigned seed = 20240502;
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  RowStore store(24, kSmallRange);
  std::unordered_map<uint32_t, int64_t> model;
  std::shared_ptr<const void> pin;
  std::unordered_map<uint32_t, int64_t> seen;  // What the view shows.
  const char* seen_rows = nullptr;
  for (int64_t step = 0; step < 60000; ++step) {
    const uint64_t choice = random() % 100;
    if (choice < 55 || model.empty()) {
      const uint32_t row = Add(&store, step);
      ASSERT_TRUE(model.emplace(row, step).second) << "row " << row << " is taken";
    } else if (choice < 98) {
      const uint32_t row = static_cast<uint32_t>(random() % store.used());
      ASSERT_EQ(store.IsLive(row), model.count(row) == 1);
      if (model.erase(row) == 1) store.Free(row);
    } else if (pin == nullptr) {
      pin = store.Pin();
      seen = model;
      seen_rows = store.row(0);
    } else {
      for (const auto& entry : seen) {
        ASSERT_TRUE(Holds(seen_rows + entry.first * 24, 24, entry.second)) << "step " << step;
      }
      pin.reset();
    }
    ASSERT_EQ(store.live(), static_cast<int64_t>(model.size()));
  }
  for (const auto& entry : model) {
    ASSERT_EQ(store.keys()[entry.first], entry.second);
    ASSERT_TRUE(Holds(store.row(entry.first), 24, entry.second));
  }
}

}  // namespace
}  // namespace estimator_plugin
