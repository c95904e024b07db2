// Distinct values of a batch in order of first appearance.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_UNIQUE_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_UNIQUE_H_

#include <cstdint>
#include <vector>

namespace estimator_plugin {

struct UniqueResult {
  std::vector<int64_t> values;  // Distinct values, first appearance first.
  std::vector<int32_t> counts;  // Occurrences of each.
};

// Sets indices[i] such that result->values[indices[i]] == values[i]. The same as
// tf.unique_with_counts, faster. REQUIRES: n < 2^31.
void UniqueWithCounts(const int64_t* values, int64_t n, int32_t* indices, UniqueResult* result);

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_UNIQUE_H_
