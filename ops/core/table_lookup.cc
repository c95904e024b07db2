// Table::Lookup and Table::Gather.
//
// A lookup first probes every key, duplicates included, under a shared lock, with the cache misses
// of many keys in flight at once: that beats making the keys unique first (the update does that,
// where it is needed). Only keys without a row go on to the second phase, bucket by bucket.
#include <algorithm>

#include "hash.h"
#include "row_copy.h"
#include "table.h"

namespace estimator_plugin {
namespace {

// Keys per shard below which another thread costs more than it saves.
constexpr int64_t kGrain = 4096;
// How many keys ahead a cache line is asked for: enough to cover a miss, few enough to stay cached.
constexpr int64_t kAhead = 12;
constexpr int64_t kRing = 32;  // A power of two above 2 * kAhead.
// What probing needs to know of a bucket.
template <typename V>
struct BucketReader {
  KeyIndex::Reader index;
  const V* rows;
};

template <typename V>
struct LookupBatch {
  std::vector<BucketReader<V>> buckets;
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
    batch_.addresses[i] = MakeAddress(number, row);
    const V* const source = bucket.rows + static_cast<int64_t>(row) * batch_.width;
    sources_[i % kRing] = source;
    if (kCopies) PrefetchBytes(source, bytes_);
  }

  void CopyRow(int64_t i) {
    if (kCopies) CopyBytes(sources_[i % kRing], batch_.embeddings + i * batch_.dim, bytes_);
  }

  const LookupBatch<V>& batch_;
  const int64_t bytes_;
  ProbeResult* const result_;
  const KeyIndex::Group* homes_[kRing];
  int buckets_[kRing];
  const V* sources_[kRing];
};

template <typename V>
void ProbeRange(const LookupBatch<V>& batch, ShardRange range, ProbeResult* result) {
  if (batch.embeddings != nullptr) {
    Prober<V, true>(batch, result).Run(range);
  } else {
    Prober<V, false>(batch, result).Run(range);
  }
}

}  // namespace

template <typename V>
Status Table<V>::Lookup(const int64_t* keys, int64_t n, OnMissing on_missing, const V* default_row,
                        int64_t* addresses, V* embeddings, ParallelRunner* runner) {
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
  const int shards = ShardsFor(*runner, n, kGrain);
  std::vector<ProbeResult> results(shards);
  {
    SharedLock rows(&rows_lock_);
    for (const auto& bucket : buckets_) {
      batch.buckets.push_back({bucket->index.reader(), bucket->row(0)});
    }
    runner->Run(shards, [&](int shard) {
      ProbeRange(batch, RangeOfShard(n, shards, shard), &results[shard]);
    });
  }
  std::vector<MissingKey> missing;
  int64_t asked = 0;
  for (const ProbeResult& result : results) {
    missing.insert(missing.end(), result.missing.begin(), result.missing.end());
    asked += result.asked;
  }
  keys_looked_up_ += asked;
  keys_found_ += asked - static_cast<int64_t>(missing.size());
  if (on_missing == OnMissing::kDefault) return Status();
  if (!missing.empty()) {
    EP_RETURN_IF_ERROR(InsertMissing(missing, addresses, embeddings, runner));
  }
  if (wants_huge_pages_) MakeHugePages();
  return Status();
}

template <typename V>
Status Table<V>::BadAddress(int64_t address) const {
  const int64_t bucket = BucketOfAddress(address);
  const uint32_t row = RowOfAddress(address);
  const bool in_range =
      bucket >= 0 && bucket < options_.num_buckets && row < buckets_[bucket]->store->used();
  return Error(Code::kInvalidArgument, "table '", options_.name, "': address ", address,
               " (bucket ", bucket, ", row ", row, ") is ",
               in_range ? "that of a row that was freed" : "out of range",
               "; addresses come from a lookup of this table, ", kNoAddress, " means no row");
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
  const uint64_t num_buckets = static_cast<uint64_t>(options_.num_buckets);
  const auto store_of = [&](int64_t address) -> const RowStore* {
    const uint64_t bucket = static_cast<uint64_t>(BucketOfAddress(address));
    if (bucket >= num_buckets) return nullptr;
    const RowStore* store = buckets_[bucket]->store.get();
    return RowOfAddress(address) < store->used() ? store : nullptr;
  };
  runner->Run(shards, [&](int shard) {
    const ShardRange range = RangeOfShard(n, shards, shard);
    for (int64_t i = range.begin; i < range.end; ++i) {
      const RowStore* ahead = i + kAhead < range.end ? store_of(addresses[i + kAhead]) : nullptr;
      if (ahead != nullptr) PrefetchBytes(ahead->row(RowOfAddress(addresses[i + kAhead])), bytes);
      const V* source = missing;
      if (addresses[i] != kNoAddress) {
        const RowStore* store = store_of(addresses[i]);
        const uint32_t row = RowOfAddress(addresses[i]);
        if (store == nullptr || !store->IsLive(row)) {
          statuses[shard] = BadAddress(addresses[i]);
          return;
        }
        source = reinterpret_cast<const V*>(store->row(row));
      }
      CopyBytes(source, embeddings + i * dim(), bytes);
    }
  });
  return FirstError(statuses);
}

template class Table<float>;

}  // namespace estimator_plugin
