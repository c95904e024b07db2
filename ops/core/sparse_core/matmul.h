// The lookup: for each sample, the sum of its rows by their gains.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_MATMUL_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_MATMUL_H_

#include <cstdint>

#include "../parallel.h"
#include "csr_view.h"
#include "quantization.h"

namespace estimator_plugin {
namespace sparse_core {

// Writes the activations of all samples, core by core. `table` is [shards * rows per shard, width],
// shard by shard. A sample's rows are added by minibatch, shard and place, whatever the threads.
void Matmul(const CsrView& csr, const float* table, int64_t width, const Quantization& quantization,
            ParallelRunner* runner, float* activations);

}  // namespace sparse_core
}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_MATMUL_H_
