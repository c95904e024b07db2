// EpSaveTables, EpRestoreTables: tables written to and read from a TensorFlow checkpoint bucket by
// bucket, without a copy of a table in memory. The names and bytes are those that TensorFlow's own
// savers write from EpTableExport.

#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "input_checks.h"
#include "intra_op_runner.h"
#include "row_arrays.h"
#include "shapes.h"
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

// Names the checkpoint and the table in an error of reading or writing.
Status InCheckpoint(const std::string& doing, const std::string& table, const std::string& prefix,
                    const tf::Status& status) {
  const Status plain = FromTensorFlow(status);
  if (plain.ok()) return plain;
  return Error(plain.code(), doing, " table '", table, "', checkpoint '", prefix, "': ",
               plain.message());
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

class SaveTablesOp : public BundleKernel {
 public:
  using BundleKernel::BundleKernel;

 private:
  Status RunOn(tf::OpKernelContext* ctx, const std::string& prefix,
               const std::vector<NamedTable>& tables) override {
    tf::BundleWriter writer(ctx->env(), prefix);
    Status status = FromTensorFlow(writer.status());
    for (const NamedTable& table : tables) {
      if (!status.ok()) break;
      status = table.resource->WhileReady([&] { return Save(table, prefix, &writer); });
    }
    // Also after an error: it is what closes and removes the unfinished file.
    const Status finished = InCheckpoint("saving", tables[0].name, prefix, writer.Finish());
    if (status.ok()) status = finished;
    if (!status.ok()) RemoveBundle(ctx->env(), prefix);
    return status;
  }

  static Status Save(const NamedTable& table, const std::string& prefix, tf::BundleWriter* writer) {
    int64_t width = 0;
    const auto add = [&](const std::string& name, const tf::Tensor& tensor) {
      return InCheckpoint("saving", table.name, prefix, writer->Add(name, tensor));
    };
    const auto begin = [&](const RowLayout& layout) {
      width = layout.width();
      EP_RETURN_IF_ERROR(add(MetaTensorName(table.name), MetaTensor(*table.resource, layout)));
      return add(BankTensorName(table.name), BankTensor(*table.resource));
    };
    const auto visit = [&](int bucket, const BucketView<Value>& view) {
      const RowTensors tensors = ViewTensors(view, width);
      for (RowArray array : kRowArrays) {
        EP_RETURN_IF_ERROR(
            add(BucketTensorName(table.name, bucket, NameOf(array)), tensors.of(array)));
      }
      return Status();
    };
    return table.resource->table()->Export(begin, visit);
  }

  // After a failed save; what could not be written may not be there to remove either.
  static void RemoveBundle(tf::Env* env, const std::string& prefix) {
    for (const char* suffix : {".index", ".data-00000-of-00001"}) {
      const Status removed = FromTensorFlow(env->DeleteFile(prefix + suffix));
      VLOG(1) << "removing " << prefix << suffix << ": " << removed.message();
    }
  }
};

// Readers of one bundle for threads that read at once: a BundleReader serves one at a time.
class BundleReaders {
 public:
  BundleReaders(tf::Env* env, const std::string& prefix) : env_(env), prefix_(prefix) {}

  std::unique_ptr<tf::BundleReader> Take() {
    std::unique_ptr<tf::BundleReader> reader;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!free_.empty()) {
        reader = std::move(free_.back());
        free_.pop_back();
      }
    }
    if (reader == nullptr) reader.reset(new tf::BundleReader(env_, prefix_));
    return reader;
  }

  void Return(std::unique_ptr<tf::BundleReader> reader) {
    std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(std::move(reader));
  }

  const std::string& prefix() const { return prefix_; }

 private:
  tf::Env* const env_;
  const std::string prefix_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<tf::BundleReader>> free_;
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
    EP_RETURN_IF_ERROR(ReadHead(table, readers, &meta, &source.bank));
    source.meta = std::string(meta.scalar<tf::tstring>()());
    source.load_bucket = [&](const RowLayout& layout, int bucket) {
      RowTensors tensors;
      EP_RETURN_IF_ERROR(ReadBucket(table, bucket, readers, &tensors));
      return ImportRows(table.resource.get(), layout, bucket, tensors);
    };
    return table.resource->Replace(source, runner);
  }

  static Status ReadHead(const NamedTable& table, BundleReaders* readers, tf::Tensor* meta,
                         tf::Tensor* bank) {
    std::unique_ptr<tf::BundleReader> reader = readers->Take();
    EP_RETURN_IF_ERROR(Reading(table, *readers, reader->status()));
    EP_RETURN_IF_ERROR(
        Read(table, *readers, MetaTensorName(table.name), tf::DT_STRING, 0, reader.get(), meta));
    EP_RETURN_IF_ERROR(
        Read(table, *readers, BankTensorName(table.name), kValueType, 2, reader.get(), bank));
    readers->Return(std::move(reader));
    return Status();
  }

  static Status ReadBucket(const NamedTable& table, int bucket, BundleReaders* readers,
                           RowTensors* tensors) {
    std::unique_ptr<tf::BundleReader> reader = readers->Take();
    EP_RETURN_IF_ERROR(Reading(table, *readers, reader->status()));
    for (RowArray array : kRowArrays) {
      EP_RETURN_IF_ERROR(Read(table, *readers,
                              BucketTensorName(table.name, bucket, NameOf(array)), DtypeOf(array),
                              array == RowArray::kRows ? 2 : 1, reader.get(), &tensors->of(array)));
    }
    readers->Return(std::move(reader));
    return Status();
  }

  static Status Read(const NamedTable& table, const BundleReaders& readers, const std::string& name,
                     tf::DataType dtype, int rank, tf::BundleReader* reader, tf::Tensor* tensor) {
    tf::DataType found = tf::DT_INVALID;
    tf::TensorShape shape;
    EP_RETURN_IF_ERROR(Reading(table, readers, reader->LookupDtypeAndShape(name, &found, &shape)));
    if (found != dtype || shape.dims() != rank) {
      return Error(Code::kDataLoss, "restoring table '", table.name, "', checkpoint '",
                   readers.prefix(), "': ", name, " is ", tf::DataTypeString(found), " ",
                   shape.DebugString(), ", want ", tf::DataTypeString(dtype), " of rank ", rank);
    }
    *tensor = tf::Tensor(dtype, shape);
    if (!tensor->IsInitialized()) {
      return Error(Code::kResourceExhausted, "restoring table '", table.name, "': no memory for ",
                   name, " ", shape.DebugString());
    }
    return Reading(table, readers, reader->Lookup(name, tensor));
  }

  // Truncated files end before what the index promises.
  static Status Reading(const NamedTable& table, const BundleReaders& readers,
                        const tf::Status& status) {
    const Status named = InCheckpoint("restoring", table.name, readers.prefix(), status);
    constexpr Code kOutOfRange = static_cast<Code>(11);
    return named.code() == kOutOfRange ? Status(Code::kDataLoss, named.message()) : named;
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
