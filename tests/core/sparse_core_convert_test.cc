// Convert, sort and pack on the examples that the steps were specified by.
#include <gtest/gtest.h>

#include "core/sparse_core/core_sort.h"
#include "core/sparse_core/pack.h"
#include "sparse_core_testing.h"
#include "status_testing.h"

namespace estimator_plugin {
namespace sparse_core {
namespace {

struct Converted {
  std::vector<int32_t> rows;
  std::vector<int32_t> cols;
  std::vector<float> gains;
};

Converted Convert(const Feature& feature, const FeatureIds& ids, SampleRange samples,
                  int64_t first_row, int64_t shards) {
  Converted out{std::vector<int32_t>(ids.size), std::vector<int32_t>(ids.size),
                std::vector<float>(ids.size)};
  int64_t size = 0;
  EXPECT_OK(ConvertSamples(feature, ids, samples, first_row, shards,
                           {out.rows.data(), out.cols.data(), out.gains.data()}, &size));
  out.rows.resize(size);
  out.cols.resize(size);
  out.gains.resize(size);
  return out;
}

TEST(SparseCoreConvertTest, DivisorsAreThoseOfTheIdsAsTheyCame) {
  const std::vector<int64_t> ids = {3, 3, 9};
  const std::vector<float> weights = {1, 2, 3};
  FeatureIds input;
  input.ids.wide = ids.data();
  input.size = 3;
  input.weights = weights.data();
  input.splits = {0, 3};
  Feature feature;
  feature.samples = 1;
  feature.combiner = Combiner::kMean;
  EXPECT_EQ(Convert(feature, input, {0, 1}, 5, 8).gains, (std::vector<float>{0.5f, 0.5f}));
  feature.combiner = Combiner::kSqrtn;
  const Converted sqrtn = Convert(feature, input, {0, 1}, 5, 8);
  EXPECT_NEAR(sqrtn.gains[0], 0.8017837, 1e-7);
  EXPECT_EQ(sqrtn.rows, (std::vector<int32_t>{5, 5}));
  EXPECT_EQ(sqrtn.cols, (std::vector<int32_t>{3, 9}));
}

TEST(SparseCoreConvertTest, OnlyTheShardIsRotated) {
  const std::vector<int32_t> ids = {1, 2, 7, 8, 15, 16, -1};
  const float weight = 1;
  FeatureIds input;
  input.ids.narrow = ids.data();
  input.size = ids.size();
  input.weights = &weight;
  input.one_weight = true;
  Feature feature;
  feature.samples = ids.size();
  feature.col_offset = 64;
  feature.col_shift = 4;
  EXPECT_EQ(Convert(feature, input, {0, 6}, 0, 8).cols,
            (std::vector<int32_t>{69, 70, 67, 76, 75, 84}));
  feature.col_offset = feature.col_shift = 0;
  EXPECT_EQ(Convert(feature, input, {6, 7}, 0, 8).cols, (std::vector<int32_t>{-1}));
}

TEST(SparseCoreSortTest, TablesComeByOffset) {
  const std::vector<int32_t> rows1 = {0, 1}, cols1 = {33, 36}, rows2 = {2, 3}, cols2 = {4, 1};
  const std::vector<float> gains1 = {1, 2}, gains2 = {3, 4};
  SortOptions options;
  options.topology = {1, 4};
  options.columns = 64;
  SortedTokens sorted;
  ASSERT_OK(SortCore({{rows1.data(), cols1.data(), gains1.data(), 2},
                      {rows2.data(), cols2.data(), gains2.data(), 2}},
                     {32, 0}, 4, options, &sorted));
  EXPECT_EQ(sorted.rows, (std::vector<int32_t>{2, 1, 3, 0}));
  EXPECT_EQ(sorted.cols, (std::vector<int32_t>{1, 9, 0, 8}));
  EXPECT_EQ(sorted.gains, (std::vector<float>{3, 2, 4, 1}));
  EXPECT_EQ(sorted.ids, (std::vector<int32_t>{2, 2, 0, 0}));
}

// Both ways of sorting: few items by comparison, many by digits.
TEST(SparseCoreSortTest, KeepsTheOrderOfEqualColumns) {
  for (const int64_t n : {1, 63, 64, 1000, 40000}) {
    std::mt19937 random(static_cast<uint32_t>(n));
    std::vector<int32_t> rows(n), cols(n);
    std::vector<float> gains(n, 1);
    for (int64_t i = 0; i < n; ++i) {
      rows[i] = static_cast<int32_t>(i);
      cols[i] = static_cast<int32_t>(1000000 + random() % (4 * n));
    }
    SortOptions options;
    options.topology = {2, 4};
    options.columns = 1 << 30;
    SortedTokens sorted;
    ASSERT_OK(SortCore({{rows.data(), cols.data(), gains.data(), n}}, {0}, n, options, &sorted));
    std::vector<int32_t> order = rows;
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return std::make_pair(cols[a] % 8, cols[a]) < std::make_pair(cols[b] % 8, cols[b]);
    });
    ASSERT_EQ(sorted.rows, order);
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(sorted.cols[i], cols[order[i]] / 8);
  }
}

TEST(SparseCorePackTest, SplitsAreNodesOfATree) {
  const std::vector<std::pair<uint64_t, std::vector<int>>> cases = {
      {0, {0, 64}},
      {1, {0, 32, 64}},
      {2, {0, 16, 64}},
      {3, {0, 16, 32, 64}},
      {7, {0, 16, 32, 48, 64}},
      {0xb, {0, 8, 16, 32, 64}},
      {uint64_t{1} << 62, {0, 63, 64}}};
  for (const auto& expected : cases) {
    std::vector<int> edges;
    ASSERT_OK(MinibatchEdges("user", expected.first, &edges));
    EXPECT_EQ(edges, expected.second);
  }
  std::vector<int> edges;
  EXPECT_ERROR(MinibatchEdges("user", uint64_t{1} << 63, &edges), Code::kInvalidArgument, "bit 63");
}

TEST(SparseCorePackTest, SegmentsBeginAtMultiplesOfEight) {
  BufferOptions options;
  options.topology = {1, 4};
  options.max_minibatches = 2;
  options.capacity = 24;
  options.allow_dropping = true;
  std::vector<int32_t> pointers(options.row_pointers());
  const std::vector<int32_t> sizes = {2, 2, 0, 0, 2, 2, 0, 0, 2, 2, 0, 0, 2, 2, 0, 0};
  SegmentPlan plan;
  ASSERT_OK(PlanSegments(options, 1, sizes, pointers.data(), &plan));
  EXPECT_EQ(std::vector<int32_t>(pointers.begin(), pointers.begin() + 16),
            (std::vector<int32_t>{2, 10, 16, 16, 16, 16, 16, 16, 18, 24, 24, 24, 24, 24, 24, 24}));
  EXPECT_EQ(plan.dropped, 10);
  EXPECT_EQ(plan.ids_size, 24);
  EXPECT_EQ(plan.row_pointers_size, 32);
  options.allow_dropping = false;
  EXPECT_ERROR(PlanSegments(options, 1, sizes, pointers.data(), &plan), Code::kInvalidArgument,
               "10 ids are left");
}

}  // namespace
}  // namespace sparse_core
}  // namespace estimator_plugin
