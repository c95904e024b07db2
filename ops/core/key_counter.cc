#include "key_counter.h"

#include <algorithm>
#include <utility>

#include "hash.h"
#include "scratch.h"

namespace estimator_plugin {
namespace {

// Keys per shard below which another thread costs more than it saves.
constexpr int64_t kGrain = 4096;
constexpr int64_t kWaitingGrain = 1024;
// How many keys ahead memory is asked for.
constexpr int64_t kAhead = 12;

// The metadata of a bucket's rows.
struct RowUses {
  int32_t* counts;
  int64_t* last_seen;
  ChangeLog* changes;
};

// Positions in a batch, in parts: parts[chunk * shards + shard] are those of one chunk of the batch
// whose rows one shard counts, so that no two shards write to one row.
struct Positions {
  std::vector<std::vector<int64_t>> parts;
};

// Counts the rows of n positions; position(i) is the i-th.
template <typename Position>
void CountRange(const RowUses* uses, const Counting& counting, const int64_t* addresses, int64_t n,
                const Position& position) {
  for (int64_t i = 0; i < n; ++i) {
    if (i + kAhead < n) {
      const int64_t ahead = addresses[position(i + kAhead)];
      if (ahead != kNoAddress) {
        const RowUses& use = uses[BucketOfAddress(ahead)];
        __builtin_prefetch(use.counts + RowOfAddress(ahead), 1);
        __builtin_prefetch(use.last_seen + RowOfAddress(ahead), 1);
      }
    }
    const int64_t address = addresses[position(i)];
    if (address == kNoAddress) continue;
    const RowUses& use = uses[BucketOfAddress(address)];
    const uint32_t row = RowOfAddress(address);
    use.counts[row] = AddCounts(use.counts[row], counting.Added(position(i)));
    use.last_seen[row] = counting.now;
    use.changes->MarkChanged(row);
  }
}

}  // namespace

template <typename V>
void KeyCounter<V>::StartClock(int64_t now) {
  for (const auto& bucket : buckets_) {
    RowStore* const store = bucket->store.get();
    for (uint32_t row = 0; row < store->used(); ++row) {
      if (!store->IsLive(row) || store->last_seen()[row] != 0) continue;
      store->SetUsage(row, store->counts()[row], now);
      bucket->changes.MarkChanged(row);
    }
  }
}

template <typename V>
void KeyCounter<V>::PrepareFilters() {
  const bool outdated = admission_->TakeFiltersOutdated();
  for (const auto& bucket : buckets_) {
    if (bucket->filter != nullptr && !outdated) continue;
    std::unique_ptr<AdmissionFilter> made =
        admission_->MakeFilter(static_cast<int>(buckets_.size()));
    if (bucket->filter != nullptr) {
      WaitingRecords records;
      bucket->filter->Save(&records);
      made->Load(records.view());
    }
    bucket->filter = std::move(made);
  }
}

template <typename V>
void KeyCounter<V>::CountRows(const Counting& counting, const CountedBatch& batch) {
  std::vector<RowUses> uses;
  for (const auto& bucket : buckets_) {
    bucket->store->KeepUsage();
    uses.push_back({bucket->store->counts(), bucket->store->last_seen(), &bucket->changes});
  }
  const int shards = ShardsFor(*runner_, batch.n, kGrain);
  if (shards == 1) {
    CountRange(uses.data(), counting, batch.addresses, batch.n, [](int64_t i) { return i; });
    return;
  }
  ScratchPool<Positions>::Lease positions(ScratchPool<Positions>::Global());
  std::vector<std::vector<int64_t>>& parts = positions->parts;
  parts.resize(std::max(parts.size(), static_cast<size_t>(shards) * shards));
  const int64_t num_buckets = static_cast<int64_t>(buckets_.size());
  runner_->Run(shards, [&](int chunk) {
    for (int s = 0; s < shards; ++s) parts[chunk * shards + s].clear();
    const ShardRange range = RangeOfShard(batch.n, shards, chunk);
    for (int64_t i = range.begin; i < range.end; ++i) {
      if (batch.addresses[i] == kNoAddress) continue;
      const int64_t shard = BucketOfAddress(batch.addresses[i]) * shards / num_buckets;
      parts[chunk * shards + shard].push_back(i);
    }
  });
  runner_->Run(shards, [&](int shard) {
    for (int chunk = 0; chunk < shards; ++chunk) {
      const std::vector<int64_t>& part = parts[chunk * shards + shard];
      CountRange(uses.data(), counting, batch.addresses, static_cast<int64_t>(part.size()),
                 [&](int64_t i) { return part[i]; });
    }
  });
}

template <typename V>
void KeyCounter<V>::CountWaiting(const Counting& counting, std::vector<MissingKey>* missing) {
  PrepareFilters();
  const int num_buckets = static_cast<int>(buckets_.size());
  MissingByBucket groups(*missing, num_buckets, bucket_shift_);
  std::vector<int64_t> admitted(num_buckets);  // The end of what is kept of each bucket's part.
  const int64_t n = static_cast<int64_t>(missing->size());
  const int shards = std::min(num_buckets, ShardsFor(*runner_, n, kWaitingGrain));
  runner_->Run(shards, [&](int shard) {
    const ShardRange range = RangeOfShard(num_buckets, shards, shard);
    for (int64_t b = range.begin; b < range.end; ++b) {
      AdmissionFilter* const filter = buckets_[b]->filter.get();
      MissingKey* const begin = groups.keys.data() + groups.begins[b];
      MissingKey* const end = groups.keys.data() + groups.begins[b + 1];
      if (counting.coefficient > 0) filter->Count(begin, end - begin, counting);
      // Only now: all occurrences of a key in the batch count.
      MissingKey* const kept = std::remove_if(begin, end, [&](const MissingKey& key) {
        return filter->CountOf(key.key) < counting.threshold;
      });
      admitted[b] = kept - groups.keys.data();
    }
  });
  missing->clear();
  for (int b = 0; b < num_buckets; ++b) {
    missing->insert(missing->end(), groups.keys.begin() + groups.begins[b],
                    groups.keys.begin() + admitted[b]);
  }
}

template <typename V>
Counting KeyCounter<V>::Count(const KeyUse& use, const CountedBatch& batch,
                              std::vector<MissingKey>* missing) {
  std::lock_guard<std::mutex> lock(*admission_->mutex());
  bool first = false;
  const Counting counting = admission_->Begin(use, &first);
  if (first) StartClock(counting.now);
  CountRows(counting, batch);
  if (counting.threshold > 0 && !missing->empty()) CountWaiting(counting, missing);
  return counting;
}

template class KeyCounter<float>;

}  // namespace estimator_plugin
