// How many ids one core may send to one shard.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_ID_LIMITS_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_ID_LIMITS_H_

#include <cstdint>
#include <string>

#include "../status.h"

namespace estimator_plugin {
namespace sparse_core {

struct IdLimits {
  int64_t ids;
  int64_t unique_ids;
};

inline Status CheckLimits(const std::string& table, const IdLimits& limits) {
  const auto check = [&](const char* limit, int64_t value) {
    if (value >= 1) return Status();
    return Error(Code::kInvalidArgument, "table '", table, "': ", limit, " is ", value,
                 "; it must be at least 1");
  };
  EP_RETURN_IF_ERROR(check("max_ids_per_sparse_core", limits.ids));
  return check("max_unique_ids_per_sparse_core", limits.unique_ids);
}

// `ids` and `unique_ids` are those of shard `shard`.
inline Status CheckCounts(const std::string& table, const IdLimits& limits, int64_t shard,
                          int64_t ids, int64_t unique_ids) {
  const auto check = [&](const char* what, int64_t count, const char* limit, int64_t most) {
    if (count <= most) return Status();
    return Error(Code::kInvalidArgument, "table '", table, "': shard ", shard, " gets ", count, " ",
                 what, " from one SparseCore; ", limit, " is ", most);
  };
  EP_RETURN_IF_ERROR(check("ids", ids, "max_ids_per_sparse_core", limits.ids));
  return check("unique ids", unique_ids, "max_unique_ids_per_sparse_core", limits.unique_ids);
}

}  // namespace sparse_core
}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_ID_LIMITS_H_
