// One data file of a TensorFlow bundle, and the index that describes all of them.
//
// The bytes are those of tensorflow::BundleWriter (tensorflow/core/protobuf/tensor_bundle.proto),
// which clears eight megabytes for each file and sends all bytes through them: of a small delta
// that is most of the work, of a large save it is what does not fit the cache.
#ifndef ESTIMATOR_PLUGIN_OPS_KERNELS_BUNDLE_FILE_H_
#define ESTIMATOR_PLUGIN_OPS_KERNELS_BUNDLE_FILE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tf_compat.h"

#ifdef EP_HAS_TENSOR_BUNDLE

namespace estimator_plugin {

// By name, as an index is ordered.
using BundleEntries = std::map<std::string, tf::BundleEntryProto>;

// Thread-compatible.
class BundleFile {
 public:
  BundleFile() : buffer_(kBufferBytes) {}

  // `shard` is the file's number in its bundle.
  Status Create(tf::Env* env, const std::string& path, int shard);
  // Writes a tensor of numbers or a string scalar. Its elements may change meanwhile: the checksum
  // is of what was written. InvalidArgument for a name that is taken.
  Status Add(const std::string& name, const tf::Tensor& tensor);
  Status Close();

  const BundleEntries& entries() const { return entries_; }

 private:
  static constexpr int64_t kBufferBytes = 256 << 10;  // Stays in a second-level cache.

  Status Write(const char* data, int64_t bytes);
  Status WriteString(const tf::tstring& text);
  Status Flush();

  std::unique_ptr<tf::WritableFile> file_;
  int shard_ = 0;
  std::vector<char> buffer_;
  int64_t filled_ = 0;
  int64_t size_ = 0;  // Of the file, the buffer included.
  uint32_t crc_ = 0;  // Of the tensor that is being written.
  BundleEntries entries_;
};

// Writes the index of a bundle of `num_files` data files.
Status WriteBundleIndex(tf::Env* env, const std::string& path, int num_files,
                        const BundleEntries& entries);

}  // namespace estimator_plugin

#endif  // EP_HAS_TENSOR_BUNDLE

#endif  // ESTIMATOR_PLUGIN_OPS_KERNELS_BUNDLE_FILE_H_
