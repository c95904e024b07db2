// Table::Evict: looks at rows and removes those that leave, some thousands at a time.
#include <algorithm>

#include "hash.h"
#include "table.h"

namespace estimator_plugin {
namespace {

// Rows that are looked at, and removed, before others get their turn: some hundred microseconds.
constexpr uint32_t kSeenAtOnce = 1 << 14;
// Rows that are only looked at likewise.
constexpr uint32_t kScannedAtOnce = 1 << 16;
// Giving one back costs some ten microseconds.
constexpr int kHugePagesAtOnce = 8;
// Rows ahead that an index group is asked for.
constexpr size_t kAhead = 16;

// Removes those of kSeenAtOnce rows that leave; returns how many.
template <typename V>
int64_t RemoveRows(const EvictionPolicy& policy, uint32_t begin, Bucket<V>* bucket) {
  RowStore* const store = bucket->store.get();
  if (begin >= store->used()) return 0;
  uint32_t rows[kSeenAtOnce];
  const uint32_t end = std::min(store->used(), begin + kSeenAtOnce);
  const size_t n = policy.Select(*store, begin, end, rows);
  for (size_t i = 0; i < n; ++i) {
    if (i + kAhead < n) {
      const int64_t ahead = store->keys()[rows[i + kAhead]];
      __builtin_prefetch(bucket->index.reader().Home(MixKey(ahead)), 1);
    }
    const int64_t key = store->keys()[rows[i]];
    bucket->index.Remove(key, MixKey(key));
    bucket->changes.RemoveRow(rows[i], key, store->live());
  }
  if (n > 0) store->Free(rows, n);
  return static_cast<int64_t>(n);
}

// One thread's share of an eviction: the rows of one bucket, then what they leave behind.
template <typename V>
struct BucketEviction {
  Bucket<V>* bucket;
  int64_t evicted = 0;
  int64_t waiting_evicted = 0;
  uint32_t seen = 0;
  bool done = false;

  // REQUIRES: the rows are locked, exclusively.
  void Step(const EvictionPolicy& policy) {
    if (seen < bucket->store->used()) {
      evicted += RemoveRows(policy, seen, bucket);
      seen += kSeenAtOnce;
    } else if (evicted == 0 || !bucket->store->GiveBackFreed(kHugePagesAtOnce)) {
      if (bucket->filter != nullptr && policy.last_waiting() >= 0) {
        waiting_evicted = bucket->filter->RemoveOlder(policy.last_waiting());
      }
      done = true;
    }
  }
};

}  // namespace

template <typename V>
Status Table<V>::Evict(const EvictionRule& rule, ParallelRunner* runner, int64_t* evicted) {
  *evicted = 0;
  SharedLock layout(&layout_lock_);
  const int shards = std::min(options_.num_buckets, runner->max_shards());
  EvictedTable table = {admission_.clock(), dim(), LiveRows(), shards, nullptr};
  table.for_each_range = [&](const EvictedTable::Visit& visit) {
    for (int first = 0; first < options_.num_buckets; first += shards) {
      const int parts = std::min(shards, options_.num_buckets - first);
      for (uint32_t begin = 0, most = 1; begin < most; begin += kScannedAtOnce) {
        ExclusiveLock rows(&rows_lock_);  // Shared, uses might change.
        most = 0;
        for (int i = 0; i < parts; ++i) most = std::max(most, buckets_[first + i]->store->used());
        runner->Run(parts, [&](int i) {
          const RowStore& store = *buckets_[first + i]->store;
          const uint32_t end = std::min(store.used(), begin + kScannedAtOnce);
          if (begin < end) visit(i, store, begin, end);
        });
      }
    }
  };
  std::unique_ptr<EvictionPolicy> policy;
  const Status made = MakeEvictionPolicy(rule, table, &policy);
  if (!made.ok()) return Error(made.code(), "table '", options_.name, "': ", made.message());
  if (policy == nullptr) return Status();
  for (int first = 0; first < options_.num_buckets; first += shards) {
    std::vector<BucketEviction<V>> parts;
    for (int b = first; b < std::min(options_.num_buckets, first + shards); ++b) {
      parts.push_back({buckets_[b].get()});
    }
    const auto done = [](const BucketEviction<V>& part) { return part.done; };
    while (!std::all_of(parts.begin(), parts.end(), done)) {
      ExclusiveLock rows(&rows_lock_);
      runner->Run(static_cast<int>(parts.size()), [&](int i) {
        if (!parts[i].done) parts[i].Step(*policy);
      });
    }
    for (const BucketEviction<V>& part : parts) {
      *evicted += part.evicted;
      counters_.waiting_evicted += part.waiting_evicted;
    }
  }
  counters_.rows_removed += *evicted;
  counters_.rows_evicted += *evicted;
  return Status();
}

template class Table<float>;

}  // namespace estimator_plugin
