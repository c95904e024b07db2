// EpSparseCorePreprocess: EpSparseCoreConvert, Sort and Pack for all features, cores and replicas.

#include <memory>

#include "../core/scratch.h"
#include "../core/sparse_core/padded_arrays.h"
#include "../core/sparse_core/preprocess.h"
#include "intra_op_runner.h"
#include "sparse_core_inputs.h"
#include "sparse_core_outputs.h"
#include "sparse_core_shapes.h"
#include "table_kernel.h"
#include "tf_compat.h"
#include "view_tensor.h"

namespace estimator_plugin {
namespace {

using tf::shape_inference::InferenceContext;
using tf::shape_inference::ShapeHandle;

tf::Status SparseCorePreprocessShape(InferenceContext* c) {
  const int features = AttrOf<tf::int32>(c, "F");
  ShapeHandle unused;
  for (int f = 0; f < features; ++f) {
    TF_RETURN_IF_ERROR(c->WithRankAtLeast(c->input(f), 1, &unused));
    TF_RETURN_IF_ERROR(c->WithRankAtMost(c->input(f), 2, &unused));
    TF_RETURN_IF_ERROR(c->WithRank(c->input(features + f), 1, &unused));
    TF_RETURN_IF_ERROR(c->WithRankAtMost(c->input(2 * features + f), 1, &unused));
  }
  TF_RETURN_IF_ERROR(c->WithRank(c->input(3 * features), 0, &unused));
  TF_RETURN_IF_ERROR(c->WithRank(c->input(3 * features + 1), 0, &unused));
  return sparse_core::CsrOutputs(c, AttrOf<tf::int32>(c, "num_sc_per_chip"),
                                 AttrOf<tf::int32>(c, "stacked_table_sample_count"),
                                 AttrOf<tf::int32>(c, "num_replicas"));
}

// Everything of one batch that is not an output; its memory serves the next batch.
struct PreprocessScratch {
  std::vector<sparse_core::FeatureIds> ids;
  sparse_core::Preprocessor preprocessor;
  std::vector<sparse_core::SegmentPlan> plans;
};

// Arrays that go back to their pool when no tensor looks at them any more. The pool may have to
// outlive the kernel.
struct LeasedArrays {
  using Pool = ScratchPool<sparse_core::PaddedArrays>;
  explicit LeasedArrays(const std::shared_ptr<Pool>& p) : pool(p), lease(p.get()) {}

  const std::shared_ptr<Pool> pool;
  const Pool::Lease lease;
};

class SparseCorePreprocessOp : public StatusKernel {
 public:
  explicit SparseCorePreprocessOp(tf::OpKernelConstruction* ctx)
      : StatusKernel(ctx),
        features_(AttrOf<tf::int32>(ctx, "F")),
        stack_samples_(AttrOf<tf::int32>(ctx, "stacked_table_sample_count")),
        arrays_(std::make_shared<LeasedArrays::Pool>()) {
    stack_.sort.table = AttrOf<std::string>(ctx, "table_name");
    stack_.sort.topology = sparse_core::TopologyOf(ctx);
    stack_.sort.columns = AttrOf<tf::int32>(ctx, "table_vocab_size");
    stack_.buffer.topology = stack_.sort.topology;
    sparse_core::ReadBufferAttrs(ctx, stack_samples_, &stack_.buffer);
    const Status status = ReadFeatureAttrs(ctx);
    if (!status.ok()) ctx->CtxFailure(ToTensorFlow(status));
  }

 private:
  Status ReadFeatureAttrs(tf::OpKernelConstruction* ctx) {
    const auto names = AttrOf<std::vector<std::string>>(ctx, "feature_names");
    const auto combiners = AttrOf<std::vector<std::string>>(ctx, "combiners");
    const char* const attrs[] = {"sample_counts", "row_offsets", "col_offsets", "col_shifts",
                                 "vocabulary_sizes"};
    sparse_core::Int64s values[5];
    for (int a = 0; a < 5; ++a) {
      values[a] = AttrOf<sparse_core::Int64s>(ctx, attrs[a]);
      EP_RETURN_IF_ERROR(CheckList(attrs[a], values[a].size()));
    }
    EP_RETURN_IF_ERROR(CheckList("feature_names", names.size()));
    EP_RETURN_IF_ERROR(CheckList("combiners", combiners.size()));
    const sparse_core::Topology& topology = stack_.sort.topology;
    EP_RETURN_IF_ERROR(sparse_core::CheckTopology(stack_.sort.table, topology));
    EP_RETURN_IF_ERROR(sparse_core::CheckBuffer(stack_.buffer));
    stack_.features.resize(features_);
    for (int f = 0; f < features_; ++f) {
      sparse_core::Feature& feature = stack_.features[f];
      feature.name = names[f];
      feature.samples = values[0][f];
      feature.row_offset = values[1][f];
      feature.col_offset = values[2][f];
      feature.col_shift = values[3][f];
      feature.vocabulary_size = values[4][f];
      EP_RETURN_IF_ERROR(sparse_core::ParseCombiner(feature.name, combiners[f], &feature.combiner));
      EP_RETURN_IF_ERROR(
          sparse_core::CheckFeature(feature, topology.cores_per_replica, stack_samples_));
    }
    stack_.tables = sparse_core::GroupByTable(sparse_core::Plain(values[2]));
    return Status();
  }

  Status CheckList(const char* attr, size_t size) const {
    return sparse_core::CheckListAttr(stack_.sort.table, attr, size, features_);
  }

  Status Run(tf::OpKernelContext* ctx) override {
    sparse_core::IdLimits limits;
    EP_RETURN_IF_ERROR(sparse_core::ReadLimits(ctx, stack_.sort.table, 3 * features_, &limits));
    IntraOpRunner runner(ctx);
    ScratchPool<PreprocessScratch>::Lease scratch(ScratchPool<PreprocessScratch>::Global());
    EP_RETURN_IF_ERROR(ReadFeatures(ctx, &runner, &scratch->ids));
    sparse_core::Preprocessor& preprocessor = scratch->preprocessor;
    EP_RETURN_IF_ERROR(preprocessor.Sort(stack_, scratch->ids, limits, &runner));
    const int64_t replicas = stack_.sort.topology.replicas;
    tf::Tensor* row_pointers = nullptr;
    EP_RETURN_IF_ERROR(AllocateOutput(
        ctx, 0, tf::TensorShape({replicas * stack_.buffer.row_pointers()}), &row_pointers));
    EP_RETURN_IF_ERROR(preprocessor.Plan(sparse_core::Int32Data(row_pointers), &scratch->plans));
    const auto arrays = std::make_shared<LeasedArrays>(arrays_);
    arrays->lease->Prepare(replicas, stack_.buffer.capacity);
    preprocessor.Write(scratch->plans, arrays->lease->arrays(), &runner);
    arrays->lease->Pad(scratch->plans);
    SetArrays(ctx, arrays);
    return sparse_core::SetSizes(ctx, stack_.sort.table, 1, scratch->plans);
  }

  Status ReadFeatures(tf::OpKernelContext* ctx, ParallelRunner* runner,
                      std::vector<sparse_core::FeatureIds>* ids) const {
    ids->resize(features_);
    std::vector<Status> statuses(features_);
    const int shards = ShardsFor(*runner, features_, 4);
    runner->Run(shards, [&](int s) {
      const ShardRange mine = RangeOfShard(features_, shards, s);
      for (int f = static_cast<int>(mine.begin); f < mine.end; ++f) {
        const sparse_core::Feature& feature = stack_.features[f];
        statuses[f] = sparse_core::ReadFeature(
            feature.name, ctx->input(f), ctx->input(features_ + f), ctx->input(2 * features_ + f),
            feature.samples * stack_.sort.topology.replicas, &(*ids)[f]);
      }
    });
    return FirstError(statuses);
  }

  void SetArrays(tf::OpKernelContext* ctx, const std::shared_ptr<LeasedArrays>& owner) const {
    const sparse_core::Tokens& arrays = owner->lease->arrays();
    const tf::TensorShape shape({stack_.sort.topology.replicas * stack_.buffer.capacity});
    ctx->set_output(1, ViewTensor(tf::DT_INT32, shape, arrays.rows, owner));
    ctx->set_output(2, ViewTensor(tf::DT_INT32, shape, arrays.cols, owner));
    ctx->set_output(3, ViewTensor(tf::DT_FLOAT, shape, arrays.gains, owner));
  }

  const int features_;
  const int64_t stack_samples_;
  sparse_core::Stack stack_;
  const std::shared_ptr<LeasedArrays::Pool> arrays_;
};

REGISTER_KERNEL_BUILDER(Name("EpSparseCorePreprocess").Device(tf::DEVICE_CPU),
                        SparseCorePreprocessOp);

}  // namespace

REGISTER_OP("EpSparseCorePreprocess")
    .Input("indices_or_row_splits: TSplits")
    .Input("values: TIds")
    .Input("weights: F * float")
    .Input("max_ids: int32")
    .Input("max_unique_ids: int32")
    .Attr("TSplits: list({int32, int64}) >= 1")
    .Attr("TIds: list({int32, int64}) >= 1")
    .Attr("F: int >= 1")
    .Attr("feature_names: list(string) >= 1")
    .Attr("sample_counts: list(int) >= 1")
    .Attr("combiners: list(string) >= 1")
    .Attr("row_offsets: list(int) >= 1")
    .Attr("col_offsets: list(int) >= 1")
    .Attr("col_shifts: list(int) >= 1")
    .Attr("vocabulary_sizes: list(int) >= 1")
    .Attr("num_replicas: int >= 1")
    .Attr("num_sc_per_chip: int >= 1")
    .Attr("stacked_table_sample_count: int >= 1")
    .Attr("table_vocab_size: int >= 1")
    .Attr("feature_width: int >= 1")
    .Attr("max_minibatches_per_sc: int >= 1 = 64")
    .Attr("max_ids_per_chip_per_sample: int >= 1")
    .Attr("allow_id_dropping: bool = false")
    .Attr("table_name: string = ''")
    .Output("row_pointers: int32")
    .Output("sorted_sample_ids: int32")
    .Output("sorted_token_ids: int32")
    .Output("sorted_gains: float")
    .Output("row_pointers_unpadded_size: int32")
    .Output("ids_unpadded_size: int32")
    .Output("num_minibatches_per_sc: int32")
    .SetShapeFn(SparseCorePreprocessShape)
    .Doc("EpSparseCoreConvert, Sort and Pack for all features, cores and replicas of a stack.");

}  // namespace estimator_plugin
