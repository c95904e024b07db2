// The part of a training lookup that counts its keys: those that have a row in the row's metadata,
// the others in their bucket's admission filter.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_KEY_COUNTER_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_KEY_COUNTER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "admission.h"
#include "bucket.h"
#include "missing_keys.h"
#include "parallel.h"

namespace estimator_plugin {

// One batch of a table's lookup.
struct CountedBatch {
  const int64_t* keys;
  const int64_t* addresses;  // kNoAddress where a key has no row.
  int64_t n;
};

// Lives for one lookup. REQUIRES: the table's rows are locked, shared, since before the addresses
// were found.
template <typename V>
class KeyCounter {
 public:
  using Buckets = std::vector<std::unique_ptr<Bucket<V>>>;

  KeyCounter(const Buckets& buckets, int bucket_shift, Admission* admission, ParallelRunner* runner)
      : buckets_(buckets), bucket_shift_(bucket_shift), admission_(admission), runner_(runner) {}

  // Counts the keys of a batch and leaves in `missing` those that are to get a row.
  Counting Count(const KeyUse& use, const CountedBatch& batch, std::vector<MissingKey>* missing);

 private:
  void StartClock(int64_t now);
  void PrepareFilters();
  void CountRows(const Counting& counting, const CountedBatch& batch);
  void CountWaiting(const Counting& counting, std::vector<MissingKey>* missing);

  const Buckets& buckets_;
  const int bucket_shift_;
  Admission* const admission_;
  ParallelRunner* const runner_;
};

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_KEY_COUNTER_H_
