// EpSparseCoreApplyGradient: one optimizer update of each row that occurs in a CSR buffer.

#include <limits>
#include <memory>

#include "../core/sparse_core/apply_gradient.h"
#include "../core/sparse_core/clipped_rule.h"
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

class SparseCoreApplyGradientOp : public StatusKernel {
 public:
  explicit SparseCoreApplyGradientOp(tf::OpKernelConstruction* ctx)
      : StatusKernel(ctx),
        table_(AttrOf<std::string>(ctx, "table_name")),
        topology_(sparse_core::TopologyOf(ctx)),
        rule_(AttrOf<std::string>(ctx, "rule")),
        slots_(AttrOf<tf::int32>(ctx, "S")),
        clip_min_(AttrOf<float>(ctx, "clip_weight_min")),
        clip_max_(AttrOf<float>(ctx, "clip_weight_max")) {}

 private:
  Status Run(tf::OpKernelContext* ctx) override {
    EP_RETURN_IF_ERROR(sparse_core::CheckTopology(table_, topology_));
    std::unique_ptr<UpdateRule<float>> rule;
    EP_RETURN_IF_ERROR(MakeRule(ctx->input(kHyperparametersOfStack), &rule));
    std::vector<sparse_core::VariablePtr> variables(1 + slots_);
    for (int v = 0; v <= slots_; ++v) {
      EP_RETURN_IF_ERROR(sparse_core::FindVariable(ctx, kStackTable + v, table_, &variables[v]));
      for (int other = 0; other < v; ++other) {
        if (variables[v].get() != variables[other].get()) continue;
        return Error(Code::kInvalidArgument, "table '", table_,
                     "': one variable is given twice, as table or slot");
      }
    }
    const sparse_core::ClippedRule clipped(*rule, clip_min_, clip_max_);
    const bool clips = clip_min_ > -std::numeric_limits<float>::infinity() ||
                       clip_max_ < std::numeric_limits<float>::infinity();
    const sparse_core::ExclusiveAccess access(variables);
    return Update(ctx, clips ? static_cast<const UpdateRule<float>&>(clipped) : *rule, variables);
  }

  Status MakeRule(const tf::Tensor& hyperparameters,
                  std::unique_ptr<UpdateRule<float>>* rule) const {
    const double* const values = hyperparameters.flat<double>().data();
    const Status made = MakeUpdateRule(
        rule_, std::vector<double>(values, values + hyperparameters.NumElements()), rule);
    if (!made.ok()) return Error(made.code(), "table '", table_, "': ", made.message());
    if ((*rule)->slots().size() != static_cast<size_t>(slots_)) {
      return Error(Code::kInvalidArgument, "table '", table_, "': rule '", rule_, "' has ",
                   (*rule)->slots().size(), " slots, got ", slots_, " slot handles");
    }
    if (clip_min_ <= clip_max_) return Status();
    return Error(Code::kInvalidArgument, "table '", table_, "': clip_weight_min is ", clip_min_,
                 ", above clip_weight_max, ", clip_max_);
  }

  // REQUIRES: the variables are locked.
  Status Update(tf::OpKernelContext* ctx, const UpdateRule<float>& rule,
                const std::vector<sparse_core::VariablePtr>& variables) const {
    const tf::Tensor& gradients = ctx->input(kGradients);
    if (gradients.dims() != 2 || gradients.dim_size(0) % topology_.replicas != 0) {
      return Error(Code::kInvalidArgument, "table '", table_, "': activation_gradients has shape ",
                   gradients.shape().DebugString(), ", want [samples,width] of ",
                   topology_.replicas, " replicas");
    }
    const int64_t width = gradients.dim_size(1);
    std::vector<float*> parts(variables.size());
    std::vector<int64_t> rows(variables.size());
    for (size_t v = 0; v < variables.size(); ++v) {
      EP_RETURN_IF_ERROR(
          sparse_core::ValuesOf(variables[v].get(), table_, topology_, width, &parts[v], &rows[v]));
      if (rows[v] == rows[0]) continue;
      return Error(Code::kInvalidArgument, "table '", table_, "': slot ", v - 1, " has ", rows[v],
                   " rows, the table has ", rows[0]);
    }
    IntraOpRunner runner(ctx);
    sparse_core::CsrView csr;
    const int64_t samples = gradients.dim_size(0) / topology_.replicas;
    EP_RETURN_IF_ERROR(
        sparse_core::ReadCsr(ctx, table_, topology_, samples, rows[0], &runner, &csr));
    sparse_core::ApplyGradient(csr, sparse_core::FloatData(gradients), width, rule, parts, &runner);
    return Status();
  }

  const std::string table_;
  const sparse_core::Topology topology_;
  const std::string rule_;
  const int slots_;
  const float clip_min_;
  const float clip_max_;
};

REGISTER_KERNEL_BUILDER(Name("EpSparseCoreApplyGradient").Device(tf::DEVICE_CPU),
                        SparseCoreApplyGradientOp);

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
