// EpSparseCoreSort, EpSparseCoreStats: one core's coordinates by shard and column.

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
  const int64_t shards = int64_t{AttrOf<tf::int32>(c, "num_replicas")} *
                         AttrOf<tf::int32>(c, "num_sc_per_chip");
  c->set_output(3, c->Vector(shards + 1));
  return tf::Status();
}

tf::Status SparseCoreStatsShape(InferenceContext* c) {
  TF_RETURN_IF_ERROR(CheckCoordinates(c));
  c->set_output(0, c->Scalar());
  c->set_output(1, c->Scalar());
  return tf::Status();
}

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
