// EpTableTrackedLookup, EpTableSetThreshold: training lookups that count their keys and admit them.

#include <atomic>
#include <memory>

#include "../core/combined_counts.h"
#include "input_checks.h"
#include "intra_op_runner.h"
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

AdmissionOptions AdmissionFromAttrs(tf::OpKernelConstruction* ctx) {
  AdmissionOptions options;
  options.access_threshold = AttrOf<tf::int32>(ctx, "access_threshold");
  options.filter = AttrOf<std::string>(ctx, "admission_filter") == "sketch" ? FilterKind::kSketch
                                                                            : FilterKind::kExact;
  options.sketch_bytes = AttrOf<TfInt64>(ctx, "sketch_bytes");
  return options;
}

// The record of counts that the tables of one device share, in the place where they are.
class CombinedCountsResource : public tf::ResourceBase {
 public:
  std::string DebugString() const override { return "Counts of the keys of several tables"; }

  const std::shared_ptr<CombinedCounts> counts = std::make_shared<CombinedCounts>();
};

Status FindCombinedCounts(tf::OpKernelContext* ctx, std::shared_ptr<CombinedCounts>* counts) {
  tf::ResourceMgr* const manager = ctx->resource_manager();
  CombinedCountsResource* found = nullptr;
  EP_RETURN_IF_ERROR(FromTensorFlow(manager->LookupOrCreate<CombinedCountsResource>(
      manager->default_container(), "estimator_plugin_combined_counts", &found,
      [](CombinedCountsResource** made) {
        *made = new CombinedCountsResource;
        return tf::Status();
      })));
  const tf::core::ScopedUnref unref(found);
  *counts = found->counts;
  return Status();
}

class TableTrackedLookupOp : public ReadyTableKernel {
 public:
  explicit TableTrackedLookupOp(tf::OpKernelConstruction* ctx)
      : ReadyTableKernel(ctx),
        dim_(AttrOf<TfInt64>(ctx, "dim")),
        coefficient_(AttrOf<tf::int32>(ctx, "faae_coefficient")),
        in_seconds_(AttrOf<std::string>(ctx, "time_unit") == "seconds"),
        combined_(AttrOf<bool>(ctx, "combined")),
        admission_(AdmissionFromAttrs(ctx)) {}

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
    const Admission& admission = *resource->table()->admission();
    if (admission.backward_clocks() > 0 && !reported_.exchange(true)) {
      LOG(WARNING) << "table '" << resource->name() << "': a lookup came with time " << use.now
                   << ", earlier than " << admission.clock()
                   << " of one before; the table's clock does not go back";
    }
    return Status();
  }

  Status ReadUse(tf::OpKernelContext* ctx, const TableResource& resource, KeyUse* use) const {
    const tf::Tensor& now = ctx->input(kTrackedNow);
    EP_RETURN_IF_ERROR(CheckScalar(resource, "now", now));
    use->now = Int64Data(now)[0];
    if (use->now < (in_seconds_ ? 1 : 0)) {
      return Error(Code::kInvalidArgument, "table '", resource.name(),
                   "': ", in_seconds_ ? "the timestamp" : "the step", " is ", use->now, ", want ",
                   in_seconds_ ? "more than 0" : "at least 0");
    }
    use->coefficient = coefficient_;
    use->admission = admission_;
    if (combined_) EP_RETURN_IF_ERROR(FindCombinedCounts(ctx, &use->admission.combined));
    const tf::Tensor& occurrences = ctx->input(kTrackedOccurrences);
    if (occurrences.dims() == 1 && occurrences.NumElements() == 0) return Status();
    const tf::TensorShape& wanted = ctx->input(kTrackedKeys).shape();
    if (occurrences.shape() != wanted) {
      return WrongShape(resource, "occurrences", occurrences.shape(),
                        "[0] for one each or that of keys, " + wanted.DebugString());
    }
    use->occurrences = occurrences.flat<tf::int32>().data();
    for (int64_t i = 0; i < occurrences.NumElements(); ++i) {
      if (use->occurrences[i] >= 0) continue;
      return Error(Code::kInvalidArgument, "table '", resource.name(), "': occurrences[", i,
                   "] is ", use->occurrences[i], ", want at least 0");
    }
    return Status();
  }

  const int64_t dim_;
  const int32_t coefficient_;
  const bool in_seconds_;
  const bool combined_;
  const AdmissionOptions admission_;
  std::atomic<bool> reported_{false};
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
