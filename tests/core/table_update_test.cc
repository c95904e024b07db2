#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "rule_reference.h"
#include "table_testing.h"
#include "thread_runner.h"

namespace estimator_plugin {
namespace testing {
namespace {

const float kNan = std::numeric_limits<float>::quiet_NaN();
const float kInfinity = std::numeric_limits<float>::infinity();

// A table whose rows start at zero, and plain gradient descent with rate 1: the weights are minus
// the sums of the gradients.
std::unique_ptr<FloatTable> ZeroTable(int64_t dim) {
  TableOptions options = Options(dim);
  options.initializer = InitializerSpec();
  return MakeTable(options);
}

std::unique_ptr<UpdateRule<float>> Descent() { return MakeRule("sgd", {1, 0}); }

Floats Row(FloatTable* table, int64_t key) {
  return Lookup(table, {key}, OnMissing::kDefault).embeddings;
}

TEST(TableUpdateTest, UpdatesTheRowsOfItsAddressesOnly) {
  const auto table = ZeroTable(2);
  const Found found = Lookup(table.get(), {10, 20, 30});
  UpdateResult result;
  EXPECT_OK(Apply(table.get(), *Descent(), {found.addresses[2], found.addresses[0]}, {1, 2, 3, 4},
                  &result));
  EXPECT_EQ(Row(table.get(), 10), Floats({-3, -4}));
  EXPECT_EQ(Row(table.get(), 20), Floats({0, 0}));
  EXPECT_EQ(Row(table.get(), 30), Floats({-1, -2}));
  EXPECT_EQ(result.updated_rows, 2);
  EXPECT_EQ(result.skipped_rows, 0);
  EXPECT_EQ(table->stats().rows_updated, 2);
}

TEST(TableUpdateTest, EveryRuleWorksOnRowsOfTheTable) {
  const std::pair<std::string, std::vector<double>> rules[] = {
      {"sgd", {0.1, 0.01}},
      {"momentum", {0.1, 0.9, 1}},
      {"adagrad", {0.1, 1e-7, 0.1}},
      {"adam", {0.1, 0.9, 0.99, 1e-8, 0.9, 0.99}},
      {"amsgrad", {0.1, 0.9, 0.99, 1e-8, 0.9, 0.99}},
      {"rmsprop", {0.1, 0.9, 0.5, 1e-8}},
      {"ftrl", {0.1, -0.5, 0.01, 0.01, 0.01, 0.1, 1}}};
  for (const auto& entry : rules) {
    const auto table = MakeTable(3);
    const auto rule = MakeRule(entry.first, entry.second);
    const int64_t address = Lookup(table.get(), {5, 6}).addresses[1];
    const Floats fresh = Fresh(6, table->options());
    EXPECT_OK(Apply(table.get(), *rule, {address}, {0.5f, -0.25f, 0}));
    EXPECT_EQ(table->layout().slots, rule->slots());
    const Floats row = Rows(*table).at(6);
    ASSERT_EQ(static_cast<int64_t>(row.size()), table->layout().width());
    const float gradient[] = {0.5f, -0.25f, 0};
    for (int i = 0; i < 3; ++i) {
      std::vector<double> state = {fresh[i]};
      for (const SlotSpec& slot : rule->slots()) state.push_back(slot.initial_value);
      ReferenceUpdate(entry.first, entry.second, gradient[i], &state);
      for (size_t k = 0; k < state.size(); ++k) {
        EXPECT_NEAR(row[k * 3 + i], state[k], 1e-5) << entry.first << " value " << k;
      }
    }
  }
}

// 1e8 + 1 - 1e8 in floats is 0 in this order and 1 in another.
TEST(TableUpdateTest, SumsDuplicatesInOrder) {
  const auto table = ZeroTable(1);
  const int64_t a = Lookup(table.get(), {1}).addresses[0];
  UpdateResult result;
  EXPECT_OK(Apply(table.get(), *Descent(), {a, a, a}, {1e8f, 1, -1e8f}, &result));
  EXPECT_EQ(Row(table.get(), 1), Floats({0}));
  EXPECT_EQ(result.updated_rows, 1);
  EXPECT_OK(Apply(table.get(), *Descent(), {a, a, a}, {1e8f, -1e8f, 1}));
  EXPECT_EQ(Row(table.get(), 1), Floats({-1}));
}

TEST(TableUpdateTest, SeveralSegmentsAreOneUpdate) {
  const auto table = ZeroTable(2);
  const auto rule = MakeRule("adagrad", {1, 0, 0});
  const Keys a = Lookup(table.get(), {1, 2}).addresses;
  const Keys first = {a[0], a[1]}, second = {a[1], kNoAddress, a[0]};
  const Floats first_gradients = {1, 2, 10, 20}, second_gradients = {30, 40, 7, 7, 2, 2};
  InlineRunner runner;
  UpdateResult result;
  EXPECT_OK(table->ApplyGradients(*rule,
                                  {{first.data(), first_gradients.data(), 2},
                                   {nullptr, nullptr, 0},
                                   {second.data(), second_gradients.data(), 3}},
                                  OnNonFinite::kReject, &runner, &result));
  EXPECT_EQ(result.updated_rows, 2);
  // One step from an empty accumulator is the sign of the sum; the accumulator is its square.
  EXPECT_EQ(Rows(*table).at(1), Floats({-1, -1, 9, 16}));
  EXPECT_EQ(Rows(*table).at(2), Floats({-1, -1, 1600, 3600}));
}

TEST(TableUpdateTest, NothingToDoIsFine) {
  const auto table = ZeroTable(2);
  InlineRunner runner;
  UpdateResult result;
  result.updated_rows = 5;
  EXPECT_OK(table->ApplyGradients(*Descent(), {}, OnNonFinite::kReject, &runner, &result));
  EXPECT_EQ(result.updated_rows, 0);
  EXPECT_OK(Apply(table.get(), *Descent(), {}, {}, &result));
  EXPECT_OK(Apply(table.get(), *Descent(), {kNoAddress, kNoAddress}, {1, 2, 3, 4}, &result));
  EXPECT_EQ(result.updated_rows, 0);
  EXPECT_EQ(table->size(), 0);
}

TEST(TableUpdateTest, ABadAddressLeavesEveryRowAsItWas) {
  const auto table = MakeTable(2);
  const Keys a = Lookup(table.get(), {1, 2, 3}).addresses;
  EXPECT_OK(Apply(table.get(), *MakeRule("adagrad", {1, 0, 0.1}), a, Floats(6, 1.0f)));
  const auto before = Rows(*table);
  const int bucket = static_cast<int>(BucketOfAddress(a[0]));
  for (int64_t bad :
       {MakeAddress(bucket, 99, 0), MakeAddress(16, 0, 0), int64_t{-2}, INT64_MIN, INT64_MAX}) {
    for (const char* rule : {"adagrad", "momentum"}) {  // The latter would re-lay the rows.
      const Status status =
          Apply(table.get(), *MakeRule(rule, {1, 0, 0.1}), {a[0], bad, a[1]}, Floats(6, 1.0f));
      EXPECT_ERROR(status, Code::kInvalidArgument, "colours");
      EXPECT_ERROR(status, Code::kInvalidArgument, std::to_string(bad));
      EXPECT_EQ(Rows(*table), before) << rule << " address " << bad;
      EXPECT_EQ(table->layout().slots[0].name, "accumulator");
    }
  }
  EXPECT_EQ(table->stats().rows_updated, 3);
}

TEST(TableUpdateTest, AGradientOfARowThatHasLeftIsDroppedAndCounted) {
  const auto table = ZeroTable(2);
  const Keys a = Lookup(table.get(), {1, 2}).addresses;
  EXPECT_EQ(Remove(table.get(), {1}), 1);
  UpdateResult result;
  EXPECT_OK(Apply(table.get(), *Descent(), {a[0], a[1], a[0]}, {1, 2, 3, 4, 5, 6}, &result));
  EXPECT_EQ(result.updated_rows, 1);
  EXPECT_EQ(result.stale_rows, 1);
  const Keys again = Lookup(table.get(), {1, 7}).addresses;  // One of them in the freed row.
  EXPECT_OK(Apply(table.get(), *Descent(), {a[0], again[0]}, {9, 9, 1, 1}, &result));
  EXPECT_EQ(result.updated_rows, 1);
  EXPECT_EQ(Row(table.get(), 1), Floats({-1, -1}));
  EXPECT_EQ(Row(table.get(), 2), Floats({-3, -4}));
  EXPECT_EQ(Row(table.get(), 7), Floats({0, 0}));
  EXPECT_EQ(table->stats().stale_updates, 2);
}

TEST(TableUpdateTest, ANonFiniteGradientIsRejectedWithItsPlace) {
  const auto table = MakeTable(2);
  const Keys a = Lookup(table.get(), {1, 2}).addresses;
  const auto before = Rows(*table);
  for (float bad : {kNan, -kNan, kInfinity, -kInfinity}) {
    UpdateResult result;
    const Status status = Apply(table.get(), *Descent(), {a[0], a[1]}, {1, 2, 3, bad}, &result);
    EXPECT_ERROR(status, Code::kInvalidArgument, "colours");
    EXPECT_ERROR(status, Code::kInvalidArgument, "[1, 1]");
    EXPECT_ERROR(status, Code::kInvalidArgument, std::to_string(a[1]));
    EXPECT_EQ(Rows(*table), before);
    EXPECT_EQ(result.updated_rows, 0);
  }
}

TEST(TableUpdateTest, ANonFiniteGradientOfPaddingIsNotUsed) {
  const auto table = ZeroTable(2);
  const int64_t a = Lookup(table.get(), {1}).addresses[0];
  EXPECT_OK(Apply(table.get(), *Descent(), {kNoAddress, a}, {kNan, kInfinity, 1, 2}));
  EXPECT_EQ(Row(table.get(), 1), Floats({-1, -2}));
}

TEST(TableUpdateTest, SkippingLeavesTheRowAndCountsIt) {
  const auto table = ZeroTable(2);
  const Keys a = Lookup(table.get(), {1, 2, 3}).addresses;
  UpdateResult result;
  EXPECT_OK(Apply(table.get(), *Descent(), {a[0], a[1], a[0], a[2]},
                  {1, 1, 2, 2, kNan, 1, 3, kInfinity}, &result, OnNonFinite::kSkip));
  EXPECT_EQ(result.updated_rows, 1);
  EXPECT_EQ(result.skipped_rows, 2);
  EXPECT_EQ(Row(table.get(), 1), Floats({0, 0}));
  EXPECT_EQ(Row(table.get(), 2), Floats({-2, -2}));
  EXPECT_EQ(Row(table.get(), 3), Floats({0, 0}));
  EXPECT_EQ(table->stats().rows_updated, 1);
}

// Finite gradients whose sum is not: the row must not become infinite under either option.
TEST(TableUpdateTest, AnOverflowingSumIsNotWritten) {
  const auto table = ZeroTable(1);
  const Keys a = Lookup(table.get(), {1, 2}).addresses;
  for (OnNonFinite option : {OnNonFinite::kReject, OnNonFinite::kSkip}) {
    UpdateResult result;
    const Status status =
        Apply(table.get(), *Descent(), {a[0], a[0]}, {3e38f, 3e38f}, &result, option);
    EXPECT_EQ(result.skipped_rows, status.ok() ? 1 : 0);
    EXPECT_EQ(Row(table.get(), 1), Floats({0}));
  }
  UpdateResult result;
  EXPECT_OK(
      Apply(table.get(), *Descent(), {a[0], a[1], a[0], a[0]}, {3e38f, 1, -3e38f, 5}, &result));
  EXPECT_EQ(result.updated_rows, 2);
  EXPECT_EQ(Row(table.get(), 1), Floats({-5}));
}

TEST(TableUpdateTest, ExtremesOfFiniteAreFinite) {
  const auto table = ZeroTable(1);
  const Keys a = Lookup(table.get(), {1, 2, 3}).addresses;
  UpdateResult result;
  EXPECT_OK(
      Apply(table.get(), *Descent(), a,
            {std::numeric_limits<float>::max(), std::numeric_limits<float>::denorm_min(), -0.0f},
            &result));
  EXPECT_EQ(result.updated_rows, 3);
  EXPECT_EQ(Row(table.get(), 1), Floats({-std::numeric_limits<float>::max()}));
  EXPECT_EQ(Row(table.get(), 2), Floats({-std::numeric_limits<float>::denorm_min()}));
}

// Sums are made some values at a time: every width, with one, two and many duplicates.
TEST(TableUpdateTest, SumsAreWholeAtEveryWidth) {
  for (int64_t dim : {1, 3, 7, 8, 15, 16, 17, 31, 33, 48, 64, 100}) {
    const auto table = ZeroTable(dim);
    const Keys a = Lookup(table.get(), {1, 2, 3}).addresses;
    Keys addresses = {a[0], a[1], a[1]};
    for (int i = 0; i < 10; ++i) addresses.push_back(a[2]);
    Floats gradients;
    for (size_t i = 0; i < addresses.size(); ++i) {
      for (int64_t d = 0; d < dim; ++d) gradients.push_back(static_cast<float>(d + 1));
    }
    EXPECT_OK(Apply(table.get(), *Descent(), addresses, gradients));
    for (int64_t d = 0; d < dim; ++d) {
      ASSERT_EQ(Row(table.get(), 1)[d], -(d + 1)) << dim;
      ASSERT_EQ(Row(table.get(), 2)[d], -2 * (d + 1)) << dim;
      ASSERT_EQ(Row(table.get(), 3)[d], -10 * (d + 1)) << dim;
    }
  }
}

TEST(TableUpdateTest, ABadAddressInALargeBatchOfManyShardsChangesNothing) {
  const auto table = MakeTable(2);
  Keys keys(40000);
  for (int64_t i = 0; i < 40000; ++i) keys[i] = i;
  Keys addresses = Lookup(table.get(), keys).addresses;
  const auto before = Rows(*table);
  ThreadRunner runner(4);
  for (size_t place : {size_t{0}, addresses.size() / 2, addresses.size() - 1}) {
    const int64_t good = addresses[place];
    addresses[place] = MakeAddress(3, 1u << 30, 0);
    EXPECT_ERROR(Apply(table.get(), *Descent(), addresses, Floats(80000, 1.0f), nullptr,
                       OnNonFinite::kReject, &runner),
                 Code::kInvalidArgument, std::to_string(addresses[place]));
    addresses[place] = good;
    EXPECT_EQ(Rows(*table), before);
  }
}

}  // namespace
}  // namespace testing
}  // namespace estimator_plugin
