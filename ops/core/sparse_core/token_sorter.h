// Brings the tokens of one table and core into the order of the CSR buffer.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_TOKEN_SORTER_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_TOKEN_SORTER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "../status.h"
#include "convert.h"
#include "topology.h"

namespace estimator_plugin {
namespace sparse_core {

// The stack whose tokens are sorted.
struct SortOptions {
  std::string table;  // For error messages.
  Topology topology;
  int64_t columns = 0;  // Of the stack: columns must be below it.
};

// Ids and distinct columns of each shard, [shards] each.
struct ShardCounts {
  int32_t* ids;
  int32_t* unique_ids;
};

// Reusable: its memory grows to the largest batch and stays. Thread-compatible.
class TokenSorter {
 public:
  // Writes `n` tokens by shard, column and position, those of equal row and column that come to lie
  // side by side as one, gains added. Columns become row numbers in the shard. Sets the counts of
  // all shards. `sorted` has room for n tokens.
  Status Sort(const Tokens& tokens, int64_t n, const SortOptions& options, const Tokens& sorted,
              const ShardCounts& counts);

 private:
  struct Item {
    uint32_t key;  // The shard above the row in the shard, counted from the lowest there is.
    uint32_t position;
  };

  // Sorts items_ by the low `bits` bits of their keys; equal keys keep their order.
  void SortByKey(int bits);
  void SortByDigit(int shift, int digit_bits);

  std::vector<Item> items_;
  std::vector<Item> other_;
  std::vector<uint32_t> next_;
};

}  // namespace sparse_core
}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_TOKEN_SORTER_H_
