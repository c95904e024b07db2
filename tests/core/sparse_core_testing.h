// Stacks and CSR buffers for the tests of ops/core/sparse_core.
#ifndef ESTIMATOR_PLUGIN_TESTS_CORE_SPARSE_CORE_TESTING_H_
#define ESTIMATOR_PLUGIN_TESTS_CORE_SPARSE_CORE_TESTING_H_

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "core/sparse_core/csr_view.h"
#include "core/sparse_core/preprocess.h"
#include "status_testing.h"

namespace estimator_plugin {
namespace sparse_core {
namespace testing {

// The arrays of a CSR buffer.
struct Buffer {
  std::vector<int32_t> row_pointers;
  std::vector<int32_t> samples;
  std::vector<int32_t> tokens;
  std::vector<float> gains;

  Buffer(int64_t pointers, int64_t ids)
      : row_pointers(pointers), samples(ids), tokens(ids), gains(ids) {}
  Tokens ids() { return {samples.data(), tokens.data(), gains.data()}; }
  CsrView::Arrays arrays() const {
    return {row_pointers.data(), static_cast<int64_t>(row_pointers.size()),
            samples.data(),      tokens.data(),
            gains.data(),        static_cast<int64_t>(samples.size())};
  }
};

// A random batch of a stack of two tables of 100 rows and three features.
class RandomStack {
 public:
  RandomStack(int64_t replicas, int64_t cores, int64_t samples, int seed) : random_(seed) {
    const Topology topology{replicas, cores};
    stack.sort.table = stack.buffer.table = "user";
    stack.sort.topology = stack.buffer.topology = topology;
    stack.sort.columns = 2 * kColumns;
    stack.buffer.capacity = 64 * 3 * samples;
    for (int f = 0; f < 3; ++f) AddFeature(f, samples);
    stack.tables = GroupByTable({0, kColumns, 0});
    for (int f = 0; f < 3; ++f) {
      batch[f].ids.narrow = ids_[f].data();
      batch[f].size = ids_[f].size();
      batch[f].weights = weights_[f].data();
    }
  }

  Buffer NewBuffer() const {
    const int64_t replicas = stack.sort.topology.replicas;
    return Buffer(replicas * stack.buffer.row_pointers(), replicas * stack.buffer.capacity);
  }

  Buffer Run(ParallelRunner* runner) {
    Buffer buffer = NewBuffer();
    Preprocessor preprocessor;
    std::vector<SegmentPlan> plans;
    EXPECT_OK(preprocessor.Sort(stack, batch, {1 << 20, 1 << 20}, runner));
    EXPECT_OK(preprocessor.Plan(buffer.row_pointers.data(), &plans));
    preprocessor.Write(plans, buffer.ids(), runner);
    return buffer;
  }

  CsrView::Extent extent() const {
    const Topology& topology = stack.sort.topology;
    return {"user", topology, 1, 3 * stack.features[0].samples / topology.cores_per_replica,
            stack.sort.columns / topology.shards()};
  }

  static constexpr int64_t kColumns = 128;
  Stack stack;
  std::vector<FeatureIds> batch;

 private:
  void AddFeature(int f, int64_t samples) {
    const int64_t replicas = stack.sort.topology.replicas;
    Feature feature;
    feature.name = "f" + std::to_string(f);
    feature.combiner = static_cast<Combiner>(f);
    feature.samples = samples;
    feature.row_offset = f * samples;
    feature.col_offset = f == 1 ? kColumns : 0;
    feature.vocabulary_size = 100;
    stack.features.push_back(feature);
    FeatureIds ids;
    ids.splits.push_back(0);
    ids_.emplace_back();
    weights_.emplace_back();
    for (int64_t s = 0; s < replicas * samples; ++s) {
      for (int n = random_() % 5; n > 0; --n) {
        ids_[f].push_back(static_cast<int32_t>(random_() % 100));
        weights_[f].push_back(static_cast<float>(1 + random_() % 3));
      }
      ids.splits.push_back(static_cast<int32_t>(ids_[f].size()));
    }
    batch.push_back(ids);
  }

  std::mt19937 random_;
  std::vector<std::vector<int32_t>> ids_;
  std::vector<std::vector<float>> weights_;
};

}  // namespace testing
}  // namespace sparse_core
}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_TESTS_CORE_SPARSE_CORE_TESTING_H_
