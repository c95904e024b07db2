#include "sparse_core_shapes.h"

namespace estimator_plugin {
namespace sparse_core {

using tf::shape_inference::InferenceContext;
using tf::shape_inference::ShapeHandle;

tf::Status CheckCsrInputs(InferenceContext* c) {
  ShapeHandle ids;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 1, &ids));
  for (int i = 1; i <= 3; ++i) TF_RETURN_IF_ERROR(c->WithRank(c->input(i), 1, &ids));
  TF_RETURN_IF_ERROR(c->Merge(c->input(1), c->input(2), &ids));
  TF_RETURN_IF_ERROR(c->Merge(ids, c->input(3), &ids));
  return c->WithRank(c->input(4), 0, &ids);
}

tf::Status CsrOutputs(InferenceContext* c, int64_t num_sc_per_chip, int64_t samples_per_chip,
                      int64_t replicas) {
  const int64_t shards = AttrOf<tf::int32>(c, "num_replicas") * num_sc_per_chip;
  const int64_t minibatches = AttrOf<tf::int32>(c, "max_minibatches_per_sc");
  const int64_t ids_per_sample = AttrOf<tf::int32>(c, "max_ids_per_chip_per_sample");
  c->set_output(0, c->Vector(replicas * minibatches * num_sc_per_chip * ((shards + 7) / 8 * 8)));
  const ShapeHandle ids = c->Vector(replicas * ids_per_sample * samples_per_chip);
  for (int i = 1; i <= 3; ++i) c->set_output(i, ids);
  const ShapeHandle sizes = replicas == 1 ? c->Scalar() : c->Vector(replicas);
  c->set_output(4, sizes);
  c->set_output(5, sizes);
  c->set_output(6, c->Scalar());
  return tf::Status();
}

}  // namespace sparse_core
}  // namespace estimator_plugin
