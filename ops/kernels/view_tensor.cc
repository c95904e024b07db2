#include "view_tensor.h"

#include <cstring>
#include <utility>

namespace estimator_plugin {
namespace {

// TensorFlow maps tensors with aligned vector instructions only.
constexpr uintptr_t kTensorAlignment = 64;

// Memory that a tensor looks at.
class ViewBuffer : public tf::TensorBuffer {
 public:
  ViewBuffer(const void* data, size_t bytes, std::shared_ptr<const void> owner)
      : TensorBuffer(const_cast<void*>(data)), bytes_(bytes), owner_(std::move(owner)) {}

  size_t size() const override { return bytes_; }
  tf::TensorBuffer* root_buffer() override { return this; }
  // Else an op that consumes the tensor could take the table's memory for its own output.
  bool OwnsMemory() const override { return false; }
  void FillAllocationDescription(tf::AllocationDescription* description) const override {
    description->set_requested_bytes(static_cast<int64_t>(bytes_));
    description->set_allocator_name("estimator_plugin");
  }

 private:
  const size_t bytes_;
  const std::shared_ptr<const void> owner_;
};

}  // namespace

tf::Tensor ViewTensor(tf::DataType dtype, const tf::TensorShape& shape, const void* data,
                      const std::shared_ptr<const void>& owner) {
  if (shape.num_elements() == 0) return tf::Tensor(dtype, shape);
  const size_t bytes = shape.num_elements() * tf::DataTypeSize(dtype);
  if (reinterpret_cast<uintptr_t>(data) % kTensorAlignment != 0) {
    tf::Tensor copy(dtype, shape);
    std::memcpy(const_cast<char*>(copy.tensor_data().data()), data, bytes);
    return copy;
  }
  auto* const buffer = new ViewBuffer(data, bytes, owner);
  const tf::core::ScopedUnref unref(buffer);
  return tf::Tensor(dtype, shape, buffer);
}

}  // namespace estimator_plugin
