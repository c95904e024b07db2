// EpUniqueWithCounts: distinct values in order of first appearance.

#include "distinct_outputs.h"
#include "table_kernel.h"
#include "tf_compat.h"

namespace estimator_plugin {
namespace {

using tf::shape_inference::InferenceContext;
using tf::shape_inference::ShapeHandle;

tf::Status UniqueWithCountsShape(InferenceContext* c) {
  ShapeHandle values;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 1, &values));
  const ShapeHandle distinct = c->Vector(InferenceContext::kUnknownDim);
  c->set_output(0, distinct);
  c->set_output(1, values);
  c->set_output(2, distinct);
  return tf::Status();
}

class UniqueWithCountsOp : public StatusKernel {
 public:
  using StatusKernel::StatusKernel;

 private:
  Status Run(tf::OpKernelContext* ctx) override {
    UniqueResult distinct;
    return SetDistinctOutputs(ctx, "EpUniqueWithCounts: values", ctx->input(0), {0, 1, 2},
                              &distinct);
  }
};

REGISTER_KERNEL_BUILDER(Name("EpUniqueWithCounts").Device(tf::DEVICE_CPU), UniqueWithCountsOp);

}  // namespace

REGISTER_OP("EpUniqueWithCounts")
    .Input("values: int64")
    .Output("unique_values: int64")
    .Output("indices: int32")
    .Output("counts: int32")
    .SetShapeFn(UniqueWithCountsShape)
    .Doc("The results of tf.unique_with_counts, computed faster.");

}  // namespace estimator_plugin
