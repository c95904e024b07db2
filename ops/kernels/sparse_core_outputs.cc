#include "sparse_core_outputs.h"

#include "sparse_core_inputs.h"
#include "table_kernel.h"

namespace estimator_plugin {
namespace sparse_core {

void ReadBufferAttrs(tf::OpKernelConstruction* ctx, int64_t samples_per_chip,
                     BufferOptions* options) {
  options->table = AttrOf<std::string>(ctx, "table_name");
  options->max_minibatches = AttrOf<tf::int32>(ctx, "max_minibatches_per_sc");
  options->capacity = samples_per_chip * AttrOf<tf::int32>(ctx, "max_ids_per_chip_per_sample");
  options->allow_dropping = AttrOf<bool>(ctx, "allow_id_dropping");
}

Status AllocateCsr(tf::OpKernelContext* ctx, const BufferOptions& options, int64_t replicas,
                   CsrOutput* output) {
  tf::Tensor* tensors[4];
  for (int i = 0; i < 4; ++i) {
    const int64_t size = replicas * (i == 0 ? options.row_pointers() : options.capacity);
    EP_RETURN_IF_ERROR(AllocateOutput(ctx, i, tf::TensorShape({size}), &tensors[i]));
  }
  output->row_pointers = Int32Data(tensors[0]);
  output->buffer = {Int32Data(tensors[1]), Int32Data(tensors[2]), FloatData(tensors[3])};
  return Status();
}

Status SetSizes(tf::OpKernelContext* ctx, const std::string& table, int32_t minibatches,
                const std::vector<SegmentPlan>& plans) {
  const int64_t replicas = plans.size();
  const tf::TensorShape shape = replicas == 1 ? tf::TensorShape({}) : tf::TensorShape({replicas});
  tf::Tensor* outputs[3];
  EP_RETURN_IF_ERROR(AllocateOutput(ctx, 4, shape, &outputs[0]));
  EP_RETURN_IF_ERROR(AllocateOutput(ctx, 5, shape, &outputs[1]));
  EP_RETURN_IF_ERROR(AllocateOutput(ctx, 6, tf::TensorShape({}), &outputs[2]));
  int64_t dropped = 0;
  for (int64_t r = 0; r < replicas; ++r) {
    Int32Data(outputs[0])[r] = static_cast<int32_t>(plans[r].row_pointers_size);
    Int32Data(outputs[1])[r] = static_cast<int32_t>(plans[r].ids_size);
    dropped += plans[r].dropped;
  }
  *Int32Data(outputs[2]) = minibatches;
  if (dropped > 0) {
    LOG(WARNING) << "table '" << table << "': " << dropped
                 << " ids of a batch were dropped; raise max_ids_per_chip_per_sample to keep all";
  }
  return Status();
}

}  // namespace sparse_core
}  // namespace estimator_plugin
