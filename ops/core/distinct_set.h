// The distinct values of a stream, numbered in order of first appearance.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_DISTINCT_SET_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_DISTINCT_SET_H_

#include <cstdint>

#include "huge_buffer.h"

namespace estimator_plugin {

// Open addressing, at most two thirds full. Starting a new stream costs nothing in the size of the
// table: entries carry the number of the stream they belong to. Thread-compatible.
class DistinctSet {
 public:
  // Starts a new stream of at most `most` values.
  void Reset(int64_t most) {
    int64_t capacity = kSmallest;
    while (2 * capacity < 3 * most) capacity *= 2;
    const int64_t bytes = capacity * static_cast<int64_t>(sizeof(Entry));
    // Zeros, fresh or written here, belong to no stream: numbers start at one.
    const bool fresh = bytes > buffer_.bytes();
    entries_ = reinterpret_cast<Entry*>(buffer_.Grow(bytes));
    if (fresh) stream_ = 0;
    if (++stream_ == 0) {
      for (int64_t i = 0; i < buffer_.bytes() / static_cast<int64_t>(sizeof(Entry)); ++i) {
        entries_[i] = Entry();
      }
      stream_ = 1;
    }
    mask_ = static_cast<uint64_t>(capacity) - 1;
    size_ = 0;
  }

  // The number of `value` in this stream; a new one gets number size() before the call.
  // REQUIRES: `hash` is a function of the value with well mixed low bits.
  uint32_t Add(int64_t value, uint64_t hash) {
    uint64_t at = hash & mask_;
    while (entries_[at].stream == stream_ && entries_[at].value != value) at = (at + 1) & mask_;
    Entry& entry = entries_[at];
    if (entry.stream != stream_) entry = {value, stream_, size_++};
    return entry.number;
  }

  void Prefetch(uint64_t hash) const { __builtin_prefetch(entries_ + (hash & mask_)); }

  uint32_t size() const { return size_; }

 private:
  static constexpr int64_t kSmallest = 64;

  struct Entry {
    int64_t value = 0;
    uint32_t stream = 0;
    uint32_t number = 0;
  };

  HugeBuffer buffer_;
  Entry* entries_ = nullptr;
  uint64_t mask_ = 0;
  uint32_t stream_ = 0;
  uint32_t size_ = 0;
};

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_DISTINCT_SET_H_
