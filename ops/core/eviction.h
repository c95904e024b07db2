// Which rows leave a table.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_EVICTION_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_EVICTION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "row_store.h"
#include "status.h"

namespace estimator_plugin {

// policy            rows that leave
// "older_than"      those not seen for `threshold` seconds or steps, by the table's clock; keys
// that
//                   wait for admission too
// "small_norm"      those whose embedding's L2 norm is below `threshold`
// "least_recent"    those seen longest ago, and
// "least_frequent"  those seen least, until `threshold` rows are left; ties go by key
struct EvictionRule {
  std::string policy;
  double threshold = 0;
};

// Thread-safe: once made it changes nothing.
class EvictionPolicy {
 public:
  virtual ~EvictionPolicy() = default;

  // The rows of [begin, end) that leave, in order; there is room for all. Returns how many.
  virtual size_t Select(const RowStore& store, uint32_t begin, uint32_t end,
                        uint32_t* rows) const = 0;
  // Keys last seen then or before stop waiting for admission; negative for none.
  virtual int64_t last_waiting() const { return -1; }
};

// What a policy needs to know of a table.
struct EvictedTable {
  int64_t clock = 0;  // Negative before the first lookup that was told the time.
  int64_t dim = 0;
  int64_t rows = 0;
  int shards = 1;
  // Calls visit(shard, store, begin, end) for all rows, free ones among them, in some ranges; at
  // once for shards 0 to shards - 1. Rows stand still during a call, and may change between two.
  using Visit = std::function<void(int, const RowStore&, uint32_t begin, uint32_t end)>;
  std::function<void(const Visit&)> for_each_range;
};

// InvalidArgument, without the table's name, for an unknown policy or a threshold that is negative
// or no number. Null for a policy that finds nothing to evict.
Status MakeEvictionPolicy(const EvictionRule& rule, const EvictedTable& table,
                          std::unique_ptr<EvictionPolicy>* policy);

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_EVICTION_H_
