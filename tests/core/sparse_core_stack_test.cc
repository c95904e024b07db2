// Preprocessing, lookup and update of random stacks: the same bits on any number of threads, and
// what plain loops give.
#include <gtest/gtest.h>

#include <memory>

#include "core/sparse_core/apply_gradient.h"
#include "core/sparse_core/clipped_rule.h"
#include "core/sparse_core/matmul.h"
#include "sparse_core_testing.h"
#include "thread_runner.h"

namespace estimator_plugin {
namespace sparse_core {
namespace {

using testing::Buffer;
using testing::RandomStack;

constexpr int64_t kWidth = 8;

const std::vector<Topology>& Topologies() {
  static const std::vector<Topology> topologies = {{1, 1}, {1, 4}, {2, 2}, {4, 4}};
  return topologies;
}

std::vector<float> RandomValues(int64_t n) {
  std::mt19937 random(5);
  std::vector<float> values(n);
  for (float& value : values) value = static_cast<float>(random() % 1000) / 100.0f - 5.0f;
  return values;
}

TEST(SparseCoreStackTest, ThreadsDoNotChangeABuffer) {
  for (const Topology& topology : Topologies()) {
    InlineRunner one;
    ::estimator_plugin::testing::ThreadRunner many(7);
    const Buffer a = RandomStack(topology.replicas, topology.cores_per_replica, 2048, 1).Run(&one);
    const Buffer b = RandomStack(topology.replicas, topology.cores_per_replica, 2048, 1).Run(&many);
    EXPECT_EQ(a.row_pointers, b.row_pointers);
    EXPECT_EQ(a.samples, b.samples);
    EXPECT_EQ(a.tokens, b.tokens);
    EXPECT_EQ(a.gains, b.gains);
  }
}

TEST(SparseCoreStackTest, LookupIsTheSumOfRows) {
  for (const Topology& topology : Topologies()) {
    RandomStack stack(topology.replicas, topology.cores_per_replica, 64, 2);
    InlineRunner one;
    ::estimator_plugin::testing::ThreadRunner many(7);
    const Buffer buffer = stack.Run(&one);
    CsrView csr;
    ASSERT_OK(CsrView::Make(buffer.arrays(), stack.extent(), &many, &csr));
    const std::vector<float> table = RandomValues(stack.stack.sort.columns * kWidth);
    const int64_t samples = 3 * 64 * topology.replicas;
    std::vector<float> by_one(samples * kWidth), by_many(samples * kWidth);
    Matmul(csr, table.data(), kWidth, {}, &one, by_one.data());
    Matmul(csr, table.data(), kWidth, {}, &many, by_many.data());
    EXPECT_EQ(by_one, by_many);
    std::vector<double> expected(samples * kWidth);
    for (int64_t core = 0; core < csr.cores(); ++core) {
      for (int64_t shard = 0; shard < csr.cores(); ++shard) {
        const Entries entries = csr.segment(core, 0, shard);
        for (int64_t j = 0; j < entries.size; ++j) {
          const int64_t sample = core * csr.extent().samples_per_core + entries.samples[j];
          const int64_t row = shard * csr.extent().rows_per_shard + entries.tokens[j];
          for (int64_t i = 0; i < kWidth; ++i) {
            expected[sample * kWidth + i] +=
                double{entries.gains[j]} * double{table[row * kWidth + i]};
          }
        }
      }
    }
    for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(by_one[i], expected[i], 1e-4);
  }
}

TEST(SparseCoreStackTest, UpdateIsOneStepARow) {
  for (const Topology& topology : Topologies()) {
    RandomStack stack(topology.replicas, topology.cores_per_replica, 512, 3);
    InlineRunner one;
    ::estimator_plugin::testing::ThreadRunner many(7);
    const Buffer buffer = stack.Run(&one);
    CsrView csr;
    ASSERT_OK(CsrView::Make(buffer.arrays(), stack.extent(), &one, &csr));
    const std::vector<float> gradients = RandomValues(3 * 512 * topology.replicas * kWidth);
    std::unique_ptr<UpdateRule<float>> rule;
    ASSERT_OK(MakeUpdateRule<float>("adagrad", {0.1, 0, 0.1}, &rule));
    const int64_t size = stack.stack.sort.columns * kWidth;
    std::vector<std::vector<float>> tables(2, RandomValues(size));
    std::vector<std::vector<float>> slots(2, std::vector<float>(size, 0.1f));
    std::vector<double> sums(size);
    for (int64_t core = 0; core < csr.cores(); ++core) {
      for (int64_t shard = 0; shard < csr.cores(); ++shard) {
        const Entries entries = csr.segment(core, 0, shard);
        for (int64_t j = 0; j < entries.size; ++j) {
          const int64_t sample = core * csr.extent().samples_per_core + entries.samples[j];
          const int64_t row = shard * csr.extent().rows_per_shard + entries.tokens[j];
          for (int64_t i = 0; i < kWidth; ++i) {
            sums[row * kWidth + i] +=
                double{entries.gains[j]} * double{gradients[sample * kWidth + i]};
          }
        }
      }
    }
    ApplyGradient(csr, gradients.data(), kWidth, *rule, {tables[0].data(), slots[0].data()}, &one);
    ApplyGradient(csr, gradients.data(), kWidth, *rule, {tables[1].data(), slots[1].data()}, &many);
    EXPECT_EQ(tables[0], tables[1]);
    EXPECT_EQ(slots[0], slots[1]);
    for (int64_t i = 0; i < size; ++i) {
      const double expected = 0.1 + sums[i] * sums[i];
      ASSERT_NEAR(slots[0][i], expected, 1e-4 * expected + 1e-3) << i;
    }
  }
}

TEST(SparseCoreStackTest, AnErrorIsTheFirstFeatures) {
  RandomStack stack(1, 4, 512, 4);
  stack.stack.features[1].vocabulary_size = 50;
  ::estimator_plugin::testing::ThreadRunner many(7);
  Preprocessor preprocessor;
  EXPECT_ERROR(preprocessor.Sort(stack.stack, stack.batch, {1 << 20, 1 << 20}, &many),
               Code::kInvalidArgument, "feature 'f1': id");
  stack.stack.features[1].vocabulary_size = 100;
  EXPECT_ERROR(preprocessor.Sort(stack.stack, stack.batch, {1, 1 << 20}, &many),
               Code::kInvalidArgument, "max_ids_per_sparse_core is 1");
}

TEST(SparseCoreStackTest, ClippingLeavesSlotsAndNansAlone) {
  std::unique_ptr<UpdateRule<float>> rule;
  ASSERT_OK(MakeUpdateRule<float>("momentum", {1, 0.5, 0}, &rule));
  const ClippedRule clipped(*rule, -1, 2);
  std::vector<float> row = {0, 0, 0, std::nanf(""), 0, 0, 0, 0};
  const std::vector<float> gradient = {5, -5, 0.5f, 0};
  clipped.Apply(row.data(), gradient.data(), 4);
  EXPECT_EQ(row[0], -1);
  EXPECT_EQ(row[1], 2);
  EXPECT_EQ(row[2], -0.5f);
  EXPECT_TRUE(std::isnan(row[3]));
  EXPECT_EQ(row[4], 5);
}

}  // namespace
}  // namespace sparse_core
}  // namespace estimator_plugin
