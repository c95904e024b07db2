#include <gtest/gtest.h>

#include "table_testing.h"

namespace estimator_plugin {
namespace testing {
namespace {

Status Create(const TableOptions& options) {
  std::unique_ptr<FloatTable> table;
  const Status status = FloatTable::Create(options, &table);
  EXPECT_EQ(table != nullptr, status.ok());
  return status;
}

TEST(TableCreateTest, TakesTheSmallestAndTheLargest) {
  EXPECT_OK(Create(Options(1, 1)));
  EXPECT_OK(Create(Options(8192, 1)));
  EXPECT_OK(Create(Options(1, 4096)));
}

TEST(TableCreateTest, RejectsADimOutOfRange) {
  for (int64_t dim : {int64_t{0}, int64_t{-1}, int64_t{8193}, INT64_MAX, INT64_MIN}) {
    const Status status = Create(Options(dim));
    EXPECT_ERROR(status, Code::kInvalidArgument, "colours");
    EXPECT_ERROR(status, Code::kInvalidArgument, "dim");
    EXPECT_ERROR(status, Code::kInvalidArgument, std::to_string(dim));
    EXPECT_ERROR(status, Code::kInvalidArgument, "8192");
  }
}

TEST(TableCreateTest, RejectsANumberOfBucketsThatIsNoPowerOfTwo) {
  for (int num_buckets : {0, -1, -64, 3, 63, 65, 8192, INT32_MAX, INT32_MIN}) {
    const Status status = Create(Options(4, num_buckets));
    EXPECT_ERROR(status, Code::kInvalidArgument, "colours");
    EXPECT_ERROR(status, Code::kInvalidArgument, "num_buckets");
    EXPECT_ERROR(status, Code::kInvalidArgument, std::to_string(num_buckets));
  }
}

TEST(TableCreateTest, RejectsAnInitializerItDoesNotKnow) {
  TableOptions options = Options(4);
  options.initializer.kind = "glorot";
  EXPECT_ERROR(Create(options), Code::kInvalidArgument, "colours");
  EXPECT_ERROR(Create(options), Code::kInvalidArgument, "glorot");
  options.initializer.kind = "normal";
  options.initializer.arguments = {0.0};
  EXPECT_ERROR(Create(options), Code::kInvalidArgument, "colours");
}

TEST(TableCreateTest, AFreshTableIsEmpty) {
  const auto table = MakeTable(4);
  EXPECT_EQ(table->size(), 0);
  EXPECT_EQ(table->dim(), 4);
  EXPECT_EQ(table->options().name, "colours");
  EXPECT_EQ(table->layout().width(), 4);
  const TableStats stats = table->stats();
  EXPECT_EQ(stats.rows, 0);
  EXPECT_EQ(stats.keys_looked_up, 0);
  EXPECT_EQ(stats.rows_inserted, 0);
  const Snapshot snapshot = TakeSnapshot(*table);
  EXPECT_EQ(snapshot.parts.size(), 16u);
  EXPECT_TRUE(snapshot.rows().empty());
}

TEST(TableCreateTest, AnEmptyTableCostsLittle) {
  const TableStats stats = MakeTable(64, 64)->stats();
  EXPECT_LE(stats.bytes, 64 << 10);
}

TEST(TableCreateTest, ABankMustBeThereBeforeRowsAre) {
  TableOptions options = Options(2);
  options.initializer.kind = "bank";
  options.initializer.arguments = {};
  const auto table = MakeTable(options);
  InlineRunner runner;
  const int64_t key = 5;
  int64_t address;
  const auto lookup = [&](OnMissing on_missing) {
    return table->Lookup(&key, 1, on_missing, nullptr, &address, nullptr, &runner);
  };
  EXPECT_ERROR(lookup(OnMissing::kInsert), Code::kFailedPrecondition, "colours");
  EXPECT_OK(lookup(OnMissing::kDefault));
  EXPECT_EQ(table->size(), 0);
  EXPECT_ERROR(table->SetInitializerBank(nullptr, 0), Code::kInvalidArgument, "colours");
  const Floats bank = {1, 2, 3, 4, 5, 6};
  EXPECT_OK(table->SetInitializerBank(bank.data(), 3));
  EXPECT_EQ(table->initializer_bank(), bank);
  EXPECT_OK(lookup(OnMissing::kInsert));
  const Floats row = Rows(*table).at(key);
  EXPECT_TRUE(row == Floats({1, 2}) || row == Floats({3, 4}) || row == Floats({5, 6}));
}

}  // namespace
}  // namespace testing
}  // namespace estimator_plugin
