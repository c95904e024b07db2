// EpTableApplyGradients, EpTableApplyGradientsByKey: one optimizer update per row.

#include <limits>
#include <memory>
#include <vector>

#include "../core/finite.h"
#include "input_checks.h"
#include "intra_op_runner.h"
#include "row_updater.h"
#include "shapes.h"
#include "table_kernel.h"
#include "tf_compat.h"

namespace estimator_plugin {
namespace {

using tf::shape_inference::InferenceContext;
using tf::shape_inference::ShapeHandle;

// Inputs: handle, hyperparameters, N id tensors (addresses or keys), N gradients.
constexpr int kHyperparameters = 1;
constexpr int kFirstId = 2;

tf::Status ApplyGradientsShape(InferenceContext* c) {
  TF_RETURN_IF_ERROR(shapes::CheckHandle(c));
  ShapeHandle unused;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(kHyperparameters), 1, &unused));
  TfInt64 segments = 0;
  TF_RETURN_IF_ERROR(c->GetAttr("N", &segments));
  const ShapeHandle row = c->Vector(shapes::DimOfHandle(c));
  for (int i = 0; i < segments; ++i) {
    ShapeHandle wanted;
    TF_RETURN_IF_ERROR(c->Concatenate(c->input(kFirstId + i), row, &wanted));
    TF_RETURN_IF_ERROR(c->Merge(c->input(kFirstId + segments + i), wanted, &unused));
  }
  return tf::Status();
}

// What both ops share. A segment's `addresses` are what came in: addresses, or keys.
class ApplyGradientsBase : public ReadyTableKernel {
 public:
  explicit ApplyGradientsBase(tf::OpKernelConstruction* ctx)
      : ReadyTableKernel(ctx), num_segments_(AttrOf<tf::int32>(ctx, "N")), updater_(ctx) {}

 protected:
  virtual const char* IdArgument() const = 0;

  RowUpdater* updater() { return &updater_; }

  Status ReadSegments(tf::OpKernelContext* ctx, const TableResource& resource,
                      Segments* segments) const {
    int64_t total = 0;
    for (int i = 0; i < num_segments_; ++i) {
      const tf::Tensor& ids = ctx->input(kFirstId + i);
      const tf::Tensor& gradients = ctx->input(kFirstId + num_segments_ + i);
      const std::string argument = "gradients[" + std::to_string(i) + "], for " + IdArgument() +
                                   " of shape " + ids.shape().DebugString() + ",";
      EP_RETURN_IF_ERROR(CheckRowsOf(resource, argument, gradients, ids.shape()));
      segments->push_back({Int64Data(ids), gradients.flat<Value>().data(), ids.NumElements()});
      total += ids.NumElements();
    }
    if (total <= std::numeric_limits<uint32_t>::max()) return Status();
    return Error(Code::kInvalidArgument, "table '", resource.name(), "': ", IdArgument(), " has ",
                 total, " ids in all, want fewer than 2^32");
  }

 private:
  const int num_segments_;
  RowUpdater updater_;
};

class ApplyGradientsOp : public ApplyGradientsBase {
 public:
  using ApplyGradientsBase::ApplyGradientsBase;

 private:
  const char* IdArgument() const override { return "addresses"; }

  Status RunReady(tf::OpKernelContext* ctx, TableResource* resource) override {
    std::unique_ptr<UpdateRule<Value>> rule;
    EP_RETURN_IF_ERROR(updater()->MakeRule(*resource, ctx->input(kHyperparameters), &rule));
    Segments segments;
    EP_RETURN_IF_ERROR(ReadSegments(ctx, *resource, &segments));
    IntraOpRunner runner(ctx);
    return updater()->Update(resource, *rule, segments, &runner);
  }
};

// The error for the first gradient of a key that is not finite.
Status CheckFiniteByKey(const TableResource& resource, const GradientSegment<Value>& segment) {
  const int64_t dim = resource.table()->dim();
  if (AllFinite(segment.gradients, segment.n * dim)) return Status();
  for (int64_t i = 0; i < segment.n; ++i) {
    const int64_t key = segment.addresses[i];
    if (key == kNoKey || AllFinite(segment.gradients + i * dim, dim)) continue;
    return Error(Code::kInvalidArgument, "table '", resource.name(), "': gradients[", i,
                 "], of key ", key, ", is not finite. No row was changed; on_non_finite='skip' ",
                 "leaves such rows alone and goes on");
  }
  return Status();
}

class ApplyGradientsByKeyOp : public ApplyGradientsBase {
 public:
  using ApplyGradientsBase::ApplyGradientsBase;

 private:
  const char* IdArgument() const override { return "keys"; }

  Status RunReady(tf::OpKernelContext* ctx, TableResource* resource) override {
    std::unique_ptr<UpdateRule<Value>> rule;
    EP_RETURN_IF_ERROR(updater()->MakeRule(*resource, ctx->input(kHyperparameters), &rule));
    Segments keys;
    EP_RETURN_IF_ERROR(ReadSegments(ctx, *resource, &keys));
    IntraOpRunner runner(ctx);
    std::vector<tf::Tensor> addresses(keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      EP_RETURN_IF_ERROR(FromTensorFlow(
          ctx->allocate_temp(tf::DT_INT64, tf::TensorShape({keys[i].n}), &addresses[i])));
    }
    EP_RETURN_IF_ERROR(FindRows(resource, keys, &addresses, &runner));
    Segments segments = keys;
    for (size_t i = 0; i < keys.size(); ++i) segments[i].addresses = Int64Data(addresses[i]);
    return updater()->Update(resource, *rule, segments, &runner);
  }

  // Nearly always every key has its row already, from the lookup before.
  Status FindRows(TableResource* resource, const Segments& keys, std::vector<tf::Tensor>* addresses,
                  ParallelRunner* runner) {
    bool missing = false;
    for (size_t i = 0; i < keys.size(); ++i) {
      EP_RETURN_IF_ERROR(Find(resource, keys[i], OnMissing::kDefault, &(*addresses)[i], runner));
      missing = missing || LacksRow(keys[i], (*addresses)[i]);
    }
    // A key that has to be admitted first gets no row here.
    if (!missing || resource->table()->admission()->filters()) return Status();
    if (updater()->on_non_finite() == OnNonFinite::kReject) {  // An update that fails adds no rows.
      for (const auto& segment : keys) EP_RETURN_IF_ERROR(CheckFiniteByKey(*resource, segment));
    }
    for (size_t i = 0; i < keys.size(); ++i) {
      EP_RETURN_IF_ERROR(Find(resource, keys[i], OnMissing::kInsert, &(*addresses)[i], runner));
    }
    return Status();
  }

  static Status Find(TableResource* resource, const GradientSegment<Value>& keys,
                     OnMissing on_missing, tf::Tensor* addresses, ParallelRunner* runner) {
    return resource->table()->Lookup(keys.addresses, keys.n, on_missing, nullptr,
                                     Int64Data(addresses), nullptr, runner);
  }

  static bool LacksRow(const GradientSegment<Value>& keys, const tf::Tensor& addresses) {
    const int64_t* found = Int64Data(addresses);
    for (int64_t i = 0; i < keys.n; ++i) {
      if (found[i] == kNoAddress && keys.addresses[i] != kNoKey) return true;
    }
    return false;
  }
};

REGISTER_KERNEL_BUILDER(Name("EpTableApplyGradients").Device(tf::DEVICE_CPU), ApplyGradientsOp);
REGISTER_KERNEL_BUILDER(Name("EpTableApplyGradientsByKey").Device(tf::DEVICE_CPU),
                        ApplyGradientsByKeyOp);

}  // namespace

REGISTER_OP("EpTableApplyGradients")
    .Input("handle: resource")
    .Input("hyperparameters: double")
    .Input("addresses: N * int64")
    .Input("gradients: N * float")
    .Attr("N: int >= 1")
    .Attr("rule: string")
    .Attr("on_non_finite: {'reject', 'skip'} = 'reject'")
    .SetIsStateful()
    .SetShapeFn(ApplyGradientsShape)
    .Doc("Sums the gradients of each address and applies one optimizer update per row.");

REGISTER_OP("EpTableApplyGradientsByKey")
    .Input("handle: resource")
    .Input("hyperparameters: double")
    .Input("keys: N * int64")
    .Input("gradients: N * float")
    .Attr("N: int >= 1")
    .Attr("rule: string")
    .Attr("on_non_finite: {'reject', 'skip'} = 'reject'")
    .SetIsStateful()
    .SetShapeFn(ApplyGradientsShape)
    .Doc("EpTableApplyGradients on the rows of keys; a key without a row gets one first.");

}  // namespace estimator_plugin
