// EpServeAccumulate, EpServeApplyAccumulated: synchronous training of tables on parameter servers.

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../core/gradient_accumulator.h"
#include "exchange_serve.h"
#include "intra_op_runner.h"
#include "row_updater.h"

namespace estimator_plugin {
namespace {

using tf::shape_inference::InferenceContext;
using tf::shape_inference::ShapeHandle;

// Inputs: T handles, request, addresses, versions, packed.
tf::Status ServeAccumulateShape(InferenceContext* c) {
  const int tables = AttrOf<tf::int32>(c, "T");
  const auto chosen = AttrOf<std::vector<tf::int32>>(c, "tables");
  TF_RETURN_IF_ERROR(ToTensorFlow(CheckChosen("tables", chosen, tables)));
  TF_RETURN_IF_ERROR(ToTensorFlow(
      CheckChosen("completes", AttrOf<std::vector<tf::int32>>(c, "completes"), tables)));
  ShapeHandle unused;
  for (int t = 0; t < tables; ++t) TF_RETURN_IF_ERROR(c->WithRank(c->input(t), 0, &unused));
  for (int i = tables; i < tables + 4; ++i) {
    TF_RETURN_IF_ERROR(c->WithRank(c->input(i), 1, &unused));
  }
  c->set_output(0, c->Vector(static_cast<int64_t>(chosen.size())));
  return tf::Status();
}

// The memory behind gradients that are kept: nothing is copied.
struct KeptMemory {
  std::vector<int64_t> addresses;
  tf::Tensor packed;
};

class ServeAccumulateOp : public StatusKernel {
 public:
  explicit ServeAccumulateOp(tf::OpKernelConstruction* ctx)
      : StatusKernel(ctx),
        num_tables_(AttrOf<tf::int32>(ctx, "T")),
        chosen_(AttrOf<std::vector<tf::int32>>(ctx, "tables")),
        completes_(AttrOf<std::vector<tf::int32>>(ctx, "completes")) {}

 private:
  Status Run(tf::OpKernelContext* ctx) override {
    TableResources tables;
    EP_RETURN_IF_ERROR(ReadHandles(ctx, num_tables_, &tables));
    ServedGradients gradients;
    EP_RETURN_IF_ERROR(
        ReadGradients(ctx, tables, chosen_, num_tables_, num_tables_ + 3, &gradients));
    const tf::Tensor& versions = ctx->input(num_tables_ + 2);
    if (versions.dims() != 1 || versions.NumElements() != num_tables_) {
      return Malformed(ctx, Error(Code::kInvalidArgument, "versions has shape ",
                                  versions.shape().DebugString(), ", want [", num_tables_, "]"));
    }
    tf::Tensor* counted = nullptr;
    const tf::TensorShape shape({static_cast<int64_t>(chosen_.size())});
    EP_RETURN_IF_ERROR(AllocateOutput(ctx, 0, shape, &counted));
    for (size_t i = 0; i < chosen_.size(); ++i) {
      const int t = chosen_[i];
      const auto kept = std::make_shared<KeptMemory>();
      GradientSegment<Value> segment = gradients.of(t);
      std::swap(kept->addresses, gradients.addresses[t]);  // Which leaves their place alone.
      kept->packed = ctx->input(num_tables_ + 3);
      const bool completes = std::count(completes_.begin(), completes_.end(), t) > 0;
      EP_RETURN_IF_ERROR(tables[t]->WhileReady([] { return Status(); }));
      const bool counts =
          tables[t]->accumulator()->Add(Int64Data(versions)[t], {kept, segment}, completes);
      counted->vec<bool>()(i) = counts;
      if (!counts && !reported_stale_.exchange(true)) {
        LOG(WARNING) << "table '" << tables[t]->name() << "': the gradients of a replica came "
                     << "after the update that they were for and were dropped; "
                     << "said once, EpServeAccumulate tells which count";
      }
    }
    return Status();
  }

  const int num_tables_;
  const std::vector<tf::int32> chosen_;
  const std::vector<tf::int32> completes_;
  std::atomic<bool> reported_stale_{false};
};

// One run of EpServeApplyAccumulated: takes what the tables have accumulated, one table after the
// other, waiting where it is not enough; then updates them all. It lives until `done` was called,
// kept by whoever is to call it next: an accumulator, a thread, or the cancellation manager.
class AccumulatedUpdate : public std::enable_shared_from_this<AccumulatedUpdate> {
 public:
  AccumulatedUpdate(tf::OpKernelContext* ctx, tf::AsyncOpKernel::DoneCallback done,
                    RowUpdater* updater)
      : ctx_(ctx), done_(std::move(done)), updater_(updater) {}

  void Start(int num_tables) {
    const Status status =
        WithoutExceptions(ctx_->op_kernel(), [&] { return ReadInputs(num_tables); });
    if (!status.ok()) return Complete(status);
    tf::CancellationManager* const manager = ctx_->cancellation_manager();
    if (manager != nullptr) {
      token_ = manager->get_cancellation_token();
      const auto self = shared_from_this();
      if (!manager->RegisterCallback(token_, [self] { self->Cancel(); })) {
        return Complete(Error(Code::kCancelled, "the step was cancelled"));
      }
      registered_ = true;
    }
    TakeFrom(0);
  }

 private:
  Status ReadInputs(int num_tables) {
    EP_RETURN_IF_ERROR(ReadHandles(ctx_, num_tables, &tables_));
    std::set<const TableResource*> distinct;
    for (const auto& table : tables_) {
      rules_.emplace_back();
      EP_RETURN_IF_ERROR(updater_->MakeRule(*table, ctx_->input(num_tables), &rules_.back()));
      EP_RETURN_IF_ERROR(table->WhileReady([] { return Status(); }));
      if (distinct.insert(table.get()).second) continue;
      return Error(Code::kInvalidArgument, "table '", table->name(), "' is given twice");
    }
    const tf::Tensor& required = ctx_->input(num_tables + 1);
    if (required.dims() != 0 || *Int64Data(required) < 1) {
      return Error(Code::kInvalidArgument, "num_required is ", required.SummarizeValue(3),
                   " of shape ", required.shape().DebugString(), ", want a scalar of at least 1");
    }
    num_required_ = *Int64Data(required);
    return Status();
  }

  void TakeFrom(size_t t) {
    if (t == tables_.size()) {
      // Not on this thread, which is in the middle of a replica's push.
      const auto self = shared_from_this();
      (*ctx_->runner())([self] {
        self->Complete(WithoutExceptions(self->ctx_->op_kernel(), [&] { return self->Update(); }));
      });
      return;
    }
    const auto self = shared_from_this();
    GradientAccumulator<Value>* const accumulator = tables_[t]->accumulator();
    {
      std::lock_guard<std::mutex> lock(mutex_);
      waits_for_ = accumulator;
    }
    accumulator->Take(num_required_, this,
                      [self, t](const Status& status, AccumulatedGradients<Value> accumulated) {
                        if (!status.ok()) return self->Fail(status);
                        self->taken_.push_back(std::move(accumulated));
                        self->TakeFrom(t + 1);
                      });
    bool cancelled;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      cancelled = cancelled_;
    }
    // A cancellation just before the Take did not see it.
    if (cancelled && accumulator->CancelTake(this)) Fail(Cancelled());
  }

  void Cancel() {
    GradientAccumulator<Value>* accumulator;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      cancelled_ = true;
      accumulator = waits_for_;
    }
    if (accumulator == nullptr || !accumulator->CancelTake(this)) return;
    registered_ = false;  // This is the callback: it must not wait for itself.
    Fail(Cancelled());
  }

  static Status Cancelled() {
    return Error(Code::kCancelled, "the step was cancelled while it waited for gradients");
  }

  Status Update() {
    IntraOpRunner runner(ctx_);
    for (size_t t = 0; t < tables_.size(); ++t) {
      const MeanRule<Value> mean(*rules_[t], taken_[t].replicas);
      const bool one = taken_[t].replicas == 1;  // Its sum is the mean, without a division.
      const UpdateRule<Value>* const rule = one ? rules_[t].get() : &mean;
      Segments segments;
      for (const auto& gradients : taken_[t].gradients) segments.push_back(gradients.segment);
      TableResource* const table = tables_[t].get();
      EP_RETURN_IF_ERROR(
          table->WhileReady([&] { return updater_->Update(table, *rule, segments, &runner); }));
    }
    return Status();
  }

  // Whoever ends the wait early may hold a table, which what runs after `done` may want.
  void Fail(const Status& status) {
    const auto self = shared_from_this();
    (*ctx_->runner())([self, status] { self->Complete(status); });
  }

  void Complete(const Status& status) {
    for (size_t t = 0; t < taken_.size(); ++t) tables_[t]->accumulator()->Finish();
    if (registered_) ctx_->cancellation_manager()->DeregisterCallback(token_);
    if (!status.ok()) ctx_->CtxFailure(ToTensorFlow(status));
    done_();
  }

  tf::OpKernelContext* const ctx_;
  const tf::AsyncOpKernel::DoneCallback done_;
  RowUpdater* const updater_;
  TableResources tables_;
  std::vector<std::unique_ptr<UpdateRule<Value>>> rules_;
  int64_t num_required_ = 0;
  std::vector<AccumulatedGradients<Value>> taken_;  // Of the first tables.
  tf::CancellationToken token_ = 0;
  bool registered_ = false;
  std::mutex mutex_;
  bool cancelled_ = false;
  GradientAccumulator<Value>* waits_for_ = nullptr;
};

class ServeApplyAccumulatedOp : public tf::AsyncOpKernel {
 public:
  explicit ServeApplyAccumulatedOp(tf::OpKernelConstruction* ctx)
      : AsyncOpKernel(ctx), num_tables_(AttrOf<tf::int32>(ctx, "T")), updater_(ctx) {}

  void ComputeAsync(tf::OpKernelContext* ctx, DoneCallback done) override {
    std::make_shared<AccumulatedUpdate>(ctx, std::move(done), &updater_)->Start(num_tables_);
  }

 private:
  const int num_tables_;
  RowUpdater updater_;
};

// Inputs: T handles, hyperparameters, num_required.
tf::Status ServeApplyAccumulatedShape(InferenceContext* c) {
  const int tables = AttrOf<tf::int32>(c, "T");
  ShapeHandle unused;
  for (int t = 0; t < tables; ++t) TF_RETURN_IF_ERROR(c->WithRank(c->input(t), 0, &unused));
  TF_RETURN_IF_ERROR(c->WithRank(c->input(tables), 1, &unused));
  return c->WithRank(c->input(tables + 1), 0, &unused);
}

REGISTER_KERNEL_BUILDER(Name("EpServeAccumulate").Device(tf::DEVICE_CPU), ServeAccumulateOp);
REGISTER_KERNEL_BUILDER(Name("EpServeApplyAccumulated").Device(tf::DEVICE_CPU),
                        ServeApplyAccumulatedOp);

}  // namespace

REGISTER_OP("EpServeAccumulate")
    .Input("handles: T * resource")
    .Input("request: int64")
    .Input("addresses: int64")
    .Input("versions: int64")
    .Input("packed: float")
    .Attr("T: int >= 1")
    .Attr("tables: list(int)")
    .Attr("completes: list(int)")
    .Output("counted: bool")
    .SetIsStateful()
    .SetShapeFn(ServeAccumulateShape)
    .Doc("Keeps a replica's gradients for EpServeApplyAccumulated, unless they are stale.");

REGISTER_OP("EpServeApplyAccumulated")
    .Input("handles: T * resource")
    .Input("hyperparameters: double")
    .Input("num_required: int64")
    .Attr("T: int >= 1")
    .Attr("rule: string")
    .Attr("on_non_finite: {'reject', 'skip'} = 'reject'")
    .SetIsStateful()
    .SetShapeFn(ServeApplyAccumulatedShape)
    .Doc("Waits for the gradients of enough replicas, then updates each row once by their mean.");

}  // namespace estimator_plugin
