// The four arrays of a bucket's rows as tensors: the same for export, import and checkpoints.
#ifndef ESTIMATOR_PLUGIN_OPS_KERNELS_ROW_ARRAYS_H_
#define ESTIMATOR_PLUGIN_OPS_KERNELS_ROW_ARRAYS_H_

#include <string>
#include <vector>

#include "../core/bucket.h"
#include "table_resource.h"
#include "tf_compat.h"

namespace estimator_plugin {

enum class RowArray { kKeys, kRows, kCounts, kLastSeen };

// In the order of their values; also the order in which a checkpoint holds them.
constexpr RowArray kRowArrays[] = {RowArray::kKeys, RowArray::kRows, RowArray::kCounts,
                                   RowArray::kLastSeen};

// "keys", "rows", "counts" or "last_seen", as in core/table_meta.h.
const char* NameOf(RowArray array);
tf::DataType DtypeOf(RowArray array);

// Keys, counts and last-seen times are [n], rows [n, width].
class RowTensors {
 public:
  tf::Tensor& of(RowArray array) { return tensors_[static_cast<int>(array)]; }
  const tf::Tensor& of(RowArray array) const { return tensors_[static_cast<int>(array)]; }

 private:
  tf::Tensor tensors_[4];
};

// Tensors over the view's memory, which they keep alive. TensorFlow never writes into them: they
// do not own their memory.
RowTensors ViewTensors(const BucketView<Value>& view, int64_t width);

// The keys of a bucket that wait for admission: keys and counts and times of [n], or a sketch.
enum class WaitingArray { kKeys, kCounts, kLastSeen, kSketch };

constexpr WaitingArray kWaitingArrays[] = {WaitingArray::kKeys, WaitingArray::kCounts,
                                           WaitingArray::kLastSeen, WaitingArray::kSketch};

const char* NameOf(WaitingArray array);
tf::DataType DtypeOf(WaitingArray array);

// Vectors, empty where there is nothing.
class WaitingTensors {
 public:
  WaitingTensors();
  explicit WaitingTensors(const WaitingRecords& records);

  tf::Tensor& of(WaitingArray array) { return tensors_[static_cast<int>(array)]; }
  const tf::Tensor& of(WaitingArray array) const { return tensors_[static_cast<int>(array)]; }

 private:
  tf::Tensor tensors_[4];
};

// Hands them to a part of the table after a check of shapes; see Table::ImportWaiting.
Status ImportWaiting(TableResource* resource, int part, int num_parts,
                     const WaitingTensors& tensors);

// The keys that a delta removes from a bucket lie beside the arrays.
constexpr const char* kRemovedName = "removed";

// Hands rows saved with `layout` to a part of the table (see Table::ImportRows) after a check of
// shapes; `removed` is [n]. Slots of the rows that `layout` does not name are left out if
// `saved_width` counts them. REQUIRES: called from within TableResource::Replace.
Status ImportTensors(TableResource* resource, int part, int num_parts, const RowLayout& layout,
                     int64_t saved_width, const RowTensors& tensors, const tf::Tensor& removed);

// What a checkpoint holds of a table beside the rows.
std::string MetaText(const TableResource& resource, const SaveInfo& info);
// The reverse of MetaText.
Status ParseMeta(const std::string& table, const std::string& text, TableMeta* meta);
// The save that the text of a meta describes. InvalidArgument if it is another table's.
Status ParseSave(const TableResource& resource, const std::string& text, SaveInfo* info);
tf::Tensor BankTensor(const TableResource& resource);
tf::Tensor KeysTensor(const std::vector<int64_t>& keys);
tf::Tensor ScalarTensor(const std::string& text);

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_KERNELS_ROW_ARRAYS_H_
