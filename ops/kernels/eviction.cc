// EpTableEvict: rows leave by a policy.

#include "input_checks.h"
#include "intra_op_runner.h"
#include "shapes.h"
#include "table_kernel.h"
#include "tf_compat.h"

namespace estimator_plugin {
namespace {

class TableEvictOp : public ReadyTableKernel {
 public:
  explicit TableEvictOp(tf::OpKernelConstruction* ctx)
      : ReadyTableKernel(ctx), policy_(AttrOf<std::string>(ctx, "policy")) {}

 private:
  Status RunReady(tf::OpKernelContext* ctx, TableResource* resource) override {
    const tf::Tensor& threshold = ctx->input(1);
    EP_RETURN_IF_ERROR(CheckScalar(*resource, "threshold", threshold));
    const EvictionRule rule = {policy_, threshold.scalar<double>()()};
    IntraOpRunner runner(ctx);
    int64_t evicted = 0;
    EP_RETURN_IF_ERROR(resource->table()->Evict(rule, &runner, &evicted));
    return SetInt64Output(ctx, 0, evicted);
  }

  const std::string policy_;
};

REGISTER_KERNEL_BUILDER(Name("EpTableEvict").Device(tf::DEVICE_CPU), TableEvictOp);

}  // namespace

REGISTER_OP("EpTableEvict")
    .Input("handle: resource")
    .Input("threshold: double")
    .Attr("policy: {'older_than', 'small_norm', 'least_recent', 'least_frequent'}")
    .Output("evicted: int64")
    .SetIsStateful()
    .SetShapeFn(shapes::ScalarOutputs)
    .Doc("Removes the rows that a policy selects; training may go on meanwhile.");

}  // namespace estimator_plugin
