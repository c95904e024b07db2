// EpServeLookup, EpServeUpdate: the parameter server's side of tables that are spread over several.

#include "exchange_serve.h"

#include <memory>
#include <string>
#include <vector>

#include "../core/exchange_rows.h"
#include "intra_op_runner.h"
#include "key_tracking.h"
#include "row_updater.h"

namespace estimator_plugin {
namespace {

using tf::shape_inference::InferenceContext;
using tf::shape_inference::ShapeHandle;

// Inputs: T handles, request.
tf::Status ServeLookupShape(InferenceContext* c) {
  const int tables = AttrOf<tf::int32>(c, "T");
  TF_RETURN_IF_ERROR(ToTensorFlow(CheckTrackingListAttrs(c, tables)));
  ShapeHandle unused;
  for (int t = 0; t < tables; ++t) TF_RETURN_IF_ERROR(c->WithRank(c->input(t), 0, &unused));
  TF_RETURN_IF_ERROR(c->WithRank(c->input(tables), 1, &unused));
  c->set_output(0, c->Vector(InferenceContext::kUnknownDim));
  c->set_output(1, c->Vector(InferenceContext::kUnknownDim));
  c->set_output(2, c->Vector(tables));
  return tf::Status();
}

class ServeLookupOp : public StatusKernel {
 public:
  explicit ServeLookupOp(tf::OpKernelConstruction* ctx)
      : StatusKernel(ctx),
        num_tables_(AttrOf<tf::int32>(ctx, "T")),
        on_missing_(AttrOf<bool>(ctx, "insert") ? OnMissing::kInsert : OnMissing::kDefault),
        tracking_(TrackingFromListAttrs(ctx, num_tables_)) {}

 private:
  Status Run(tf::OpKernelContext* ctx) override {
    TableResources tables;
    EP_RETURN_IF_ERROR(ReadHandles(ctx, num_tables_, &tables));
    const std::vector<int64_t> dims = DimsOf(tables);
    Request request;
    EP_RETURN_IF_ERROR(ReadRequest(ctx, num_tables_, tables.size(), &request));
    std::vector<KeyUse> uses(num_tables_);
    for (int t = 0; t < num_tables_; ++t) {  // All before the first: an error counts nothing.
      if (tracking_[t] == nullptr) continue;
      const RequestedKeys& asked = request.tables[t];
      EP_RETURN_IF_ERROR(tracking_[t]->MakeUse(ctx, *tables[t], request.now, asked.occurrences,
                                               asked.n, &uses[t]));
    }
    // A row for every key, which is what it comes to in training; gaps are closed afterwards.
    const int64_t most = MostResponseWords(request, dims);
    tf::Tensor response;
    EP_RETURN_IF_ERROR(
        FromTensorFlow(ctx->allocate_temp(kValueType, tf::TensorShape({most}), &response)));
    tf::Tensor* addresses = nullptr;
    EP_RETURN_IF_ERROR(AllocateOutput(ctx, 1, tf::TensorShape({request.num_keys()}), &addresses));
    tf::Tensor* versions = nullptr;
    EP_RETURN_IF_ERROR(AllocateOutput(ctx, 2, tf::TensorShape({num_tables_}), &versions));
    Value* const words = response.flat<Value>().data();
    int64_t key = 0;
    int64_t at = BitWords(request.num_keys());
    IntraOpRunner runner(ctx);
    for (int t = 0; t < num_tables_; ++t) {
      const RequestedKeys& asked = request.tables[t];
      EP_RETURN_IF_ERROR(tables[t]->WhileReady([&] {
        Int64Data(versions)[t] = tables[t]->accumulator()->version();
        return tables[t]->table()->Lookup(asked.keys, asked.n, on_missing_, nullptr,
                                          Int64Data(addresses) + key, words + at, &runner,
                                          tracking_[t] == nullptr ? nullptr : &uses[t]);
      }));
      if (tracking_[t] != nullptr) ReportBackwardClock(*tables[t]);
      key += asked.n;
      at += asked.n * dims[t];
    }
    ctx->set_output(0,
                    response.Slice(0, FinishResponse(request, dims, Int64Data(*addresses), words)));
    return Status();
  }

  const int num_tables_;
  const OnMissing on_missing_;
  const TrackingByTable tracking_;
};

// Inputs: T handles, hyperparameters, request, addresses, packed.
tf::Status ServeUpdateShape(InferenceContext* c) {
  const int tables = AttrOf<tf::int32>(c, "T");
  TF_RETURN_IF_ERROR(
      ToTensorFlow(CheckChosen("tables", AttrOf<std::vector<tf::int32>>(c, "tables"), tables)));
  ShapeHandle unused;
  for (int t = 0; t < tables; ++t) TF_RETURN_IF_ERROR(c->WithRank(c->input(t), 0, &unused));
  for (int i = tables; i < tables + 4; ++i) {
    TF_RETURN_IF_ERROR(c->WithRank(c->input(i), 1, &unused));
  }
  return tf::Status();
}

class ServeUpdateOp : public StatusKernel {
 public:
  explicit ServeUpdateOp(tf::OpKernelConstruction* ctx)
      : StatusKernel(ctx),
        num_tables_(AttrOf<tf::int32>(ctx, "T")),
        chosen_(AttrOf<std::vector<tf::int32>>(ctx, "tables")),
        updater_(ctx) {}

 private:
  Status Run(tf::OpKernelContext* ctx) override {
    TableResources tables;
    EP_RETURN_IF_ERROR(ReadHandles(ctx, num_tables_, &tables));
    ServedGradients gradients;
    EP_RETURN_IF_ERROR(
        ReadGradients(ctx, tables, chosen_, num_tables_ + 1, num_tables_ + 3, &gradients));
    IntraOpRunner runner(ctx);
    for (int t : chosen_) {
      std::unique_ptr<UpdateRule<Value>> rule;
      EP_RETURN_IF_ERROR(updater_.MakeRule(*tables[t], ctx->input(num_tables_), &rule));
      EP_RETURN_IF_ERROR(tables[t]->WhileReady(
          [&] { return updater_.Update(tables[t].get(), *rule, {gradients.of(t)}, &runner); }));
    }
    return Status();
  }

  const int num_tables_;
  const std::vector<tf::int32> chosen_;
  RowUpdater updater_;
};

REGISTER_KERNEL_BUILDER(Name("EpServeLookup").Device(tf::DEVICE_CPU), ServeLookupOp);
REGISTER_KERNEL_BUILDER(Name("EpServeUpdate").Device(tf::DEVICE_CPU), ServeUpdateOp);

}  // namespace

REGISTER_OP("EpServeLookup")
    .Input("handles: T * resource")
    .Input("request: int64")
    .Attr("T: int >= 1")
    .Attr("insert: bool")
    .Attr("tracked: list(int) = []")
    .Attr("faae_coefficient: list(int) = []")
    .Attr("access_threshold: list(int) = []")
    .Attr("time_unit: list({'seconds', 'steps'}) = []")
    .Attr("admission_filter: list({'exact', 'sketch'}) = []")
    .Attr("sketch_bytes: list(int) = []")
    .Attr("combined: list(bool) = []")
    .Output("response: float")
    .Output("addresses: int64")
    .Output("versions: int64")
    .SetIsStateful()
    .SetShapeFn(ServeLookupShape)
    .Doc(
        "The rows of the keys of a request, which get them if `insert`, and their addresses. Keys "
        "of `tracked` tables are counted, and admitted first.");

REGISTER_OP("EpServeUpdate")
    .Input("handles: T * resource")
    .Input("hyperparameters: double")
    .Input("request: int64")
    .Input("addresses: int64")
    .Input("packed: float")
    .Attr("T: int >= 1")
    .Attr("tables: list(int)")
    .Attr("rule: string")
    .Attr("on_non_finite: {'reject', 'skip'} = 'reject'")
    .SetIsStateful()
    .SetShapeFn(ServeUpdateShape)
    .Doc("One optimizer update for each row of `tables` that has a gradient.");

}  // namespace estimator_plugin
