// The distinct values of an int64 vector as op outputs.
#ifndef ESTIMATOR_PLUGIN_OPS_KERNELS_DISTINCT_OUTPUTS_H_
#define ESTIMATOR_PLUGIN_OPS_KERNELS_DISTINCT_OUTPUTS_H_

#include <algorithm>
#include <limits>
#include <string>

#include "../core/unique.h"
#include "table_kernel.h"
#include "tf_compat.h"

namespace estimator_plugin {

// Which output of the op takes what.
struct DistinctOutputs {
  int values;
  int indices;
  int counts;
};

// Fills the outputs from `values`; `distinct` keeps the distinct values too. `where` opens the
// error for an input that is no vector or too long.
inline Status SetDistinctOutputs(tf::OpKernelContext* ctx, const std::string& where,
                                 const tf::Tensor& values, const DistinctOutputs& outputs,
                                 UniqueResult* distinct) {
  if (values.dims() != 1 || values.NumElements() > std::numeric_limits<int32_t>::max()) {
    return Error(Code::kInvalidArgument, where, " has shape ", values.shape().DebugString(),
                 ", want a vector of fewer than 2^31 values");
  }
  tf::Tensor* indices = nullptr;
  EP_RETURN_IF_ERROR(AllocateOutput(ctx, outputs.indices, values.shape(), &indices));
  UniqueWithCounts(Int64Data(values), values.NumElements(), indices->flat<tf::int32>().data(),
                   distinct);
  const tf::TensorShape shape({static_cast<int64_t>(distinct->values.size())});
  tf::Tensor* distinct_values = nullptr;
  EP_RETURN_IF_ERROR(AllocateOutput(ctx, outputs.values, shape, &distinct_values));
  std::copy(distinct->values.begin(), distinct->values.end(), Int64Data(distinct_values));
  tf::Tensor* counts = nullptr;
  EP_RETURN_IF_ERROR(AllocateOutput(ctx, outputs.counts, shape, &counts));
  std::copy(distinct->counts.begin(), distinct->counts.end(), counts->flat<tf::int32>().data());
  return Status();
}

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_KERNELS_DISTINCT_OUTPUTS_H_
