// The outputs of the ops that make a CSR buffer.
#ifndef ESTIMATOR_PLUGIN_OPS_KERNELS_SPARSE_CORE_OUTPUTS_H_
#define ESTIMATOR_PLUGIN_OPS_KERNELS_SPARSE_CORE_OUTPUTS_H_

#include <string>
#include <vector>

#include "../core/sparse_core/convert.h"
#include "../core/sparse_core/segment_plan.h"
#include "tf_compat.h"

namespace estimator_plugin {
namespace sparse_core {

// The buffers of all replicas, one after the other.
struct CsrOutput {
  int32_t* row_pointers;
  Tokens buffer;
};

// The attrs that a buffer's size follows from, topology aside.
void ReadBufferAttrs(tf::OpKernelConstruction* ctx, int64_t samples_per_chip,
                     BufferOptions* options);

// Outputs 0 to 3, for `replicas` buffers.
Status AllocateCsr(tf::OpKernelContext* ctx, const BufferOptions& options, int64_t replicas,
                   CsrOutput* output);

// Outputs 4 to 6, and a warning if ids were dropped. One plan for each replica.
Status SetSizes(tf::OpKernelContext* ctx, const std::string& table, int32_t minibatches,
                const std::vector<SegmentPlan>& plans);

}  // namespace sparse_core
}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_KERNELS_SPARSE_CORE_OUTPUTS_H_
