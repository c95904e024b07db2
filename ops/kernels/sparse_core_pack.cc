// EpSparseCorePack: the sorted ids of a chip's cores in one buffer of fixed size.

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
