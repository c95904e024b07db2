// Working memory on huge pages: random access to megabytes of it would otherwise spend its time in
// page-table walks. Grows, never shrinks.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_HUGE_BUFFER_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_HUGE_BUFFER_H_

#include <cstdint>
#include <memory>
#include <new>

#include "mapped_range.h"

namespace estimator_plugin {

// Thread-compatible.
class HugeBuffer {
 public:
  // At least `bytes` bytes, aligned to a page; zeros when freshly grown, else what was left there.
  // Throws std::bad_alloc, as a vector would, when the system gives no memory.
  char* Grow(int64_t bytes) {
    if (range_ == nullptr || range_->bytes() < bytes) {
      range_.reset();
      // Half as much again, so that batches that grow slowly do not remap each time.
      const int64_t wanted = bytes + bytes / 2;
      const bool huge = wanted >= kHugePageBytes;
      range_ = MappedRange::Reserve(RoundUp(wanted, huge ? kHugePageBytes : kPageBytes));
      if (range_ == nullptr) throw std::bad_alloc();
      if (huge) MappedRange::AdviseHuge(range_->base(), range_->bytes());
    }
    return range_->base();
  }

  int64_t bytes() const { return range_ == nullptr ? 0 : range_->bytes(); }

 private:
  std::shared_ptr<MappedRange> range_;
};

// Cuts the arrays of one operation from one buffer. Thread-compatible.
class HugeArena {
 public:
  // Starts over with room for `bytes` bytes and `arrays` arrays.
  void Reset(int64_t bytes, int64_t arrays) { next_ = buffer_.Grow(bytes + arrays * kAlignment); }

  // REQUIRES: what was announced to Reset is not used up.
  template <typename T>
  T* Take(int64_t count) {
    T* const array = reinterpret_cast<T*>(next_);
    next_ += RoundUp(count * static_cast<int64_t>(sizeof(T)), kAlignment);
    return array;
  }

 private:
  static constexpr int64_t kAlignment = 64;

  HugeBuffer buffer_;
  char* next_ = nullptr;
};

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_HUGE_BUFFER_H_
