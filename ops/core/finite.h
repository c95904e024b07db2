// Whether numbers are finite, fast enough to ask of every gradient.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_FINITE_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_FINITE_H_

#include <cstdint>

namespace estimator_plugin {

// True when none of the n values is NaN or infinite.
bool AllFinite(const float* values, int64_t n);

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_FINITE_H_
