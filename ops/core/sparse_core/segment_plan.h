// Where the segments of one chip lie in its CSR buffer.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_SEGMENT_PLAN_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_SEGMENT_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "../status.h"
#include "topology.h"

namespace estimator_plugin {
namespace sparse_core {

constexpr int32_t kPaddingId = 2147483647;
constexpr float kPaddingGain = 2147483648.0f;

struct BufferOptions {
  std::string table;  // For error messages.
  Topology topology;
  int64_t max_minibatches = 1;
  int64_t capacity = 0;  // Ids of one chip.
  bool allow_dropping = false;

  int64_t row_pointers() const {
    return max_minibatches * topology.cores_per_replica * topology.pointers_per_minibatch();
  }
};

Status CheckBuffer(const BufferOptions& options);

struct Segment {
  int32_t begin;
  int32_t end;

  int32_t size() const { return end - begin; }
};

struct SegmentPlan {
  std::vector<Segment> segments;  // By core, minibatch and shard.
  int64_t row_pointers_size = 0;
  int64_t ids_size = 0;  // Padding included.
  int64_t dropped = 0;
};

// Lays out segments of `sizes` ids, given by core, minibatch and shard, and writes all
// options.row_pointers() row pointers: the ends of the segments; after those of one core and
// minibatch, and after the last, where the next segment would begin. Ids that exceed the capacity
// are an error, or dropped.
Status PlanSegments(const BufferOptions& options, int64_t minibatches,
                    const std::vector<int32_t>& sizes, int32_t* row_pointers, SegmentPlan* plan);

}  // namespace sparse_core
}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_SEGMENT_PLAN_H_
