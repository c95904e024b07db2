// Table::Remove and Export: rows that leave the table.
#include <algorithm>

#include "hash.h"
#include "table.h"

namespace estimator_plugin {
namespace {

// Lookups and updates get their turn after so many removals.
constexpr int64_t kRemovedAtOnce = 1024;

// Rows that do not lie side by side in their bucket.
template <typename V>
struct CompactRows {
  std::vector<int64_t> keys;
  std::vector<V> values;
  std::vector<int32_t> counts;
  std::vector<int64_t> last_seen;
};

template <typename V>
BucketView<V> CopyRows(const Bucket<V>& bucket, int64_t width, const std::vector<uint32_t>& rows) {
  const RowStore& store = *bucket.store;
  const auto copy = std::make_shared<CompactRows<V>>();
  copy->keys.reserve(rows.size());
  copy->values.reserve(rows.size() * width);
  copy->counts.reserve(rows.size());
  copy->last_seen.reserve(rows.size());
  for (uint32_t r : rows) {
    copy->keys.push_back(store.keys()[r]);
    copy->values.insert(copy->values.end(), bucket.row(r), bucket.row(r) + width);
    copy->counts.push_back(store.uses()[r].count);
    copy->last_seen.push_back(store.uses()[r].last_seen);
  }
  BucketView<V> view;
  view.rows = static_cast<int64_t>(rows.size());
  view.keys = copy->keys.data();
  view.values = copy->values.data();
  view.counts = copy->counts.data();
  view.last_seen = copy->last_seen.data();
  view.owner = copy;
  return view;
}

std::vector<uint32_t> LiveRowsOf(const RowStore& store) {
  std::vector<uint32_t> rows;
  rows.reserve(store.live());
  for (uint32_t r = 0; r < store.used(); ++r) {
    if (store.IsLive(r)) rows.push_back(r);
  }
  return rows;
}

// What a view of all rows keeps alive: the rows, and copies of their counts and times.
struct PinnedRows {
  std::shared_ptr<const void> rows;
  std::shared_ptr<MappedRange> uses;
};

// All rows: in place, unless freed ones lie among them.
template <typename V>
Status ViewRows(const Bucket<V>& bucket, int64_t width, BucketView<V>* view) {
  const RowStore& store = *bucket.store;
  if (store.live() != store.used()) {
    *view = CopyRows(bucket, width, LiveRowsOf(store));
    return Status();
  }
  const int64_t n = store.live();
  const int64_t count_bytes = RoundUp(n * static_cast<int64_t>(sizeof(int32_t)), kPageBytes);
  const auto owner = std::make_shared<PinnedRows>();
  owner->rows = store.Pin();
  owner->uses = MappedRange::Reserve(count_bytes + n * static_cast<int64_t>(sizeof(int64_t)));
  if (owner->uses == nullptr) {
    return Error(Code::kResourceExhausted, "no memory for the counts of ", n, " rows");
  }
  int32_t* const counts = reinterpret_cast<int32_t*>(owner->uses->base());
  int64_t* const last_seen = reinterpret_cast<int64_t*>(owner->uses->base() + count_bytes);
  for (int64_t r = 0; store.has_usage() && r < n; ++r) {  // Else zeros, which take no memory.
    counts[r] = store.uses()[r].count;
    last_seen[r] = store.uses()[r].last_seen;
  }
  *view = BucketView<V>();
  view->rows = n;
  view->keys = store.keys();
  view->values = bucket.row(0);
  view->counts = counts;
  view->last_seen = last_seen;
  view->owner = owner;
  return Status();
}

}  // namespace

template <typename V>
Status Table<V>::Remove(const int64_t* keys, int64_t n, int64_t* removed) {
  *removed = 0;
  SharedLock layout(&layout_lock_);
  for (int64_t begin = 0; begin < n; begin += kRemovedAtOnce) {
    ExclusiveLock lock(&rows_lock_);
    for (int64_t i = begin; i < std::min(begin + kRemovedAtOnce, n); ++i) {
      if (keys[i] != kNoKey && RemoveRow(keys[i])) ++*removed;
    }
  }
  counters_.rows_removed += *removed;
  return Status();
}

template <typename V>
bool Table<V>::RemoveRow(int64_t key) {
  const uint64_t hash = MixKey(key);
  Bucket<V>& bucket = *buckets_[BucketOfHash(hash, bucket_shift_)];
  const uint32_t row = bucket.index.Remove(key, hash);
  if (row == kNoRow) return false;
  bucket.store->Free(row);
  bucket.changes.RemoveRow(row, key, bucket.store->live());
  return true;
}

template <typename V>
bool Table<V>::can_save_delta() const {
  if (!saves_.base().exists()) return false;
  SharedLock layout(&layout_lock_);
  SharedLock lock(&rows_lock_);
  return std::all_of(buckets_.begin(), buckets_.end(),
                     [](const std::unique_ptr<Bucket<V>>& b) { return b->changes.complete(); });
}

template <typename V>
Status Table<V>::Export(SaveKind kind, const BeginSave& begin, const VisitBucket& visit) {
  const bool delta = kind == SaveKind::kDelta;
  if (delta && !can_save_delta()) {
    return Error(Code::kFailedPrecondition, "table '", options_.name,
                 "' has no whole checkpoint that all changes since are known of; save a full one");
  }
  SharedLock layout(&layout_lock_);
  SaveInfo info = {kind, layout_, saves_.Begin(), delta ? saves_.base() : SavedAs(),
                   admission_.state()};
  EP_RETURN_IF_ERROR(begin(info));
  const std::vector<int64_t> nothing;
  for (int b = 0; b < options_.num_buckets; ++b) {
    Bucket<V>& bucket = *buckets_[b];
    BucketView<V> view;
    std::vector<int64_t> removed;
    {
      ExclusiveLock lock(&rows_lock_);
      for (uint32_t row : bucket.store->TakeTouched()) bucket.changes.MarkChanged(row);
      bucket.changes.Capture();
      if (delta) {
        view = CopyRows(bucket, layout_.width(), bucket.changes.CapturedRows());
        removed = bucket.changes.captured_removals();
      } else {
        EP_RETURN_IF_ERROR(ViewRows(bucket, layout_.width(), &view));
      }
      view.waiting = bucket.SaveWaiting();
    }
    EP_RETURN_IF_ERROR(visit(b, view, removed));
  }
  return Status();
}

template <typename V>
std::vector<std::shared_ptr<const WaitingRecords>> Table<V>::ExportWaiting() const {
  std::vector<std::shared_ptr<const WaitingRecords>> waiting;
  SharedLock layout(&layout_lock_);
  for (const auto& bucket : buckets_) {
    ExclusiveLock lock(&rows_lock_);
    waiting.push_back(bucket->SaveWaiting());
  }
  return waiting;
}

template <typename V>
bool Table<V>::CommitSave(const SavedAs& saved) {
  SharedLock layout(&layout_lock_);
  if (saves_.IsBase(saved)) return true;
  if (!saves_.Commit(saved)) return false;
  for (const auto& bucket : buckets_) {
    ExclusiveLock lock(&rows_lock_);
    bucket->changes.Commit();
  }
  return true;
}

template class Table<float>;

}  // namespace estimator_plugin
