// Table::Remove and Export: rows that leave the table.
#include <algorithm>
#include <cstring>

#include "hash.h"
#include "mapped_range.h"
#include "row_copy.h"
#include "table.h"

namespace estimator_plugin {
namespace {

// Lookups and updates get their turn after so many removals.
constexpr int64_t kRemovedAtOnce = 1024;

// Bytes of a delta's rows that are copied at once, and so held beside the table.
constexpr int64_t kCopiedAtOnce = 4 << 20;

// Rows ahead that their memory is asked for: the rows of a delta lie anywhere.
constexpr size_t kRowsAhead = 8;

// Memory of one view, cut into arrays that vector instructions may read.
class ViewArrays {
 public:
  explicit ViewArrays(int64_t bytes) : memory_(new char[bytes + kArrays * kAlignment]) {
    next_ = reinterpret_cast<char*>(
        RoundUp(reinterpret_cast<int64_t>(memory_.get()), int64_t{kAlignment}));
  }

  // REQUIRES: at most kArrays - 1 arrays of as many bytes as there are.
  template <typename T>
  T* Take(int64_t count) {
    T* const array = reinterpret_cast<T*>(next_);
    next_ += RoundUp(count * static_cast<int64_t>(sizeof(T)), int64_t{kAlignment});
    return array;
  }

 private:
  static constexpr int64_t kAlignment = 64;
  static constexpr int64_t kArrays = 5;

  const std::unique_ptr<char[]> memory_;
  char* next_;
};

// Rows that do not lie side by side in their bucket.
template <typename V>
BucketView<V> CopyRows(const Bucket<V>& bucket, int64_t width, const std::vector<uint32_t>& rows) {
  const RowStore& store = *bucket.store;
  const int64_t n = static_cast<int64_t>(rows.size());
  const int64_t row_bytes = store.row_bytes();
  const auto memory = std::make_shared<ViewArrays>(n * (row_bytes + RowStore::kMetadataBytes));
  int64_t* const keys = memory->template Take<int64_t>(n);
  V* const values = memory->template Take<V>(n * width);
  int32_t* const counts = memory->template Take<int32_t>(n);
  int64_t* const last_seen = memory->template Take<int64_t>(n);
  const bool has_usage = store.has_usage();  // Else they are zeros that no memory backs.
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i + kRowsAhead < rows.size()) {
      const uint32_t ahead = rows[i + kRowsAhead];
      PrefetchBytes(store.row(ahead), row_bytes);
      __builtin_prefetch(store.keys() + ahead);
    }
    const uint32_t row = rows[i];
    keys[i] = store.keys()[row];
    std::memcpy(values + i * width, store.row(row), row_bytes);
    counts[i] = has_usage ? store.counts()[row] : 0;
    last_seen[i] = has_usage ? store.last_seen()[row] : 0;
  }
  BucketView<V> view;
  view.rows = n;
  view.keys = keys;
  view.values = values;
  view.counts = counts;
  view.last_seen = last_seen;
  view.owner = memory;
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

// What one bucket gives to a save.
template <typename V>
struct BucketPart {
  BucketView<V> view;
  std::vector<int64_t> removed;
};

template <typename V>
BucketPart<V> TakeAll(Bucket<V>* bucket, int64_t width) {
  bucket->changes.Capture();
  return {ViewRows(*bucket, width), {}};
}

// Captures the changes of buckets from `begin` on, until they are worth copying, and copies them on
// all threads. REQUIRES: no other thread changes rows.
template <typename V>
std::vector<BucketPart<V>> TakeChanges(const std::vector<std::unique_ptr<Bucket<V>>>& buckets,
                                       int begin, int64_t width, ParallelRunner* runner) {
  std::vector<std::vector<uint32_t>> rows;
  int64_t bytes = 0;
  for (size_t b = begin; b < buckets.size() && bytes < kCopiedAtOnce; ++b) {
    buckets[b]->changes.Capture();
    rows.push_back(buckets[b]->changes.CapturedRows());
    bytes += static_cast<int64_t>(rows.back().size()) * buckets[b]->store->row_bytes();
  }
  std::vector<BucketPart<V>> parts(rows.size());
  runner->Run(static_cast<int>(rows.size()), [&](int i) {
    const Bucket<V>& bucket = *buckets[begin + i];
    parts[i] = {CopyRows(bucket, width, rows[i]), bucket.changes.captured_removals()};
  });
  return parts;
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
  rows_removed_ += *removed;
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
Status Table<V>::Export(SaveKind kind, const BeginSave& begin, const VisitBucket& visit,
                        ParallelRunner* runner) {
  const bool delta = kind == SaveKind::kDelta;
  if (delta && !can_save_delta()) {
    return Error(Code::kFailedPrecondition, "table '", options_.name,
                 "' has no whole checkpoint that all changes since are known of; save a full one");
  }
  SharedLock layout(&layout_lock_);
  SaveInfo info = {kind, layout_, saves_.Begin(), delta ? saves_.base() : SavedAs()};
  EP_RETURN_IF_ERROR(begin(info));
  InlineRunner here;
  for (int b = 0; b < options_.num_buckets;) {
    std::vector<BucketPart<V>> parts;
    {
      ExclusiveLock lock(&rows_lock_);
      if (delta) {
        parts = TakeChanges(buckets_, b, layout_.width(), runner == nullptr ? &here : runner);
      } else {
        parts.push_back(TakeAll(buckets_[b].get(), layout_.width()));
      }
    }
    for (BucketPart<V>& part : parts) {
      EP_RETURN_IF_ERROR(visit(b++, part.view, part.removed));
      part = BucketPart<V>();  // The visitor keeps what it needs.
    }
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
