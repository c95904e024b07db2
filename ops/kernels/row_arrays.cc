#include "row_arrays.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "input_checks.h"
#include "view_tensor.h"

namespace estimator_plugin {
namespace {

template <typename T>
tf::Tensor VectorTensor(const std::vector<T>& values) {
  tf::Tensor tensor(tf::DataTypeToEnum<T>::value,
                    tf::TensorShape({static_cast<int64_t>(values.size())}));
  std::copy(values.begin(), values.end(), tensor.vec<T>().data());
  return tensor;
}

// What Python can decode, whatever text a damaged meta made the message quote.
std::string AsciiOnly(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return (c < ' ' && c != '\n') || c > '~'; }, '?');
  return text;
}

}  // namespace

const char* NameOf(RowArray array) {
  static const char* const names[] = {"keys", "rows", "counts", "last_seen"};
  return names[static_cast<int>(array)];
}

tf::DataType DtypeOf(RowArray array) {
  static const tf::DataType dtypes[] = {tf::DT_INT64, kValueType, tf::DT_INT32, tf::DT_INT64};
  return dtypes[static_cast<int>(array)];
}

RowTensors ViewTensors(const BucketView<Value>& view, int64_t width) {
  const tf::TensorShape vector({view.rows});
  const tf::TensorShape matrix({view.rows, width});
  RowTensors tensors;
  tensors.of(RowArray::kKeys) = ViewTensor(tf::DT_INT64, vector, view.keys, view.owner);
  tensors.of(RowArray::kRows) = ViewTensor(kValueType, matrix, view.values, view.owner);
  tensors.of(RowArray::kCounts) = ViewTensor(tf::DT_INT32, vector, view.counts, view.owner);
  tensors.of(RowArray::kLastSeen) = ViewTensor(tf::DT_INT64, vector, view.last_seen, view.owner);
  return tensors;
}

Status ImportTensors(TableResource* resource, int part, int num_parts, const RowLayout& layout,
                     int64_t saved_width, const RowTensors& tensors, const tf::Tensor& removed) {
  const tf::Tensor& keys = tensors.of(RowArray::kKeys);
  const tf::TensorShape vector({keys.NumElements()});
  const tf::TensorShape matrix({keys.NumElements(), saved_width});
  for (RowArray array : kRowArrays) {
    const tf::Tensor& tensor = tensors.of(array);
    const tf::TensorShape& wanted = array == RowArray::kRows ? matrix : vector;
    if (tensor.shape() == wanted) continue;
    return WrongShape(*resource, std::string(NameOf(array)) + "[" + std::to_string(part) + "]",
                      tensor.shape(), wanted.DebugString());
  }
  ImportedRows<Value> rows;
  rows.layout = layout;
  rows.width = saved_width;
  rows.rows = keys.NumElements();
  rows.keys = Int64Data(keys);
  rows.values = tensors.of(RowArray::kRows).flat<Value>().data();
  rows.counts = tensors.of(RowArray::kCounts).flat<tf::int32>().data();
  rows.last_seen = Int64Data(tensors.of(RowArray::kLastSeen));
  rows.num_removed = removed.NumElements();
  rows.removed = Int64Data(removed);
  return resource->table()->ImportRows(part, num_parts, rows);
}

const char* NameOf(WaitingArray array) {
  static const char* const names[] = {"waiting_keys", "waiting_counts", "waiting_last_seen",
                                      "sketch"};
  return names[static_cast<int>(array)];
}

tf::DataType DtypeOf(WaitingArray array) {
  static const tf::DataType dtypes[] = {tf::DT_INT64, tf::DT_INT32, tf::DT_INT64, tf::DT_INT32};
  return dtypes[static_cast<int>(array)];
}

WaitingTensors::WaitingTensors() {
  for (WaitingArray array : kWaitingArrays) {
    of(array) = tf::Tensor(DtypeOf(array), tf::TensorShape({0}));
  }
}

WaitingTensors::WaitingTensors(const WaitingRecords& records) {
  of(WaitingArray::kKeys) = KeysTensor(records.keys);
  of(WaitingArray::kCounts) = VectorTensor<tf::int32>(records.counts);
  of(WaitingArray::kLastSeen) = KeysTensor(records.last_seen);
  of(WaitingArray::kSketch) = VectorTensor<tf::int32>(records.sketch);
}

Status ImportWaiting(TableResource* resource, int part, int num_parts,
                     const WaitingTensors& tensors) {
  const tf::TensorShape& wanted = tensors.of(WaitingArray::kKeys).shape();
  for (WaitingArray array : kWaitingArrays) {
    const tf::Tensor& tensor = tensors.of(array);
    const bool fits = array == WaitingArray::kSketch || tensor.shape() == wanted;
    if (tensor.dims() == 1 && fits) continue;
    return WrongShape(*resource, std::string(NameOf(array)) + "[" + std::to_string(part) + "]",
                      tensor.shape(), fits ? "a vector" : wanted.DebugString());
  }
  WaitingView view;
  view.n = wanted.num_elements();
  view.keys = Int64Data(tensors.of(WaitingArray::kKeys));
  view.counts = tensors.of(WaitingArray::kCounts).flat<tf::int32>().data();
  view.last_seen = Int64Data(tensors.of(WaitingArray::kLastSeen));
  view.sketch_cells = tensors.of(WaitingArray::kSketch).NumElements();
  view.sketch = tensors.of(WaitingArray::kSketch).flat<tf::int32>().data();
  return resource->table()->ImportWaiting(part, num_parts, view);
}

std::string MetaText(const TableResource& resource, const SaveInfo& info) {
  return SerializeTableMeta(resource.Meta(info));
}

Status ParseMeta(const std::string& table, const std::string& text, TableMeta* meta) {
  const Status parsed = ParseTableMeta(text, meta);
  if (parsed.ok()) return parsed;
  return Error(parsed.code(), "table '", table, "': ", AsciiOnly(parsed.message()));
}

Status ParseSave(const TableResource& resource, const std::string& text, SaveInfo* info) {
  TableMeta meta;
  EP_RETURN_IF_ERROR(ParseMeta(resource.name(), text, &meta));
  const TableOptions& options = resource.config().options;
  if (meta.layout.dim != options.dim || meta.num_buckets != options.num_buckets) {
    return Error(Code::kInvalidArgument, "table '", resource.name(), "': the meta of the save is ",
                 "of a table of dim ", meta.layout.dim, " and ", meta.num_buckets,
                 " buckets; this one has dim ", options.dim, " and ", options.num_buckets);
  }
  info->kind = meta.is_delta() ? SaveKind::kDelta : SaveKind::kFull;
  info->layout = meta.layout;
  info->save_id = meta.save_id;
  info->parent = {meta.parent_id, meta.parent};
  info->admission = meta.admission;
  return Status();
}

tf::Tensor KeysTensor(const std::vector<int64_t>& keys) {
  tf::Tensor tensor(tf::DT_INT64, tf::TensorShape({static_cast<int64_t>(keys.size())}));
  std::copy(keys.begin(), keys.end(), Int64Data(&tensor));
  return tensor;
}

tf::Tensor ScalarTensor(const std::string& text) {
  tf::Tensor tensor(tf::DT_STRING, tf::TensorShape({}));
  tensor.scalar<tf::tstring>()() = text;
  return tensor;
}

tf::Tensor BankTensor(const TableResource& resource) {
  const std::vector<Value>& bank = resource.table()->initializer_bank();
  const int64_t dim = resource.table()->dim();
  tf::Tensor tensor(kValueType, tf::TensorShape({static_cast<int64_t>(bank.size()) / dim, dim}));
  std::copy(bank.begin(), bank.end(), tensor.flat<Value>().data());
  return tensor;
}

}  // namespace estimator_plugin
