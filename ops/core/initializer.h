// Starting values of new rows, drawn from (seed, key) alone: the same key starts the same whatever
// the order of arrival, the number of threads or servers, or a restart in between.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_INITIALIZER_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_INITIALIZER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "status.h"

namespace estimator_plugin {

// kind               arguments
// "constant"         value
// "uniform"          minimum, maximum     (half-open, as tf.random.uniform)
// "normal"           mean, stddev
// "truncated_normal" mean, stddev         (within two standard deviations, as TensorFlow)
// "bank"             none: row `MixKey(key ^ seed) % rows` of a matrix drawn beforehand
struct InitializerSpec {
  std::string kind = "constant";
  std::vector<double> arguments = {0.0};
  uint64_t seed = 0;
};

// Thread-safe after creation.
template <typename V>
class Initializer {
 public:
  virtual ~Initializer() = default;
  // Writes the `dim` starting values of `key`.
  virtual void Fill(int64_t key, V* row, int64_t dim) const = 0;
};

// `bank` is a row-major [bank_rows, dim] matrix, copied; used by kind "bank" only.
template <typename V>
Status MakeInitializer(const InitializerSpec& spec, int64_t dim, const V* bank, int64_t bank_rows,
                       std::unique_ptr<Initializer<V>>* initializer);

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_INITIALIZER_H_
