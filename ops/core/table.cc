#include "table.h"

#include <algorithm>

#include "hash.h"

namespace estimator_plugin {
namespace {

Status CheckOptions(const TableOptions& options) {
  if (options.dim < 1 || options.dim > kMaxDim) {
    return Error(Code::kInvalidArgument, "table '", options.name, "': dim is ", options.dim,
                 "; it must be from 1 to ", kMaxDim);
  }
  const int n = options.num_buckets;
  if (!IsNumBuckets(n)) {
    return Error(Code::kInvalidArgument, "table '", options.name, "': num_buckets is ", n,
                 "; it must be a power of two from 1 to ", kMaxBuckets);
  }
  const ShardRange owned = options.owned_buckets();
  if (owned.begin < 0 || owned.begin >= owned.end || owned.end > n) {
    return Error(Code::kInvalidArgument, "table '", options.name, "': first_bucket and end_bucket ",
                 "are ", options.first_bucket, " and ", options.end_bucket,
                 "; they must be a range of its ", n, " buckets");
  }
  return Status();
}

}  // namespace

template <typename V>
Table<V>::Table(const TableOptions& options)
    : options_(options), bucket_shift_(BucketShift(options.num_buckets)) {
  layout_.dim = options.dim;
  MakeBuckets();
}

template <typename V>
void Table<V>::MakeBuckets() {
  buckets_.clear();
  ++generation_;
  arena_.reset(new IndexArena);
  for (int b = 0; b < options_.num_buckets; ++b) {
    buckets_.emplace_back(new Bucket<V>(arena_.get(), layout_.width(), b, generation_));
  }
}

template <typename V>
Status Table<V>::Create(const TableOptions& options, std::unique_ptr<Table>* table) {
  EP_RETURN_IF_ERROR(CheckOptions(options));
  std::unique_ptr<Table> made(new Table(options));
  if (options.initializer.kind != "bank") {
    EP_RETURN_IF_ERROR(made->SetInitializerBank(nullptr, 0));
  }
  *table = std::move(made);
  return Status();
}

template <typename V>
Status Table<V>::SetInitializerBank(const V* bank, int64_t bank_rows) {
  std::unique_ptr<Initializer<V>> initializer;
  const Status status = MakeInitializer(options_.initializer, dim(), bank, bank_rows, &initializer);
  if (!status.ok()) return Error(status.code(), "table '", options_.name, "': ", status.message());
  ExclusiveLock layout(&layout_lock_);
  bank_.assign(bank, bank + bank_rows * dim());
  initializer_ = std::move(initializer);
  return Status();
}

template <typename V>
void Table<V>::InitializeRow(int64_t key, V* row) const {
  initializer_->Fill(key, row, dim());
  for (const SlotSpec& slot : layout_.slots) {
    row += dim();
    std::fill_n(row, dim(), static_cast<V>(slot.initial_value));
  }
}

template <typename V>
Status Table<V>::EnsureSlots(const std::vector<SlotSpec>& slots, bool* changed) {
  {
    SharedLock layout(&layout_lock_);
    if (layout_.slots == slots) return Status();
  }
  ExclusiveLock layout(&layout_lock_);
  if (SameSlotNames(layout_.slots, slots)) {
    layout_.slots = slots;  // Only what new rows start from has changed.
    return Status();
  }
  RowLayout wanted;
  wanted.dim = dim();
  wanted.slots = slots;
  std::vector<std::unique_ptr<RowStore>> stores;
  int64_t rows = 0;
  for (int b = 0; b < options_.num_buckets; ++b) {
    const Bucket<V>& bucket = *buckets_[b];
    stores.emplace_back(Bucket<V>::NewStore(wanted.width(), generation_));
    EP_RETURN_IF_ERROR(stores.back()->CopyMetadata(*bucket.store));
    for (uint32_t r = 0; r < bucket.store->used(); ++r) {
      if (!bucket.store->IsLive(r)) continue;
      ConvertRow(layout_, bucket.row(r), wanted, reinterpret_cast<V*>(stores.back()->row(r)));
    }
    rows += bucket.store->live();
  }
  for (int b = 0; b < options_.num_buckets; ++b) {
    Bucket<V>& bucket = *buckets_[b];
    bucket.store = std::move(stores[b]);
    for (uint32_t r = 0; r < bucket.store->used(); ++r) {
      if (bucket.store->IsLive(r)) bucket.changes.MarkChanged(r);
    }
  }
  // A table's first optimizer meets rows of its first batch only: no state was lost.
  *changed = rows > 0 && !layout_.slots.empty();
  layout_ = wanted;
  return Status();
}

template <typename V>
Status Table<V>::Clear() {
  ExclusiveLock layout(&layout_lock_);
  counters_.rows_removed += LiveRows();
  MakeBuckets();
  admission_.Restore(AdmissionState());
  saves_.Reset(SavedAs());
  return Status();
}

template <typename V>
RowLayout Table<V>::layout() const {
  SharedLock layout(&layout_lock_);
  return layout_;
}

template <typename V>
int64_t Table<V>::LiveRows() const {
  int64_t rows = 0;
  SharedLock lock(&rows_lock_);
  for (const auto& bucket : buckets_) {
    rows += bucket->store->live();
  }
  return rows;
}

template <typename V>
int64_t Table<V>::size() const {
  SharedLock layout(&layout_lock_);
  return LiveRows();
}

template <typename V>
TableStats Table<V>::stats() const {
  SharedLock layout(&layout_lock_);
  TableStats stats;
  SharedLock lock(&rows_lock_);
  std::lock_guard<std::mutex> usage(*admission_.mutex());
  for (const auto& bucket : buckets_) {
    stats.rows += bucket->store->live();
    stats.bytes += bucket->store->bytes() + bucket->index.bytes() + bucket->changes.bytes();
    if (bucket->filter == nullptr) continue;
    stats.waiting += bucket->filter->waiting();
    stats.bytes += bucket->filter->bytes();
  }
  stats.keys_looked_up = counters_.keys_looked_up;
  stats.keys_found = counters_.keys_found;
  stats.rows_inserted = counters_.rows_inserted;
  stats.rows_removed = counters_.rows_removed;
  stats.rows_updated = counters_.rows_updated;
  stats.rows_admitted = counters_.rows_admitted;
  stats.keys_refused = counters_.keys_refused;
  stats.rows_evicted = counters_.rows_evicted;
  stats.waiting_evicted = counters_.waiting_evicted;
  stats.stale_updates = counters_.stale_updates;
  stats.stale_reads = counters_.stale_reads;
  stats.backward_clocks = admission_.backward_clocks();
  return stats;
}

template class Table<float>;

}  // namespace estimator_plugin
