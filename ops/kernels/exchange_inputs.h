// What the kernels of an exchange read from their inputs.
#ifndef ESTIMATOR_PLUGIN_OPS_KERNELS_EXCHANGE_INPUTS_H_
#define ESTIMATOR_PLUGIN_OPS_KERNELS_EXCHANGE_INPUTS_H_

#include <string>
#include <vector>

#include "../core/exchange_format.h"
#include "table_kernel.h"
#include "tf_compat.h"

namespace estimator_plugin {

inline std::vector<int64_t> DimsAttr(tf::OpKernelConstruction* ctx) {
  const auto dims = AttrOf<std::vector<tf::int32>>(ctx, "dims");
  return std::vector<int64_t>(dims.begin(), dims.end());
}

// Adds to an error whose op it comes from.
inline Status Malformed(tf::OpKernelContext* ctx, const Status& status) {
  if (status.ok()) return status;
  return Error(status.code(), ctx->op_kernel().type_string(), ": ", status.message());
}

// The vector that is input `index`.
inline Status CheckWords(tf::OpKernelContext* ctx, int index) {
  if (ctx->input(index).dims() == 1) return Status();
  return Malformed(ctx, Error(Code::kInvalidArgument, "input ", index, " has shape ",
                              ctx->input(index).shape().DebugString(), ", want a vector"));
}

inline Status ReadRequest(tf::OpKernelContext* ctx, int index, size_t num_tables,
                          Request* request) {
  EP_RETURN_IF_ERROR(CheckWords(ctx, index));
  const tf::Tensor& words = ctx->input(index);
  return Malformed(ctx, ParseRequest(Int64Data(words), words.NumElements(),
                                     static_cast<int>(num_tables), request));
}

inline Status ReadRows(tf::OpKernelContext* ctx, int index, const Request& request,
                       const std::vector<int64_t>& dims, KeyedRows* rows) {
  EP_RETURN_IF_ERROR(CheckWords(ctx, index));
  const tf::Tensor& words = ctx->input(index);
  return Malformed(ctx,
                   rows->Parse(request, dims, words.flat<Value>().data(), words.NumElements()));
}

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_KERNELS_EXCHANGE_INPUTS_H_
