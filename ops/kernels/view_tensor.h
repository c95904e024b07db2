// Tensors over memory of ours.
#ifndef ESTIMATOR_PLUGIN_OPS_KERNELS_VIEW_TENSOR_H_
#define ESTIMATOR_PLUGIN_OPS_KERNELS_VIEW_TENSOR_H_

#include <memory>

#include "tf_compat.h"

namespace estimator_plugin {

// A tensor over `data`, which it keeps alive by `owner`. TensorFlow never writes into it: it does
// not own its memory. Data that is not aligned for tensors is copied.
tf::Tensor ViewTensor(tf::DataType dtype, const tf::TensorShape& shape, const void* data,
                      const std::shared_ptr<const void>& owner);

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_KERNELS_VIEW_TENSOR_H_
