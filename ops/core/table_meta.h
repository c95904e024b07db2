// What a checkpoint says about a table, as text: one `name=value` line per fact. Written to the
// tensor <table>/meta; estimator_plugin/checkpoint/meta.py reads the same text.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_TABLE_META_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_TABLE_META_H_

#include <cstdint>
#include <string>

#include "admission.h"
#include "initializer.h"
#include "row_layout.h"
#include "status.h"

namespace estimator_plugin {

constexpr int kCheckpointFormatVersion = 1;

struct TableMeta {
  int format_version = kCheckpointFormatVersion;
  int hash_version = 0;
  std::string key_dtype = "int64";
  std::string value_dtype = "float32";
  int num_buckets = 0;
  RowLayout layout;
  InitializerSpec initializer;
  uint64_t save_id = 0;    // See SavedAs.
  std::string parent;      // The checkpoint a delta is relative to, in the same directory; else "".
  uint64_t parent_id = 0;  // Its save_id.
  AdmissionState admission;  // As it starts where a checkpoint says nothing of it.

  bool is_delta() const { return !parent.empty(); }
};

std::string SerializeTableMeta(const TableMeta& meta);

// DataLoss for text that is not a table's meta or of a newer format version.
Status ParseTableMeta(const std::string& text, TableMeta* meta);

// The tensor names of a table in a checkpoint. Nothing else spells them.
std::string MetaTensorName(const std::string& table);
std::string BankTensorName(const std::string& table);
// `array` is one of "keys", "rows", "counts", "last_seen", in a delta "removed", and for keys that
// wait for admission "waiting_keys", "waiting_counts", "waiting_last_seen" or "sketch".
std::string BucketTensorName(const std::string& table, int bucket, const char* array);

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_TABLE_META_H_
