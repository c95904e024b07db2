// EpSaveTables, EpRestoreTables: tables written to and read from a TensorFlow checkpoint bucket by
// bucket, without a copy of a table in memory. The names and bytes are those that TensorFlow's own
// savers write from EpTableExport.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "bundle_readers.h"
#include "intra_op_runner.h"
#include "row_arrays.h"
#include "sharded_bundle_writer.h"
#include "table_kernel.h"
#include "tf_compat.h"

#ifdef EP_HAS_TENSOR_BUNDLE

namespace estimator_plugin {
namespace {

using tf::shape_inference::InferenceContext;
using tf::shape_inference::ShapeHandle;

tf::Status TablesInBundleShape(InferenceContext* c) {
  ShapeHandle unused;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 0, &unused));
  TF_RETURN_IF_ERROR(c->WithRank(c->input(1), 1, &unused));
  TfInt64 tables = 0;
  TF_RETURN_IF_ERROR(c->GetAttr("N", &tables));
  tf::shape_inference::DimensionHandle same;
  TF_RETURN_IF_ERROR(c->WithValue(c->Dim(c->input(1), 0), tables, &same));
  for (int i = 0; i < tables; ++i) {
    TF_RETURN_IF_ERROR(c->WithRank(c->input(2 + i), 0, &unused));
  }
  return tf::Status();
}

// A kernel over the inputs prefix, table names and handles.
class BundleKernel : public StatusKernel {
 public:
  explicit BundleKernel(tf::OpKernelConstruction* ctx)
      : StatusKernel(ctx), num_tables_(AttrOf<tf::int32>(ctx, "N")) {}

 protected:
  struct NamedTable {
    std::string name;  // In the checkpoint.
    tf::core::RefCountPtr<TableResource> resource;
  };

  virtual Status RunOn(tf::OpKernelContext* ctx, const std::string& prefix,
                       const std::vector<NamedTable>& tables) = 0;

 private:
  Status Run(tf::OpKernelContext* ctx) final {
    const tf::Tensor& prefix = ctx->input(0);
    const tf::Tensor& names = ctx->input(1);
    if (prefix.dims() != 0 || names.dims() != 1 || names.NumElements() != num_tables_) {
      return Error(Code::kInvalidArgument, type_string(), ": prefix and table_names have shapes ",
                   prefix.shape().DebugString(), " and ", names.shape().DebugString(),
                   ", want [] and [", num_tables_, "]");
    }
    std::vector<NamedTable> tables(num_tables_);
    for (int i = 0; i < num_tables_; ++i) {
      tables[i].name = std::string(names.vec<tf::tstring>()(i));
      EP_RETURN_IF_ERROR(FromTensorFlow(
          tf::LookupResource(ctx, tf::HandleFromInput(ctx, 2 + i), &tables[i].resource)));
    }
    return RunOn(ctx, std::string(prefix.scalar<tf::tstring>()()), tables);
  }

  const int num_tables_;
};

// Bytes of rows that are worth another thread to write them.
constexpr int64_t kBytesPerShard = 8 << 20;

class SaveTablesOp : public BundleKernel {
 public:
  using BundleKernel::BundleKernel;

 private:
  Status RunOn(tf::OpKernelContext* ctx, const std::string& prefix,
               const std::vector<NamedTable>& tables) override {
    const auto& workers = *ctx->device()->tensorflow_cpu_worker_threads();
    int64_t bytes = 0;
    for (const NamedTable& table : tables) bytes += table.resource->MemoryUsed();
    const int64_t shards = std::min<int64_t>(workers.num_threads, 1 + bytes / kBytesPerShard);
    ShardedBundleWriter writer(ctx->env(), prefix, static_cast<int>(shards), workers.workers);
    for (const NamedTable& table : tables) {
      EP_RETURN_IF_ERROR(Saving(table.name, prefix,
                                table.resource->WhileReady([&] { return Save(table, &writer); })));
    }
    return Saving(tables.back().name, prefix, writer.Finish());
  }

  static Status Saving(const std::string& table, const std::string& prefix, const Status& status) {
    if (status.ok()) return status;
    return Error(status.code(), "saving table '", table, "', checkpoint '", prefix,
                 "': ", status.message());
  }

  static Status Save(const NamedTable& table, ShardedBundleWriter* writer) {
    int64_t width = 0;
    const auto begin = [&](const RowLayout& layout) {
      width = layout.width();
      return writer->Add(0, {{MetaTensorName(table.name), MetaTensor(*table.resource, layout)},
                             {BankTensorName(table.name), BankTensor(*table.resource)}});
    };
    const auto visit = [&](int bucket, const BucketView<Value>& view) {
      const RowTensors tensors = ViewTensors(view, width);
      ShardedBundleWriter::NamedTensors named;
      for (RowArray array : kRowArrays) {
        named.emplace_back(BucketTensorName(table.name, bucket, NameOf(array)), tensors.of(array));
      }
      return writer->Add(bucket % writer->num_shards(), std::move(named));
    };
    return table.resource->table()->Export(begin, visit);
  }
};

class RestoreTablesOp : public BundleKernel {
 public:
  using BundleKernel::BundleKernel;

 private:
  Status RunOn(tf::OpKernelContext* ctx, const std::string& prefix,
               const std::vector<NamedTable>& tables) override {
    BundleReaders readers(ctx->env(), prefix);
    IntraOpRunner runner(ctx);
    for (const NamedTable& table : tables) {
      EP_RETURN_IF_ERROR(Restore(table, &readers, &runner));
    }
    return Status();
  }

  static Status Restore(const NamedTable& table, BundleReaders* readers, ParallelRunner* runner) {
    TableResource::Source source;
    tf::Tensor meta;
    EP_RETURN_IF_ERROR(readers->ReadHead(table.name, &meta, &source.bank));
    source.meta = std::string(meta.scalar<tf::tstring>()());
    source.load_bucket = [&](const RowLayout& layout, int bucket) {
      return readers->ReadBucket(table.name, bucket, [&](const RowTensors& tensors) {
        return ImportRows(table.resource.get(), layout, bucket, tensors);
      });
    };
    return table.resource->Replace(source, runner);
  }
};

REGISTER_KERNEL_BUILDER(Name("EpSaveTables").Device(tf::DEVICE_CPU), SaveTablesOp);
REGISTER_KERNEL_BUILDER(Name("EpRestoreTables").Device(tf::DEVICE_CPU), RestoreTablesOp);

}  // namespace

REGISTER_OP("EpSaveTables")
    .Input("prefix: string")
    .Input("table_names: string")
    .Input("handles: N * resource")
    .Attr("N: int >= 1")
    .SetIsStateful()
    .SetShapeFn(TablesInBundleShape)
    .Doc("Writes tables as a bundle of their own, for MergeV2Checkpoints to join with others.");

REGISTER_OP("EpRestoreTables")
    .Input("prefix: string")
    .Input("table_names: string")
    .Input("handles: N * resource")
    .Attr("N: int >= 1")
    .SetIsStateful()
    .SetShapeFn(TablesInBundleShape)
    .Doc("Replaces the content of tables by what a checkpoint holds, and makes them ready.");

}  // namespace estimator_plugin

#endif  // EP_HAS_TENSOR_BUNDLE
