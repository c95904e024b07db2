#include <gtest/gtest.h>

#include <random>
#include <set>

#include "core/hash.h"
#include "crafted_keys.h"
#include "table_testing.h"
#include "thread_runner.h"

namespace estimator_plugin {
namespace testing {
namespace {

Floats Gather(FloatTable* table, const Keys& addresses, const float* default_row = nullptr) {
  InlineRunner runner;
  Floats embeddings(addresses.size() * table->dim(), -77.0f);
  EXPECT_OK(
      table->Gather(addresses.data(), addresses.size(), default_row, embeddings.data(), &runner));
  return embeddings;
}

Status TryGather(FloatTable* table, const Keys& addresses) {
  InlineRunner runner;
  Floats embeddings(addresses.size() * table->dim());
  return table->Gather(addresses.data(), addresses.size(), nullptr, embeddings.data(), &runner);
}

TEST(TableLookupTest, InsertsMissingKeysWithTheirInitialRows) {
  const auto table = MakeTable(3);
  const Keys keys = {5, 0, INT64_MIN, INT64_MAX, -2, int64_t{1} << 31, -(int64_t{1} << 31)};
  const Found found = Lookup(table.get(), keys);
  for (size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(found.embedding(i), Fresh(keys[i], table->options())) << keys[i];
    const int bucket = static_cast<int>(BucketOfAddress(found.addresses[i]));
    EXPECT_EQ(bucket, BucketOfHash(MixKey(keys[i]), 60)) << keys[i];
  }
  EXPECT_EQ(std::set<int64_t>(found.addresses.begin(), found.addresses.end()).size(), keys.size());
  EXPECT_EQ(table->size(), static_cast<int64_t>(keys.size()));
  const Found again = Lookup(table.get(), keys);
  EXPECT_EQ(again.addresses, found.addresses);
  EXPECT_EQ(again.embeddings, found.embeddings);
  EXPECT_EQ(table->size(), static_cast<int64_t>(keys.size()));
}

TEST(TableLookupTest, ADefaultLookupInsertsNothing) {
  const auto table = MakeTable(2);
  const int64_t known = Lookup(table.get(), {7}).addresses[0];
  const Floats default_row = {0.5f, -0.5f};
  const Found found =
      Lookup(table.get(), {8, 7, -1}, OnMissing::kDefault, nullptr, default_row.data());
  EXPECT_EQ(found.addresses, Keys({kNoAddress, known, kNoAddress}));
  EXPECT_EQ(found.embedding(0), default_row);
  EXPECT_EQ(found.embedding(1), Fresh(7, table->options()));
  EXPECT_EQ(found.embedding(2), default_row);
  EXPECT_EQ(table->size(), 1);
  const Found zeros = Lookup(table.get(), {8, -1}, OnMissing::kDefault);
  EXPECT_EQ(zeros.embeddings, Floats(4, 0.0f));
}

TEST(TableLookupTest, NoKeyHasNoRow) {
  const auto table = MakeTable(2);
  const Floats default_row = {3.0f, 4.0f};
  const Found found =
      Lookup(table.get(), {-1, 9, -1}, OnMissing::kInsert, nullptr, default_row.data());
  EXPECT_EQ(found.addresses[0], kNoAddress);
  EXPECT_EQ(found.addresses[2], kNoAddress);
  EXPECT_EQ(found.embedding(0), default_row);
  EXPECT_EQ(found.embedding(1), Fresh(9, table->options()));
  EXPECT_EQ(found.embedding(2), default_row);
  EXPECT_EQ(table->size(), 1);
  Lookup(table.get(), Keys(10000, -1));
  EXPECT_EQ(table->size(), 1);
}

TEST(TableLookupTest, DuplicatesShareARow) {
  const auto table = MakeTable(4);
  const Found found = Lookup(table.get(), {3, 4, 3, 3, 4});
  EXPECT_EQ(found.addresses[0], found.addresses[2]);
  EXPECT_EQ(found.addresses[0], found.addresses[3]);
  EXPECT_EQ(found.addresses[1], found.addresses[4]);
  EXPECT_EQ(found.embedding(2), Fresh(3, table->options()));
  EXPECT_EQ(table->size(), 2);
}

TEST(TableLookupTest, AnEmptyBatchAndNoEmbeddingsAreFine) {
  const auto table = MakeTable(4);
  InlineRunner runner;
  EXPECT_OK(table->Lookup(nullptr, 0, OnMissing::kInsert, nullptr, nullptr, nullptr, &runner));
  EXPECT_OK(table->Gather(nullptr, 0, nullptr, nullptr, &runner));
  EXPECT_EQ(table->size(), 0);
  const Keys keys = {1, 2, 1};
  Keys addresses(3);
  EXPECT_OK(table->Lookup(keys.data(), 3, OnMissing::kInsert, nullptr, addresses.data(), nullptr,
                          &runner));
  EXPECT_EQ(addresses, Lookup(table.get(), keys).addresses);
}

// Every count of keys around the sizes in which a lookup works its batch.
TEST(TableLookupTest, EveryBatchSizeIsWhole) {
  const auto table = MakeTable(5);
  for (int64_t n = 1; n <= 70; ++n) {
    Keys keys;
    for (int64_t i = 0; i < n; ++i) keys.push_back(i % 7 == 3 ? -1 : n * 1000 + i / 2);
    for (int round = 0; round < 2; ++round) {  // All missing, then all there.
      const Found found = Lookup(table.get(), keys);
      for (int64_t i = 0; i < n; ++i) {
        const Floats expected = keys[i] == -1 ? Floats(5, 0.0f) : Fresh(keys[i], table->options());
        ASSERT_EQ(found.embedding(i), expected) << "n " << n << " position " << i;
      }
      ASSERT_EQ(Gather(table.get(), found.addresses), found.embeddings);
    }
  }
}

TEST(TableLookupTest, EveryWidthIsWhole) {
  for (int64_t dim : {1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 64, 100, 128, 256, 1000, 8192}) {
    const auto table = MakeTable(dim, 2);
    const Found found = Lookup(table.get(), {10, -1, 20, 10});
    EXPECT_EQ(found.embedding(0), Fresh(10, table->options())) << dim;
    EXPECT_EQ(found.embedding(1), Floats(dim, 0.0f)) << dim;
    EXPECT_EQ(found.embedding(2), Fresh(20, table->options())) << dim;
    EXPECT_EQ(found.embedding(3), found.embedding(0)) << dim;
    EXPECT_EQ(Lookup(table.get(), {10, -1, 20, 10}).embeddings, found.embeddings) << dim;
    EXPECT_EQ(Gather(table.get(), found.addresses), found.embeddings) << dim;
  }
}

TEST(TableLookupTest, KeysOfOneBucketAndOnePlaceAreFound) {
  const auto table = MakeTable(2, 32);
  const Keys keys = KeysOfOnePlace(0xffffffffu, 0xfc00, 3000);
  const Found found = Lookup(table.get(), keys);
  for (size_t i = 0; i < keys.size(); ++i) {
    ASSERT_EQ(BucketOfAddress(found.addresses[i]), 31);
    ASSERT_EQ(RowOfAddress(found.addresses[i]), i);
    ASSERT_EQ(found.embedding(i), Fresh(keys[i], table->options()));
  }
  EXPECT_EQ(Lookup(table.get(), keys).addresses, found.addresses);
}

TEST(TableLookupTest, AddressesStayGoodWhileTheTableGrows) {
  const auto table = MakeTable(4, 4);
  Keys first(1000);
  for (int64_t i = 0; i < 1000; ++i) first[i] = i * 977;
  const Found before = Lookup(table.get(), first);
  Keys more(50000);
  for (int64_t round = 0; round < 4; ++round) {
    for (int64_t i = 0; i < 50000; ++i) more[i] = 10000000 + round * 50000 + i;
    Lookup(table.get(), more);
    ASSERT_EQ(Gather(table.get(), before.addresses), before.embeddings);
  }
  EXPECT_EQ(Lookup(table.get(), first, OnMissing::kDefault).addresses, before.addresses);
  EXPECT_EQ(table->size(), 201000);
}

TEST(TableLookupTest, GatherReadsTheDefaultForNoAddress) {
  const auto table = MakeTable(2);
  const int64_t address = Lookup(table.get(), {1}).addresses[0];
  const Floats default_row = {8.0f, 9.0f};
  Floats expected = default_row;
  const Floats fresh = Fresh(1, table->options());
  expected.insert(expected.end(), fresh.begin(), fresh.end());
  EXPECT_EQ(Gather(table.get(), {kNoAddress, address}, default_row.data()), expected);
  EXPECT_EQ(Gather(table.get(), {kNoAddress}), Floats(2, 0.0f));
}

TEST(TableLookupTest, GatherRejectsAddressesThatNameNoRow) {
  const auto table = MakeTable(2);
  const Found found = Lookup(table.get(), {1, 2, 3});
  const int64_t good = found.addresses[0];
  const int bucket = static_cast<int>(BucketOfAddress(good));
  const int64_t bad_addresses[] = {
      MakeAddress(bucket, 1000, 0),         // A row that was never made.
      MakeAddress(bucket, kNoRow, 0),       // The last number there is.
      MakeAddress(16, 0, 0),                // One bucket too many.
      MakeAddress(4095, 0, 0),              // The highest bucket an address can name.
      MakeAddress(bucket, kNoRow, 0xffff),  // The largest address.
      good + (int64_t{1} << 60),            // More than an address.
      -2,
      INT64_MIN,
      INT64_MAX,
      -(int64_t{1} << 32)};
  for (int64_t bad : bad_addresses) {
    const Status status = TryGather(table.get(), {good, bad, good});
    EXPECT_ERROR(status, Code::kInvalidArgument, "colours");
    EXPECT_ERROR(status, Code::kInvalidArgument, std::to_string(bad));
  }
}

TEST(TableLookupTest, GatherReadsTheDefaultRowWhereTheRowHasLeft) {
  const auto table = MakeTable(2, 1);
  const Found before = Lookup(table.get(), {1, 2});
  const Floats default_row = {7, 8};
  EXPECT_EQ(Remove(table.get(), {1}), 1);
  Floats expected = default_row;
  const Floats second = Fresh(2, table->options());
  expected.insert(expected.end(), second.begin(), second.end());
  EXPECT_EQ(Gather(table.get(), before.addresses, default_row.data()), expected);
  const Found after = Lookup(table.get(), {3});
  EXPECT_EQ(RowOfAddress(after.addresses[0]), RowOfAddress(before.addresses[0]));
  EXPECT_NE(after.addresses[0], before.addresses[0]);
  EXPECT_EQ(Gather(table.get(), before.addresses, default_row.data()), expected)
      << "not the row of the key that is there now";
  EXPECT_EQ(Gather(table.get(), after.addresses), Fresh(3, table->options()));
  EXPECT_OK(table->Clear());
  Lookup(table.get(), {4, 5});
  EXPECT_EQ(Gather(table.get(), before.addresses), Floats(4, 0.0f));
  EXPECT_EQ(table->stats().stale_reads, 4);
}

TEST(TableLookupTest, GatherFindsABadAddressInAnyPlaceOfALargeBatch) {
  const auto table = MakeTable(2);
  Keys keys(40000);
  for (int64_t i = 0; i < 40000; ++i) keys[i] = i;
  const Keys good = Lookup(table.get(), keys).addresses;
  ThreadRunner runner(4);
  Floats embeddings(good.size() * 2);
  for (size_t place : {size_t{0}, size_t{4095}, size_t{20000}, good.size() - 1}) {
    Keys addresses = good;
    addresses[place] = MakeAddress(3, 1u << 30, 0);
    EXPECT_ERROR(
        table->Gather(addresses.data(), addresses.size(), nullptr, embeddings.data(), &runner),
        Code::kInvalidArgument, std::to_string(addresses[place]));
  }
}

TEST(TableLookupTest, StatisticsCountWhatWasAsked) {
  const auto table = MakeTable(2);
  Lookup(table.get(), {1, 2, -1});
  Lookup(table.get(), {2, 3, 4, -1, -1});
  Lookup(table.get(), {1, 9}, OnMissing::kDefault);
  Remove(table.get(), {1, 50});
  const TableStats stats = table->stats();
  EXPECT_EQ(stats.keys_looked_up, 7);
  EXPECT_EQ(stats.keys_found, 2);
  EXPECT_EQ(stats.rows_inserted, 4);
  EXPECT_EQ(stats.rows_removed, 1);
  EXPECT_EQ(stats.rows_updated, 0);
  EXPECT_EQ(stats.rows, 3);
  EXPECT_EQ(stats.rows, table->size());
  EXPECT_GT(stats.bytes, 0);
}

}  // namespace
}  // namespace testing
}  // namespace estimator_plugin
