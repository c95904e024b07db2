// Everything of TensorFlow's C++ API that the kernels use, and the one place that knows how it
// differs between releases: the kernels compile unchanged on TensorFlow 1.15, 2.6 and 2.15.
#ifndef ESTIMATOR_PLUGIN_OPS_KERNELS_TF_COMPAT_H_
#define ESTIMATOR_PLUGIN_OPS_KERNELS_TF_COMPAT_H_

#include <cstdint>
#include <string>

#include "../core/status.h"
#include "tensorflow/core/framework/allocation_description.pb.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/resource_mgr.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/lib/core/threadpool.h"
#include "tensorflow/core/lib/io/path.h"
#include "tensorflow/core/platform/env.h"
#include "tensorflow/core/platform/logging.h"
#include "tensorflow/core/util/work_sharder.h"

// TensorFlow 1.15 does not ship this header.
#if defined(__has_include)
#if __has_include("tensorflow/core/util/tensor_bundle/tensor_bundle.h")
#define EP_HAS_TENSOR_BUNDLE 1
#include "tensorflow/core/lib/core/coding.h"
#include "tensorflow/core/lib/hash/crc32c.h"
#include "tensorflow/core/lib/io/table_builder.h"
#include "tensorflow/core/util/tensor_bundle/naming.h"
#include "tensorflow/core/util/tensor_bundle/tensor_bundle.h"
#endif
#endif

namespace estimator_plugin {

namespace tf = ::tensorflow;

// TensorFlow's int64: `long long` in releases up to 2.6, `long` later; the same 64 bits. For attrs
// and virtual functions; the elements of a tensor are reached through Int64Data.
using TfInt64 = tf::EnumToDataType<tf::DT_INT64>::Type;
static_assert(sizeof(TfInt64) == sizeof(int64_t), "int64 is 64 bits wide");

// The elements of an int64 tensor.
inline const int64_t* Int64Data(const tf::Tensor& tensor) {
  return reinterpret_cast<const int64_t*>(tensor.flat<TfInt64>().data());
}
inline int64_t* Int64Data(tf::Tensor* tensor) {
  return reinterpret_cast<int64_t*>(tensor->flat<TfInt64>().data());
}

namespace tf_compat_internal {

// Status::message() came with absl::Status; before, it was error_message().
template <typename TfStatus>
auto Message(const TfStatus& status, int) -> decltype(std::string(status.message())) {
  return std::string(status.message());
}
template <typename TfStatus>
auto Message(const TfStatus& status, long) -> decltype(std::string(status.error_message())) {
  return std::string(status.error_message());
}

// Tensor::RefCountIsOne() is private in TensorFlow 1.15.
template <typename TfTensor>
auto HasOneOwner(const TfTensor& tensor, int) -> decltype(tensor.RefCountIsOne()) {
  return tensor.RefCountIsOne();
}
template <typename TfTensor>
bool HasOneOwner(const TfTensor&, long) {
  return false;
}

}  // namespace tf_compat_internal

// Whether nobody else holds the buffer of `tensor`; false where that cannot be known.
inline bool HasOneOwner(const tf::Tensor& tensor) {
  return tf_compat_internal::HasOneOwner(tensor, 0);
}

// The numbers of the codes are the same on both sides, in every release.
inline tf::Status ToTensorFlow(const Status& status) {
  if (status.ok()) return tf::Status();
  using TfCode = decltype(tf::Status().code());
  return tf::Status(static_cast<TfCode>(status.code()), status.message());
}
inline Status FromTensorFlow(const tf::Status& status) {
  if (status.ok()) return Status();
  return Status(static_cast<Code>(status.code()), tf_compat_internal::Message(status, 0));
}

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_KERNELS_TF_COMPAT_H_
