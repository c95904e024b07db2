// EpTableHandle, EpTableInitialize, EpTableIsInitialized: a table's life as a resource.

#include "input_checks.h"
#include "shapes.h"
#include "table_kernel.h"
#include "table_resource.h"
#include "tf_compat.h"

namespace estimator_plugin {
namespace {

using tf::shape_inference::InferenceContext;
using tf::shape_inference::ShapeAndType;
using tf::shape_inference::ShapeHandle;

// The handle says what lies behind it, [rows, dim] values, as a variable's does.
tf::Status TableHandleShape(InferenceContext* c) {
  TfInt64 dim = 0;
  TF_RETURN_IF_ERROR(c->GetAttr("dim", &dim));
  c->set_output(0, c->Scalar());
  const ShapeHandle rows = c->Matrix(InferenceContext::kUnknownDim,
                                     dim > 0 ? dim : TfInt64{InferenceContext::kUnknownDim});
  c->set_output_handle_shapes_and_types(0, {ShapeAndType(rows, kValueType)});
  return tf::Status();
}

tf::Status TableInitializeShape(InferenceContext* c) {
  TF_RETURN_IF_ERROR(shapes::CheckHandle(c));
  ShapeHandle bank;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(1), 2, &bank));
  tf::shape_inference::DimensionHandle unused;
  return c->Merge(c->Dim(bank, 1), shapes::DimOfHandle(c), &unused);
}

TableConfig ConfigFromAttrs(tf::OpKernelConstruction* ctx) {
  TableConfig config;
  config.options.name = AttrOf<std::string>(ctx, "table_name");
  config.options.dim = AttrOf<TfInt64>(ctx, "dim");
  config.options.num_buckets = AttrOf<tf::int32>(ctx, "num_buckets");
  config.options.first_bucket = AttrOf<tf::int32>(ctx, "first_bucket");
  config.options.end_bucket = AttrOf<tf::int32>(ctx, "end_bucket");
  config.key_dtype = AttrOf<std::string>(ctx, "key_dtype");
  InitializerSpec& initializer = config.options.initializer;
  initializer.kind = AttrOf<std::string>(ctx, "initializer_kind");
  const auto arguments = AttrOf<std::vector<float>>(ctx, "initializer_arguments");
  initializer.arguments.assign(arguments.begin(), arguments.end());
  initializer.seed = static_cast<uint64_t>(AttrOf<TfInt64>(ctx, "seed"));
  return config;
}

class TableHandleOp : public StatusKernel {
 public:
  explicit TableHandleOp(tf::OpKernelConstruction* ctx)
      : StatusKernel(ctx), config_(ConfigFromAttrs(ctx)) {}

 private:
  // The resource is looked up at every run: a session's containers may have been cleared.
  Status Run(tf::OpKernelContext* ctx) override {
    tf::ContainerInfo place;
    EP_RETURN_IF_ERROR(
        FromTensorFlow(place.Init(ctx->resource_manager(), def(), /*use_node_name=*/true)));
    TableResource* found = nullptr;
    EP_RETURN_IF_ERROR(FromTensorFlow(ctx->resource_manager()->LookupOrCreate<TableResource>(
        place.container(), place.name(), &found, [this](TableResource** made) {
          return ToTensorFlow(TableResource::Create(config_, made));
        })));
    const tf::core::ScopedUnref unref(found);
    EP_RETURN_IF_ERROR(found->CheckSameConfig(config_));
    tf::Tensor* handle = nullptr;
    EP_RETURN_IF_ERROR(AllocateOutput(ctx, 0, tf::TensorShape({}), &handle));
    handle->scalar<tf::ResourceHandle>()() =
        tf::MakeResourceHandle<TableResource>(ctx, place.container(), place.name());
    return Status();
  }

  const TableConfig config_;
};

class TableInitializeOp : public TableKernel {
 public:
  using TableKernel::TableKernel;

 private:
  Status RunOn(tf::OpKernelContext* ctx, TableResource* resource) override {
    const tf::Tensor& bank = ctx->input(1);
    if (bank.dims() != 2) {
      return WrongShape(*resource, "bank", bank.shape(), "[rows, dim]");
    }
    EP_RETURN_IF_ERROR(CheckRowsOf(*resource, "bank", bank, tf::TensorShape({bank.dim_size(0)})));
    return resource->Initialize(bank.flat<Value>().data(), bank.dim_size(0));
  }
};

class TableIsInitializedOp : public TableKernel {
 public:
  using TableKernel::TableKernel;

 private:
  Status RunOn(tf::OpKernelContext* ctx, TableResource* resource) override {
    tf::Tensor* answer = nullptr;
    EP_RETURN_IF_ERROR(AllocateOutput(ctx, 0, tf::TensorShape({}), &answer));
    answer->scalar<bool>()() = resource->initialized();
    return Status();
  }
};

REGISTER_KERNEL_BUILDER(Name("EpTableHandle").Device(tf::DEVICE_CPU), TableHandleOp);
REGISTER_KERNEL_BUILDER(Name("EpTableInitialize").Device(tf::DEVICE_CPU), TableInitializeOp);
REGISTER_KERNEL_BUILDER(Name("EpTableIsInitialized").Device(tf::DEVICE_CPU), TableIsInitializedOp);

}  // namespace

REGISTER_OP("EpTableHandle")
    .Attr("container: string = ''")
    .Attr("shared_name: string = ''")
    .Attr("table_name: string")
    .Attr("dim: int")
    .Attr("num_buckets: int = 64")
    .Attr("first_bucket: int = 0")
    .Attr("end_bucket: int = -1")
    .Attr("key_dtype: string = 'int64'")
    .Attr("initializer_kind: string = 'constant'")
    .Attr("initializer_arguments: list(float) = [0.0]")
    .Attr("seed: int = 0")
    .Output("handle: resource")
    .SetIsStateful()
    .SetShapeFn(TableHandleShape)
    .Doc(
        "The table of this name, made at the first run; the same shared_name gives the same one. "
        "With a range of buckets it is a partition, one of several servers' parts of a table.");

REGISTER_OP("EpTableInitialize")
    .Input("handle: resource")
    .Input("bank: float")
    .SetIsStateful()
    .SetShapeFn(TableInitializeShape)
    .Doc("Empties the table and makes it ready. bank holds the rows of initializer kind 'bank'.");

REGISTER_OP("EpTableIsInitialized")
    .Input("handle: resource")
    .Output("is_initialized: bool")
    .SetIsStateful()
    .SetShapeFn(shapes::ScalarOutputs)
    .Doc("Whether the table was initialized or restored.");

}  // namespace estimator_plugin
