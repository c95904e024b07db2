// What the kernels of all table ops share: unpack, call core, hand its Status to TensorFlow.
#ifndef ESTIMATOR_PLUGIN_OPS_KERNELS_TABLE_KERNEL_H_
#define ESTIMATOR_PLUGIN_OPS_KERNELS_TABLE_KERNEL_H_

#include <new>
#include <string>

#include "table_resource.h"
#include "tf_compat.h"

namespace estimator_plugin {

// No exception leaves a kernel.
template <typename Work>
Status WithoutExceptions(const tf::OpKernel& kernel, const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Error(Code::kResourceExhausted, "out of memory in ", kernel.type_string(), " '",
                 kernel.name(), "'");
  }
}

// A kernel whose work is a core Status.
class StatusKernel : public tf::OpKernel {
 public:
  explicit StatusKernel(tf::OpKernelConstruction* ctx) : OpKernel(ctx) {}

  void Compute(tf::OpKernelContext* ctx) final {
    const Status status = WithoutExceptions(*this, [&] { return Run(ctx); });
    if (!status.ok()) ctx->CtxFailure(ToTensorFlow(status));
  }

 protected:
  virtual Status Run(tf::OpKernelContext* ctx) = 0;
};

// A kernel whose input 0 is a table's handle.
class TableKernel : public StatusKernel {
 public:
  using StatusKernel::StatusKernel;

 protected:
  // `resource` lives during the call and may be uninitialized.
  virtual Status RunOn(tf::OpKernelContext* ctx, TableResource* resource) = 0;

 private:
  Status Run(tf::OpKernelContext* ctx) final {
    tf::core::RefCountPtr<TableResource> resource;
    EP_RETURN_IF_ERROR(
        FromTensorFlow(tf::LookupResource(ctx, tf::HandleFromInput(ctx, 0), &resource)));
    return RunOn(ctx, resource.get());
  }
};

// A kernel that needs an initialized table.
class ReadyTableKernel : public TableKernel {
 public:
  using TableKernel::TableKernel;

 protected:
  virtual Status RunReady(tf::OpKernelContext* ctx, TableResource* resource) = 0;

 private:
  Status RunOn(tf::OpKernelContext* ctx, TableResource* resource) final {
    return resource->WhileReady([&] { return RunReady(ctx, resource); });
  }
};

// Reads an attr while a kernel is made; a missing one fails the kernel's construction.
template <typename T>
T AttrOf(tf::OpKernelConstruction* ctx, const char* name) {
  T value{};
  const tf::Status status = ctx->GetAttr(name, &value);
  if (!status.ok()) ctx->CtxFailure(status);
  return value;
}

// The same in a shape function. REQUIRES: the op has an attr of this name and type.
template <typename T>
T AttrOf(tf::shape_inference::InferenceContext* c, const char* name) {
  T value{};
  TF_CHECK_OK(c->GetAttr(name, &value));
  return value;
}

inline Status AllocateOutput(tf::OpKernelContext* ctx, int index, const tf::TensorShape& shape,
                             tf::Tensor** output) {
  return FromTensorFlow(ctx->allocate_output(index, shape, output));
}

// Output 0: the embeddings, `leading` + [dim].
inline Status AllocateEmbeddings(tf::OpKernelContext* ctx, tf::TensorShape leading, int64_t dim,
                                 Value** embeddings) {
  leading.AddDim(dim);
  tf::Tensor* output = nullptr;
  EP_RETURN_IF_ERROR(AllocateOutput(ctx, 0, leading, &output));
  *embeddings = output->flat<Value>().data();
  return Status();
}

// Writes a scalar int64 output.
inline Status SetInt64Output(tf::OpKernelContext* ctx, int index, int64_t value) {
  tf::Tensor* output = nullptr;
  EP_RETURN_IF_ERROR(AllocateOutput(ctx, index, tf::TensorShape({}), &output));
  *Int64Data(output) = value;
  return Status();
}

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_KERNELS_TABLE_KERNEL_H_
