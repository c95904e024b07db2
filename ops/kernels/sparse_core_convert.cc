// EpSparseCoreConvert: the ids of one feature as coordinates in its stack.

#include "sparse_core_shapes.h"
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
