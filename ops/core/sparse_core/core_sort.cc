#include "core_sort.h"

#include <algorithm>
#include <map>

namespace estimator_plugin {
namespace sparse_core {
namespace {

// Tokens that own their memory.
struct TokenVectors {
  explicit TokenVectors(int64_t n) : rows(n), cols(n), gains(n) {}
  Tokens tokens() { return {rows.data(), cols.data(), gains.data()}; }

  std::vector<int32_t> rows;
  std::vector<int32_t> cols;
  std::vector<float> gains;
};

// One table's sorted tokens and their number on each shard.
struct SortedTable {
  SortedTable(int64_t n, int64_t shards) : tokens(n), ids(shards), unique_ids(shards) {}

  TokenVectors tokens;
  std::vector<int32_t> ids;
  std::vector<int32_t> unique_ids;
};

Status SortTable(const std::vector<FeatureTokens>& features, const std::vector<int>& group,
                 const SortOptions& options, TokenSorter* sorter,
                 std::vector<SortedTable>* tables) {
  int64_t total = 0;
  for (int f : group) total += features[f].size;
  TokenVectors unsorted(total);
  int64_t at = 0;
  for (int f : group) {
    const FeatureTokens& feature = features[f];
    std::copy_n(feature.rows, feature.size, unsorted.rows.begin() + at);
    std::copy_n(feature.cols, feature.size, unsorted.cols.begin() + at);
    std::copy_n(feature.gains, feature.size, unsorted.gains.begin() + at);
    at += feature.size;
  }
  tables->emplace_back(total, options.topology.shards());
  SortedTable& table = tables->back();
  return sorter->Sort(unsorted.tokens(), total, options, table.tokens.tokens(),
                      {table.ids.data(), table.unique_ids.data()});
}

}  // namespace

std::vector<std::vector<int>> GroupByTable(const std::vector<int64_t>& col_offsets) {
  std::map<int64_t, std::vector<int>> by_offset;
  for (size_t f = 0; f < col_offsets.size(); ++f) {
    by_offset[col_offsets[f]].push_back(static_cast<int>(f));
  }
  std::vector<std::vector<int>> groups;
  for (auto& group : by_offset) groups.push_back(std::move(group.second));
  return groups;
}

Status SortCore(const std::vector<FeatureTokens>& features, const std::vector<int64_t>& col_offsets,
                int64_t samples, const SortOptions& options, SortedTokens* sorted) {
  for (const FeatureTokens& feature : features) {
    for (int64_t i = 0; i < feature.size; ++i) {
      if (feature.rows[i] >= 0) continue;
      return Error(Code::kInvalidArgument, "table '", options.table, "': row id ", feature.rows[i],
                   " is negative");
    }
  }
  TokenSorter sorter;
  std::vector<SortedTable> tables;
  for (const std::vector<int>& group : GroupByTable(col_offsets)) {
    EP_RETURN_IF_ERROR(SortTable(features, group, options, &sorter, &tables));
  }
  const int64_t shards = options.topology.shards();
  sorted->ids.assign(shards, 0);
  sorted->unique_ids.assign(shards, 0);
  std::vector<int64_t> taken(tables.size(), 0);
  for (int64_t shard = 0; shard < shards; ++shard) {
    for (size_t t = 0; t < tables.size(); ++t) {
      SortedTable& table = tables[t];
      const int64_t begin = taken[t];
      const int64_t end = taken[t] += table.ids[shard];
      for (int64_t i = begin; i < end; ++i) {
        sorted->rows.push_back(static_cast<int32_t>(table.tokens.rows[i] % samples));
        sorted->cols.push_back(table.tokens.cols[i]);
        sorted->gains.push_back(table.tokens.gains[i]);
      }
      sorted->ids[shard] += table.ids[shard];
      sorted->unique_ids[shard] += table.unique_ids[shard];
    }
  }
  return Status();
}

}  // namespace sparse_core
}  // namespace estimator_plugin
