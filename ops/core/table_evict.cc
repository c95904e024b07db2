// Table::Evict: looks for rows to remove while lookups go on, then removes them few at a time.
#include <algorithm>

#include "hash.h"
#include "table.h"

namespace estimator_plugin {
namespace {

// Rows that are looked at, and that are removed, before others get their turn.
constexpr uint32_t kSeenAtOnce = 1 << 16;
constexpr size_t kRemovedAtOnce = 4096;
// Giving one back costs some ten microseconds.
constexpr int kHugePagesAtOnce = 8;
// Rows ahead that an index group is asked for.
constexpr size_t kAhead = 8;

// Rows as they are between the changes that lookups and updates make.
template <typename V>
class Scan {
 public:
  Scan(RwLock* rows_lock, std::mutex* usage) : rows_lock_(rows_lock), usage_(usage) {}

  // Calls visit(store, begin, end) for ranges of the bucket's rows.
  void Bucket(const estimator_plugin::Bucket<V>& bucket, const EvictedTable::Visit& visit) const {
    for (uint32_t begin = 0, end = 0;; begin = end) {
      SharedLock rows(rows_lock_);
      std::lock_guard<std::mutex> usage(*usage_);
      const RowStore& store = *bucket.store;
      if (begin >= store.used()) return;
      end = std::min(store.used(), begin + kSeenAtOnce);
      visit(store, begin, end);
    }
  }

 private:
  RwLock* const rows_lock_;
  std::mutex* const usage_;
};

// Removes those of `rows` that are still to leave; returns how many.
template <typename V>
int64_t RemoveRows(const EvictionPolicy& policy, const uint32_t* rows, size_t n,
                   Bucket<V>* bucket) {
  RowStore* const store = bucket->store.get();
  std::vector<uint32_t> leaving;
  for (size_t i = 0; i < n; ++i) {
    if (store->IsLive(rows[i])) policy.Select(*store, rows[i], rows[i] + 1, &leaving);
  }
  for (size_t i = 0; i < leaving.size(); ++i) {
    if (i + kAhead < leaving.size()) {
      const int64_t ahead = store->keys()[leaving[i + kAhead]];
      __builtin_prefetch(bucket->index.reader().Home(MixKey(ahead)), 1);
    }
    const int64_t key = store->keys()[leaving[i]];
    bucket->index.Remove(key, MixKey(key));
    store->Free(leaving[i]);
    bucket->changes.RemoveRow(leaving[i], key, store->live());
  }
  return static_cast<int64_t>(leaving.size());
}

}  // namespace

template <typename V>
Status Table<V>::Evict(const EvictionRule& rule, int64_t* evicted) {
  *evicted = 0;
  SharedLock layout(&layout_lock_);
  const Scan<V> scan(&rows_lock_, admission_.mutex());
  EvictedTable table;
  table.clock = admission_.clock();
  table.dim = dim();
  table.for_each_range = [&](const EvictedTable::Visit& visit) {
    for (const auto& bucket : buckets_) scan.Bucket(*bucket, visit);
  };
  std::unique_ptr<EvictionPolicy> policy;
  const Status made = MakeEvictionPolicy(rule, table, &policy);
  if (!made.ok()) return Error(made.code(), "table '", options_.name, "': ", made.message());
  if (policy == nullptr) return Status();
  std::vector<uint32_t> found;
  for (const auto& bucket : buckets_) {
    found.clear();
    scan.Bucket(*bucket, [&](const RowStore& store, uint32_t begin, uint32_t end) {
      policy->Select(store, begin, end, &found);
    });
    for (size_t begin = 0; begin < found.size(); begin += kRemovedAtOnce) {
      ExclusiveLock rows(&rows_lock_);
      const size_t n = std::min(kRemovedAtOnce, found.size() - begin);
      *evicted += RemoveRows<V>(*policy, &found[begin], n, bucket.get());
    }
    for (bool more = !found.empty(); more;) {
      ExclusiveLock rows(&rows_lock_);
      more = bucket->store->GiveBackFreed(kHugePagesAtOnce);
    }
    if (policy->last_waiting() < 0) continue;
    ExclusiveLock rows(&rows_lock_);
    if (bucket->filter != nullptr) {
      counters_.waiting_evicted += bucket->filter->RemoveOlder(policy->last_waiting());
    }
  }
  counters_.rows_removed += *evicted;
  counters_.rows_evicted += *evicted;
  return Status();
}

template class Table<float>;

}  // namespace estimator_plugin
