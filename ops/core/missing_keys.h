// Keys of a batch that a lookup found no row for.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_MISSING_KEYS_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_MISSING_KEYS_H_

#include <cstdint>

namespace estimator_plugin {

struct MissingKey {
  int64_t key;
  int64_t position;  // In the batch.
};

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_MISSING_KEYS_H_
