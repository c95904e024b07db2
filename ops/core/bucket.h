// One bucket of a table: its index and its rows. The unit of ownership, parallel work and
// checkpoints.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_BUCKET_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_BUCKET_H_

#include <cstdint>
#include <memory>

#include "admission_filter.h"
#include "change_log.h"
#include "key_index.h"
#include "row_layout.h"
#include "row_store.h"

namespace estimator_plugin {

// The rows of a bucket at one moment, in the order of the arrays. The pointers stay good as long as
// `owner` lives. `values` is [rows, layout.width()].
template <typename V>
struct BucketView {
  std::shared_ptr<const void> owner;
  int64_t rows = 0;
  const int64_t* keys = nullptr;
  const V* values = nullptr;
  const int32_t* counts = nullptr;
  const int64_t* last_seen = nullptr;
  std::shared_ptr<const WaitingRecords> waiting;  // All of the bucket's; null without a filter.
};

// Rows to take in, as a checkpoint's bucket holds them, and keys to remove before that.
template <typename V>
struct ImportedRows {
  RowLayout layout;   // Of the values; slots that it does not name are left out.
  int64_t width = 0;  // Values from one row to the next, at least layout.width().
  int64_t rows = 0;
  const int64_t* keys = nullptr;
  const V* values = nullptr;        // [rows, width]
  const int32_t* counts = nullptr;  // May be null, with last_seen.
  const int64_t* last_seen = nullptr;
  int64_t num_removed = 0;
  const int64_t* removed = nullptr;
};

// Thread-compatible: the table's lock guards it.
template <typename V>
struct Bucket {
  Bucket(IndexArena* arena, int64_t width, int number, uint16_t generation)
      : index(arena, number), store(NewStore(width, generation)) {}

  static RowStore* NewStore(int64_t width, uint16_t generation) {
    return new RowStore(width * static_cast<int64_t>(sizeof(V)), RowStore::kFirstRangeBytes,
                        generation);
  }

  std::shared_ptr<const WaitingRecords> SaveWaiting() const {
    if (filter == nullptr) return nullptr;
    const auto records = std::make_shared<WaitingRecords>();
    filter->Save(records.get());
    return records;
  }

  V* row(uint32_t number) const { return reinterpret_cast<V*>(store->row(number)); }

  KeyIndex index;
  std::unique_ptr<RowStore> store;
  ChangeLog changes;
  std::unique_ptr<AdmissionFilter> filter;  // Null while no key waits for admission.
};

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_BUCKET_H_
