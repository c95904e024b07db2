// One feature of a stack: what it is, and the ids of one batch.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_FEATURE_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_FEATURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "../status.h"

namespace estimator_plugin {
namespace sparse_core {

enum class Combiner { kSum, kMean, kSqrtn };

struct Feature {
  std::string name;  // For error messages.
  Combiner combiner = Combiner::kSum;
  int64_t samples = 0;          // On one replica.
  int64_t row_offset = 0;       // Samples of the stack before its own, on one replica.
  int64_t col_offset = 0;       // Columns of the stack before its table's.
  int64_t col_shift = 0;        // By how much the shards of its table are rotated.
  int64_t vocabulary_size = 0;  // 0: ids are not checked.
};

// "sum", "mean" or "sqrtn".
Status ParseCombiner(const std::string& feature, const std::string& name, Combiner* combiner);

// Samples are divided evenly among the cores of a chip, and so are those before them.
Status CheckFeature(const Feature& feature, int64_t cores_per_replica, int64_t stack_samples);

// A vector of int32 or of int64: the other pointer is null.
struct IntVector {
  const int32_t* narrow = nullptr;
  const int64_t* wide = nullptr;

  int64_t operator[](int64_t i) const { return narrow != nullptr ? narrow[i] : wide[i]; }
};

// What says which sample an id belongs to, as it comes in.
struct SampleInput {
  IntVector values;
  int rank = 1;
  int64_t rows = 0;     // 0 of rank 1: one id a sample. Else row splits, or of rank 2: indices,
  int64_t columns = 1;  // whose first column is the sample.
};

struct FeatureIds {
  IntVector ids;
  int64_t size = 0;
  const float* weights = nullptr;
  bool one_weight = false;      // weights[0] is that of all ids.
  std::vector<int32_t> splits;  // Where each sample's ids begin; empty: one id a sample.

  int64_t first_of(int64_t sample) const { return splits.empty() ? sample : splits[sample]; }
};

// Finds the splits of `ids`, which has all else, for `samples` samples.
Status MakeSplits(const std::string& feature, const SampleInput& input, int64_t samples,
                  FeatureIds* ids);

}  // namespace sparse_core
}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_FEATURE_H_
