// EpSparseCoreConvert: the ids of one feature as coordinates in its stack.

#include "../core/sparse_core/convert.h"
#include "sparse_core_inputs.h"
#include "table_kernel.h"
#include "tf_compat.h"

namespace estimator_plugin {
namespace {

using tf::shape_inference::InferenceContext;
using tf::shape_inference::ShapeHandle;

tf::Status SparseCoreConvertShape(InferenceContext* c) {
  ShapeHandle unused;
  TF_RETURN_IF_ERROR(c->WithRankAtLeast(c->input(0), 1, &unused));
  TF_RETURN_IF_ERROR(c->WithRankAtMost(c->input(0), 2, &unused));
  TF_RETURN_IF_ERROR(c->WithRank(c->input(1), 1, &unused));
  TF_RETURN_IF_ERROR(c->WithRankAtMost(c->input(2), 1, &unused));
  for (int i = 0; i < c->num_outputs(); ++i) {
    c->set_output(i, c->Vector(InferenceContext::kUnknownDim));
  }
  return tf::Status();
}

class SparseCoreConvertOp : public StatusKernel {
 public:
  explicit SparseCoreConvertOp(tf::OpKernelConstruction* ctx)
      : StatusKernel(ctx),
        cores_(AttrOf<tf::int32>(ctx, "C")),
        shards_(AttrOf<tf::int32>(ctx, "num_sc_shards")),
        stack_samples_(AttrOf<tf::int32>(ctx, "stacked_table_sample_count")) {
    feature_.name = AttrOf<std::string>(ctx, "feature_name");
    feature_.samples = AttrOf<tf::int32>(ctx, "sample_count");
    feature_.row_offset = AttrOf<tf::int32>(ctx, "row_offset");
    feature_.col_offset = AttrOf<tf::int32>(ctx, "col_offset");
    feature_.col_shift = AttrOf<tf::int32>(ctx, "col_shift");
    feature_.vocabulary_size = AttrOf<TfInt64>(ctx, "vocabulary_size");
    combiner_ = AttrOf<std::string>(ctx, "combiner");
  }

 private:
  Status Run(tf::OpKernelContext* ctx) override {
    if (!sparse_core::IsPowerOfTwo(shards_)) {
      return Error(Code::kInvalidArgument, "feature '", feature_.name, "': num_sc_shards is ",
                   shards_, "; it must be a power of two");
    }
    sparse_core::Feature feature = feature_;
    EP_RETURN_IF_ERROR(sparse_core::ParseCombiner(feature.name, combiner_, &feature.combiner));
    EP_RETURN_IF_ERROR(sparse_core::CheckFeature(feature, cores_, stack_samples_));
    sparse_core::FeatureIds ids;
    EP_RETURN_IF_ERROR(sparse_core::ReadFeature(feature.name, ctx->input(0), ctx->input(1),
                                                ctx->input(2), feature.samples, &ids));
    for (int64_t k = 0; k < cores_; ++k) EP_RETURN_IF_ERROR(ConvertCore(ctx, feature, ids, k));
    return Status();
  }

  Status ConvertCore(tf::OpKernelContext* ctx, const sparse_core::Feature& feature,
                     const sparse_core::FeatureIds& ids, int64_t core) const {
    const int64_t per_core = feature.samples / cores_;
    const sparse_core::SampleRange samples = {core * per_core, (core + 1) * per_core};
    const int64_t first_row = feature.row_offset / cores_ + core * (stack_samples_ / cores_);
    const int64_t most = ids.first_of(samples.end) - ids.first_of(samples.begin);
    std::vector<int32_t> rows(most), cols(most);
    std::vector<float> gains(most);
    int64_t size = 0;
    EP_RETURN_IF_ERROR(sparse_core::ConvertSamples(feature, ids, samples, first_row, shards_,
                                                   {rows.data(), cols.data(), gains.data()},
                                                   &size));
    tf::Tensor* outputs[3];
    for (int i = 0; i < 3; ++i) {
      const int index = static_cast<int>(i * cores_ + core);
      EP_RETURN_IF_ERROR(AllocateOutput(ctx, index, tf::TensorShape({size}), &outputs[i]));
    }
    std::copy_n(rows.begin(), size, sparse_core::Int32Data(outputs[0]));
    std::copy_n(cols.begin(), size, sparse_core::Int32Data(outputs[1]));
    std::copy_n(gains.begin(), size, sparse_core::FloatData(outputs[2]));
    return Status();
  }

  const int64_t cores_;
  const int64_t shards_;
  const int64_t stack_samples_;
  sparse_core::Feature feature_;
  std::string combiner_;
};

REGISTER_KERNEL_BUILDER(Name("EpSparseCoreConvert").Device(tf::DEVICE_CPU), SparseCoreConvertOp);

}  // namespace

REGISTER_OP("EpSparseCoreConvert")
    .Input("indices_or_row_splits: TSplits")
    .Input("values: TIds")
    .Input("weights: float")
    .Attr("TSplits: {int32, int64}")
    .Attr("TIds: {int32, int64}")
    .Attr("C: int >= 1")
    .Attr("sample_count: int >= 1")
    .Attr("combiner: string")
    .Attr("num_sc_shards: int >= 1")
    .Attr("stacked_table_sample_count: int >= 1")
    .Attr("row_offset: int >= 0 = 0")
    .Attr("col_offset: int >= 0 = 0")
    .Attr("col_shift: int >= 0 = 0")
    .Attr("vocabulary_size: int >= 0 = 0")
    .Attr("feature_name: string = ''")
    .Output("row_ids: C * int32")
    .Output("col_ids: C * int32")
    .Output("gains: C * float")
    .SetShapeFn(SparseCoreConvertShape)
    .Doc("The ids of one feature as coordinates in its stack, for each core.");

}  // namespace estimator_plugin
