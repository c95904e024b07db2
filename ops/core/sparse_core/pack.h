// The sorted ids of a chip's cores in one CSR buffer.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_PACK_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_PACK_H_

#include <cstdint>
#include <vector>

#include "convert.h"
#include "segment_plan.h"

namespace estimator_plugin {
namespace sparse_core {

// Buckets of a shard between which a minibatch may end.
constexpr int64_t kBuckets = 64;

// One core's sorted tokens. `id_counts` says where each shard's tokens end, [shards + 1], or each
// bucket's of each shard, [64 shards + 1].
struct SortedCore {
  const int32_t* rows;
  const int32_t* cols;
  const float* gains;
  int64_t size;
  const int32_t* id_counts;
  int64_t num_counts;
};

// The buckets at which minibatches begin and end: 0, the boundaries, 64. Bit 2^l - 1 + s of
// `splits` is a boundary in the middle of section s of 2^l equal ones.
Status MinibatchEdges(const std::string& table, uint64_t splits, std::vector<int>* edges);

// Fills a buffer of options.capacity ids, padding included.
Status Pack(const std::vector<SortedCore>& cores, const std::vector<int>& edges,
            const BufferOptions& options, int32_t* row_pointers, const Tokens& buffer,
            SegmentPlan* plan);

// Padding from `begin` to `end`.
void FillPadding(const Tokens& buffer, int64_t begin, int64_t end);

// Padding after the segments of `plan`, up to its ids_size.
void FillGaps(const Tokens& buffer, const SegmentPlan& plan);

}  // namespace sparse_core
}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_PACK_H_
