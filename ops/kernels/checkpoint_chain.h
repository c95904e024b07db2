// The checkpoints that a table's rows are spread over: a full one and the deltas after it.
#ifndef ESTIMATOR_PLUGIN_OPS_KERNELS_CHECKPOINT_CHAIN_H_
#define ESTIMATOR_PLUGIN_OPS_KERNELS_CHECKPOINT_CHAIN_H_

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "../core/table_meta.h"
#include "row_arrays.h"
#include "tf_compat.h"

#ifdef EP_HAS_TENSOR_BUNDLE

namespace estimator_plugin {

// A table in one checkpoint. Thread-safe. Errors name the table and the checkpoint; what ends
// before its index promises, or fails its checksum, is DataLoss.
class TableInCheckpoint {
 public:
  // Reads the table's meta.
  static Status Open(tf::Env* env, const std::string& table, const std::string& prefix,
                     std::unique_ptr<TableInCheckpoint>* opened);

  const std::string& prefix() const { return prefix_; }
  const TableMeta& meta() const { return meta_; }

  Status ReadBank(tf::Tensor* bank);
  // `removed` gets the keys that a delta removes, [0] for a full checkpoint.
  Status ReadBucket(int bucket, RowTensors* rows, tf::Tensor* removed);

 private:
  TableInCheckpoint(tf::Env* env, const std::string& table, const std::string& prefix)
      : env_(env), table_(table), prefix_(prefix) {}

  Status ReadMeta();
  Status Read(const std::string& name, tf::DataType dtype, int rank, tf::Tensor* tensor);
  Status Named(const tf::Status& status) const;
  // A BundleReader serves one thread at a time.
  std::unique_ptr<tf::BundleReader> TakeReader();
  void ReturnReader(std::unique_ptr<tf::BundleReader> reader);

  tf::Env* const env_;
  const std::string table_;
  const std::string prefix_;
  TableMeta meta_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<tf::BundleReader>> readers_;
};

using CheckpointChain = std::vector<std::unique_ptr<TableInCheckpoint>>;

// The chain that ends at `prefix`, oldest first. NotFound or DataLoss for a parent that is missing,
// is not the one that the delta was saved from, or lies in a circle.
Status OpenChain(tf::Env* env, const std::string& table, const std::string& prefix,
                 CheckpointChain* chain);

// Replaces the content of a table by what a checkpoint holds under the name `table`, chain and
// all, with a few buckets of memory beside the table; the table goes on from that checkpoint.
Status RestoreTable(tf::Env* env, const std::string& table, const std::string& prefix,
                    TableResource* resource, ParallelRunner* runner);

// Replaces the content of an initialized table by the rows of a table of a checkpoint, which may
// have other buckets, another optimizer and another name; only the dim must agree.
Status LoadTable(tf::Env* env, const std::string& table, const std::string& prefix, bool with_slots,
                 TableResource* resource, ParallelRunner* runner);

}  // namespace estimator_plugin

#endif  // EP_HAS_TENSOR_BUNDLE

#endif  // ESTIMATOR_PLUGIN_OPS_KERNELS_CHECKPOINT_CHAIN_H_
