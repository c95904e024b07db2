// The part of a training lookup that counts its keys: those that have a row in the row's metadata,
// the others in their bucket's admission filter.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_KEY_COUNTER_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_KEY_COUNTER_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "admission.h"
#include "bucket.h"
#include "missing_keys.h"
#include "parallel.h"
#include "table_types.h"

namespace estimator_plugin {

// Lives for one lookup. REQUIRES: the table's rows are locked, shared, since before their addresses
// were found.
template <typename V>
class KeyCounter {
 public:
  using Buckets = std::vector<std::unique_ptr<Bucket<V>>>;

  KeyCounter(const KeyUse& use, const Buckets& buckets, const TableOptions& options,
             Admission* admission);

  // Counts the rows at positions of the batch, whose uses are in the cache; kNoAddress is left out.
  // Thread-safe: counts add up to the same whatever the order.
  void CountRows(const int64_t* addresses, ShardRange positions) const;

  // Counts the keys that have a row in the record that several tables share, if there is one.
  void CountCombined(const int64_t* keys, const int64_t* addresses, int64_t n);
  // Counts missing keys and leaves those that are to get a row.
  void CountMissing(std::vector<MissingKey>* missing, ParallelRunner* runner);

  const Counting& counting() const { return counting_; }

 private:
  // What a count writes to, of one bucket.
  struct Counted {
    RowUse* uses;
    ChangeLog* changes;

    void Count(const Counting& counting, int64_t position, uint32_t row) const {
      RowUse* const use = uses + row;
      use->count = AddCounts(use->count, counting.Added(position));
      use->last_seen = std::max(use->last_seen, counting.now);  // A later lookup may be first.
      changes->MarkChanged(row);
    }
  };

  void StartClock();
  void PrepareFilters();

  const Buckets& buckets_;
  const TableOptions& options_;
  Admission* const admission_;
  Counting counting_;
  std::vector<Counted> counted_;  // By bucket.
};

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_KEY_COUNTER_H_
