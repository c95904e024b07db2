// EpSparseCoreMatmul: the activations of a stack.

#include "../core/sparse_core/matmul.h"
#include "intra_op_runner.h"
#include "sparse_core_inputs.h"
#include "sparse_core_shapes.h"
#include "sparse_core_variable.h"
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

class SparseCoreMatmulOp : public StatusKernel {
 public:
  explicit SparseCoreMatmulOp(tf::OpKernelConstruction* ctx)
      : StatusKernel(ctx),
        table_(AttrOf<std::string>(ctx, "table_name")),
        topology_(sparse_core::TopologyOf(ctx)),
        samples_(AttrOf<tf::int32>(ctx, "input_size")),
        width_(AttrOf<tf::int32>(ctx, "width")) {
    quantization_.num_buckets = AttrOf<tf::int32>(ctx, "num_buckets");
    quantization_.lower = AttrOf<float>(ctx, "lower");
    quantization_.upper = AttrOf<float>(ctx, "upper");
  }

 private:
  Status Run(tf::OpKernelContext* ctx) override {
    EP_RETURN_IF_ERROR(sparse_core::CheckTopology(table_, topology_));
    EP_RETURN_IF_ERROR(sparse_core::CheckQuantization(table_, quantization_));
    sparse_core::VariablePtr variable;
    EP_RETURN_IF_ERROR(
        sparse_core::FindVariable(ctx, sparse_core::kNumCsrInputs, table_, &variable));
    tf::Tensor* activations = nullptr;
    EP_RETURN_IF_ERROR(AllocateOutput(
        ctx, 0, tf::TensorShape({topology_.replicas * samples_, width_}), &activations));
    IntraOpRunner runner(ctx);
    tf::tf_shared_lock lock(*variable->mu());
    float* values = nullptr;
    int64_t rows = 0;
    EP_RETURN_IF_ERROR(
        sparse_core::ValuesOf(variable.get(), table_, topology_, width_, &values, &rows));
    sparse_core::CsrView csr;
    EP_RETURN_IF_ERROR(sparse_core::ReadCsr(ctx, table_, topology_, samples_, rows, &runner, &csr));
    sparse_core::Matmul(csr, values, width_, quantization_, &runner,
                        sparse_core::FloatData(activations));
    return Status();
  }

  const std::string table_;
  const sparse_core::Topology topology_;
  const int64_t samples_;
  const int64_t width_;
  sparse_core::Quantization quantization_;
};

REGISTER_KERNEL_BUILDER(Name("EpSparseCoreMatmul").Device(tf::DEVICE_CPU), SparseCoreMatmulOp);

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
