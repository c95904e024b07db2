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

// The layout that rows have in the table, and the one that they have in the save.
struct Layouts {
  const RowLayout& mine;
  const RowLayout& saved;

  bool same() const { return SameSlotNames(mine.slots, saved.slots); }
};

// Rows that do not lie side by side in their bucket.
template <typename V>
BucketView<V> CopyRows(const Bucket<V>& bucket, const Layouts& layouts,
                       const std::vector<uint32_t>& rows) {
  const RowStore& store = *bucket.store;
  const int64_t n = static_cast<int64_t>(rows.size());
  const int64_t width = layouts.saved.width();
  const bool same = layouts.same();
  const int64_t row_bytes = width * static_cast<int64_t>(sizeof(V));
  const auto memory = std::make_shared<ViewArrays>(n * (row_bytes + RowStore::kMetadataBytes));
  int64_t* const keys = memory->template Take<int64_t>(n);
  V* const values = memory->template Take<V>(n * width);
  int32_t* const counts = memory->template Take<int32_t>(n);
  int64_t* const last_seen = memory->template Take<int64_t>(n);
  const bool has_usage = store.has_usage();  // Else they are zeros that no memory backs.
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i + kRowsAhead < rows.size()) {
      const uint32_t ahead = rows[i + kRowsAhead];
      PrefetchBytes(store.row(ahead), store.row_bytes());
      __builtin_prefetch(store.keys() + ahead);
      if (has_usage) __builtin_prefetch(store.uses() + ahead);
    }
    const uint32_t row = rows[i];
    keys[i] = store.keys()[row];
    if (same) {
      std::memcpy(values + i * width, store.row(row), row_bytes);
    } else {
      ConvertRow(layouts.mine, bucket.row(row), layouts.saved, values + i * width);
    }
    counts[i] = has_usage ? store.uses()[row].count : 0;
    last_seen[i] = has_usage ? store.uses()[row].last_seen : 0;
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

// What a view of all rows keeps alive: the rows, and copies of their counts and times.
struct PinnedRows {
  std::shared_ptr<const void> rows;
  std::shared_ptr<MappedRange> uses;
};

// All rows: in place, unless freed ones lie among them or they have other slots than the save.
template <typename V>
Status ViewRows(const Bucket<V>& bucket, const Layouts& layouts, BucketView<V>* view) {
  const RowStore& store = *bucket.store;
  if (store.live() != store.used() || !layouts.same()) {
    *view = CopyRows(bucket, layouts, LiveRowsOf(store));
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

// What one bucket gives to a save.
template <typename V>
struct BucketPart {
  BucketView<V> view;
  std::vector<int64_t> removed;
};

template <typename V>
Status TakeAll(Bucket<V>* bucket, const Layouts& layouts, std::vector<BucketPart<V>>* parts) {
  bucket->changes.Capture();
  parts->emplace_back();
  BucketView<V>* const view = &parts->back().view;
  EP_RETURN_IF_ERROR(ViewRows(*bucket, layouts, view));
  view->waiting = bucket->SaveWaiting();
  return Status();
}

// Captures the changes of buckets from the front of `range` on, until they are worth copying, and
// copies them on all threads. REQUIRES: no other thread changes rows.
template <typename V>
std::vector<BucketPart<V>> TakeChanges(const std::vector<std::unique_ptr<Bucket<V>>>& buckets,
                                       ShardRange range, const Layouts& layouts,
                                       ParallelRunner* runner) {
  std::vector<std::vector<uint32_t>> rows;
  int64_t bytes = 0;
  for (int64_t b = range.begin; b < range.end && bytes < kCopiedAtOnce; ++b) {
    buckets[b]->changes.Capture();
    rows.push_back(buckets[b]->changes.CapturedRows());
    bytes += static_cast<int64_t>(rows.back().size()) * buckets[b]->store->row_bytes();
    if (buckets[b]->filter != nullptr) bytes += buckets[b]->filter->bytes();
  }
  std::vector<BucketPart<V>> parts(rows.size());
  runner->Run(static_cast<int>(rows.size()), [&](int i) {
    const Bucket<V>& bucket = *buckets[range.begin + i];
    parts[i] = {CopyRows(bucket, layouts, rows[i]), bucket.changes.captured_removals()};
  });
  for (size_t i = 0; i < parts.size(); ++i) {
    parts[i].view.waiting = buckets[range.begin + i]->SaveWaiting();
  }
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
Status Table<V>::PlanSave(SaveKind kind, SaveInfo* info) const {
  const bool delta = kind == SaveKind::kDelta;
  if (delta && !can_save_delta()) {
    return Error(Code::kFailedPrecondition, "table '", options_.name,
                 "' has no whole checkpoint that all changes since are known of; save a full one");
  }
  *info = {kind, layout(), DrawSaveId(), delta ? saves_.base() : SavedAs(), admission_.state()};
  return Status();
}

template <typename V>
Status Table<V>::Export(const SaveInfo& info, const VisitBucket& visit, ParallelRunner* runner) {
  const bool delta = info.kind == SaveKind::kDelta;
  if (delta && (!can_save_delta() || saves_.base().save_id != info.parent.save_id)) {
    return Error(Code::kFailedPrecondition, "table '", options_.name, "': not all changes since ",
                 "save ", info.parent.save_id, " are known, which the delta is to be relative to; ",
                 "save a full one");
  }
  SharedLock layout(&layout_lock_);
  const Layouts layouts = {layout_, info.layout};
  saves_.Begin(info.save_id);
  const ShardRange owned = options_.owned_buckets();
  InlineRunner here;
  for (int64_t b = owned.begin; b < owned.end;) {
    std::vector<BucketPart<V>> parts;
    {
      ExclusiveLock lock(&rows_lock_);
      if (delta) {
        parts = TakeChanges(buckets_, {b, owned.end}, layouts, runner == nullptr ? &here : runner);
      } else {
        EP_RETURN_IF_ERROR(TakeAll(buckets_[b].get(), layouts, &parts));
      }
    }
    for (BucketPart<V>& part : parts) {
      EP_RETURN_IF_ERROR(visit(static_cast<int>(b++), part.view, part.removed));
      part = BucketPart<V>();  // The visitor keeps what it needs.
    }
  }
  return Status();
}

template <typename V>
std::vector<std::shared_ptr<const WaitingRecords>> Table<V>::ExportWaiting() const {
  std::vector<std::shared_ptr<const WaitingRecords>> waiting;
  SharedLock layout(&layout_lock_);
  const ShardRange owned = options_.owned_buckets();
  for (int64_t b = owned.begin; b < owned.end; ++b) {
    ExclusiveLock lock(&rows_lock_);
    waiting.push_back(buckets_[b]->SaveWaiting());
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
