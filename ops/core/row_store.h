// The rows of one bucket: parallel arrays (keys, epochs, counts, last-seen times, rows) in one
// reserved range of virtual memory that is committed by use. Growing copies no row and moves no
// address; when the range is full the mapping moves into one twice as large.
//
// A row is free when its key is kNoKey. Thread-compatible: the bucket's lock guards it.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_ROW_STORE_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_ROW_STORE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "mapped_range.h"
#include "status.h"

namespace estimator_plugin {

class RowStore {
 public:
  // `row_bytes` per row; `stagger` (the bucket's number) shifts where huge pages start, so that the
  // buckets of a table do not all fill one in the same step.
  RowStore(int64_t row_bytes, int stagger) : row_bytes_(row_bytes), stagger_(stagger) {}

  // A row for `key`: a freed one if there is one, else the next. Its values are NOT initialised;
  // its count and last-seen time are zero. ResourceExhausted when the system gives no memory.
  Status Add(int64_t key, uint32_t epoch, uint32_t* row);

  // Frees a live row. While a view is alive it stays as it is and becomes reusable afterwards.
  void Free(uint32_t row);

  // Makes room for `rows` rows in all, so that a bulk load commits huge pages at once.
  Status Reserve(int64_t rows);

  // Rows in use or free; [0, used) is the contiguous prefix that holds every live row.
  uint32_t used() const { return used_; }
  int64_t live() const { return live_; }
  int64_t row_bytes() const { return row_bytes_; }
  bool IsLive(uint32_t row) const { return row < used_ && epochs_[row] != kFreeEpoch; }

  char* row(uint32_t index) const { return rows_ + static_cast<int64_t>(index) * row_bytes_; }
  char* rows() const { return rows_; }
  int64_t* keys() const { return keys_; }
  uint32_t* epochs() const { return epochs_; }
  int32_t* counts() const { return counts_; }
  int64_t* last_seen() const { return last_seen_; }

  // Keeps the arrays as they are now alive and their rows unreused until the result is dropped.
  std::shared_ptr<const void> Pin() const { return range_; }

  // Bytes committed, metadata included.
  int64_t bytes() const;

  static constexpr uint32_t kFreeEpoch = 0;

 private:
  Status Grow(int64_t rows);
  void PlaceArrays(MappedRange* range, int64_t capacity);
  void ReclaimDeferred();
  bool pinned() const { return range_.use_count() > 1; }

  const int64_t row_bytes_;
  const int stagger_;
  std::shared_ptr<MappedRange> range_;
  int64_t capacity_ = 0;
  uint32_t used_ = 0;
  int64_t live_ = 0;
  int64_t huge_bytes_ = 0;  // Bytes of the rows array that are backed by huge pages.
  std::vector<uint32_t> free_rows_;
  std::vector<uint32_t> deferred_;  // Freed while a view was alive.
  int64_t* keys_ = nullptr;
  uint32_t* epochs_ = nullptr;
  int32_t* counts_ = nullptr;
  int64_t* last_seen_ = nullptr;
  char* rows_ = nullptr;
};

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_ROW_STORE_H_
