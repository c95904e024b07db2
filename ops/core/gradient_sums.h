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
};

// Reusable: its memory grows to the largest batch and stays. Thread-compatible.
template <typename V>
class GradientSums {
 public:
  struct Shard {
    int64_t size = 0;              // Distinct addresses of this shard.
    int64_t* addresses = nullptr;  // [size], in order of first appearance.
    V* sums = nullptr;             // [size, dim]
    V** rows = nullptr;            // [size], filled in by the update.
    bool finite = true;            // Whether all sums are.

   private:
    friend class GradientSums;
    DistinctSet distinct;
  };

  // Sums in order over all segments laid end to end, whatever the thread count. kNoAddress is left
  // out. REQUIRES: fewer than 2^32 addresses in all.
  void Build(const std::vector<GradientSegment<V>>& segments, int64_t dim, ParallelRunner* runner);

  int num_shards() const { return num_shards_; }
  Shard& shard(int index) { return *shards_[index]; }
  // Whether every sum is finite, and with them every gradient that was summed.
  bool AllFinite() const;

 private:
  struct Entry {
    int64_t address;
    const V* gradient;
  };

  void Partition(const std::vector<GradientSegment<V>>& segments, int64_t dim, int64_t total,
                 ParallelRunner* runner);
  static void Sum(const Entry* entries, int64_t n, int64_t dim, Shard* shard);

  int num_shards_ = 0;
  HugeArena arena_;
  std::vector<std::unique_ptr<Shard>> shards_;
  Entry* entries_ = nullptr;      // Grouped by shard.
  std::vector<int64_t> offsets_;  // [num_shards + 1]: each shard's part of entries_.
};

// The error for a sum that is not finite: it names the first gradient that is not, whose address is
// a `id`, or says that their sum is too large.
template <typename V>
Status DescribeNonFinite(const std::string& table, const char* id,
                         const std::vector<GradientSegment<V>>& segments, int64_t dim);

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_GRADIENT_SUMS_H_
