// An address names one row of one table while the row lives, however much the table grows: the row
// number in bits 0 to 31, the bucket in bits 32 to 43, and in bits 44 to 59 the row's generation,
// which goes up when the row is freed. So an address that outlived its row is told from one of the
// key that has the row now: it is stale.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_ADDRESS_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_ADDRESS_H_

#include <cstdint>

namespace estimator_plugin {

constexpr int64_t kNoKey = -1;      // The one reserved key: "no id here" (ragged padding).
constexpr int64_t kNoAddress = -1;  // "No row": reads as the default row, takes no gradient.
constexpr uint32_t kNoRow = 0xffffffffu;
constexpr uint32_t kMaxRowsPerBucket = 1u << 31;

inline int64_t MakeAddress(int bucket, uint32_t row, uint16_t generation) {
  return int64_t{generation} << 44 | int64_t{bucket} << 32 | row;
}
// -1 where no lookup can have given the address: callers compare unsigned with the number of
// buckets.
inline int64_t BucketOfAddress(int64_t address) {
  return address >> 60 == 0 ? address >> 32 & 0xfff : -1;
}
inline uint32_t RowOfAddress(int64_t address) { return static_cast<uint32_t>(address); }
inline uint16_t GenerationOfAddress(int64_t address) {
  return static_cast<uint16_t>(address >> 44);
}

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_ADDRESS_H_
