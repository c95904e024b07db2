// EpTableLookup, EpTableUniqueLookup, EpTableFind, EpTableGather: reading a table.

#include "distinct_outputs.h"
#include "input_checks.h"
#include "intra_op_runner.h"
#include "shapes.h"
#include "table_kernel.h"
#include "tf_compat.h"

namespace estimator_plugin {
namespace {

using tf::shape_inference::DimensionHandle;
using tf::shape_inference::InferenceContext;
using tf::shape_inference::ShapeHandle;

tf::Status TableLookupShape(InferenceContext* c) {
  DimensionHandle dim;
  TF_RETURN_IF_ERROR(shapes::DimAttr(c, &dim));
  TF_RETURN_IF_ERROR(shapes::CheckDefaultRow(c, 2, dim));
  c->set_output(1, c->input(1));
  return shapes::RowsLike(c, 1, dim, 0);
}

tf::Status TableUniqueLookupShape(InferenceContext* c) {
  DimensionHandle dim;
  TF_RETURN_IF_ERROR(shapes::DimAttr(c, &dim));
  TF_RETURN_IF_ERROR(shapes::CheckDefaultRow(c, 2, dim));
  ShapeHandle keys;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(1), 1, &keys));
  const ShapeHandle distinct = c->Vector(InferenceContext::kUnknownDim);
  c->set_output(0, c->Matrix(c->Dim(distinct, 0), dim));
  c->set_output(1, distinct);
  c->set_output(2, distinct);
  c->set_output(3, keys);
  c->set_output(4, distinct);
  return tf::Status();
}

tf::Status TableFindShape(InferenceContext* c) {
  c->set_output(0, c->input(1));
  return shapes::CheckHandle(c);
}

tf::Status TableGatherShape(InferenceContext* c) {
  DimensionHandle dim;
  TF_RETURN_IF_ERROR(shapes::DimAttr(c, &dim));
  TF_RETURN_IF_ERROR(shapes::CheckDefaultRow(c, 2, dim));
  return shapes::RowsLike(c, 1, dim, 0);
}

OnMissing OnMissingAttr(tf::OpKernelConstruction* ctx) {
  return AttrOf<bool>(ctx, "insert") ? OnMissing::kInsert : OnMissing::kDefault;
}

class TableLookupOp : public ReadyTableKernel {
 public:
  explicit TableLookupOp(tf::OpKernelConstruction* ctx)
      : ReadyTableKernel(ctx), dim_(AttrOf<TfInt64>(ctx, "dim")), on_missing_(OnMissingAttr(ctx)) {}

 private:
  Status RunReady(tf::OpKernelContext* ctx, TableResource* resource) override {
    EP_RETURN_IF_ERROR(CheckDimAttr(*resource, dim_));
    const tf::Tensor& keys = ctx->input(1);
    const Value* default_row = nullptr;
    EP_RETURN_IF_ERROR(DefaultRow(*resource, ctx->input(2), &default_row));
    Value* embeddings = nullptr;
    EP_RETURN_IF_ERROR(AllocateEmbeddings(ctx, keys.shape(), dim_, &embeddings));
    tf::Tensor* addresses = nullptr;
    EP_RETURN_IF_ERROR(AllocateOutput(ctx, 1, keys.shape(), &addresses));
    IntraOpRunner runner(ctx);
    return resource->table()->Lookup(Int64Data(keys), keys.NumElements(), on_missing_, default_row,
                                     Int64Data(addresses), embeddings, &runner);
  }

  const int64_t dim_;
  const OnMissing on_missing_;
};

class TableUniqueLookupOp : public ReadyTableKernel {
 public:
  explicit TableUniqueLookupOp(tf::OpKernelConstruction* ctx)
      : ReadyTableKernel(ctx), dim_(AttrOf<TfInt64>(ctx, "dim")), on_missing_(OnMissingAttr(ctx)) {}

 private:
  Status RunReady(tf::OpKernelContext* ctx, TableResource* resource) override {
    EP_RETURN_IF_ERROR(CheckDimAttr(*resource, dim_));
    const Value* default_row = nullptr;
    EP_RETURN_IF_ERROR(DefaultRow(*resource, ctx->input(2), &default_row));
    UniqueResult distinct;
    EP_RETURN_IF_ERROR(SetDistinctOutputs(ctx, "table '" + resource->name() + "': keys",
                                          ctx->input(1), {2, 3, 4}, &distinct));
    const int64_t n = static_cast<int64_t>(distinct.values.size());
    Value* embeddings = nullptr;
    EP_RETURN_IF_ERROR(AllocateEmbeddings(ctx, tf::TensorShape({n}), dim_, &embeddings));
    tf::Tensor* addresses = nullptr;
    EP_RETURN_IF_ERROR(AllocateOutput(ctx, 1, tf::TensorShape({n}), &addresses));
    IntraOpRunner runner(ctx);
    return resource->table()->Lookup(distinct.values.data(), n, on_missing_, default_row,
                                     Int64Data(addresses), embeddings, &runner);
  }

  const int64_t dim_;
  const OnMissing on_missing_;
};

class TableFindOp : public ReadyTableKernel {
 public:
  explicit TableFindOp(tf::OpKernelConstruction* ctx)
      : ReadyTableKernel(ctx), on_missing_(OnMissingAttr(ctx)) {}

 private:
  Status RunReady(tf::OpKernelContext* ctx, TableResource* resource) override {
    const tf::Tensor& keys = ctx->input(1);
    tf::Tensor* addresses = nullptr;
    EP_RETURN_IF_ERROR(AllocateOutput(ctx, 0, keys.shape(), &addresses));
    IntraOpRunner runner(ctx);
    return resource->table()->Lookup(Int64Data(keys), keys.NumElements(), on_missing_, nullptr,
                                     Int64Data(addresses), nullptr, &runner);
  }

  const OnMissing on_missing_;
};

class TableGatherOp : public ReadyTableKernel {
 public:
  explicit TableGatherOp(tf::OpKernelConstruction* ctx)
      : ReadyTableKernel(ctx), dim_(AttrOf<TfInt64>(ctx, "dim")) {}

 private:
  Status RunReady(tf::OpKernelContext* ctx, TableResource* resource) override {
    EP_RETURN_IF_ERROR(CheckDimAttr(*resource, dim_));
    const tf::Tensor& addresses = ctx->input(1);
    const Value* default_row = nullptr;
    EP_RETURN_IF_ERROR(DefaultRow(*resource, ctx->input(2), &default_row));
    Value* embeddings = nullptr;
    EP_RETURN_IF_ERROR(AllocateEmbeddings(ctx, addresses.shape(), dim_, &embeddings));
    IntraOpRunner runner(ctx);
    return resource->table()->Gather(Int64Data(addresses), addresses.NumElements(), default_row,
                                     embeddings, &runner);
  }

  const int64_t dim_;
};

REGISTER_KERNEL_BUILDER(Name("EpTableLookup").Device(tf::DEVICE_CPU), TableLookupOp);
REGISTER_KERNEL_BUILDER(Name("EpTableUniqueLookup").Device(tf::DEVICE_CPU), TableUniqueLookupOp);
REGISTER_KERNEL_BUILDER(Name("EpTableFind").Device(tf::DEVICE_CPU), TableFindOp);
REGISTER_KERNEL_BUILDER(Name("EpTableGather").Device(tf::DEVICE_CPU), TableGatherOp);

}  // namespace

// All are stateful, those that only read too: what they give changes from run to run.

REGISTER_OP("EpTableLookup")
    .Input("handle: resource")
    .Input("keys: int64")
    .Input("default_row: float")
    .Attr("dim: int >= 1")
    .Attr("insert: bool")
    .Output("embeddings: float")
    .Output("addresses: int64")
    .SetIsStateful()
    .SetShapeFn(TableLookupShape)
    .Doc("The embedding and the address of each key; missing keys get a row if `insert`.");

REGISTER_OP("EpTableUniqueLookup")
    .Input("handle: resource")
    .Input("keys: int64")
    .Input("default_row: float")
    .Attr("dim: int >= 1")
    .Attr("insert: bool")
    .Output("embeddings: float")
    .Output("addresses: int64")
    .Output("unique_keys: int64")
    .Output("indices: int32")
    .Output("counts: int32")
    .SetIsStateful()
    .SetShapeFn(TableUniqueLookupShape)
    .Doc("EpUniqueWithCounts of the keys and EpTableLookup of the distinct ones, in one op.");

REGISTER_OP("EpTableFind")
    .Input("handle: resource")
    .Input("keys: int64")
    .Attr("insert: bool")
    .Output("addresses: int64")
    .SetIsStateful()
    .SetShapeFn(TableFindShape)
    .Doc("The address of each key, -1 where it has no row; missing keys get a row if `insert`.");

REGISTER_OP("EpTableGather")
    .Input("handle: resource")
    .Input("addresses: int64")
    .Input("default_row: float")
    .Attr("dim: int >= 1")
    .Output("embeddings: float")
    .SetIsStateful()
    .SetShapeFn(TableGatherShape)
    .Doc("The embedding at each address; `default_row` (zeros when empty) at address -1.");

}  // namespace estimator_plugin
