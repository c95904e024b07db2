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
    copy->counts.push_back(store.counts()[r]);
    copy->last_seen.push_back(store.last_seen()[r]);
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

// All rows: in place, unless freed ones lie among them.
template <typename V>
BucketView<V> ViewRows(const Bucket<V>& bucket, int64_t width) {
  const RowStore& store = *bucket.store;
  if (store.live() != store.used()) return CopyRows(bucket, width, LiveRowsOf(store));
  BucketView<V> view;
  view.owner = store.Pin();
  view.rows = store.live();
  view.keys = store.keys();
  view.values = bucket.row(0);
  view.counts = store.counts();
  view.last_seen = store.last_seen();
  return view;
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
  SaveInfo info = {kind, layout_, saves_.Begin(), delta ? saves_.base() : SavedAs()};
  EP_RETURN_IF_ERROR(begin(info));
  const std::vector<int64_t> nothing;
  for (int b = 0; b < options_.num_buckets; ++b) {
    Bucket<V>& bucket = *buckets_[b];
    BucketView<V> view;
    std::vector<int64_t> removed;
    {
      ExclusiveLock lock(&rows_lock_);
      bucket.changes.Capture();
      if (delta) {
        view = CopyRows(bucket, layout_.width(), bucket.changes.CapturedRows());
        removed = bucket.changes.captured_removals();
      } else {
        view = ViewRows(bucket, layout_.width());
      }
    }
    EP_RETURN_IF_ERROR(visit(b, view, removed));
  }
  return Status();
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
