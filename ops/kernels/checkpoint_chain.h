// The checkpoints that a table's rows are spread over: a full one and the deltas after it.
#ifndef ESTIMATOR_PLUGIN_OPS_KERNELS_CHECKPOINT_CHAIN_H_
#define ESTIMATOR_PLUGIN_OPS_KERNELS_CHECKPOINT_CHAIN_H_

#include <memory>
#include <string>
#include <vector>

#include "../core/table_meta.h"
#include "bundle_readers.h"
#include "row_arrays.h"
#include "tf_compat.h"

#ifdef EP_HAS_TENSOR_BUNDLE

namespace estimator_plugin {

// A table in one checkpoint. Thread-safe.
class TableInCheckpoint {
 public:
  // Reads what describes the table.
  static Status Open(tf::Env* env, const std::string& table, const std::string& prefix,
                     std::unique_ptr<TableInCheckpoint>* opened);

  const std::string& prefix() const { return readers_.prefix(); }
  const TableMeta& meta() const { return meta_; }
  const tf::Tensor& bank() const { return bank_; }

  // See BundleReaders.
  Status ReadBucket(int bucket, const BundleReaders::UseBucket& use) {
    return readers_.ReadBucket(table_, bucket, meta_.is_delta(), use);
  }
  Status ReadWaiting(int bucket, WaitingTensors* tensors) {
    return readers_.ReadWaiting(table_, bucket, tensors);
  }

 private:
  TableInCheckpoint(tf::Env* env, const std::string& table, const std::string& prefix)
      : table_(table), readers_(env, prefix) {}

  const std::string table_;
  BundleReaders readers_;
  TableMeta meta_;
  tf::Tensor bank_;
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
