// Updates by a segment that says that no address is in it twice.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "table_testing.h"
#include "thread_runner.h"

namespace estimator_plugin {
namespace testing {
namespace {

const float kNan = std::numeric_limits<float>::quiet_NaN();

std::unique_ptr<FloatTable> ZeroTable(int64_t dim) {
  TableOptions options = Options(dim);
  options.initializer = InitializerSpec();
  return MakeTable(options);
}

Status ApplyDistinct(FloatTable* table, const UpdateRule<float>& rule, const Keys& addresses,
                     const Floats& gradients, UpdateResult* result,
                     OnNonFinite on_non_finite = OnNonFinite::kReject, int threads = 1) {
  EXPECT_EQ(gradients.size(), addresses.size() * table->dim());
  ThreadRunner runner(threads);
  const auto n = static_cast<int64_t>(addresses.size());
  return table->ApplyGradients(rule, {{addresses.data(), gradients.data(), n, true}}, on_non_finite,
                               &runner, result);
}

TEST(TableUpdateDistinctTest, IsTheUpdateOfTheSums) {
  std::mt19937_64 random(5);
  std::normal_distribution<float> normal;
  const auto rule = MakeRule("adagrad", {0.1, 1e-7, 0.1});
  for (int64_t dim : {1, 5, 16}) {
    for (int threads : {1, 4}) {
      const auto summed = MakeTable(dim);
      const auto distinct = MakeTable(dim);
      Keys keys(20000);
      for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<int64_t>(i);
      Lookup(summed.get(), keys);
      Lookup(distinct.get(), keys);
      for (int step = 0; step < 2; ++step) {
        std::shuffle(keys.begin(), keys.end(), random);
        Keys addresses = Lookup(summed.get(), keys).addresses;
        addresses[3] = addresses[7] = kNoAddress;
        Floats gradients(addresses.size() * dim);
        for (float& value : gradients) value = normal(random);
        gradients[3 * dim] = kNan;  // Of no row, so of no account.
        UpdateResult result;
        EXPECT_OK(Apply(summed.get(), *rule, addresses, gradients));
        EXPECT_OK(ApplyDistinct(distinct.get(), *rule, addresses, gradients, &result,
                                OnNonFinite::kReject, threads));
        EXPECT_EQ(result.updated_rows, 19998);
      }
      const auto wanted = Rows(*summed);
      const auto rows = Rows(*distinct);
      ASSERT_EQ(rows.size(), wanted.size());
      for (const auto& row : wanted) ASSERT_TRUE(SameBits(rows.at(row.first), row.second));
    }
  }
}

TEST(TableUpdateDistinctTest, ANonFiniteGradientIsRejectedOrSkipped) {
  const auto table = ZeroTable(2);
  const auto rule = MakeRule("sgd", {1, 0});
  const Keys addresses = Lookup(table.get(), {1, 2, 3}).addresses;
  const Floats gradients = {1, 2, 3, kNan, 5, 6};
  UpdateResult result;
  EXPECT_ERROR(ApplyDistinct(table.get(), *rule, addresses, gradients, &result),
               Code::kInvalidArgument, "gradients[1, 1]");
  EXPECT_EQ(Rows(*table).at(1), Floats({0, 0}));
  EXPECT_OK(ApplyDistinct(table.get(), *rule, addresses, gradients, &result, OnNonFinite::kSkip));
  EXPECT_EQ(result.updated_rows, 2);
  EXPECT_EQ(result.skipped_rows, 1);
  EXPECT_EQ(Rows(*table).at(1), Floats({-1, -2}));
  EXPECT_EQ(Rows(*table).at(2), Floats({0, 0}));
  EXPECT_EQ(Rows(*table).at(3), Floats({-5, -6}));
}

// Who breaks the promise gets two updates of a row instead of one: none is lost, and both are by
// one thread.
TEST(TableUpdateDistinctTest, AnAddressThatRepeatsIsUpdatedTwice) {
  const auto table = ZeroTable(1);
  Keys keys(20000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<int64_t>(i % 10000);
  const Keys addresses = Lookup(table.get(), keys).addresses;
  UpdateResult result;
  EXPECT_OK(ApplyDistinct(table.get(), *MakeRule("sgd", {1, 0}), addresses, Floats(20000, 1.0f),
                          &result, OnNonFinite::kReject, 4));
  EXPECT_EQ(result.updated_rows, 20000);
  for (const auto& row : Rows(*table)) ASSERT_EQ(row.second, Floats({-2})) << row.first;
}

}  // namespace
}  // namespace testing
}  // namespace estimator_plugin
