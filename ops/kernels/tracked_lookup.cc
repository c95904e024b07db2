// EpTableTrackedLookup, EpTableSetThreshold: training lookups that count their keys and admit them.

#include "input_checks.h"
#include "intra_op_runner.h"
#include "key_tracking.h"
#include "shapes.h"
#include "table_kernel.h"
#include "tf_compat.h"

namespace estimator_plugin {
namespace {

using tf::shape_inference::DimensionHandle;
using tf::shape_inference::InferenceContext;
using tf::shape_inference::ShapeHandle;

// Inputs.
constexpr int kTrackedKeys = 1;
constexpr int kTrackedDefaultRow = 2;
constexpr int kTrackedOccurrences = 3;
constexpr int kTrackedNow = 4;

tf::Status TableTrackedLookupShape(InferenceContext* c) {
  DimensionHandle dim;
  TF_RETURN_IF_ERROR(shapes::DimAttr(c, &dim));
  TF_RETURN_IF_ERROR(shapes::CheckDefaultRow(c, kTrackedDefaultRow, dim));
  ShapeHandle unused;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(kTrackedNow), 0, &unused));
  c->set_output(1, c->input(kTrackedKeys));
  return shapes::RowsLike(c, kTrackedKeys, dim, 0);
}

class TableTrackedLookupOp : public ReadyTableKernel {
 public:
  explicit TableTrackedLookupOp(tf::OpKernelConstruction* ctx)
      : ReadyTableKernel(ctx),
        dim_(AttrOf<TfInt64>(ctx, "dim")),
        tracking_(TrackingFromAttrs(ctx)) {}

 private:
  Status RunReady(tf::OpKernelContext* ctx, TableResource* resource) override {
    EP_RETURN_IF_ERROR(CheckDimAttr(*resource, dim_));
    const tf::Tensor& keys = ctx->input(kTrackedKeys);
    const Value* default_row = nullptr;
    EP_RETURN_IF_ERROR(DefaultRow(*resource, ctx->input(kTrackedDefaultRow), &default_row));
    KeyUse use;
    EP_RETURN_IF_ERROR(ReadUse(ctx, *resource, &use));
    Value* embeddings = nullptr;
    EP_RETURN_IF_ERROR(AllocateEmbeddings(ctx, keys.shape(), dim_, &embeddings));
    tf::Tensor* addresses = nullptr;
    EP_RETURN_IF_ERROR(AllocateOutput(ctx, 1, keys.shape(), &addresses));
    IntraOpRunner runner(ctx);
    EP_RETURN_IF_ERROR(resource->table()->Lookup(Int64Data(keys), keys.NumElements(),
                                                 OnMissing::kInsert, default_row,
                                                 Int64Data(addresses), embeddings, &runner, &use));
    ReportBackwardClock(*resource);
    return Status();
  }

  Status ReadUse(tf::OpKernelContext* ctx, const TableResource& resource, KeyUse* use) const {
    const tf::Tensor& now = ctx->input(kTrackedNow);
    EP_RETURN_IF_ERROR(CheckScalar(resource, "now", now));
    const tf::Tensor& occurrences = ctx->input(kTrackedOccurrences);
    const tf::TensorShape& wanted = ctx->input(kTrackedKeys).shape();
    const bool given = occurrences.dims() != 1 || occurrences.NumElements() > 0;
    if (given && occurrences.shape() != wanted) {
      return WrongShape(resource, "occurrences", occurrences.shape(),
                        "[0] for one each or that of keys, " + wanted.DebugString());
    }
    return tracking_.MakeUse(ctx, resource, Int64Data(now)[0],
                             given ? occurrences.flat<tf::int32>().data() : nullptr,
                             wanted.num_elements(), use);
  }

  const int64_t dim_;
  const KeyTracking tracking_;
};

class TableSetThresholdOp : public ReadyTableKernel {
 public:
  explicit TableSetThresholdOp(tf::OpKernelConstruction* ctx)
      : ReadyTableKernel(ctx), configured_(AttrOf<tf::int32>(ctx, "access_threshold")) {}

 private:
  Status RunReady(tf::OpKernelContext* ctx, TableResource* resource) override {
    const tf::Tensor& threshold = ctx->input(1);
    if (threshold.NumElements() == 0) {
      return WrongShape(*resource, "threshold", threshold.shape(), "at least one element");
    }
    const Status set =
        resource->table()->admission()->SetThreshold(threshold.flat<tf::int32>()(0), configured_);
    if (!set.ok()) return Error(set.code(), "table '", resource->name(), "': ", set.message());
    tf::Tensor* output = nullptr;
    EP_RETURN_IF_ERROR(AllocateOutput(ctx, 0, tf::TensorShape({}), &output));
    output->scalar<tf::int32>()() = 1;
    return Status();
  }

  const int32_t configured_;
};

REGISTER_KERNEL_BUILDER(Name("EpTableTrackedLookup").Device(tf::DEVICE_CPU), TableTrackedLookupOp);
REGISTER_KERNEL_BUILDER(Name("EpTableSetThreshold").Device(tf::DEVICE_CPU), TableSetThresholdOp);

}  // namespace

REGISTER_OP("EpTableTrackedLookup")
    .Input("handle: resource")
    .Input("keys: int64")
    .Input("default_row: float")
    .Input("occurrences: int32")
    .Input("now: int64")
    .Attr("dim: int >= 1")
    .Attr("faae_coefficient: int >= 1 = 1")
    .Attr("access_threshold: int >= -1 = -1")
    .Attr("time_unit: {'seconds', 'steps'} = 'seconds'")
    .Attr("admission_filter: {'exact', 'sketch'} = 'exact'")
    .Attr("sketch_bytes: int >= 1 = 67108864")
    .Attr("combined: bool = false")
    .Output("embeddings: float")
    .Output("addresses: int64")
    .SetIsStateful()
    .SetShapeFn(TableTrackedLookupShape)
    .Doc(
        "EpTableLookup for training that counts its keys: a missing key gets a row once it was "
        "seen `access_threshold` times.");

REGISTER_OP("EpTableSetThreshold")
    .Input("handle: resource")
    .Input("threshold: int32")
    .Attr("access_threshold: int >= -1")
    .Output("done: int32")
    .SetIsStateful()
    .SetShapeFn(shapes::ScalarOutputs)
    .Doc("Sets the admission threshold; 0 freezes the counts.");

}  // namespace estimator_plugin
