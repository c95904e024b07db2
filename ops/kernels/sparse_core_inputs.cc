#include "sparse_core_inputs.h"

namespace estimator_plugin {
namespace sparse_core {

Status ReadFeature(const std::string& feature, const tf::Tensor& indices_or_row_splits,
                   const tf::Tensor& values, const tf::Tensor& weights, int64_t samples,
                   FeatureIds* ids) {
  const auto wrong = [&](const char* argument, const tf::Tensor& tensor, const char* wanted) {
    return Error(Code::kInvalidArgument, "feature '", feature, "': ", argument, " has shape ",
                 tensor.shape().DebugString(), ", want ", wanted);
  };
  const int rank = indices_or_row_splits.dims();
  if (rank < 1 || rank > 2) {
    return wrong("indices_or_row_splits", indices_or_row_splits, "row splits or indices");
  }
  if (values.dims() != 1) return wrong("values", values, "a vector");
  const bool one_weight = weights.dims() == 0;
  if (weights.dims() > 1 || (!one_weight && weights.NumElements() != values.NumElements())) {
    return Error(Code::kInvalidArgument, "feature '", feature, "': weights have shape ",
                 weights.shape().DebugString(), " for ", values.NumElements(),
                 " values; want a scalar, or one weight for each value");
  }
  ids->ids = Ints(values);
  ids->size = values.NumElements();
  ids->weights = FloatData(weights);
  ids->one_weight = one_weight;
  SampleInput input;
  input.values = Ints(indices_or_row_splits);
  input.rank = rank;
  input.rows = indices_or_row_splits.dim_size(0);
  input.columns = rank == 2 ? indices_or_row_splits.dim_size(1) : 1;
  return MakeSplits(feature, input, samples, ids);
}

Status ReadLimits(tf::OpKernelContext* ctx, const std::string& table, int input, IdLimits* limits) {
  for (int i = input; i < input + 2; ++i) {
    if (ctx->input(i).dims() == 0) continue;
    return Error(Code::kInvalidArgument, "table '", table, "': a limit of ids has shape ",
                 ctx->input(i).shape().DebugString(), ", want a scalar");
  }
  *limits = {*Int32Data(ctx->input(input)), *Int32Data(ctx->input(input + 1))};
  return CheckLimits(table, *limits);
}

}  // namespace sparse_core
}  // namespace estimator_plugin
