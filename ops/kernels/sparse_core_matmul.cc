// EpSparseCoreMatmul: the activations of a stack.

#include "sparse_core_shapes.h"
#include "table_kernel.h"
#include "tf_compat.h"

namespace estimator_plugin {
namespace {

using tf::shape_inference::InferenceContext;
using tf::shape_inference::ShapeHandle;

tf::Status SparseCoreMatmulShape(InferenceContext* c) {
  TF_RETURN_IF_ERROR(sparse_core::CheckCsrInputs(c));
  ShapeHandle unused;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(sparse_core::kNumCsrInputs), 0, &unused));
  const int64_t samples =
      int64_t{AttrOf<tf::int32>(c, "input_size")} * AttrOf<tf::int32>(c, "num_replicas");
  c->set_output(0, c->Matrix(samples, AttrOf<tf::int32>(c, "width")));
  return tf::Status();
}

}  // namespace

REGISTER_OP("EpSparseCoreMatmul")
    .Input("row_pointers: int32")
    .Input("sorted_sample_ids: int32")
    .Input("sorted_token_ids: int32")
    .Input("sorted_gains: float")
    .Input("num_minibatches_per_sc: int32")
    .Input("table: resource")
    .Attr("input_size: int >= 0")
    .Attr("num_replicas: int >= 1")
    .Attr("num_sc_per_chip: int >= 1")
    .Attr("width: int >= 1")
    .Attr("num_buckets: int >= 0 = 0")
    .Attr("lower: float = 0.0")
    .Attr("upper: float = 0.0")
    .Attr("table_name: string = ''")
    .Output("activations: float")
    .SetIsStateful()
    .SetShapeFn(SparseCoreMatmulShape)
    .Doc("The activations of a stack: for each sample, the sum of its rows by their gains.");

}  // namespace estimator_plugin
