// EpSaveTables, EpRestoreTables, EpCommitSave, EpTableSaveBase, EpTableLoad: tables written to and
// read from a TensorFlow checkpoint bucket by bucket, without a copy of a table in memory. The
// names and bytes are those that TensorFlow's own savers write from EpTableExport.

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint_chain.h"
#include "input_checks.h"
#include "intra_op_runner.h"
#include "row_arrays.h"
#include "shapes.h"
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
  explicit SaveTablesOp(tf::OpKernelConstruction* ctx)
      : BundleKernel(ctx),
        with_head_(AttrOf<std::vector<bool>>(ctx, "with_head")),
        with_waiting_(AttrOf<std::vector<bool>>(ctx, "with_waiting")) {}

 private:
  Status RunOn(tf::OpKernelContext* ctx, const std::string& prefix,
               const std::vector<NamedTable>& tables) override {
    const tf::Tensor& metas = ctx->input(ctx->num_inputs() - 1);
    const int64_t n = static_cast<int64_t>(tables.size());
    if (metas.dims() != 1 || metas.NumElements() != n ||
        static_cast<int64_t>(with_head_.size()) != n ||
        static_cast<int64_t>(with_waiting_.size()) != n) {
      return Error(Code::kInvalidArgument, "EpSaveTables: metas has shape ",
                   metas.shape().DebugString(), ", with_head ", with_head_.size(),
                   " values, with_waiting ", with_waiting_.size(),
                   " values, want as many as tables: ", n);
    }
    const auto& workers = *ctx->device()->tensorflow_cpu_worker_threads();
    int64_t bytes = 0;
    for (const NamedTable& table : tables) bytes += table.resource->MemoryUsed();
    const int64_t shards = std::min<int64_t>(workers.num_threads, 1 + bytes / kBytesPerShard);
    IntraOpRunner runner(ctx);
    ShardedBundleWriter writer(ctx->env(), prefix, static_cast<int>(shards), workers.workers);
    for (int64_t i = 0; i < n; ++i) {
      const std::string meta(metas.vec<tf::tstring>()(i));
      const auto save = [&] {
        return Save(tables[i], meta, with_head_[i], with_waiting_[i], &writer, &runner);
      };
      EP_RETURN_IF_ERROR(Saving(tables[i].name, prefix, tables[i].resource->WhileReady(save)));
    }
    return Saving(tables.back().name, prefix, writer.Finish());
  }

  static Status Saving(const std::string& table, const std::string& prefix, const Status& status) {
    if (status.ok()) return status;
    return Error(status.code(), "saving table '", table, "', checkpoint '", prefix,
                 "': ", status.message());
  }

  static Status Save(const NamedTable& table, const std::string& meta, bool with_head,
                     bool with_waiting, ShardedBundleWriter* writer, ParallelRunner* runner) {
    SaveInfo info;
    EP_RETURN_IF_ERROR(ParseSave(*table.resource, meta, &info));
    if (with_head) {
      EP_RETURN_IF_ERROR(
          writer->Add(0, {{MetaTensorName(table.name), ScalarTensor(meta)},
                          {BankTensorName(table.name), BankTensor(*table.resource)}}));
    }
    const auto visit = [&](int bucket, const BucketView<Value>& view,
                           const std::vector<int64_t>& removed) {
      const RowTensors tensors = ViewTensors(view, info.layout.width());
      ShardedBundleWriter::NamedTensors named;
      for (RowArray array : kRowArrays) {
        named.emplace_back(BucketTensorName(table.name, bucket, NameOf(array)), tensors.of(array));
      }
      if (info.kind == SaveKind::kDelta) {
        named.emplace_back(BucketTensorName(table.name, bucket, kRemovedName), KeysTensor(removed));
      }
      // Where keys may have to wait a stock Saver looks for the arrays of all buckets.
      if (view.waiting != nullptr || with_waiting || info.admission.configured != kNoThreshold) {
        const WaitingTensors waiting =
            view.waiting == nullptr ? WaitingTensors() : WaitingTensors(*view.waiting);
        for (WaitingArray array : kWaitingArrays) {
          named.emplace_back(BucketTensorName(table.name, bucket, NameOf(array)),
                             waiting.of(array));
        }
      }
      return writer->Add(bucket % writer->num_shards(), std::move(named));
    };
    return table.resource->table()->Export(info, visit, runner);
  }

  const std::vector<bool> with_head_;
  const std::vector<bool> with_waiting_;
};

class RestoreTablesOp : public BundleKernel {
 public:
  using BundleKernel::BundleKernel;

 private:
  Status RunOn(tf::OpKernelContext* ctx, const std::string& prefix,
               const std::vector<NamedTable>& tables) override {
    IntraOpRunner runner(ctx);
    for (const NamedTable& table : tables) {
      EP_RETURN_IF_ERROR(
          RestoreTable(ctx->env(), table.name, prefix, table.resource.get(), &runner));
    }
    return Status();
  }
};

class CommitSaveOp : public BundleKernel {
 public:
  using BundleKernel::BundleKernel;

 private:
  Status RunOn(tf::OpKernelContext* ctx, const std::string& prefix,
               const std::vector<NamedTable>& tables) override {
    tf::Tensor* output = nullptr;
    const tf::TensorShape shape({static_cast<int64_t>(tables.size())});
    EP_RETURN_IF_ERROR(AllocateOutput(ctx, 0, shape, &output));
    for (size_t i = 0; i < tables.size(); ++i) {
      std::unique_ptr<TableInCheckpoint> saved;
      EP_RETURN_IF_ERROR(TableInCheckpoint::Open(ctx->env(), tables[i].name, prefix, &saved));
      output->vec<bool>()(i) =
          tables[i].resource->table()->CommitSave({saved->meta().save_id, prefix});
    }
    return Status();
  }
};

class SaveBaseOp : public ReadyTableKernel {
 public:
  using ReadyTableKernel::ReadyTableKernel;

 private:
  Status RunReady(tf::OpKernelContext* ctx, TableResource* resource) override {
    tf::Tensor* base = nullptr;
    EP_RETURN_IF_ERROR(AllocateOutput(ctx, 0, tf::TensorShape({}), &base));
    tf::Tensor* complete = nullptr;
    EP_RETURN_IF_ERROR(AllocateOutput(ctx, 1, tf::TensorShape({}), &complete));
    base->scalar<tf::tstring>()() = resource->table()->base().checkpoint;
    complete->scalar<bool>()() = resource->table()->can_save_delta();
    return Status();
  }
};

class TableLoadOp : public TableKernel {
 public:
  explicit TableLoadOp(tf::OpKernelConstruction* ctx)
      : TableKernel(ctx), with_slots_(AttrOf<bool>(ctx, "with_slots")) {}

 private:
  Status RunOn(tf::OpKernelContext* ctx, TableResource* resource) override {
    const tf::Tensor& prefix = ctx->input(1);
    const tf::Tensor& table = ctx->input(2);
    if (prefix.dims() != 0) return WrongShape(*resource, "prefix", prefix.shape(), "a scalar");
    if (table.dims() != 0) return WrongShape(*resource, "table_name", table.shape(), "a scalar");
    IntraOpRunner runner(ctx);
    EP_RETURN_IF_ERROR(LoadTable(ctx->env(), std::string(table.scalar<tf::tstring>()()),
                                 std::string(prefix.scalar<tf::tstring>()()), with_slots_, resource,
                                 &runner));
    return SetInt64Output(ctx, 0, resource->table()->size());
  }

  const bool with_slots_;
};

REGISTER_KERNEL_BUILDER(Name("EpTableLoad").Device(tf::DEVICE_CPU), TableLoadOp);
REGISTER_KERNEL_BUILDER(Name("EpSaveTables").Device(tf::DEVICE_CPU), SaveTablesOp);
REGISTER_KERNEL_BUILDER(Name("EpRestoreTables").Device(tf::DEVICE_CPU), RestoreTablesOp);
REGISTER_KERNEL_BUILDER(Name("EpCommitSave").Device(tf::DEVICE_CPU), CommitSaveOp);
REGISTER_KERNEL_BUILDER(Name("EpTableSaveBase").Device(tf::DEVICE_CPU), SaveBaseOp);

}  // namespace

REGISTER_OP("EpSaveTables")
    .Input("prefix: string")
    .Input("table_names: string")
    .Input("handles: N * resource")
    .Input("metas: string")
    .Attr("N: int >= 1")
    .Attr("with_head: list(bool)")
    .Attr("with_waiting: list(bool)")
    .SetIsStateful()
    .SetShapeFn(TablesInBundleShape)
    .Doc(
        "Writes tables, or partitions of them, as a bundle of their own, for MergeV2Checkpoints to "
        "join with others: the saves that `metas`, of EpTableNewSave, describe. What all "
        "partitions "
        "of a table share is written where `with_head` says so; the arrays of waiting keys where "
        "keys wait, were told to, or `with_waiting` says so.");

REGISTER_OP("EpRestoreTables")
    .Input("prefix: string")
    .Input("table_names: string")
    .Input("handles: N * resource")
    .Attr("N: int >= 1")
    .SetIsStateful()
    .SetShapeFn(TablesInBundleShape)
    .Doc("Replaces the content of tables by what a checkpoint holds, and makes them ready.");

REGISTER_OP("EpCommitSave")
    .Input("prefix: string")
    .Input("table_names: string")
    .Input("handles: N * resource")
    .Attr("N: int >= 1")
    .Output("committed: bool")
    .SetIsStateful()
    .SetShapeFn([](InferenceContext* c) {
      TF_RETURN_IF_ERROR(TablesInBundleShape(c));
      c->set_output(0, c->Vector(c->Dim(c->input(1), 0)));
      return tf::Status();
    })
    .Doc("Tells tables that a checkpoint is whole: what it holds is no longer a change.");

REGISTER_OP("EpTableLoad")
    .Input("handle: resource")
    .Input("prefix: string")
    .Input("table_name: string")
    .Attr("with_slots: bool = true")
    .Output("rows: int64")
    .SetIsStateful()
    .SetShapeFn([](InferenceContext* c) {
      ShapeHandle unused;
      TF_RETURN_IF_ERROR(c->WithRank(c->input(1), 0, &unused));
      TF_RETURN_IF_ERROR(c->WithRank(c->input(2), 0, &unused));
      c->set_output(0, c->Scalar());
      return shapes::CheckHandle(c);
    })
    .Doc("Replaces the rows of an initialized table by those of a table of a checkpoint.");

REGISTER_OP("EpTableSaveBase")
    .Input("handle: resource")
    .Output("checkpoint: string")
    .Output("can_save_delta: bool")
    .SetIsStateful()
    .SetShapeFn([](InferenceContext* c) {
      c->set_output(0, c->Scalar());
      c->set_output(1, c->Scalar());
      return shapes::CheckHandle(c);
    })
    .Doc("The whole checkpoint that changes are counted from, and whether all of them are known.");

}  // namespace estimator_plugin

#endif  // EP_HAS_TENSOR_BUNDLE
