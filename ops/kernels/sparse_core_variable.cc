#include "sparse_core_variable.h"

#include <algorithm>

#include "sparse_core_inputs.h"

namespace estimator_plugin {
namespace sparse_core {
namespace {

Status Uninitialized(const std::string& table) {
  return Error(Code::kFailedPrecondition, "table '", table,
               "': a variable is not initialized; run its initializer first");
}

// Nobody else may hold the buffer that is about to be used in place.
Status OwnBuffer(tf::OpKernelContext* ctx, const std::string& table, tf::Var* variable) {
  if (variable->copy_on_read_mode.load()) return Status();
  tf::mutex_lock lock(*variable->mu());
  if (!variable->is_initialized) return Uninitialized(table);
  if (!HasOneOwner(*variable->tensor())) {
    tf::Tensor own;
    EP_RETURN_IF_ERROR(FromTensorFlow(
        ctx->allocate_temp(variable->tensor()->dtype(), variable->tensor()->shape(), &own)));
    const tf::StringPiece bytes = variable->tensor()->tensor_data();
    std::copy(bytes.begin(), bytes.end(), const_cast<char*>(own.tensor_data().data()));
    *variable->tensor() = own;
  }
  variable->copy_on_read_mode.store(true);
  return Status();
}

}  // namespace

Status FindVariable(tf::OpKernelContext* ctx, int input, const std::string& table,
                    VariablePtr* variable) {
  const tf::Status found = tf::LookupResource(ctx, tf::HandleFromInput(ctx, input), variable);
  if (!found.ok()) {
    const Status status = FromTensorFlow(found);
    return status.code() == Code::kNotFound ? Uninitialized(table) : status;
  }
  return OwnBuffer(ctx, table, variable->get());
}

ExclusiveAccess::ExclusiveAccess(const std::vector<VariablePtr>& variables) {
  for (const VariablePtr& variable : variables) mutexes_.push_back(variable->mu());
  std::sort(mutexes_.begin(), mutexes_.end());
  for (tf::mutex* mutex : mutexes_) mutex->lock();
}

ExclusiveAccess::~ExclusiveAccess() {
  for (tf::mutex* mutex : mutexes_) mutex->unlock();
}

Status ValuesOf(tf::Var* variable, const std::string& table, const Topology& topology,
                int64_t width, float** values, int64_t* rows) {
  if (!variable->is_initialized) return Uninitialized(table);
  tf::Tensor* const tensor = variable->tensor();
  if (tensor->dtype() != tf::DT_FLOAT || tensor->dims() != 2 || tensor->dim_size(1) != width ||
      tensor->dim_size(0) % topology.shards() != 0) {
    return Error(Code::kInvalidArgument, "table '", table, "': a variable is ",
                 tf::DataTypeString(tensor->dtype()), " ", tensor->shape().DebugString(),
                 ", want float [rows,", width, "] with a number of rows that ", topology.shards(),
                 " shards divide");
  }
  *values = FloatData(tensor);
  *rows = tensor->dim_size(0);
  return Status();
}

Status ReadCsr(tf::OpKernelContext* ctx, const std::string& table, const Topology& topology,
               int64_t samples, int64_t rows, ParallelRunner* runner, CsrView* csr) {
  if (samples % topology.cores_per_replica != 0) {
    return Error(Code::kInvalidArgument, "table '", table, "': a replica has ", samples,
                 " samples; their number must be a multiple of the SparseCores of a chip, ",
                 topology.cores_per_replica);
  }
  const tf::Tensor& pointers = ctx->input(0);
  const tf::Tensor& ids = ctx->input(1);
  const tf::Tensor& minibatches = ctx->input(4);
  const bool fit = pointers.dims() == 1 && ids.dims() == 1 &&
                   ids.shape() == ctx->input(2).shape() && ids.shape() == ctx->input(3).shape() &&
                   minibatches.dims() == 0;
  if (!fit) {
    return Error(Code::kInvalidArgument, "table '", table, "': a buffer's parts have shapes ",
                 pointers.shape().DebugString(), ", ", ids.shape().DebugString(), ", ",
                 ctx->input(2).shape().DebugString(), ", ", ctx->input(3).shape().DebugString(),
                 " and ", minibatches.shape().DebugString(),
                 "; want vectors, the ids' of one length, and a scalar");
  }
  const CsrView::Arrays arrays = {Int32Data(pointers),      pointers.NumElements(),
                                  Int32Data(ids),           Int32Data(ctx->input(2)),
                                  FloatData(ctx->input(3)), ids.NumElements()};
  return CsrView::Make(arrays,
                       {table, topology, *Int32Data(minibatches),
                        samples / topology.cores_per_replica, rows / topology.shards()},
                       runner, csr);
}

}  // namespace sparse_core
}  // namespace estimator_plugin
