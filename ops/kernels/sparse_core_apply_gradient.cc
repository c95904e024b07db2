// EpSparseCoreApplyGradient: one optimizer update of each row that occurs in a CSR buffer.

#include "sparse_core_shapes.h"
#include "table_kernel.h"
#include "tf_compat.h"

namespace estimator_plugin {
namespace {

using tf::shape_inference::InferenceContext;
using tf::shape_inference::ShapeHandle;

// Inputs: a CSR buffer, gradients, hyperparameters, the table's handle, S handles of slots.
constexpr int kGradients = sparse_core::kNumCsrInputs;
constexpr int kHyperparametersOfStack = kGradients + 1;
constexpr int kStackTable = kGradients + 2;

tf::Status SparseCoreApplyGradientShape(InferenceContext* c) {
  TF_RETURN_IF_ERROR(sparse_core::CheckCsrInputs(c));
  ShapeHandle unused;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(kGradients), 2, &unused));
  TF_RETURN_IF_ERROR(c->WithRank(c->input(kHyperparametersOfStack), 1, &unused));
  for (int i = kStackTable; i < c->num_inputs(); ++i) {
    TF_RETURN_IF_ERROR(c->WithRank(c->input(i), 0, &unused));
  }
  return tf::Status();
}

}  // namespace

REGISTER_OP("EpSparseCoreApplyGradient")
    .Input("row_pointers: int32")
    .Input("sorted_sample_ids: int32")
    .Input("sorted_token_ids: int32")
    .Input("sorted_gains: float")
    .Input("num_minibatches_per_sc: int32")
    .Input("activation_gradients: float")
    .Input("hyperparameters: double")
    .Input("table: resource")
    .Input("slots: S * resource")
    .Attr("S: int >= 0")
    .Attr("rule: string")
    .Attr("num_replicas: int >= 1")
    .Attr("num_sc_per_chip: int >= 1")
    .Attr("clip_weight_min: float")
    .Attr("clip_weight_max: float")
    .Attr("table_name: string = ''")
    .SetIsStateful()
    .SetShapeFn(SparseCoreApplyGradientShape)
    .Doc("One optimizer update of each row that occurs in a CSR buffer.");

}  // namespace estimator_plugin
