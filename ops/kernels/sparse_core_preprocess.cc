// EpSparseCorePreprocess: EpSparseCoreConvert, Sort and Pack for all features, cores and replicas.

#include "sparse_core_shapes.h"
#include "table_kernel.h"
#include "tf_compat.h"

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
