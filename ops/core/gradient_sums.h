// The summed gradient of each distinct address of a batch, split over shards by address.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_GRADIENT_SUMS_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_GRADIENT_SUMS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "distinct_set.h"
#include "huge_buffer.h"
#include "parallel.h"
#include "status.h"

namespace estimator_plugin {

// Gradients of one lookup: gradients[i * dim ...] belongs to addresses[i].
template <typename V>
struct GradientSegment {
  const int64_t* addresses;
  const V* gradients;
  int64_t n;
  // Says that no address but kNoAddress is there twice, so that there is nothing to sum: those of
  // an exchange are not, its keys are distinct.
  bool distinct = false;
};

// Reusable: its memory grows to the largest batch and stays. Thread-compatible.
template <typename V>
class GradientSums {
 public:
  struct Entry {
    int64_t address;
    const V* gradient;  // [dim]
  };
  struct Shard {
    int64_t size = 0;       // Distinct addresses of this shard.
    Entry* sums = nullptr;  // [size], in order of first appearance.
    V** rows = nullptr;     // [size], filled in by the update.
    bool finite = true;     // Whether all sums are.

   private:
    friend class GradientSums;
    DistinctSet distinct;
    V* values = nullptr;  // [size, dim], the sums.
  };

  // Sums in order over all segments laid end to end, whatever the thread count. kNoAddress is left
  // out. Of a single segment that is distinct the gradients are the sums, as long as it lives; an
  // address that it has twice after all is twice in its shard. REQUIRES: fewer than 2^32 addresses
  // in all.
  void Build(const std::vector<GradientSegment<V>>& segments, int64_t dim, ParallelRunner* runner);

  int num_shards() const { return num_shards_; }
  Shard& shard(int index) { return *shards_[index]; }
  // Whether every sum is finite, and with them every gradient that was summed.
  bool AllFinite() const;

 private:
  // Writes the entries, grouped by shard.
  void Partition(const std::vector<GradientSegment<V>>& segments, int64_t dim, int64_t total,
                 Entry* entries, ParallelRunner* runner);
  static void Sum(int64_t dim, Shard* shard);
  void CheckFinite(const GradientSegment<V>& distinct, int64_t dim, ParallelRunner* runner);

  int num_shards_ = 0;
  HugeArena arena_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::vector<int64_t> offsets_;  // [num_shards + 1]: each shard's part of the entries.
};

// The error for a sum that is not finite: it names the first gradient that is not, whose address is
// a `id`, or says that their sum is too large.
template <typename V>
Status DescribeNonFinite(const std::string& table, const char* id,
                         const std::vector<GradientSegment<V>>& segments, int64_t dim);

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_GRADIENT_SUMS_H_
