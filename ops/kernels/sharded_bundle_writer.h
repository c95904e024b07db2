// Writes one TensorFlow bundle with several threads, a data file each.
#ifndef ESTIMATOR_PLUGIN_OPS_KERNELS_SHARDED_BUNDLE_WRITER_H_
#define ESTIMATOR_PLUGIN_OPS_KERNELS_SHARDED_BUNDLE_WRITER_H_

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "bundle_file.h"
#include "tf_compat.h"

#ifdef EP_HAS_TENSOR_BUNDLE

namespace estimator_plugin {

// Used by one thread.
class ShardedBundleWriter {
 public:
  using NamedTensors = std::vector<std::pair<std::string, tf::Tensor>>;

  // `threads` outlives the writer. The files have names of their own until all of them are whole.
  ShardedBundleWriter(tf::Env* env, const std::string& prefix, int num_shards,
                      tf::thread::ThreadPool* threads);
  // Unless Finish succeeded, removes what was written.
  ~ShardedBundleWriter();
  ShardedBundleWriter(const ShardedBundleWriter&) = delete;
  ShardedBundleWriter& operator=(const ShardedBundleWriter&) = delete;

  int num_shards() const { return static_cast<int>(shards_.size()); }

  // Hands tensors to one shard, small sets some together, once it has written what it got before:
  // so at most one set, or a megabyte of small ones, is held per shard beside that. Reports an
  // earlier error of that shard.
  Status Add(int shard, NamedTensors tensors);

  // Waits for all shards and makes the bundle appear under the prefix.
  Status Finish();

 private:
  struct Shard {
    std::string path;  // What the file is called in the end.
    BundleFile file;
    NamedTensors gathered;  // Not yet handed to a thread.
    int64_t gathered_bytes = 0;
    bool busy = false;
    Status status;
  };

  Status WriteGathered(Shard* shard);
  // Runs `work` on another thread, once the shard has done what it got before; see Wait.
  Status Start(Shard* shard, std::function<Status(BundleFile*)> work);
  // Until the shard is idle: an earlier error of it.
  Status Wait(Shard* shard);
  Status WriteIndex();
  // Removes what is there under a name that was given up.
  void Remove(const std::string& path);

  tf::Env* const env_;
  const std::string prefix_;
  const std::string index_path_;
  tf::thread::ThreadPool* const threads_;
  std::mutex mutex_;  // Guards busy and status of the shards.
  std::condition_variable idle_;
  std::vector<Shard> shards_;
  std::vector<std::string> renamed_;  // Files that have their final names.
  bool finished_ = false;
};

}  // namespace estimator_plugin

#endif  // EP_HAS_TENSOR_BUNDLE

#endif  // ESTIMATOR_PLUGIN_OPS_KERNELS_SHARDED_BUNDLE_WRITER_H_
