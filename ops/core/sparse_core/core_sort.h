// The tokens of all features of a stack on one core, sorted.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_CORE_SORT_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_CORE_SORT_H_

#include <cstdint>
#include <vector>

#include "token_sorter.h"

namespace estimator_plugin {
namespace sparse_core {

// One feature's tokens on one core.
struct FeatureTokens {
  const int32_t* rows;
  const int32_t* cols;
  const float* gains;
  int64_t size;
};

struct SortedTokens {
  std::vector<int32_t> rows;
  std::vector<int32_t> cols;
  std::vector<float> gains;
  std::vector<int32_t> ids;         // Of each shard.
  std::vector<int32_t> unique_ids;  // Of each shard.
};

// The groups of features that share a table, by ascending column offset: features of a group, in
// order, are neighbours.
std::vector<std::vector<int>> GroupByTable(const std::vector<int64_t>& col_offsets);

// Sorts the tokens, those of a shard by table, and within a table by column. Rows become positions
// among the core's `samples` samples, columns row numbers in the shard.
Status SortCore(const std::vector<FeatureTokens>& features, const std::vector<int64_t>& col_offsets,
                int64_t samples, const SortOptions& options, SortedTokens* sorted);

}  // namespace sparse_core
}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_CORE_SORT_H_
