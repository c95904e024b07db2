// The distinct values of a stream, numbered in order of first appearance.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_DISTINCT_SET_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_DISTINCT_SET_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace estimator_plugin {

// Open addressing, at most half full. Reset costs nothing in the size of the table: entries carry
// the number of the stream they belong to. Thread-compatible.
class DistinctSet {
 public:
  // Starts a new stream of at most `most` values.
  void Reset(int64_t most) {
    size_t capacity = kSmallest;
    while (capacity < 2 * static_cast<size_t>(most)) capacity *= 2;
    if (capacity > entries_.size()) {
      entries_.assign(capacity, Entry());
      stream_ = 0;
    }
    if (++stream_ == 0) {  // Wrapped: old entries would look new.
      entries_.assign(entries_.size(), Entry());
      stream_ = 1;
    }
    mask_ = capacity - 1;
    size_ = 0;
  }

  // The number of `value` in this stream; a new one gets number size() before the call.
  // REQUIRES: `hash` is a function of the value with well mixed low bits.
  uint32_t Add(int64_t value, uint64_t hash) {
    size_t at = hash & mask_;
    while (entries_[at].stream == stream_ && entries_[at].value != value) at = (at + 1) & mask_;
    Entry& entry = entries_[at];
    if (entry.stream != stream_) entry = {value, stream_, size_++};
    return entry.number;
  }

  uint32_t size() const { return size_; }

 private:
  static constexpr size_t kSmallest = 64;

  struct Entry {
    int64_t value = 0;
    uint32_t stream = 0;
    uint32_t number = 0;
  };

  std::vector<Entry> entries_;
  size_t mask_ = 0;
  uint32_t stream_ = 0;
  uint32_t size_ = 0;
};

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_DISTINCT_SET_H_
