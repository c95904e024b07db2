// EpTableNewSave, EpTableExport, EpTableImport: a table's content as tensors, for TensorFlow's
// stock savers.

#include <memory>
#include <utility>

#include "checkpoint_chain.h"
#include "input_checks.h"
#include "intra_op_runner.h"
#include "row_arrays.h"
#include "shapes.h"
#include "table_kernel.h"
#include "tf_compat.h"

namespace estimator_plugin {
namespace {

using tf::shape_inference::DimensionHandle;
using tf::shape_inference::InferenceContext;
using tf::shape_inference::ShapeHandle;

// Where what is among the outputs of export, and after the handle, the checkpoint and the meta
// among the inputs of import: bank, then the keys, rows, counts and last-seen times of all buckets.
constexpr int kMeta = 2;
constexpr int kFirstImported = 3;
constexpr int kBank = 0;
constexpr int kFirstArray = 1;

constexpr Code kUnimplemented = static_cast<Code>(12);

int IndexOfArray(RowArray array, int num_buckets, int bucket) {
  return kFirstArray + static_cast<int>(array) * num_buckets + bucket;
}

tf::Status TableExportShape(InferenceContext* c) {
  TF_RETURN_IF_ERROR(shapes::CheckHandle(c));
  tf::int32 buckets = 0;
  TF_RETURN_IF_ERROR(c->GetAttr("num_buckets", &buckets));
  ShapeHandle unused;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(1), 0, &unused));
  c->set_output(kBank, c->Matrix(InferenceContext::kUnknownDim, shapes::DimOfHandle(c)));
  for (int b = 0; b < buckets; ++b) {
    const DimensionHandle rows = c->UnknownDim();
    for (RowArray array : kRowArrays) {
      c->set_output(IndexOfArray(array, buckets, b),
                    array == RowArray::kRows ? c->Matrix(rows, InferenceContext::kUnknownDim)
                                             : c->Vector(rows));
    }
  }
  return tf::Status();
}

tf::Status TableImportShape(InferenceContext* c) {
  TF_RETURN_IF_ERROR(shapes::CheckHandle(c));
  tf::int32 buckets = 0;
  TF_RETURN_IF_ERROR(c->GetAttr("num_buckets", &buckets));
  ShapeHandle unused;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(1), 0, &unused));
  TF_RETURN_IF_ERROR(c->WithRank(c->input(kMeta), 0, &unused));
  TF_RETURN_IF_ERROR(c->WithRank(c->input(kFirstImported + kBank), 2, &unused));
  for (int b = 0; b < buckets; ++b) {
    ShapeHandle keys;
    const int keys_at = kFirstImported + IndexOfArray(RowArray::kKeys, buckets, b);
    TF_RETURN_IF_ERROR(c->WithRank(c->input(keys_at), 1, &keys));
    for (RowArray array : kRowArrays) {
      ShapeHandle input;
      TF_RETURN_IF_ERROR(c->WithRank(c->input(kFirstImported + IndexOfArray(array, buckets, b)),
                                     array == RowArray::kRows ? 2 : 1, &input));
      DimensionHandle same;
      TF_RETURN_IF_ERROR(c->Merge(c->Dim(keys, 0), c->Dim(input, 0), &same));
    }
  }
  return tf::Status();
}

Status CheckNumBuckets(const TableResource& resource, int num_buckets) {
  const ShardRange owned = resource.config().options.owned_buckets();
  if (num_buckets == owned.end - owned.begin) return Status();
  return Error(Code::kInvalidArgument, "table '", resource.name(), "': the op's num_buckets is ",
               num_buckets, ", the table has ", owned.end - owned.begin, " buckets");
}

class TableNewSaveOp : public ReadyTableKernel {
 public:
  explicit TableNewSaveOp(tf::OpKernelConstruction* ctx)
      : ReadyTableKernel(ctx),
        kind_(AttrOf<bool>(ctx, "delta") ? SaveKind::kDelta : SaveKind::kFull) {}

 private:
  Status RunReady(tf::OpKernelContext* ctx, TableResource* resource) override {
    SaveInfo info;
    EP_RETURN_IF_ERROR(resource->table()->PlanSave(kind_, &info));
    ctx->set_output(0, ScalarTensor(MetaText(*resource, info)));
    return Status();
  }

  const SaveKind kind_;
};

class TableExportOp : public ReadyTableKernel {
 public:
  explicit TableExportOp(tf::OpKernelConstruction* ctx)
      : ReadyTableKernel(ctx), num_buckets_(AttrOf<tf::int32>(ctx, "num_buckets")) {}

 private:
  Status RunReady(tf::OpKernelContext* ctx, TableResource* resource) override {
    EP_RETURN_IF_ERROR(CheckNumBuckets(*resource, num_buckets_));
    const tf::Tensor& meta = ctx->input(1);
    if (meta.dims() != 0) return WrongShape(*resource, "meta", meta.shape(), "a scalar");
    SaveInfo info;
    EP_RETURN_IF_ERROR(ParseSave(*resource, std::string(meta.scalar<tf::tstring>()()), &info));
    if (info.kind == SaveKind::kDelta) {
      return Error(Code::kInvalidArgument, "table '", resource->name(),
                   "': the meta is a delta's; an export is of all rows");
    }
    ctx->set_output(kBank, BankTensor(*resource));
    const int first = resource->config().options.first_bucket;
    const auto visit = [&](int bucket, const BucketView<Value>& view, const std::vector<int64_t>&) {
      const RowTensors tensors = ViewTensors(view, info.layout.width());
      for (RowArray array : kRowArrays) {
        ctx->set_output(IndexOfArray(array, num_buckets_, bucket - first), tensors.of(array));
      }
      return Status();
    };
    return resource->table()->Export(info, visit);
  }

  const int num_buckets_;
};

class TableImportOp : public TableKernel {
 public:
  explicit TableImportOp(tf::OpKernelConstruction* ctx)
      : TableKernel(ctx), num_buckets_(AttrOf<tf::int32>(ctx, "num_buckets")) {}

 private:
  Status RunOn(tf::OpKernelContext* ctx, TableResource* resource) override {
    EP_RETURN_IF_ERROR(CheckNumBuckets(*resource, num_buckets_));
    const tf::Tensor& prefix = ctx->input(1);
    const tf::Tensor& meta = ctx->input(kMeta);
    const tf::Tensor& bank = ctx->input(kFirstImported + kBank);
    if (prefix.dims() != 0) return WrongShape(*resource, "checkpoint", prefix.shape(), "a scalar");
    if (meta.dims() != 0) return WrongShape(*resource, "meta", meta.shape(), "a scalar");
    if (bank.dims() != 2) return WrongShape(*resource, "bank", bank.shape(), "[rows, dim]");
    const std::string checkpoint(prefix.scalar<tf::tstring>()());
    TableResource::Source source;
    source.bank = bank;
    EP_RETURN_IF_ERROR(
        ReadMeta(ctx, *resource, std::string(meta.scalar<tf::tstring>()()), checkpoint, &source));
    if (source.meta.is_delta()) return ImportChain(ctx, checkpoint, resource);
    if (!checkpoint.empty()) source.saved = {source.meta.save_id, checkpoint};
    const TableOptions& options = resource->config().options;
    source.num_parts = options.num_buckets;
    source.load_part = [&](int bucket) {
      const int i = bucket - options.first_bucket;
      RowTensors tensors;
      for (RowArray array : kRowArrays) {
        tensors.of(array) = ctx->input(kFirstImported + IndexOfArray(array, num_buckets_, i));
      }
      const tf::Tensor nothing(tf::DT_INT64, tf::TensorShape({0}));
      return ImportTensors(resource, bucket, options.num_buckets, source.meta.layout,
                           source.meta.layout.width(), tensors, nothing);
    };
    IntraOpRunner runner(ctx);
    return resource->Replace(source, &runner);
  }

  // A checkpoint has one meta and bank a table: only one partition can be handed them by a Saver,
  // the others get an empty text and read them here.
  static Status ReadMeta(tf::OpKernelContext* ctx, const TableResource& resource,
                         const std::string& text, const std::string& checkpoint,
                         TableResource::Source* source) {
    if (!text.empty()) return ParseMeta(resource.name(), text, &source->meta);
    if (checkpoint.empty()) {
      return Error(Code::kInvalidArgument, "table '", resource.name(),
                   "': meta is empty; name the checkpoint that it is to be read from");
    }
#ifdef EP_HAS_TENSOR_BUNDLE
    std::unique_ptr<TableInCheckpoint> saved;
    EP_RETURN_IF_ERROR(TableInCheckpoint::Open(ctx->env(), resource.name(), checkpoint, &saved));
    source->meta = saved->meta();
    source->bank = saved->bank();
    return Status();
#else
    return Error(kUnimplemented, "table '", resource.name(), "': this TensorFlow has no bundle ",
                 "reader for custom ops, so a Saver restores tables that are on one server only");
#endif
  }

  // The tensors at hand are a delta's alone: the rest is read from the files.
  static Status ImportChain(tf::OpKernelContext* ctx, const std::string& checkpoint,
                            TableResource* resource) {
    if (checkpoint.empty()) {
      return Error(Code::kInvalidArgument, "table '", resource->name(),
                   "': the content is a delta's; name its checkpoint so that the rest is found");
    }
#ifdef EP_HAS_TENSOR_BUNDLE
    IntraOpRunner runner(ctx);
    return RestoreTable(ctx->env(), resource->name(), checkpoint, resource, &runner);
#else
    return Error(kUnimplemented, "table '", resource->name(), "': checkpoint '", checkpoint,
                 "' is a delta; this TensorFlow has no bundle reader for custom ops");
#endif
  }

  const int num_buckets_;
};

// Keys that wait for admission: the arrays of the table's buckets, in the order of kWaitingArrays.
tf::Status TableExportWaitingShape(InferenceContext* c) {
  for (int i = 0; i < c->num_outputs(); ++i) {
    c->set_output(i, c->Vector(InferenceContext::kUnknownDim));
  }
  return shapes::CheckHandle(c);
}

tf::Status TableImportWaitingShape(InferenceContext* c) {
  ShapeHandle unused;
  for (int i = 1; i < c->num_inputs(); ++i) {
    TF_RETURN_IF_ERROR(c->WithRank(c->input(i), 1, &unused));
  }
  return shapes::CheckHandle(c);
}

class TableExportWaitingOp : public ReadyTableKernel {
 public:
  explicit TableExportWaitingOp(tf::OpKernelConstruction* ctx)
      : ReadyTableKernel(ctx), num_buckets_(AttrOf<tf::int32>(ctx, "num_buckets")) {}

 private:
  Status RunReady(tf::OpKernelContext* ctx, TableResource* resource) override {
    EP_RETURN_IF_ERROR(CheckNumBuckets(*resource, num_buckets_));
    const auto waiting = resource->table()->ExportWaiting();
    for (int b = 0; b < num_buckets_; ++b) {
      const WaitingTensors tensors =
          waiting[b] == nullptr ? WaitingTensors() : WaitingTensors(*waiting[b]);
      for (WaitingArray array : kWaitingArrays) {
        ctx->set_output(static_cast<int>(array) * num_buckets_ + b, tensors.of(array));
      }
    }
    return Status();
  }

  const int num_buckets_;
};

class TableImportWaitingOp : public ReadyTableKernel {
 public:
  explicit TableImportWaitingOp(tf::OpKernelConstruction* ctx)
      : ReadyTableKernel(ctx), num_buckets_(AttrOf<tf::int32>(ctx, "num_buckets")) {}

 private:
  Status RunReady(tf::OpKernelContext* ctx, TableResource* resource) override {
    EP_RETURN_IF_ERROR(CheckNumBuckets(*resource, num_buckets_));
    const TableOptions& options = resource->config().options;
    return resource->table()->ReplaceWaiting([&] {
      for (int b = 0; b < num_buckets_; ++b) {
        WaitingTensors tensors;
        for (WaitingArray array : kWaitingArrays) {
          tensors.of(array) = ctx->input(1 + static_cast<int>(array) * num_buckets_ + b);
        }
        EP_RETURN_IF_ERROR(
            ImportWaiting(resource, options.first_bucket + b, options.num_buckets, tensors));
      }
      return Status();
    });
  }

  const int num_buckets_;
};

REGISTER_KERNEL_BUILDER(Name("EpTableExportWaiting").Device(tf::DEVICE_CPU), TableExportWaitingOp);
REGISTER_KERNEL_BUILDER(Name("EpTableImportWaiting").Device(tf::DEVICE_CPU), TableImportWaitingOp);
REGISTER_KERNEL_BUILDER(Name("EpTableNewSave").Device(tf::DEVICE_CPU), TableNewSaveOp);
REGISTER_KERNEL_BUILDER(Name("EpTableExport").Device(tf::DEVICE_CPU), TableExportOp);
REGISTER_KERNEL_BUILDER(Name("EpTableImport").Device(tf::DEVICE_CPU), TableImportOp);

}  // namespace

REGISTER_OP("EpTableNewSave")
    .Input("handle: resource")
    .Attr("delta: bool = false")
    .Output("meta: string")
    .SetIsStateful()
    .SetShapeFn(shapes::ScalarOutputs)
    .Doc("Describes a save that begins now, for all partitions of the table; changes nothing.");

REGISTER_OP("EpTableExport")
    .Input("handle: resource")
    .Input("meta: string")
    .Attr("num_buckets: int >= 1")
    .Output("bank: float")
    .Output("keys: num_buckets * int64")
    .Output("rows: num_buckets * float")
    .Output("counts: num_buckets * int32")
    .Output("last_seen: num_buckets * int64")
    .SetIsStateful()
    .SetShapeFn(TableExportShape)
    .Doc(
        "The whole content, as the full save that `meta` describes. The arrays are views of the "
        "table's memory: nothing is copied, and values that a later op changes change in them "
        "too.");

REGISTER_OP("EpTableExportWaiting")
    .Input("handle: resource")
    .Attr("num_buckets: int >= 1")
    .Output("keys: num_buckets * int64")
    .Output("counts: num_buckets * int32")
    .Output("last_seen: num_buckets * int64")
    .Output("sketch: num_buckets * int32")
    .SetIsStateful()
    .SetShapeFn(TableExportWaitingShape)
    .Doc("The keys that wait for admission. Run it before EpTableExport: then none is lost.");

REGISTER_OP("EpTableImportWaiting")
    .Input("handle: resource")
    .Input("keys: num_buckets * int64")
    .Input("counts: num_buckets * int32")
    .Input("last_seen: num_buckets * int64")
    .Input("sketch: num_buckets * int32")
    .Attr("num_buckets: int >= 1")
    .SetIsStateful()
    .SetShapeFn(TableImportWaitingShape)
    .Doc("Replaces the keys that wait for admission. Run it after EpTableImport.");

REGISTER_OP("EpTableImport")
    .Input("handle: resource")
    .Input("checkpoint: string")
    .Input("meta: string")
    .Input("bank: float")
    .Input("keys: num_buckets * int64")
    .Input("rows: num_buckets * float")
    .Input("counts: num_buckets * int32")
    .Input("last_seen: num_buckets * int64")
    .Attr("num_buckets: int >= 1")
    .SetIsStateful()
    .SetShapeFn(TableImportShape)
    .Doc(
        "Replaces the content by what EpTableExport gave, and makes the table ready. `checkpoint` "
        "is the prefix it was read from, or empty; meta and bank are read from it if meta is "
        "empty.");

}  // namespace estimator_plugin
