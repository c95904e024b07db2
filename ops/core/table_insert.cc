// The second phase of Table::Lookup: rows for keys that have none, bucket by bucket. Within a
// bucket keys come in the order of the batch, so row numbers do not depend on the number of
// threads.
#include <algorithm>

#include "hash.h"
#include "row_copy.h"
#include "table.h"

namespace estimator_plugin {
namespace {

// Keys per shard below which another thread costs more than it saves.
constexpr int64_t kGrain = 1024;
// How many keys ahead memory is asked for.
constexpr int64_t kAhead = 8;

// Making one costs some milliseconds: a step pays for a few, whatever the table's growth.
constexpr int kHugePagesPerLookup = 4;

template <typename V>
void PrefetchMissing(const Bucket<V>& bucket, const MissingKey& ahead, const MissingRows<V>& rows,
                     int64_t dim) {
  __builtin_prefetch(bucket.index.reader().Home(MixKey(ahead.key)));
  __builtin_prefetch(rows.addresses + ahead.position, 1);
  if (rows.embeddings != nullptr) __builtin_prefetch(rows.embeddings + ahead.position * dim, 1);
}

}  // namespace

template <typename V>
Status Table<V>::InsertMissing(const std::vector<MissingKey>& missing, const MissingRows<V>& rows,
                               ParallelRunner* runner) {
  if (initializer_ == nullptr) {
    return Error(Code::kFailedPrecondition, "table '", options_.name,
                 "': its initializer's rows have not been drawn yet");
  }
  const int num_buckets = options_.num_buckets;
  const MissingByBucket groups(missing, num_buckets, bucket_shift_);
  const int64_t n = static_cast<int64_t>(missing.size());
  const int shards = std::min(num_buckets, ShardsFor(*runner, n, kGrain));
  std::vector<Status> statuses(shards);
  // Locked by the caller, not by the shards: operations share the runner's threads, and the shards
  // of whoever holds the lock might be queued behind a shard that waits for it.
  ExclusiveLock lock(&rows_lock_);
  runner->Run(shards, [&](int shard) {
    const ShardRange range = RangeOfShard(num_buckets, shards, shard);
    for (int64_t b = range.begin; b < range.end && statuses[shard].ok(); ++b) {
      const int64_t begin = groups.begins[b];
      statuses[shard] = InsertIntoBucket(static_cast<int>(b), &groups.keys[begin],
                                         groups.begins[b + 1] - begin, rows);
    }
  });
  return FirstError(statuses);
}

template <typename V>
Status Table<V>::InsertIntoBucket(int number, const MissingKey* keys, int64_t n,
                                  const MissingRows<V>& rows) {
  if (n == 0) return Status();
  Bucket<V>& bucket = *buckets_[number];
  const int64_t bytes = dim() * static_cast<int64_t>(sizeof(V));
  const bool counts = rows.counting != nullptr && rows.counting->threshold == 0;
  const bool waited = rows.counting != nullptr && rows.counting->threshold > 0;
  int64_t inserted = 0;
  Status status;
  for (int64_t i = 0; i < n; ++i) {
    if (i + kAhead < n) PrefetchMissing(bucket, keys[i + kAhead], rows, dim());
    const int64_t key = keys[i].key;
    const uint64_t hash = MixKey(key);
    uint32_t row = bucket.index.Find(key, hash);  // Another lookup, or this batch, may have it.
    if (row == kNoRow) {
      const int32_t count = bucket.filter == nullptr ? 0 : bucket.filter->Take(key);
      if (waited && count == 0) continue;  // Evicted since it was counted: it waits anew.
      status = bucket.index.Reserve(bucket.index.size() + 1);
      if (status.ok()) status = bucket.store->Add(key, &row);
      if (!status.ok()) break;
      bucket.index.Insert(key, hash, row);
      bucket.changes.AddRow(row);
      InitializeRow(key, bucket.row(row));
      bucket.store->SetUsage(row, count, std::max<int64_t>(admission_.clock(), 0));
      ++inserted;
    }
    if (counts) bucket.store->CountUse(row, rows.counting->Added(keys[i].position));
    rows.addresses[keys[i].position] = MakeAddress(number, row, bucket.store->generation(row));
    if (rows.embeddings != nullptr) {
      CopyBytes(bucket.row(row), rows.embeddings + keys[i].position * dim(), bytes);
    }
  }
  counters_.rows_inserted += inserted;
  if (waited) counters_.rows_admitted += inserted;
  if (bucket.store->WantsHugePage()) wants_huge_pages_ = true;
  if (status.ok()) return status;
  return Error(status.code(), "table '", options_.name, "': ", status.message());
}

template <typename V>
void Table<V>::MakeHugePages() {
  wants_huge_pages_ = false;
  const int first = next_huge_bucket_;
  int made = 0;
  for (int i = 0; i < options_.num_buckets; ++i) {
    const int number = (first + i) % options_.num_buckets;
    Bucket<V>& bucket = *buckets_[number];
    ExclusiveLock lock(&rows_lock_);
    while (bucket.store->WantsHugePage()) {
      if (made == kHugePagesPerLookup) {
        wants_huge_pages_ = true;
        next_huge_bucket_ = number;
        return;
      }
      bucket.store->MakeHugePage();
      ++made;
    }
  }
}

template class Table<float>;

}  // namespace estimator_plugin
