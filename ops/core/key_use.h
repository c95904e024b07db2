// What a training lookup says about the use of its keys, and what a table makes of it.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_KEY_USE_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_KEY_USE_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>

namespace estimator_plugin {

class CombinedCounts;

constexpr int32_t kMaxCount = std::numeric_limits<int32_t>::max();
constexpr int32_t kNoThreshold = -1;
constexpr int64_t kNoClock = -1;

inline int32_t AddCounts(int32_t count, int64_t added) {
  return static_cast<int32_t>(std::min<int64_t>(count + added, kMaxCount));
}

// What is known of the use of a row: in one place, as a lookup that counts touches it once a key.
struct RowUse {
  int64_t last_seen;
  int32_t count;
};

enum class FilterKind { kExact, kSketch };

// How a program wants a table's new keys admitted.
struct AdmissionOptions {
  // kNoThreshold: every key gets a row; 0: likewise, and nothing is counted.
  int32_t access_threshold = kNoThreshold;
  FilterKind filter = FilterKind::kExact;
  int64_t sketch_bytes = int64_t{64} << 20;  // Of the whole table.
  std::shared_ptr<CombinedCounts> combined;  // One record for several tables; null: its own.
};

// The use of a batch's keys.
struct KeyUse {
  int64_t now = 0;                       // A timestamp or a step, at least 0.
  const int32_t* occurrences = nullptr;  // Of each key, at least 0; null: one each.
  int32_t coefficient = 1;               // Factor on occurrences, at least 1.
  AdmissionOptions admission;
};

// What is done with a batch's keys.
struct Counting {
  const int32_t* occurrences = nullptr;
  int64_t coefficient = 0;  // 0: nothing is counted.
  int32_t threshold = 0;    // 0: every key gets a row.
  int64_t now = 0;          // The table's clock.

  // What the key at `position` adds to its count.
  int32_t Added(int64_t position) const {
    const int64_t times = occurrences == nullptr ? 1 : occurrences[position];
    return AddCounts(0, times * coefficient);
  }
};

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_KEY_USE_H_
