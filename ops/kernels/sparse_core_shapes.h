// Shapes of the SparseCore ops' inputs and outputs, for shape functions and kernels.
#ifndef ESTIMATOR_PLUGIN_OPS_KERNELS_SPARSE_CORE_SHAPES_H_
#define ESTIMATOR_PLUGIN_OPS_KERNELS_SPARSE_CORE_SHAPES_H_

#include "table_kernel.h"
#include "tf_compat.h"

namespace estimator_plugin {
namespace sparse_core {

// The five inputs that are a CSR buffer: row pointers, sample ids, token ids, gains and the number
// of minibatches.
constexpr int kNumCsrInputs = 5;

tf::Status CheckCsrInputs(tf::shape_inference::InferenceContext* c);

// The seven outputs of a packing op. Attrs: num_replicas, max_minibatches_per_sc,
// max_ids_per_chip_per_sample; `replicas` buffers side by side.
tf::Status CsrOutputs(tf::shape_inference::InferenceContext* c, int64_t num_sc_per_chip,
                      int64_t samples_per_chip, int64_t replicas);

}  // namespace sparse_core
}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_KERNELS_SPARSE_CORE_SHAPES_H_
