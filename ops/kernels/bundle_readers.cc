#include "bundle_readers.h"

#include <utility>

#include "../core/table_meta.h"

#ifdef EP_HAS_TENSOR_BUNDLE

namespace estimator_plugin {
namespace {

constexpr Code kOutOfRange = static_cast<Code>(11);  // A file that ends before it should.

// A tensor of this shape over the start of `memory`, which grows if it must.
Status PlaceIn(tf::DataType dtype, const tf::TensorShape& shape, tf::Tensor* memory,
               tf::Tensor* tensor) {
  const int64_t n = shape.num_elements();
  if (memory->NumElements() < n || memory->dtype() != dtype) {
    *memory = tf::Tensor(dtype, tf::TensorShape({n + n / 8}));
    if (!memory->IsInitialized()) {
      return Error(Code::kResourceExhausted, "no memory to read ", shape.DebugString(), " into");
    }
  }
  if (n == 0) {
    *tensor = tf::Tensor(dtype, shape);
  } else if (!tensor->CopyFrom(memory->Slice(0, n), shape)) {
    return Error(Code::kInternal, "shape ", shape.DebugString(), " does not hold ", n, " values");
  }
  return Status();
}

}  // namespace

Status BundleReaders::Take(const std::string& table, std::unique_ptr<Reader>* reader) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!free_.empty()) {
      *reader = std::move(free_.back());
      free_.pop_back();
      return Status();
    }
  }
  reader->reset(new Reader);
  (*reader)->bundle.reset(new tf::BundleReader(env_, prefix_));
  return InBundle(table, FromTensorFlow((*reader)->bundle->status()));
}

void BundleReaders::Return(std::unique_ptr<Reader> reader) {
  std::lock_guard<std::mutex> lock(mutex_);
  free_.push_back(std::move(reader));
}

Status BundleReaders::InBundle(const std::string& table, const Status& status) const {
  if (status.ok()) return status;
  return Error(status.code() == kOutOfRange ? Code::kDataLoss : status.code(), "restoring table '",
               table, "', checkpoint '", prefix_, "': ", status.message());
}

Status BundleReaders::Read(const std::string& name, tf::DataType dtype, int rank, Reader* reader,
                           tf::Tensor* memory, tf::Tensor* tensor) {
  tf::DataType found = tf::DT_INVALID;
  tf::TensorShape shape;
  EP_RETURN_IF_ERROR(FromTensorFlow(reader->bundle->LookupDtypeAndShape(name, &found, &shape)));
  if (found != dtype || shape.dims() != rank) {
    return Error(Code::kDataLoss, name, " is ", tf::DataTypeString(found), " ", shape.DebugString(),
                 ", want ", tf::DataTypeString(dtype), " of rank ", rank);
  }
  EP_RETURN_IF_ERROR(PlaceIn(dtype, shape, memory, tensor));
  return FromTensorFlow(reader->bundle->Lookup(name, tensor));
}

Status BundleReaders::ReadHead(const std::string& table, tf::Tensor* meta, tf::Tensor* bank) {
  std::unique_ptr<Reader> reader;
  EP_RETURN_IF_ERROR(Take(table, &reader));
  tf::Tensor memory;
  EP_RETURN_IF_ERROR(
      InBundle(table, Read(MetaTensorName(table), tf::DT_STRING, 0, reader.get(), &memory, meta)));
  tf::Tensor bank_memory;
  EP_RETURN_IF_ERROR(InBundle(
      table, Read(BankTensorName(table), kValueType, 2, reader.get(), &bank_memory, bank)));
  Return(std::move(reader));
  return Status();
}

Status BundleReaders::ReadBucket(const std::string& table, int bucket, bool delta,
                                 const UseBucket& use) {
  std::unique_ptr<Reader> reader;
  EP_RETURN_IF_ERROR(Take(table, &reader));
  RowTensors tensors;
  for (RowArray array : kRowArrays) {
    const std::string name = BucketTensorName(table, bucket, NameOf(array));
    const int rank = array == RowArray::kRows ? 2 : 1;
    EP_RETURN_IF_ERROR(InBundle(table, Read(name, DtypeOf(array), rank, reader.get(),
                                            &reader->memory.of(array), &tensors.of(array))));
  }
  tf::Tensor removed(tf::DT_INT64, tf::TensorShape({0}));
  if (delta) {
    const std::string name = BucketTensorName(table, bucket, kRemovedName);
    tf::Tensor memory;
    EP_RETURN_IF_ERROR(
        InBundle(table, Read(name, tf::DT_INT64, 1, reader.get(), &memory, &removed)));
  }
  EP_RETURN_IF_ERROR(use(tensors, removed));
  Return(std::move(reader));
  return Status();
}

Status BundleReaders::ReadWaiting(const std::string& table, int bucket, WaitingTensors* tensors) {
  std::unique_ptr<Reader> reader;
  EP_RETURN_IF_ERROR(Take(table, &reader));
  for (WaitingArray array : kWaitingArrays) {
    const std::string name = BucketTensorName(table, bucket, NameOf(array));
    if (!reader->bundle->Contains(name)) continue;
    tf::Tensor memory;
    EP_RETURN_IF_ERROR(
        InBundle(table, Read(name, DtypeOf(array), 1, reader.get(), &memory, &tensors->of(array))));
  }
  Return(std::move(reader));
  return Status();
}

}  // namespace estimator_plugin

#endif  // EP_HAS_TENSOR_BUNDLE
