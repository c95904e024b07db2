// Which rows leave a table so that only so many are left.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_ROW_BUDGET_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_ROW_BUDGET_H_

#include <cstdint>

#include "eviction.h"
#include "row_store.h"

namespace estimator_plugin {

// What rows are ranked by: the least leave first.
enum class Rank { kLastSeen, kCount };

// A row's place in the order in which rows leave: ties of rank go by key.
struct Place {
  int64_t rank;
  int64_t key;

  bool operator<(const Place& other) const {
    return rank < other.rank || (rank == other.rank && key < other.key);
  }
};

inline Place PlaceOf(const RowStore& store, Rank rank, uint32_t row) {
  const RowUse& use = store.uses()[row];
  return {rank == Rank::kLastSeen ? use.last_seen : use.count, store.keys()[row]};
}

// Whether a place is not behind `last`. No branch: it could not be foreseen.
inline bool IsUpTo(const Place& place, const Place& last) {
  return (place.rank < last.rank) | ((place.rank == last.rank) & (place.key <= last.key));
}

// The place of the last row to leave for `budget` rows to be left; false if none has to.
bool FindLastToLeave(const EvictedTable& table, Rank rank, int64_t budget, Place* last);

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_ROW_BUDGET_H_
