// An address names one row of one table: the bucket in the high half, the row in the low half.
// It stays good while the row lives, however much the table grows.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_ADDRESS_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_ADDRESS_H_

#include <cstdint>

namespace estimator_plugin {

constexpr int64_t kNoKey = -1;      // The one reserved key: "no id here" (ragged padding).
constexpr int64_t kNoAddress = -1;  // "No row": reads as the default row, takes no gradient.
constexpr uint32_t kNoRow = 0xffffffffu;
constexpr uint32_t kMaxRowsPerBucket = 1u << 31;

inline int64_t MakeAddress(int bucket, uint32_t row) {
  return static_cast<int64_t>(bucket) * (int64_t{1} << 32) + row;  // Defined below zero too.
}
// Negative for a negative address: callers compare it unsigned with the number of buckets.
inline int64_t BucketOfAddress(int64_t address) { return address >> 32; }
inline uint32_t RowOfAddress(int64_t address) { return static_cast<uint32_t>(address); }

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_ADDRESS_H_
