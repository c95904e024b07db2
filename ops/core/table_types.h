// What goes into a table's methods and comes out of them.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_TABLE_TYPES_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_TABLE_TYPES_H_

#include <cstdint>
#include <string>

#include "initializer.h"
#include "parallel.h"
#include "row_layout.h"
#include "save_ledger.h"

namespace estimator_plugin {

struct TableOptions {
  std::string name;
  int64_t dim = 0;
  int num_buckets = 64;  // A power of two, 1 to 4096; fixed for the table's life.
  // The buckets that are here: a partition of the table, on one of several servers, has a range.
  int first_bucket = 0;
  int end_bucket = -1;  // -1: num_buckets.
  InitializerSpec initializer;

  ShardRange owned_buckets() const {
    return {first_bucket, end_bucket == -1 ? num_buckets : end_bucket};
  }
};

struct TableStats {
  int64_t rows = 0;            // Live rows.
  int64_t bytes = 0;           // Memory in use for rows, metadata and index.
  int64_t keys_looked_up = 0;  // Keys asked for since creation, kNoKey not counted.
  int64_t keys_found = 0;      // Those that had a row already.
  int64_t rows_inserted = 0;
  int64_t rows_removed = 0;
  int64_t rows_updated = 0;
};

enum class OnMissing { kInsert, kDefault };
enum class OnNonFinite { kReject, kSkip };

struct UpdateResult {
  int64_t updated_rows = 0;
  // Rows left alone because their summed gradient was not finite.
  int64_t skipped_rows = 0;
  bool slots_changed = false;  // Rows had another optimizer's slots; those it lacks are fresh.
};

enum class SaveKind { kFull, kDelta };

// What the parts of a save have in common, on however many servers the table's partitions are.
struct SaveInfo {
  SaveKind kind;
  RowLayout layout;  // Of all rows of the save.
  uint64_t save_id;  // See SavedAs.
  SavedAs parent;    // What a delta is relative to.
};

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_TABLE_TYPES_H_
