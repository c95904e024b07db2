// Counts the keys of a bucket that have no row yet, until they have been seen often enough.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_ADMISSION_FILTER_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_ADMISSION_FILTER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "key_use.h"
#include "missing_keys.h"

namespace estimator_plugin {

// What a checkpoint holds of a filter.
struct WaitingView {
  int64_t n = 0;
  const int64_t* keys = nullptr;
  const int32_t* counts = nullptr;
  const int64_t* last_seen = nullptr;
  int64_t sketch_cells = 0;
  const int32_t* sketch = nullptr;
};

struct WaitingRecords {
  std::vector<int64_t> keys;
  std::vector<int32_t> counts;
  std::vector<int64_t> last_seen;
  std::vector<int32_t> sketch;

  WaitingView view() const {
    return {static_cast<int64_t>(keys.size()),   keys.data(),  counts.data(), last_seen.data(),
            static_cast<int64_t>(sketch.size()), sketch.data()};
  }
};

// Thread-compatible: the table's lock guards it.
class AdmissionFilter {
 public:
  virtual ~AdmissionFilter() = default;

  // Counts the keys, all of this bucket and none of them kNoKey.
  virtual void Count(const MissingKey* keys, int64_t n, const Counting& counting) = 0;
  // 0 for a key that was not counted.
  virtual int32_t CountOf(int64_t key) const = 0;
  // The same; the key has a row from now on, which goes on counting.
  virtual int32_t Take(int64_t key) = 0;
  // Forgets the keys last seen at `last` or before; returns how many.
  virtual int64_t RemoveOlder(int64_t last) = 0;

  // Keys that are being counted, as far as it is known.
  virtual int64_t waiting() const = 0;
  virtual int64_t bytes() const = 0;

  virtual void Save(WaitingRecords* records) const = 0;
  // Adds what another filter of these keys, or of more, saved.
  virtual void Load(const WaitingView& saved) = 0;
};

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_ADMISSION_FILTER_H_
