#include "segment_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace estimator_plugin {
namespace sparse_core {

Status CheckBuffer(const BufferOptions& options) {
  if (options.capacity % kAlignment != 0) {
    return Error(Code::kInvalidArgument, "table '", options.table,
                 "': max_ids_per_chip_per_sample times the samples of a chip is ", options.capacity,
                 "; it must be a multiple of ", kAlignment);
  }
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max() - kAlignment;
  if (options.capacity > kMost || options.row_pointers() > kMost) {
    return Error(Code::kInvalidArgument, "table '", options.table, "': a buffer of ",
                 options.capacity, " ids and ", options.row_pointers(),
                 " row pointers is too large; each may have ", kMost);
  }
  return Status();
}

Status PlanSegments(const BufferOptions& options, int64_t minibatches,
                    const std::vector<int32_t>& sizes, int32_t* row_pointers, SegmentPlan* plan) {
  const int64_t shards = options.topology.shards();
  plan->segments.clear();
  plan->segments.reserve(sizes.size());
  plan->dropped = 0;
  int64_t at = 0;
  int32_t* pointer = row_pointers;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t room = options.capacity - at;
    if (sizes[i] > room && !options.allow_dropping) {
      const int64_t left = std::accumulate(sizes.begin() + i, sizes.end(), int64_t{0});
      return Error(Code::kInvalidArgument, "table '", options.table, "': its buffer has ",
                   options.capacity, " places for ids, of which ", room, " are free, and ", left,
                   " ids are left; raise max_ids_per_chip_per_sample or allow ids to be dropped");
    }
    const int64_t taken = std::min<int64_t>(sizes[i], room);
    plan->dropped += sizes[i] - taken;
    plan->segments.push_back({static_cast<int32_t>(at), static_cast<int32_t>(at + taken)});
    *pointer++ = static_cast<int32_t>(at + taken);
    at = Aligned(at + taken);
    if ((i + 1) % shards == 0) {
      const int64_t padding = options.topology.pointers_per_minibatch() - shards;
      pointer = std::fill_n(pointer, padding, static_cast<int32_t>(at));
    }
  }
  plan->ids_size = at;
  plan->row_pointers_size =
      minibatches * options.topology.cores_per_replica * options.topology.pointers_per_minibatch();
  std::fill(pointer, row_pointers + options.row_pointers(), static_cast<int32_t>(at));
  return Status();
}

}  // namespace sparse_core
}  // namespace estimator_plugin
