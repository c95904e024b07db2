// Simulated quantization of the rows that a lookup reads.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_QUANTIZATION_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_QUANTIZATION_H_

#include <cmath>
#include <cstdint>
#include <string>

#include "../status.h"

namespace estimator_plugin {
namespace sparse_core {

// Values become the nearest of `num_buckets` equally spaced ones from `lower` to `upper`.
struct Quantization {
  int64_t num_buckets = 0;  // 0: values stay as they are.
  float lower = 0;
  float upper = 0;

  bool enabled() const { return num_buckets > 0; }
  float step() const { return (upper - lower) / static_cast<float>(num_buckets - 1); }
};

inline float Quantize(float value, const Quantization& quantization, float step) {
  const float x = value < quantization.lower   ? quantization.lower
                  : value > quantization.upper ? quantization.upper
                                               : value;
  return std::floor((x - quantization.lower) / step + 0.5f) * step + quantization.lower;
}

inline Status CheckQuantization(const std::string& table, const Quantization& quantization) {
  if (!quantization.enabled()) return Status();
  if (quantization.num_buckets >= 2 && quantization.lower < quantization.upper) return Status();
  return Error(Code::kInvalidArgument, "table '", table, "': quantization has ",
               quantization.num_buckets, " buckets from ", quantization.lower, " to ",
               quantization.upper, "; want 2 or more, and an upper bound above the lower one");
}

}  // namespace sparse_core
}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_QUANTIZATION_H_
