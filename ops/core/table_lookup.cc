// Table::Lookup and Table::Gather.
//
// A lookup first probes every key, duplicates included, under a shared lock, with the cache misses
// of many keys in flight at once: that beats making the keys unique first (the update does that,
// where it is needed). Only keys without a row go on to the second phase, bucket by bucket.
#include <algorithm>

#include "hash.h"
#include "key_counter.h"
#include "row_copy.h"
#include "table.h"

namespace estimator_plugin {
namespace {

// Keys per shard below which another thread costs more than it saves.
constexpr int64_t kGrain = 4096;
// How many keys ahead a cache line is asked for: enough to cover a miss, few enough to stay cached.
constexpr int64_t kAhead = 12;
constexpr int64_t kRing = 32;  // A power of two above 2 * kAhead.
// Keys that are probed before their rows are counted, while what was asked for is in the cache.
constexpr int64_t kCountedAtOnce = 1024;
// What probing needs to know of a bucket.
template <typename V>
struct BucketReader {
  KeyIndex::Reader index;
  const V* rows;
  const uint16_t* generations;  // Null while all rows have the first one.
  int64_t first_address;        // Of row 0 in its first generation.
  const RowUse* uses;           // Null unless they are about to be counted.
};

template <typename V>
struct LookupBatch {
  std::vector<BucketReader<V>> buckets;
  bool has_generations = false;  // In any bucket.
  int bucket_shift;
  int64_t dim;
  int64_t width;
  const int64_t* keys;
  const V* default_row;
  int64_t* addresses;
  V* embeddings;  // Null when only addresses are wanted.
};

struct ProbeResult {
  std::vector<MissingKey> missing;  // In order.
  int64_t asked = 0;
};

// Takes each key of a range through three stages, kAhead keys apart, so that the cache misses of
// many keys are in flight at once: ask for its index group; find its row and ask for that; copy.
template <typename V, bool kCopies>
class Prober {
 public:
  Prober(const LookupBatch<V>& batch, ProbeResult* result)
      : batch_(batch), bytes_(batch.dim * static_cast<int64_t>(sizeof(V))), result_(result) {}

  void Run(ShardRange range) {
    int64_t i = range.begin;
    for (; i < std::min(range.begin + kAhead, range.end); ++i) FindHome(i);
    for (; i < std::min(range.begin + 2 * kAhead, range.end); ++i) {
      FindHome(i);
      FindRow(i - kAhead);
    }
    for (; i < range.end; ++i) {
      FindHome(i);
      FindRow(i - kAhead);
      CopyRow(i - 2 * kAhead);
    }
    // The stages that are still to come for the last keys.
    for (i = std::max(range.begin, range.end - kAhead); i < range.end; ++i) FindRow(i);
    for (i = std::max(range.begin, range.end - 2 * kAhead); i < range.end; ++i) CopyRow(i);
  }

 private:
  void FindHome(int64_t i) {
    const uint64_t hash = MixKey(batch_.keys[i]);
    const int bucket = BucketOfHash(hash, batch_.bucket_shift);
    const KeyIndex::Group* const home = batch_.buckets[bucket].index.Home(hash);
    __builtin_prefetch(home);
    homes_[i % kRing] = home;
    buckets_[i % kRing] = bucket;
  }

  void FindRow(int64_t i) {
    const int64_t key = batch_.keys[i];
    const int number = buckets_[i % kRing];
    const BucketReader<V>& bucket = batch_.buckets[number];
    const uint32_t row = key == kNoKey ? kNoRow : bucket.index.Find(homes_[i % kRing], key);
    if (row == kNoRow) {
      if (key != kNoKey) result_->missing.push_back({key, i});
      batch_.addresses[i] = kNoAddress;
      sources_[i % kRing] = batch_.default_row;
      result_->asked += key != kNoKey;
      return;
    }
    ++result_->asked;
    batch_.addresses[i] = bucket.first_address + row;
    const V* const source = bucket.rows + static_cast<int64_t>(row) * batch_.width;
    sources_[i % kRing] = source;
    if (kCopies) PrefetchBytes(source, bytes_);
    if (bucket.generations != nullptr) __builtin_prefetch(bucket.generations + row);
    if (bucket.uses != nullptr) __builtin_prefetch(bucket.uses + row, 1);
  }

  void CopyRow(int64_t i) {
    if (batch_.has_generations && batch_.addresses[i] != kNoAddress) SetGeneration(i);
    if (kCopies) CopyBytes(sources_[i % kRing], batch_.embeddings + i * batch_.dim, bytes_);
  }

  void SetGeneration(int64_t i) {
    const int number = buckets_[i % kRing];
    const uint16_t* const generations = batch_.buckets[number].generations;
    if (generations == nullptr) return;
    const uint32_t row = RowOfAddress(batch_.addresses[i]);
    batch_.addresses[i] = MakeAddress(number, row, generations[row]);
  }

  const LookupBatch<V>& batch_;
  const int64_t bytes_;
  ProbeResult* const result_;
  const KeyIndex::Group* homes_[kRing];
  int buckets_[kRing];
  const V* sources_[kRing];
};

// All shards' missing keys, in the order of the batch.
void CollectMissing(const std::vector<ProbeResult>& results, std::vector<MissingKey>* missing,
                    TableCounters* counters) {
  int64_t asked = 0;
  for (const ProbeResult& result : results) {
    missing->insert(missing->end(), result.missing.begin(), result.missing.end());
    asked += result.asked;
  }
  counters->keys_looked_up += asked;
  counters->keys_found += asked - static_cast<int64_t>(missing->size());
}

Status CheckUse(const std::string& table, const KeyUse* use) {
  if (use == nullptr || (use->now >= 0 && use->coefficient >= 1)) return Status();
  return Error(Code::kInvalidArgument, "table '", table, "': a lookup at time ", use->now,
               " with coefficient ", use->coefficient,
               "; the time must be at least 0 and the coefficient at least 1");
}

template <typename V>
void ProbeRange(const LookupBatch<V>& batch, ShardRange range, ProbeResult* result) {
  if (batch.embeddings != nullptr) {
    Prober<V, true>(batch, result).Run(range);
  } else {
    Prober<V, false>(batch, result).Run(range);
  }
}

// Probes all keys, and counts the rows that they have unless `counter` is null.
template <typename V>
std::vector<ProbeResult> ProbeAll(const LookupBatch<V>& batch, int64_t n,
                                  const KeyCounter<V>* counter, ParallelRunner* runner) {
  const int shards = ShardsFor(*runner, n, kGrain);
  std::vector<ProbeResult> results(shards);
  runner->Run(shards, [&](int shard) {
    const ShardRange range = RangeOfShard(n, shards, shard);
    const int64_t at_once = counter == nullptr ? range.end - range.begin : kCountedAtOnce;
    for (int64_t begin = range.begin; begin < range.end; begin += at_once) {
      const ShardRange part = {begin, std::min(range.end, begin + at_once)};
      ProbeRange(batch, part, &results[shard]);
      if (counter != nullptr) counter->CountRows(batch.addresses, part);
    }
  });
  return results;
}

}  // namespace

template <typename V>
Status Table<V>::CheckOwned(const int64_t* keys, int64_t n) const {
  const ShardRange owned = options_.owned_buckets();
  if (owned.end - owned.begin == options_.num_buckets) return Status();
  for (int64_t i = 0; i < n; ++i) {
    const int bucket = BucketOfHash(MixKey(keys[i]), bucket_shift_);
    if ((owned.begin <= bucket && bucket < owned.end) || keys[i] == kNoKey) continue;
    return Error(Code::kInvalidArgument, "table '", options_.name, "': key ", keys[i],
                 " of bucket ", bucket, " was sent to the partition of buckets ", owned.begin,
                 " to ", owned.end - 1);
  }
  return Status();
}

template <typename V>
Status Table<V>::Lookup(const int64_t* keys, int64_t n, OnMissing on_missing, const V* default_row,
                        int64_t* addresses, V* embeddings, ParallelRunner* runner,
                        const KeyUse* use) {
  EP_RETURN_IF_ERROR(CheckUse(options_.name, use));
  if (on_missing == OnMissing::kInsert) EP_RETURN_IF_ERROR(CheckOwned(keys, n));
  const std::vector<V> zeros(default_row == nullptr ? dim() : 0);
  SharedLock layout(&layout_lock_);
  LookupBatch<V> batch;
  batch.bucket_shift = bucket_shift_;
  batch.dim = dim();
  batch.width = layout_.width();
  batch.keys = keys;
  batch.default_row = default_row == nullptr ? zeros.data() : default_row;
  batch.addresses = addresses;
  batch.embeddings = embeddings;
  std::vector<MissingKey> missing;
  Counting counting;
  {
    SharedLock rows(&rows_lock_);
    std::unique_ptr<KeyCounter<V>> counter;
    if (use != nullptr) {
      counter.reset(new KeyCounter<V>(*use, buckets_, options_, &admission_));
      counting = counter->counting();
    }
    for (size_t b = 0; b < buckets_.size(); ++b) {
      const RowStore& store = *buckets_[b]->store;
      const int64_t first = MakeAddress(static_cast<int>(b), 0, store.first_generation());
      batch.buckets.push_back({buckets_[b]->index.reader(), buckets_[b]->row(0),
                               store.generations(), first,
                               use == nullptr ? nullptr : store.uses()});
      batch.has_generations |= store.generations() != nullptr;
    }
    CollectMissing(ProbeAll(batch, n, counter.get(), runner), &missing, &counters_);
    if (use != nullptr) {
      const int64_t asked = static_cast<int64_t>(missing.size());
      counter->CountCombined(keys, addresses, n);
      counter->CountMissing(&missing, runner);
      counters_.keys_refused += asked - static_cast<int64_t>(missing.size());
    }
  }
  if (on_missing == OnMissing::kDefault) return Status();
  if (!missing.empty()) {
    const MissingRows<V> rows = {addresses, embeddings, use == nullptr ? nullptr : &counting};
    EP_RETURN_IF_ERROR(InsertMissing(missing, rows, runner));
  }
  if (wants_huge_pages_) MakeHugePages();
  return Status();
}

template <typename V>
const RowStore* Table<V>::StoreOf(int64_t address) const {
  const uint64_t bucket = static_cast<uint64_t>(BucketOfAddress(address));
  if (bucket >= buckets_.size()) return nullptr;
  const RowStore* const store = buckets_[bucket]->store.get();
  return RowOfAddress(address) < store->used() ? store : nullptr;
}

template <typename V>
Status Table<V>::BadAddress(int64_t address) const {
  return Error(Code::kInvalidArgument, "table '", options_.name, "': address ", address,
               " (bucket ", BucketOfAddress(address), ", row ", RowOfAddress(address),
               ") is out of range; addresses come from a lookup of this table, ", kNoAddress,
               " means no row");
}

template <typename V>
Status Table<V>::Gather(const int64_t* addresses, int64_t n, const V* default_row, V* embeddings,
                        ParallelRunner* runner) {
  const std::vector<V> zeros(default_row == nullptr ? dim() : 0);
  const V* const missing = default_row == nullptr ? zeros.data() : default_row;
  const int64_t bytes = dim() * static_cast<int64_t>(sizeof(V));
  SharedLock layout(&layout_lock_);
  SharedLock rows(&rows_lock_);
  const int shards = ShardsFor(*runner, n, kGrain);
  std::vector<Status> statuses(shards);
  runner->Run(shards, [&](int shard) {
    const ShardRange range = RangeOfShard(n, shards, shard);
    int64_t stale = 0;
    for (int64_t i = range.begin; i < range.end; ++i) {
      const RowStore* ahead = i + kAhead < range.end ? StoreOf(addresses[i + kAhead]) : nullptr;
      if (ahead != nullptr) PrefetchBytes(ahead->row(RowOfAddress(addresses[i + kAhead])), bytes);
      const V* source = missing;
      if (addresses[i] != kNoAddress) {
        const RowStore* const store = StoreOf(addresses[i]);
        if (store == nullptr) {
          statuses[shard] = BadAddress(addresses[i]);
          return;
        }
        const uint32_t row = RowOfAddress(addresses[i]);
        if (store->Has(row, GenerationOfAddress(addresses[i]))) {
          source = reinterpret_cast<const V*>(store->row(row));
        } else {
          ++stale;
        }
      }
      CopyBytes(source, embeddings + i * dim(), bytes);
    }
    if (stale > 0) counters_.stale_reads += stale;
  });
  return FirstError(statuses);
}

template class Table<float>;

}  // namespace estimator_plugin
