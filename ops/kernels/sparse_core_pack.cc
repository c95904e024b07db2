// EpSparseCorePack: the sorted ids of a chip's cores in one buffer of fixed size.

#include "../core/sparse_core/pack.h"
#include "sparse_core_inputs.h"
#include "sparse_core_outputs.h"
#include "sparse_core_shapes.h"
#include "table_kernel.h"
#include "tf_compat.h"

namespace estimator_plugin {
namespace {

using tf::shape_inference::InferenceContext;
using tf::shape_inference::ShapeHandle;

tf::Status SparseCorePackShape(InferenceContext* c) {
  const int64_t cores = AttrOf<tf::int32>(c, "C");
  for (int i = 0; i < 4 * cores; ++i) {
    ShapeHandle unused;
    TF_RETURN_IF_ERROR(c->WithRank(c->input(i), 1, &unused));
  }
  return sparse_core::CsrOutputs(c, cores, cores * AttrOf<tf::int32>(c, "sample_count_per_sc"), 1);
}

class SparseCorePackOp : public StatusKernel {
 public:
  explicit SparseCorePackOp(tf::OpKernelConstruction* ctx)
      : StatusKernel(ctx), cores_(AttrOf<tf::int32>(ctx, "C")) {
    options_.topology.replicas = AttrOf<tf::int32>(ctx, "num_replicas");
    options_.topology.cores_per_replica = cores_;
    sparse_core::ReadBufferAttrs(ctx, cores_ * AttrOf<tf::int32>(ctx, "sample_count_per_sc"),
                                 &options_);
  }

 private:
  Status Run(tf::OpKernelContext* ctx) override {
    EP_RETURN_IF_ERROR(sparse_core::CheckTopology(options_.table, options_.topology));
    EP_RETURN_IF_ERROR(sparse_core::CheckBuffer(options_));
    std::vector<sparse_core::SortedCore> cores(cores_);
    for (int64_t k = 0; k < cores_; ++k) EP_RETURN_IF_ERROR(ReadCore(ctx, k, &cores[k]));
    const tf::Tensor& split_words = ctx->input(static_cast<int>(4 * cores_));
    uint64_t splits = 0;
    for (int64_t i = 0; i < split_words.NumElements(); ++i) {
      splits |= static_cast<uint64_t>(Int64Data(split_words)[i]);
    }
    std::vector<int> edges;
    EP_RETURN_IF_ERROR(sparse_core::MinibatchEdges(options_.table, splits, &edges));
    sparse_core::CsrOutput output;
    EP_RETURN_IF_ERROR(sparse_core::AllocateCsr(ctx, options_, 1, &output));
    sparse_core::SegmentPlan plan;
    EP_RETURN_IF_ERROR(
        sparse_core::Pack(cores, edges, options_, output.row_pointers, output.buffer, &plan));
    return sparse_core::SetSizes(ctx, options_.table, static_cast<int32_t>(edges.size()) - 1,
                                 {plan});
  }

  Status ReadCore(tf::OpKernelContext* ctx, int64_t core, sparse_core::SortedCore* tokens) const {
    const tf::Tensor* inputs[4];
    for (int i = 0; i < 4; ++i) inputs[i] = &ctx->input(static_cast<int>(i * cores_ + core));
    const bool fit = inputs[0]->dims() == 1 && inputs[0]->shape() == inputs[1]->shape() &&
                     inputs[0]->shape() == inputs[2]->shape() && inputs[3]->dims() == 1;
    if (!fit || inputs[3]->NumElements() == 0) {
      return Error(Code::kInvalidArgument, "table '", options_.table,
                   "': rows, columns, gains and ", "id_counts of core ", core, " have shapes ",
                   inputs[0]->shape().DebugString(), ", ", inputs[1]->shape().DebugString(), ", ",
                   inputs[2]->shape().DebugString(), " and ", inputs[3]->shape().DebugString(),
                   "; want vectors, the first three of one length");
    }
    *tokens = {sparse_core::Int32Data(*inputs[0]), sparse_core::Int32Data(*inputs[1]),
               sparse_core::FloatData(*inputs[2]), inputs[0]->NumElements(),
               sparse_core::Int32Data(*inputs[3]), inputs[3]->NumElements()};
    return Status();
  }

  const int64_t cores_;
  sparse_core::BufferOptions options_;
};

REGISTER_KERNEL_BUILDER(Name("EpSparseCorePack").Device(tf::DEVICE_CPU), SparseCorePackOp);

}  // namespace

REGISTER_OP("EpSparseCorePack")
    .Input("sorted_row_ids: C * int32")
    .Input("sorted_col_ids: C * int32")
    .Input("sorted_gains: C * float")
    .Input("id_counts: C * int32")
    .Input("splits: int64")
    .Attr("C: int >= 1")
    .Attr("sample_count_per_sc: int >= 1")
    .Attr("num_replicas: int >= 1")
    .Attr("max_minibatches_per_sc: int >= 1")
    .Attr("max_ids_per_chip_per_sample: int >= 1")
    .Attr("table_vocab_size: int >= 1")
    .Attr("feature_width: int >= 1")
    .Attr("table_name: string")
    .Attr("allow_id_dropping: bool = false")
    .Output("row_pointers: int32")
    .Output("sorted_sample_ids: int32")
    .Output("sorted_token_ids: int32")
    .Output("padded_gains: float")
    .Output("row_pointers_unpadded_size: int32")
    .Output("ids_unpadded_size: int32")
    .Output("num_minibatches_per_sc: int32")
    .SetShapeFn(SparseCorePackShape)
    .Doc("The sorted ids of a chip's cores in one buffer of fixed size.");

}  // namespace estimator_plugin
