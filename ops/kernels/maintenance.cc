// EpTableRemove, EpTableClear, EpTableSize, EpTableMemory, EpTableStatistics.

#include <algorithm>

#include "shapes.h"
#include "table_kernel.h"
#include "tf_compat.h"

namespace estimator_plugin {
namespace {

constexpr int64_t kNumStatistics = 18;

tf::Status TableStatisticsShape(tf::shape_inference::InferenceContext* c) {
  c->set_output(0, c->Vector(kNumStatistics));
  return shapes::CheckHandle(c);
}

class TableRemoveOp : public ReadyTableKernel {
 public:
  using ReadyTableKernel::ReadyTableKernel;

 private:
  Status RunReady(tf::OpKernelContext* ctx, TableResource* resource) override {
    const tf::Tensor& keys = ctx->input(1);
    int64_t removed = 0;
    EP_RETURN_IF_ERROR(resource->table()->Remove(Int64Data(keys), keys.NumElements(), &removed));
    return SetInt64Output(ctx, 0, removed);
  }
};

class TableClearOp : public ReadyTableKernel {
 public:
  using ReadyTableKernel::ReadyTableKernel;

 private:
  Status RunReady(tf::OpKernelContext*, TableResource* resource) override {
    return resource->table()->Clear();
  }
};

class TableSizeOp : public ReadyTableKernel {
 public:
  using ReadyTableKernel::ReadyTableKernel;

 private:
  Status RunReady(tf::OpKernelContext* ctx, TableResource* resource) override {
    return SetInt64Output(ctx, 0, resource->table()->size());
  }
};

class TableMemoryOp : public ReadyTableKernel {
 public:
  using ReadyTableKernel::ReadyTableKernel;

 private:
  Status RunReady(tf::OpKernelContext* ctx, TableResource* resource) override {
    return SetInt64Output(ctx, 0, resource->table()->stats().bytes);
  }
};

class TableStatisticsOp : public ReadyTableKernel {
 public:
  using ReadyTableKernel::ReadyTableKernel;

 private:
  Status RunReady(tf::OpKernelContext* ctx, TableResource* resource) override {
    tf::Tensor* output = nullptr;
    EP_RETURN_IF_ERROR(AllocateOutput(ctx, 0, tf::TensorShape({kNumStatistics}), &output));
    const TableStats stats = resource->table()->stats();
    const AdmissionState admission = resource->table()->admission()->state();
    const int64_t values[kNumStatistics] = {
        stats.rows,          stats.bytes,        stats.keys_looked_up,  stats.keys_found,
        stats.rows_inserted, stats.rows_removed, stats.rows_updated,    stats.rows_admitted,
        stats.waiting,       stats.keys_refused, stats.rows_evicted,    stats.waiting_evicted,
        stats.stale_updates, stats.stale_reads,  stats.backward_clocks, admission.clock,
        admission.threshold, admission.frozen};
    std::copy_n(values, kNumStatistics, Int64Data(output));
    return Status();
  }
};

REGISTER_KERNEL_BUILDER(Name("EpTableRemove").Device(tf::DEVICE_CPU), TableRemoveOp);
REGISTER_KERNEL_BUILDER(Name("EpTableClear").Device(tf::DEVICE_CPU), TableClearOp);
REGISTER_KERNEL_BUILDER(Name("EpTableSize").Device(tf::DEVICE_CPU), TableSizeOp);
REGISTER_KERNEL_BUILDER(Name("EpTableMemory").Device(tf::DEVICE_CPU), TableMemoryOp);
REGISTER_KERNEL_BUILDER(Name("EpTableStatistics").Device(tf::DEVICE_CPU), TableStatisticsOp);

}  // namespace

REGISTER_OP("EpTableRemove")
    .Input("handle: resource")
    .Input("keys: int64")
    .Output("removed: int64")
    .SetIsStateful()
    .SetShapeFn(shapes::ScalarOutputs)
    .Doc("Removes the rows of keys and counts those that there were.");

REGISTER_OP("EpTableClear")
    .Input("handle: resource")
    .SetIsStateful()
    .SetShapeFn(shapes::ScalarOutputs)
    .Doc("Removes all rows and gives their memory back.");

REGISTER_OP("EpTableSize")
    .Input("handle: resource")
    .Output("size: int64")
    .SetIsStateful()
    .SetShapeFn(shapes::ScalarOutputs)
    .Doc("The number of rows.");

REGISTER_OP("EpTableMemory")
    .Input("handle: resource")
    .Output("bytes: int64")
    .SetIsStateful()
    .SetShapeFn(shapes::ScalarOutputs)
    .Doc("Bytes of memory in use for rows, metadata and index.");

REGISTER_OP("EpTableStatistics")
    .Input("handle: resource")
    .Output("statistics: int64")
    .SetIsStateful()
    .SetShapeFn(TableStatisticsShape)
    .Doc(
        "What the table holds and has done since it was made; the wrapper in ops/table_ops.py "
        "names the numbers.");

}  // namespace estimator_plugin
