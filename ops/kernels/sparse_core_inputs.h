// What SparseCore kernels read from tensors and attrs.
#ifndef ESTIMATOR_PLUGIN_OPS_KERNELS_SPARSE_CORE_INPUTS_H_
#define ESTIMATOR_PLUGIN_OPS_KERNELS_SPARSE_CORE_INPUTS_H_

#include <string>
#include <vector>

#include "../core/sparse_core/feature.h"
#include "../core/sparse_core/id_limits.h"
#include "../core/sparse_core/topology.h"
#include "table_kernel.h"
#include "tf_compat.h"

namespace estimator_plugin {
namespace sparse_core {

using Int64s = std::vector<TfInt64>;

inline const int32_t* Int32Data(const tf::Tensor& tensor) {
  return tensor.flat<tf::int32>().data();
}
inline int32_t* Int32Data(tf::Tensor* tensor) { return tensor->flat<tf::int32>().data(); }
inline const float* FloatData(const tf::Tensor& tensor) { return tensor.flat<float>().data(); }
inline float* FloatData(tf::Tensor* tensor) { return tensor->flat<float>().data(); }

inline std::vector<int64_t> Plain(const Int64s& values) { return {values.begin(), values.end()}; }

inline IntVector Ints(const tf::Tensor& tensor) {
  IntVector ints;
  if (tensor.dtype() == tf::DT_INT32) {
    ints.narrow = Int32Data(tensor);
  } else {
    ints.wide = Int64Data(tensor);
  }
  return ints;
}

// From the attrs num_replicas and num_sc_per_chip.
inline Topology TopologyOf(tf::OpKernelConstruction* ctx) {
  Topology topology;
  topology.replicas = AttrOf<tf::int32>(ctx, "num_replicas");
  topology.cores_per_replica = AttrOf<tf::int32>(ctx, "num_sc_per_chip");
  return topology;
}

// A list attr that must have one value for each of `wanted` inputs.
inline Status CheckListAttr(const std::string& table, const char* attr, size_t size,
                            size_t wanted) {
  if (size == wanted) return Status();
  return Error(Code::kInvalidArgument, "table '", table, "': ", attr, " has length ", size,
               "; there are ", wanted, " features");
}

// The ids of one feature: what says their samples, the ids, and their weights.
Status ReadFeature(const std::string& feature, const tf::Tensor& indices_or_row_splits,
                   const tf::Tensor& values, const tf::Tensor& weights, int64_t samples,
                   FeatureIds* ids);

// Two int32 scalars, at `input` and after it.
Status ReadLimits(tf::OpKernelContext* ctx, const std::string& table, int input, IdLimits* limits);

}  // namespace sparse_core
}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_KERNELS_SPARSE_CORE_INPUTS_H_
