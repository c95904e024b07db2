#include "table_resource.h"

#include <algorithm>
#include <sstream>

#include "../core/hash.h"

namespace estimator_plugin {

namespace {

std::string InitializerText(const InitializerSpec& spec) {
  std::ostringstream out;
  out << spec.kind << "(";
  for (double argument : spec.arguments) out << argument << ", ";
  out << "seed=" << static_cast<int64_t>(spec.seed) << ")";
  return out.str();
}

std::string RangeText(ShardRange buckets) {
  return std::to_string(buckets.begin) + " to " + std::to_string(buckets.end - 1);
}

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

Status TableResource::Create(const TableConfig& config, TableResource** resource) {
  if (config.key_dtype != "int64" && config.key_dtype != "int32") {
    return Error(Code::kInvalidArgument, "table '", config.options.name, "': key_dtype is '",
                 config.key_dtype, "', want int64 or int32");
  }
  std::unique_ptr<Table<Value>> table;
  EP_RETURN_IF_ERROR(Table<Value>::Create(config.options, &table));
  *resource = new TableResource(config, std::move(table));
  return Status();
}

std::string TableResource::DebugString() const {
  std::ostringstream out;
  out << "Embedding table '" << name() << "': dim " << table_->dim() << ", "
      << config_.options.num_buckets << " buckets, " << table_->size() << " rows";
  return out.str();
}

TfInt64 TableResource::MemoryUsed() const { return table_->stats().bytes; }

Status TableResource::CheckSame(const char* argument, const std::string& mine,
                                const std::string& other) const {
  if (mine == other) return Status();
  return Error(Code::kInvalidArgument, "table '", name(), "' exists with ", argument, " ", mine,
               "; it is asked for again with ", argument, " ", other,
               ". Give the second table another name, or the same settings");
}

Status TableResource::CheckSameConfig(const TableConfig& other) const {
  const TableOptions& mine = config_.options;
  const TableOptions& theirs = other.options;
  EP_RETURN_IF_ERROR(CheckSame("name", mine.name, theirs.name));
  EP_RETURN_IF_ERROR(CheckSame("dim", std::to_string(mine.dim), std::to_string(theirs.dim)));
  EP_RETURN_IF_ERROR(CheckSame("num_buckets", std::to_string(mine.num_buckets),
                               std::to_string(theirs.num_buckets)));
  EP_RETURN_IF_ERROR(
      CheckSame("buckets", RangeText(mine.owned_buckets()), RangeText(theirs.owned_buckets())));
  EP_RETURN_IF_ERROR(CheckSame("key_dtype", config_.key_dtype, other.key_dtype));
  return CheckSame("initializer", InitializerText(mine.initializer),
                   InitializerText(theirs.initializer));
}

Status TableResource::SetBank(const Value* bank, int64_t bank_rows) {
  if (config_.options.initializer.kind != "bank") return Status();
  return table_->SetInitializerBank(bank, bank_rows);
}

Status TableResource::Clear() {
  EP_RETURN_IF_ERROR(table_->Clear());
  accumulator_.Reset();  // Its gradients are of rows that are gone.
  return Status();
}

Status TableResource::Initialize(const Value* bank, int64_t bank_rows) {
  ExclusiveLock lock(&lifecycle_);
  Status status = Clear();
  if (status.ok()) status = SetBank(bank, bank_rows);
  initialized_ = status.ok();
  return status;
}

TableMeta TableResource::Meta(const SaveInfo& info) const {
  TableMeta meta;
  meta.hash_version = kHashVersion;
  meta.key_dtype = config_.key_dtype;
  meta.num_buckets = config_.options.num_buckets;
  meta.layout = info.layout;
  meta.initializer = config_.options.initializer;
  meta.save_id = info.save_id;
  meta.parent = BaseName(info.parent.checkpoint);
  meta.parent_id = info.parent.save_id;
  meta.admission = info.admission;
  return meta;
}

Status TableResource::CheckFits(const TableMeta& meta, const tf::Tensor& bank) const {
  SaveInfo none = {};
  none.layout = table_->layout();
  const TableMeta mine = Meta(none);
  const auto differ = [this](const char* what, const auto& theirs, const auto& wanted) {
    return Error(Code::kInvalidArgument, "table '", name(), "': the checkpoint has ", what, " ",
                 theirs, ", the table has ", what, " ", wanted);
  };
  if (meta.layout.dim != mine.layout.dim) return differ("dim", meta.layout.dim, mine.layout.dim);
  if (meta.key_dtype != mine.key_dtype) return differ("key_dtype", meta.key_dtype, mine.key_dtype);
  if (meta.value_dtype != mine.value_dtype) {
    return differ("value_dtype", meta.value_dtype, mine.value_dtype);
  }
  if (meta.num_buckets != mine.num_buckets) {
    return differ("num_buckets", meta.num_buckets, mine.num_buckets);
  }
  if (meta.hash_version != mine.hash_version) {
    return differ("hash_version", meta.hash_version, mine.hash_version);
  }
  if (mine.initializer.kind != "bank") return Status();
  if (bank.dims() != 2 || bank.dim_size(1) != mine.layout.dim) {
    return differ("a bank of shape", bank.shape().DebugString(),
                  "[rows, " + std::to_string(mine.layout.dim) + "]");
  }
  if (bank.dim_size(0) > 0) return Status();
  return differ("initializer", InitializerText(meta.initializer),
                InitializerText(mine.initializer) + ", whose bank of rows the checkpoint lacks");
}

Status TableResource::Replace(const Source& source, ParallelRunner* runner) {
  EP_RETURN_IF_ERROR(CheckFits(source.meta, source.bank));
  ExclusiveLock lock(&lifecycle_);
  replacing_ = initialized_.load();
  initialized_ = false;
  accumulator_.Reset();
  Status status = SetBank(source.bank.flat<Value>().data(), source.bank.dim_size(0));
  if (status.ok())
    status = table_->Import(source.meta.layout, source.saved, source.num_parts, runner,
                            source.load_part);
  initialized_ = status.ok();
  replacing_ = false;
  if (initialized_) table_->admission()->Restore(source.meta.admission);
  if (initialized_) return Status();
  return Error(status.code(), status.message(), " (table '", name(),
               "' is empty and uninitialized now)");
}

Status TableResource::Load(const RowLayout& layout, const AdmissionState& admission, int num_parts,
                           ParallelRunner* runner, const std::function<Status(int)>& load_part) {
  ExclusiveLock lock(&lifecycle_);
  EP_RETURN_IF_ERROR(CheckReady());
  accumulator_.Reset();
  EP_RETURN_IF_ERROR(table_->Import(layout, SavedAs(), num_parts, runner, load_part));
  table_->admission()->Restore(admission);
  return Status();
}

Status TableResource::CheckReady() const {
  if (initialized_) return Status();
  if (replacing_) return Error(Code::kAborted, "table '", name(), "' is being restored");
  if (initialized_) return Status();  // The restore has ended between the two questions.
  return Error(Code::kFailedPrecondition, "table '", name(),
               "' is uninitialized: run its initializer or restore a checkpoint first");
}

Status TableResource::WhileReady(const std::function<Status()>& work) const {
  EP_RETURN_IF_ERROR(CheckReady());  // Without waiting for a restore that goes on.
  SharedLock lock(&lifecycle_);
  EP_RETURN_IF_ERROR(CheckReady());
  return work();
}

}  // namespace estimator_plugin
