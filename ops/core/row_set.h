// A set of row numbers of one bucket, one bit each.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_ROW_SET_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_ROW_SET_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace estimator_plugin {

// Threads may Add at once. All else wants the set to itself.
class RowSet {
 public:
  // Makes room for the numbers below `rows`.
  void Reserve(uint32_t rows);

  // REQUIRES: there is room for `row`.
  void Add(uint32_t row) {
    std::atomic<uint64_t>& word = words_[row / 64];
    // Most rows of a busy table are in it already: a look is cheaper than a locked write.
    if ((word.load(std::memory_order_relaxed) & BitOf(row)) == 0) {
      word.fetch_or(BitOf(row), std::memory_order_relaxed);
    }
  }
  void Remove(uint32_t row);

  // Adds all numbers in [begin, end). REQUIRES: there is room for them.
  void AddRange(uint32_t begin, uint32_t end);
  // Moves all of `other` here.
  void Take(RowSet* other);
  void Clear();

  std::vector<uint32_t> rows() const;  // In order.
  int64_t bytes() const { return static_cast<int64_t>(words_.size() * sizeof(uint64_t)); }

 private:
  static uint64_t BitOf(uint32_t row) { return uint64_t{1} << row % 64; }
  void Resize(size_t words);  // To more than there are.

  std::vector<std::atomic<uint64_t>> words_;
};

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_ROW_SET_H_
