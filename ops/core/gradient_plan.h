// Who gets which gradients: the distinct addresses of a batch, split over shards, each with the
// list of its gradient rows in batch order.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_GRADIENT_PLAN_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_GRADIENT_PLAN_H_

#include <cstdint>
#include <vector>

#include "distinct_set.h"
#include "parallel.h"

namespace estimator_plugin {

// Gradients of one lookup: gradients[i * dim ...] belongs to addresses[i].
template <typename V>
struct GradientSegment {
  const int64_t* addresses;
  const V* gradients;
  int64_t n;
};

// Reusable: Build grows the vectors it needs and keeps them. Thread-compatible.
template <typename V>
class GradientPlan {
 public:
  struct Entry {
    int64_t address;
    const V* gradient;
  };

  struct Shard {
    uint32_t size = 0;               // Distinct addresses of this shard.
    std::vector<int64_t> addresses;  // [size], in order of first appearance.
    std::vector<uint32_t> begins;    // [size + 1]: where each address's gradients lie in
    std::vector<const V*> gradients;  // this list.
    std::vector<V*> rows;            // [size], filled in by the update.
    std::vector<V> sum;              // [dim]

    DistinctSet distinct;
    std::vector<uint32_t> numbers;
  };

  // Splits the gradients of all segments over shards by address, whatever the thread count: a
  // row's gradients stay together and in order. kNoAddress is left out. REQUIRES: fewer than 2^32
  // addresses in all.
  void Build(const std::vector<GradientSegment<V>>& segments, int64_t dim, ParallelRunner* runner);

  int num_shards() const { return num_shards_; }
  Shard& shard(int index) { return shards_[index]; }

 private:
  void Partition(const std::vector<GradientSegment<V>>& segments, int64_t dim, int64_t total,
                 ParallelRunner* runner);
  void GroupShard(int64_t begin, int64_t end, Shard* shard) const;

  int num_shards_ = 0;
  std::vector<Shard> shards_;
  std::vector<Entry> entries_;    // Grouped by shard.
  std::vector<int64_t> offsets_;  // [num_shards + 1]
};

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_GRADIENT_PLAN_H_
