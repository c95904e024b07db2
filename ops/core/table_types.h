// What goes into a table's methods and comes out of them.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_TABLE_TYPES_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_TABLE_TYPES_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "admission.h"
#include "initializer.h"
#include "row_layout.h"
#include "save_ledger.h"

namespace estimator_plugin {

struct TableOptions {
  std::string name;
  int64_t dim = 0;
  int num_buckets = 64;  // A power of two, 1 to 4096; fixed for the table's life.
  InitializerSpec initializer;
};

struct TableStats {
  int64_t rows = 0;            // Live rows.
  int64_t bytes = 0;           // Memory in use for rows, metadata and index.
  int64_t keys_looked_up = 0;  // Keys asked for since creation, kNoKey not counted.
  int64_t keys_found = 0;      // Those that had a row already.
  int64_t rows_inserted = 0;
  int64_t rows_removed = 0;
  int64_t rows_updated = 0;
  int64_t rows_admitted = 0;  // Inserted because an admission filter let their keys in.
  int64_t waiting = 0;        // Keys that are being counted now.
  int64_t keys_refused = 0;   // Keys of training lookups that were not admitted.
  int64_t rows_evicted = 0;
  int64_t waiting_evicted = 0;
  int64_t stale_updates = 0;  // Gradients of rows that left between lookup and update.
  int64_t stale_reads = 0;
  int64_t backward_clocks = 0;  // Lookups that were told an earlier time than one before.
};

// What a table counts as it goes.
struct TableCounters {
  std::atomic<int64_t> keys_looked_up{0};
  std::atomic<int64_t> keys_found{0};
  std::atomic<int64_t> rows_inserted{0};
  std::atomic<int64_t> rows_removed{0};
  std::atomic<int64_t> rows_updated{0};
  std::atomic<int64_t> rows_admitted{0};
  std::atomic<int64_t> keys_refused{0};
  std::atomic<int64_t> rows_evicted{0};
  std::atomic<int64_t> waiting_evicted{0};
  std::atomic<int64_t> stale_updates{0};
  std::atomic<int64_t> stale_reads{0};
};

enum class OnMissing { kInsert, kDefault };
enum class OnNonFinite { kReject, kSkip };

struct UpdateResult {
  int64_t updated_rows = 0;
  // Rows left alone because their summed gradient was not finite.
  int64_t skipped_rows = 0;
  int64_t stale_rows = 0;      // Left out because the row was freed after the lookup.
  bool slots_changed = false;  // Rows had another optimizer's slots; those it lacks are fresh.
};

enum class SaveKind { kFull, kDelta };

struct SaveInfo {
  SaveKind kind;
  RowLayout layout;  // Of all rows of the save.
  uint64_t save_id;  // See SavedAs.
  SavedAs parent;    // What a delta is relative to.
  AdmissionState admission;
};

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_TABLE_TYPES_H_
