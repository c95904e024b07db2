#include "padded_arrays.h"

#include "pack.h"

namespace estimator_plugin {
namespace sparse_core {

void PaddedArrays::Prepare(int64_t replicas, int64_t capacity) {
  if (capacity == capacity_ && static_cast<int64_t>(used_.size()) == replicas) return;
  const int64_t size = replicas * capacity;
  constexpr int64_t kIdBytes = 2 * sizeof(int32_t) + sizeof(float);
  arena_.Reset(size * kIdBytes, 3);
  arrays_ = {arena_.Take<int32_t>(size), arena_.Take<int32_t>(size), arena_.Take<float>(size)};
  capacity_ = capacity;
  used_.assign(replicas, capacity);
}

void PaddedArrays::Pad(const std::vector<SegmentPlan>& plans) {
  for (size_t r = 0; r < plans.size(); ++r) {
    const int64_t first = static_cast<int64_t>(r) * capacity_;
    if (plans[r].ids_size < used_[r]) {
      FillPadding(arrays_, first + plans[r].ids_size, first + used_[r]);
    }
    used_[r] = plans[r].ids_size;
  }
}

}  // namespace sparse_core
}  // namespace estimator_plugin
