// One record of counts for the keys of several tables: a key's counts add up over them, and go on
// after it has a row. Each table sees it through filters of its buckets.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_COMBINED_COUNTS_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_COMBINED_COUNTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "admission_filter.h"
#include "waiting_keys.h"

namespace estimator_plugin {

// The keys of one bucket of a table.
struct KeysOfBucket {
  int bucket = 0;
  int bucket_shift = 64;

  bool Has(int64_t key) const;
};

// Thread-safe. Tables are told apart by any pointer of theirs.
class CombinedCounts {
 public:
  void Count(const MissingKey* keys, int64_t n, const Counting& counting);
  int32_t CountOf(int64_t key) const;

  // The table counts here from now on.
  void Join(const void* table);
  // A table no longer needs keys last seen at `last` or before: those leave that no table needs.
  int64_t RemoveOlder(const void* table, const KeysOfBucket& keys, int64_t last);

  // Every table would save the same: the first one to ask does.
  void Save(const void* table, const KeysOfBucket& keys, WaitingRecords* records);
  void Load(const WaitingView& saved);

 private:
  static constexpr int kLanes = 64;

  mutable std::mutex mutex_;
  WaitingKeys lanes_[kLanes];                // By the top bits of the hash, as buckets are.
  std::map<const void*, int64_t> needless_;  // By table: last seen then or before.
  const void* saver_ = nullptr;
};

// A bucket's view of a combined record.
std::unique_ptr<AdmissionFilter> MakeCombinedFilter(const std::shared_ptr<CombinedCounts>& counts,
                                                    const void* table, const KeysOfBucket& keys);

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_COMBINED_COUNTS_H_
