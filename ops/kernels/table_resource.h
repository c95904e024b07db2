// A table in TensorFlow's resource manager: core's Table plus the state a variable has too, that
// is whether it was initialized.
#ifndef ESTIMATOR_PLUGIN_OPS_KERNELS_TABLE_RESOURCE_H_
#define ESTIMATOR_PLUGIN_OPS_KERNELS_TABLE_RESOURCE_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "../core/gradient_accumulator.h"
#include "../core/parallel.h"
#include "../core/rw_lock.h"
#include "../core/table.h"
#include "../core/table_meta.h"
#include "tf_compat.h"

namespace estimator_plugin {

// The type of the values in rows. Another one needs kernels registered for it and nothing else.
using Value = float;
constexpr tf::DataType kValueType = tf::DT_FLOAT;

// The attrs of EpTableHandle.
struct TableConfig {
  TableOptions options;
  std::string key_dtype = "int64";
};

// Thread-safe. Its name takes part in the type check of resource handles: do not rename it lightly.
class TableResource : public tf::ResourceBase {
 public:
  // A table that is still uninitialized. The caller owns the one reference to it.
  static Status Create(const TableConfig& config, TableResource** resource);

  std::string DebugString() const override;
  TfInt64 MemoryUsed() const override;

  const TableConfig& config() const { return config_; }
  const std::string& name() const { return config_.options.name; }
  Table<Value>* table() const { return table_.get(); }
  bool initialized() const { return initialized_; }
  // In synchronous training over parameter servers.
  GradientAccumulator<Value>* accumulator() { return &accumulator_; }

  // InvalidArgument, naming what differs, when another op made the table with other attrs.
  Status CheckSameConfig(const TableConfig& other) const;

  // Removes all rows.
  Status Clear();

  // Empties the table and makes it ready. `bank` is [bank_rows, dim].
  Status Initialize(const Value* bank, int64_t bank_rows);

  // What a checkpoint says about the table in the save that `info` tells of.
  TableMeta Meta(const SaveInfo& info) const;

  // Where Replace takes the new content from; see Table::Import.
  struct Source {
    TableMeta meta;
    SavedAs saved;    // The checkpoint that the table goes on from, if any.
    tf::Tensor bank;  // [bank rows, dim]
    int num_parts = 0;
    std::function<Status(int)> load_part;
  };

  // Replaces the content and makes the table ready. A source that does not fit the table leaves it
  // as it was; an error on the way leaves it empty and uninitialized, which the message says.
  Status Replace(const Source& source, ParallelRunner* runner);

  // As Replace, for rows of a table that need not be this one: only the dim must agree. The rows
  // keep the slots of `layout`; the table keeps its own bank and goes on from no checkpoint.
  Status Load(const RowLayout& layout, const AdmissionState& admission, int num_parts,
              ParallelRunner* runner, const std::function<Status(int)>& load_part);

  // Runs `work` on the table, which stays ready and is not replaced meanwhile. FailedPrecondition,
  // at once, while the table is uninitialized; Aborted while it is being replaced: sessions that
  // outlive a restarted chief's restore then begin anew.
  Status WhileReady(const std::function<Status()>& work) const;

 private:
  TableResource(const TableConfig& config, std::unique_ptr<Table<Value>> table)
      : config_(config), table_(std::move(table)) {}

  Status CheckReady() const;
  Status CheckFits(const TableMeta& meta, const tf::Tensor& bank) const;
  Status CheckSame(const char* argument, const std::string& mine, const std::string& other) const;
  Status SetBank(const Value* bank, int64_t bank_rows);

  const TableConfig config_;
  const std::unique_ptr<Table<Value>> table_;
  GradientAccumulator<Value> accumulator_;
  mutable RwLock lifecycle_;              // Exclusive while the content is replaced.
  std::atomic<bool> initialized_{false};  // Written under the exclusive lock.
  std::atomic<bool> replacing_{false};    // A ready table's content is being replaced.
};

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_KERNELS_TABLE_RESOURCE_H_
