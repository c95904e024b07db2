// The rows of one bucket: parallel arrays (keys, what is known of their use, rows) in one reserved
// range of virtual memory that is committed by use. Growing copies no row and moves no
// address; when the range is full the mapping moves into one twice as large.
//
// Thread-compatible: the bucket's lock guards it.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_ROW_STORE_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_ROW_STORE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "free_rows.h"
#include "key_use.h"
#include "mapped_range.h"
#include "status.h"

namespace estimator_plugin {

class RowStore {
 public:
  static constexpr int64_t kFirstRangeBytes = int64_t{1} << 30;
  static constexpr int64_t kMetadataBytes = sizeof(int64_t) + sizeof(RowUse);

  // `first_range_bytes` of address space are reserved at first. Rows begin with the generation
  // `first_generation`, another one than those of an older store whose addresses may be around.
  explicit RowStore(int64_t row_bytes, int64_t first_range_bytes = kFirstRangeBytes,
                    uint16_t first_generation = 0)
      : row_bytes_(row_bytes),
        first_range_bytes_(first_range_bytes),
        first_generation_(first_generation) {}

  // A row for `key`: the lowest freed one, else the next. Its values are NOT initialised; its count
  // and last-seen time are zero. ResourceExhausted when the system gives no memory.
  Status Add(int64_t key, uint32_t* row);

  // `n` new rows at the end, in the order of `keys`. REQUIRES: Reserve made room for them.
  void Append(const int64_t* keys, int64_t n);

  // Forgets all rows and keeps their memory for the next ones. REQUIRES: no view is alive.
  void Clear(uint16_t first_generation);
  // Gives back the memory of rows that were there before Clear and have no successor.
  void Trim();

  // Frees live rows: their generations go up. While a view is alive they stay as they are.
  void Free(const uint32_t* rows, size_t n);
  void Free(uint32_t row) { Free(&row, 1); }

  // Gives back at most `most` huge pages whose rows are all free; whether that was the limit.
  bool GiveBackFreed(int most);

  // Makes room for `rows` rows in all, so that a bulk load commits huge pages at once.
  Status Reserve(int64_t rows);

  // Whether rows fill so much of a huge page's place that its small pages are worth replacing.
  bool WantsHugePage() const { return used_ * row_bytes_ >= huge_at_ && range_ != nullptr; }
  // Replaces them: a copy of kHugePageBytes, so the table makes only a few in one step.
  void MakeHugePage();

  // Takes over the rows' numbers, keys and metadata, not their values. REQUIRES: this store is new.
  Status CopyMetadata(const RowStore& from);

  // Rows in use or free; [0, used) is the contiguous prefix that holds every live row.
  uint32_t used() const { return used_; }
  int64_t live() const { return live_; }
  int64_t row_bytes() const { return row_bytes_; }
  // Whether the row has a key: one bit a row, so that asking it of a whole batch stays in the
  // cache.
  bool IsLive(uint32_t row) const { return row < used_ && (live_bits_[row / 64] >> row % 64 & 1); }

  uint16_t generation(uint32_t row) const {
    return generations_.empty() ? first_generation_ : generations_[row];
  }
  // By row; null while all have first_generation().
  const uint16_t* generations() const {
    return generations_.empty() ? nullptr : generations_.data();
  }
  uint16_t first_generation() const { return first_generation_; }

  // Whether the row still is what it was in that generation.
  bool Has(uint32_t row, uint16_t its_generation) const {
    return IsLive(row) && generation(row) == its_generation;
  }

  char* row(uint32_t index) const {
    return arrays_.rows + static_cast<int64_t>(index) * row_bytes_;
  }
  int64_t* keys() const { return arrays_.keys; }
  // By row; all zeros, which take no memory, unless has_usage().
  RowUse* uses() const { return arrays_.uses; }
  bool has_usage() const { return has_usage_; }

  // Whether a view is alive. Acquire: what its last holder read happened before a row is reused.
  bool pinned() const { return pins_ != nullptr && pins_->load(std::memory_order_acquire) > 0; }

  // Keeps the arrays as they are now alive and their rows unreused until the result is dropped.
  std::shared_ptr<const void> Pin() const;

  // Sets what is known of a row's use; zeros cost no memory.
  void SetUsage(uint32_t row, int32_t count, int64_t last_seen);
  // Adds to the count of a row whose usage was set.
  void CountUse(uint32_t row, int32_t added) {
    if (added > 0) SetUsage(row, AddCounts(uses()[row].count, added), uses()[row].last_seen);
  }
  void KeepUsage() { has_usage_ = range_ != nullptr; }  // Before writing through uses().

  // Memory in use, metadata included.
  int64_t bytes() const;

 private:
  struct Arrays {
    int64_t* keys = nullptr;
    RowUse* uses = nullptr;
    char* rows = nullptr;
  };

  Status Grow(int64_t rows);
  int64_t RangeBytes(int64_t capacity) const;
  Arrays Place(char* base, int64_t capacity) const;
  void MoveInto(std::shared_ptr<MappedRange> range, int64_t capacity);
  void AdviseHugePages(int64_t bytes);
  void SkipHugePages();
  void Recycle(const uint32_t* rows, size_t n);
  void ReclaimDeferred();
  const int64_t row_bytes_;
  const int64_t first_range_bytes_;
  uint16_t first_generation_;
  std::shared_ptr<MappedRange> range_;
  std::shared_ptr<std::atomic<int64_t>> pins_;  // Views of range_ that are alive.
  Arrays arrays_;
  int64_t capacity_ = 0;
  uint32_t used_ = 0;
  uint32_t touched_ = 0;  // Rows from the front that Clear left memory behind for; 0 after Trim.
  int64_t live_ = 0;
  bool has_usage_ = false;
  std::vector<uint64_t> live_bits_;
  int64_t huge_begin_ = 0;  // The next huge page to make, as an offset into the rows array,
  int64_t huge_at_ = 0;     // and how far the rows must reach before it is made.
  std::vector<uint16_t> generations_;  // Empty until a row is freed.
  FreeRows free_rows_;
  std::vector<uint32_t> deferred_;  // Freed while a view was alive.
  std::vector<bool> given_back_;    // By huge page of the rows.
};

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_ROW_STORE_H_
