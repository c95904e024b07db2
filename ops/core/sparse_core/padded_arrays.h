// The ids of a CSR buffer, in memory that serves one batch after another.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_PADDED_ARRAYS_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_PADDED_ARRAYS_H_

#include <cstdint>
#include <vector>

#include "../huge_buffer.h"
#include "convert.h"
#include "segment_plan.h"

namespace estimator_plugin {
namespace sparse_core {

// A buffer has room for the largest batch, so most of it is padding, and the same padding from
// batch to batch: only what the batch before used and this one does not is filled again.
// Thread-compatible.
class PaddedArrays {
 public:
  // Makes the arrays of `replicas` buffers of `capacity` ids. Call it before each batch: another
  // size starts over.
  void Prepare(int64_t replicas, int64_t capacity);

  // Of all replicas, one after the other.
  const Tokens& arrays() const { return arrays_; }

  // Pads behind each replica's ids_size. REQUIRES: only what is before was written since Prepare.
  void Pad(const std::vector<SegmentPlan>& plans);

 private:
  int64_t capacity_ = 0;
  std::vector<int64_t> used_;  // Ids of each replica that may be no padding.
  HugeArena arena_;
  Tokens arrays_{};
};

}  // namespace sparse_core
}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_PADDED_ARRAYS_H_
