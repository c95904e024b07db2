// Reads a table's tensors from a TensorFlow bundle, on several threads at once.
#ifndef ESTIMATOR_PLUGIN_OPS_KERNELS_BUNDLE_READERS_H_
#define ESTIMATOR_PLUGIN_OPS_KERNELS_BUNDLE_READERS_H_

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "row_arrays.h"
#include "tf_compat.h"

#ifdef EP_HAS_TENSOR_BUNDLE

namespace estimator_plugin {

// Thread-safe: a BundleReader serves one thread at a time, so each thread takes one of its own.
// Errors name the table and the bundle; damage, truncation included, is DataLoss.
class BundleReaders {
 public:
  BundleReaders(tf::Env* env, const std::string& prefix) : env_(env), prefix_(prefix) {}

  // What describes the table `table`.
  Status ReadHead(const std::string& table, tf::Tensor* meta, tf::Tensor* bank);

  // Calls `use` with the rows of one bucket, which are gone after it, and in a delta with the keys
  // that it removes, else none.
  using UseBucket = std::function<Status(const RowTensors&, const tf::Tensor& removed)>;
  Status ReadBucket(const std::string& table, int bucket, bool delta, const UseBucket& use);

  // The keys of a bucket that wait for admission; empty tensors where there are none.
  Status ReadWaiting(const std::string& table, int bucket, WaitingTensors* tensors);

  const std::string& prefix() const { return prefix_; }

 private:
  // A reader, and the memory it reads rows into: fresh pages would cost as much as reading.
  struct Reader {
    std::unique_ptr<tf::BundleReader> bundle;
    RowTensors memory;  // Vectors that only grow.
  };

  // The tensor `name`, of this type and rank, over the start of `memory`.
  static Status Read(const std::string& name, tf::DataType dtype, int rank, Reader* reader,
                     tf::Tensor* memory, tf::Tensor* tensor);
  Status InBundle(const std::string& table, const Status& status) const;
  Status Take(const std::string& table, std::unique_ptr<Reader>* reader);
  void Return(std::unique_ptr<Reader> reader);

  tf::Env* const env_;
  const std::string prefix_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Reader>> free_;
};

}  // namespace estimator_plugin

#endif  // EP_HAS_TENSOR_BUNDLE

#endif  // ESTIMATOR_PLUGIN_OPS_KERNELS_BUNDLE_READERS_H_
