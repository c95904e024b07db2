// EpSparseCoreSort, EpSparseCoreStats: one core's coordinates by shard and column.

#include <algorithm>

#include "../core/sparse_core/core_sort.h"
#include "../core/sparse_core/id_limits.h"
#include "sparse_core_inputs.h"
#include "table_kernel.h"
#include "tf_compat.h"

namespace estimator_plugin {
namespace {

using tf::shape_inference::InferenceContext;
using tf::shape_inference::ShapeHandle;

// Inputs: F row ids, F column ids, F gains, all vectors; then scalars, if any.
tf::Status CheckCoordinates(InferenceContext* c) {
  const int features = AttrOf<tf::int32>(c, "F");
  for (int i = 0; i < c->num_inputs(); ++i) {
    ShapeHandle unused;
    TF_RETURN_IF_ERROR(c->WithRank(c->input(i), i < 3 * features ? 1 : 0, &unused));
  }
  for (int f = 0; f < features; ++f) {
    ShapeHandle tokens;
    TF_RETURN_IF_ERROR(c->Merge(c->input(f), c->input(features + f), &tokens));
    TF_RETURN_IF_ERROR(c->Merge(tokens, c->input(2 * features + f), &tokens));
  }
  return tf::Status();
}

tf::Status SparseCoreSortShape(InferenceContext* c) {
  TF_RETURN_IF_ERROR(CheckCoordinates(c));
  const ShapeHandle tokens = c->Vector(InferenceContext::kUnknownDim);
  for (int i = 0; i < 3; ++i) c->set_output(i, tokens);
  const int64_t shards =
      int64_t{AttrOf<tf::int32>(c, "num_replicas")} * AttrOf<tf::int32>(c, "num_sc_per_chip");
  c->set_output(3, c->Vector(shards + 1));
  return tf::Status();
}

tf::Status SparseCoreStatsShape(InferenceContext* c) {
  TF_RETURN_IF_ERROR(CheckCoordinates(c));
  c->set_output(0, c->Scalar());
  c->set_output(1, c->Scalar());
  return tf::Status();
}

// What both ops share: the sorted tokens and their counts.
class SparseCoreSortBase : public StatusKernel {
 public:
  explicit SparseCoreSortBase(tf::OpKernelConstruction* ctx)
      : StatusKernel(ctx),
        features_(AttrOf<tf::int32>(ctx, "F")),
        sample_counts_(AttrOf<sparse_core::Int64s>(ctx, "sample_counts")),
        col_offsets_(sparse_core::Plain(AttrOf<sparse_core::Int64s>(ctx, "col_offsets"))) {
    options_.table = AttrOf<std::string>(ctx, "table_name");
    options_.topology = sparse_core::TopologyOf(ctx);
    options_.columns = AttrOf<tf::int32>(ctx, "table_vocab_size");
  }

 protected:
  int features() const { return features_; }
  const std::string& table() const { return options_.table; }

  Status Sort(tf::OpKernelContext* ctx, sparse_core::SortedTokens* sorted) const {
    EP_RETURN_IF_ERROR(sparse_core::CheckTopology(table(), options_.topology));
    EP_RETURN_IF_ERROR(
        sparse_core::CheckListAttr(table(), "sample_counts", sample_counts_.size(), features_));
    EP_RETURN_IF_ERROR(
        sparse_core::CheckListAttr(table(), "col_offsets", col_offsets_.size(), features_));
    int64_t samples = 0;
    for (int64_t count : sample_counts_) {
      if (count < 1) {
        return Error(Code::kInvalidArgument, "table '", table(), "': a sample count is ", count,
                     "; it must be at least 1");
      }
      samples += count;
    }
    std::vector<sparse_core::FeatureTokens> tokens(features_);
    for (int f = 0; f < features_; ++f) EP_RETURN_IF_ERROR(ReadTokens(ctx, f, &tokens[f]));
    return sparse_core::SortCore(tokens, col_offsets_, samples, options_, sorted);
  }

 private:
  Status ReadTokens(tf::OpKernelContext* ctx, int f, sparse_core::FeatureTokens* tokens) const {
    const tf::Tensor& rows = ctx->input(f);
    const tf::Tensor& cols = ctx->input(features_ + f);
    const tf::Tensor& gains = ctx->input(2 * features_ + f);
    if (rows.dims() != 1 || rows.shape() != cols.shape() || rows.shape() != gains.shape()) {
      return Error(Code::kInvalidArgument, "table '", table(), "': row ids, column ids and gains ",
                   "of feature ", f, " have shapes ", rows.shape().DebugString(), ", ",
                   cols.shape().DebugString(), " and ", gains.shape().DebugString(),
                   "; want vectors of one length");
    }
    *tokens = {sparse_core::Int32Data(rows), sparse_core::Int32Data(cols),
               sparse_core::FloatData(gains), rows.NumElements()};
    return Status();
  }

  const int features_;
  const sparse_core::Int64s sample_counts_;
  const std::vector<int64_t> col_offsets_;
  sparse_core::SortOptions options_;
};

class SparseCoreSortOp : public SparseCoreSortBase {
 public:
  using SparseCoreSortBase::SparseCoreSortBase;

 private:
  Status Run(tf::OpKernelContext* ctx) override {
    sparse_core::IdLimits limits;
    EP_RETURN_IF_ERROR(sparse_core::ReadLimits(ctx, table(), 3 * features(), &limits));
    sparse_core::SortedTokens sorted;
    EP_RETURN_IF_ERROR(Sort(ctx, &sorted));
    const int64_t shards = sorted.ids.size();
    for (int64_t p = 0; p < shards; ++p) {
      EP_RETURN_IF_ERROR(
          sparse_core::CheckCounts(table(), limits, p, sorted.ids[p], sorted.unique_ids[p]));
    }
    tf::Tensor* outputs[4];
    const int64_t size = sorted.rows.size();
    for (int i = 0; i < 4; ++i) {
      const tf::TensorShape shape({i < 3 ? size : shards + 1});
      EP_RETURN_IF_ERROR(AllocateOutput(ctx, i, shape, &outputs[i]));
    }
    std::copy_n(sorted.rows.begin(), size, sparse_core::Int32Data(outputs[0]));
    std::copy_n(sorted.cols.begin(), size, sparse_core::Int32Data(outputs[1]));
    std::copy_n(sorted.gains.begin(), size, sparse_core::FloatData(outputs[2]));
    int32_t* const counts = sparse_core::Int32Data(outputs[3]);
    counts[0] = 0;
    for (int64_t p = 0; p < shards; ++p) counts[p + 1] = counts[p] + sorted.ids[p];
    return Status();
  }
};

class SparseCoreStatsOp : public SparseCoreSortBase {
 public:
  using SparseCoreSortBase::SparseCoreSortBase;

 private:
  Status Run(tf::OpKernelContext* ctx) override {
    sparse_core::SortedTokens sorted;
    EP_RETURN_IF_ERROR(Sort(ctx, &sorted));
    EP_RETURN_IF_ERROR(SetMost(ctx, 0, sorted.ids));
    return SetMost(ctx, 1, sorted.unique_ids);
  }

  static Status SetMost(tf::OpKernelContext* ctx, int index, const std::vector<int32_t>& counts) {
    tf::Tensor* output = nullptr;
    EP_RETURN_IF_ERROR(AllocateOutput(ctx, index, tf::TensorShape({}), &output));
    *sparse_core::Int32Data(output) = *std::max_element(counts.begin(), counts.end());
    return Status();
  }
};

REGISTER_KERNEL_BUILDER(Name("EpSparseCoreSort").Device(tf::DEVICE_CPU), SparseCoreSortOp);
REGISTER_KERNEL_BUILDER(Name("EpSparseCoreStats").Device(tf::DEVICE_CPU), SparseCoreStatsOp);

}  // namespace

REGISTER_OP("EpSparseCoreSort")
    .Input("row_ids: F * int32")
    .Input("col_ids: F * int32")
    .Input("gains: F * float")
    .Input("max_ids: int32")
    .Input("max_unique_ids: int32")
    .Attr("F: int >= 1")
    .Attr("sample_counts: list(int) >= 1")
    .Attr("col_offsets: list(int) >= 1")
    .Attr("num_replicas: int >= 1")
    .Attr("num_sc_per_chip: int >= 1")
    .Attr("table_vocab_size: int >= 1")
    .Attr("feature_width: int >= 1")
    .Attr("table_name: string")
    .Output("sorted_row_ids: int32")
    .Output("sorted_col_ids: int32")
    .Output("sorted_gains: float")
    .Output("id_counts: int32")
    .SetShapeFn(SparseCoreSortShape)
    .Doc("The coordinates of one core's samples by shard and column, equal ones merged.");

REGISTER_OP("EpSparseCoreStats")
    .Input("row_ids: F * int32")
    .Input("col_ids: F * int32")
    .Input("gains: F * float")
    .Attr("F: int >= 1")
    .Attr("sample_counts: list(int) >= 1")
    .Attr("col_offsets: list(int) >= 1")
    .Attr("num_replicas: int >= 1")
    .Attr("num_sc_per_chip: int >= 1")
    .Attr("table_vocab_size: int >= 1")
    .Attr("feature_width: int >= 1")
    .Attr("table_name: string")
    .Output("max_ids: int32")
    .Output("max_unique_ids: int32")
    .SetShapeFn(SparseCoreStatsShape)
    .Doc("The smallest limits with which EpSparseCoreSort succeeds on the same input.");

}  // namespace estimator_plugin
