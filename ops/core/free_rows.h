// The rows of a bucket that may be used again, lowest first: so that a table stays dense and the
// pages behind its last rows stay untouched.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_FREE_ROWS_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_FREE_ROWS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace estimator_plugin {

// A bit a row, and above it a bit for each 64 rows that have a free one. Thread-compatible.
class FreeRows {
 public:
  int64_t size() const { return size_; }
  int64_t bytes() const {
    return static_cast<int64_t>((words_.capacity() + summary_.capacity()) * sizeof(uint64_t));
  }

  // REQUIRES: the row is not there.
  void Add(uint32_t row) {
    const size_t word = row / 64;
    if (word >= words_.size()) {
      words_.resize(word + 1, 0);
      summary_.resize(word / 64 + 1, 0);
    }
    words_[word] |= uint64_t{1} << row % 64;
    summary_[word / 64] |= uint64_t{1} << word % 64;
    first_ = size_ == 0 ? word / 64 : std::min(first_, word / 64);
    ++size_;
  }

  // Takes the lowest row out. REQUIRES: size() > 0.
  uint32_t TakeLowest() {
    while (summary_[first_] == 0) ++first_;
    const size_t word = first_ * 64 + static_cast<size_t>(__builtin_ctzll(summary_[first_]));
    const uint32_t row =
        static_cast<uint32_t>(word * 64) + static_cast<uint32_t>(__builtin_ctzll(words_[word]));
    words_[word] &= words_[word] - 1;
    if (words_[word] == 0) summary_[first_] &= summary_[first_] - 1;
    --size_;
    return row;
  }

  // Whether all of the rows [begin, end) are there.
  bool HasAll(uint32_t begin, uint32_t end) const {
    if (end > words_.size() * 64) return begin >= end;
    for (uint32_t row = begin; row < end;) {
      const uint32_t n = std::min(end - row, 64 - row % 64);
      const uint64_t mask = (n == 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1) << row % 64;
      if ((words_[row / 64] & mask) != mask) return false;
      row += n;
    }
    return true;
  }

 private:
  std::vector<uint64_t> words_;
  std::vector<uint64_t> summary_;
  size_t first_ = 0;  // No word of summary_ before it has a bit.
  int64_t size_ = 0;
};

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_FREE_ROWS_H_
