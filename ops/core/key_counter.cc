#include "key_counter.h"

#include <algorithm>
#include <utility>

#include "combined_counts.h"
#include "hash.h"

namespace estimator_plugin {
namespace {

// Missing keys per shard below which another thread costs more than it saves.
constexpr int64_t kWaitingGrain = 1024;

}  // namespace

template <typename V>
KeyCounter<V>::KeyCounter(const KeyUse& use, const Buckets& buckets, const TableOptions& options,
                          Admission* admission)
    : buckets_(buckets), options_(options), admission_(admission) {
  std::lock_guard<std::mutex> lock(*admission_->mutex());
  bool first = false;
  counting_ = admission_->Begin(use, &first);
  if (first) StartClock();
  for (const auto& bucket : buckets_) {
    bucket->store->KeepUsage();
    counted_.push_back({bucket->store->uses(), &bucket->changes});
  }
  if (counting_.threshold > 0) PrepareFilters();
}

template <typename V>
void KeyCounter<V>::StartClock() {
  std::lock_guard<std::mutex> lock(*admission_->uses_mutex());
  for (const auto& bucket : buckets_) {
    RowStore* const store = bucket->store.get();
    for (uint32_t row = 0; row < store->used(); ++row) {
      if (!store->IsLive(row) || store->uses()[row].last_seen != 0) continue;
      store->SetUsage(row, store->uses()[row].count, counting_.now);
      bucket->changes.MarkChanged(row);
    }
  }
}

template <typename V>
void KeyCounter<V>::PrepareFilters() {
  const bool outdated = admission_->TakeFiltersOutdated();
  const ShardRange owned = options_.owned_buckets();
  for (int64_t b = owned.begin; b < owned.end; ++b) {
    std::unique_ptr<AdmissionFilter>& filter = buckets_[b]->filter;
    if (filter != nullptr && !outdated) continue;
    std::unique_ptr<AdmissionFilter> made =
        admission_->MakeFilter(static_cast<int>(b), options_.num_buckets);
    if (filter != nullptr) {  // Counted by another filter, or read from a checkpoint.
      WaitingRecords records;
      filter->Save(&records);
      made->Load(records.view());
    }
    filter = std::move(made);
  }
}

template <typename V>
void KeyCounter<V>::CountRows(const int64_t* addresses, ShardRange positions) const {
  std::lock_guard<std::mutex> lock(*admission_->uses_mutex());
  const Counted* const counted = counted_.data();
  for (int64_t i = positions.begin; i < positions.end; ++i) {
    const int64_t address = addresses[i];
    if (address == kNoAddress) continue;
    counted[BucketOfAddress(address)].Count(counting_, i, RowOfAddress(address));
  }
}

template <typename V>
void KeyCounter<V>::CountCombined(const int64_t* keys, const int64_t* addresses, int64_t n) {
  std::lock_guard<std::mutex> lock(*admission_->mutex());
  if (admission_->combined() == nullptr || counting_.coefficient == 0) return;
  std::vector<MissingKey> with_row;
  for (int64_t i = 0; i < n; ++i) {
    if (addresses[i] != kNoAddress) with_row.push_back({keys[i], i});
  }
  admission_->combined()->Count(with_row.data(), static_cast<int64_t>(with_row.size()), counting_);
}

template <typename V>
void KeyCounter<V>::CountMissing(std::vector<MissingKey>* missing, ParallelRunner* runner) {
  if (counting_.threshold == 0 || missing->empty()) return;
  const int num_buckets = options_.num_buckets;
  const ShardRange owned = options_.owned_buckets();
  MissingByBucket groups(*missing, num_buckets, BucketShift(num_buckets));
  std::vector<int64_t> admitted(num_buckets);  // The end of what is kept of each bucket's part.
  const int64_t n = static_cast<int64_t>(missing->size());
  const int64_t buckets_here = owned.end - owned.begin;
  const int shards =
      static_cast<int>(std::min<int64_t>(buckets_here, ShardsFor(*runner, n, kWaitingGrain)));
  std::lock_guard<std::mutex> lock(*admission_->mutex());
  runner->Run(shards, [&](int shard) {
    const ShardRange range = RangeOfShard(buckets_here, shards, shard);
    for (int64_t b = owned.begin + range.begin; b < owned.begin + range.end; ++b) {
      AdmissionFilter* const filter = buckets_[b]->filter.get();
      MissingKey* const begin = groups.keys.data() + groups.begins[b];
      MissingKey* const end = groups.keys.data() + groups.begins[b + 1];
      if (counting_.coefficient > 0) filter->Count(begin, end - begin, counting_);
      // Only now: all occurrences of a key in the batch count.
      MissingKey* const kept = std::remove_if(begin, end, [&](const MissingKey& key) {
        return filter->CountOf(key.key) < counting_.threshold;
      });
      admitted[b] = kept - groups.keys.data();
    }
  });
  missing->clear();
  for (int64_t b = owned.begin; b < owned.end; ++b) {
    missing->insert(missing->end(), groups.keys.begin() + groups.begins[b],
                    groups.keys.begin() + admitted[b]);
  }
}

template class KeyCounter<float>;

}  // namespace estimator_plugin
