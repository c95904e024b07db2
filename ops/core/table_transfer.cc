// Table::Remove, Export and Import: rows that leave the table and rows that come from elsewhere.
#include <algorithm>

#include "bucket_locks.h"
#include "hash.h"
#include "table.h"

namespace estimator_plugin {
namespace {

// The live rows of a bucket that has freed ones among them.
template <typename V>
struct CompactRows {
  std::vector<int64_t> keys;
  std::vector<V> values;
  std::vector<int32_t> counts;
  std::vector<int64_t> last_seen;
};

template <typename V>
BucketView<V> CopyLiveRows(const Bucket<V>& bucket, int64_t width) {
  const RowStore& store = *bucket.store;
  const auto copy = std::make_shared<CompactRows<V>>();
  copy->keys.reserve(store.live());
  copy->values.reserve(store.live() * width);
  copy->counts.reserve(store.live());
  copy->last_seen.reserve(store.live());
  for (uint32_t r = 0; r < store.used(); ++r) {
    if (!store.IsLive(r)) continue;
    copy->keys.push_back(store.keys()[r]);
    copy->values.insert(copy->values.end(), bucket.row(r), bucket.row(r) + width);
    copy->counts.push_back(store.counts()[r]);
    copy->last_seen.push_back(store.last_seen()[r]);
  }
  BucketView<V> view;
  view.rows = store.live();
  view.keys = copy->keys.data();
  view.values = copy->values.data();
  view.counts = copy->counts.data();
  view.last_seen = copy->last_seen.data();
  view.owner = copy;
  return view;
}

}  // namespace

template <typename V>
Status Table<V>::Remove(const int64_t* keys, int64_t n, int64_t* removed) {
  *removed = 0;
  SharedLock layout(&layout_lock_);
  for (int64_t i = 0; i < n; ++i) {
    if (keys[i] == kNoKey) continue;
    const uint64_t hash = MixKey(keys[i]);
    Bucket<V>& bucket = *buckets_[BucketOfHash(hash, bucket_shift_)];
    ExclusiveLock lock(&bucket.lock);
    const uint32_t row = bucket.index.Remove(keys[i], hash);
    if (row == kNoRow) continue;
    bucket.store->Free(row);
    ++*removed;
  }
  rows_removed_ += *removed;
  return Status();
}

template <typename V>
BucketView<V> Table<V>::ViewBucket(int number) const {
  const Bucket<V>& bucket = *buckets_[number];
  SharedLock lock(&bucket.lock);
  const RowStore& store = *bucket.store;
  if (store.live() != store.used()) return CopyLiveRows(bucket, layout_.width());
  BucketView<V> view;
  view.owner = store.Pin();
  view.rows = store.live();
  view.keys = store.keys();
  view.values = bucket.row(0);
  view.counts = store.counts();
  view.last_seen = store.last_seen();
  return view;
}

template <typename V>
Status Table<V>::Export(
    const std::function<Status(const RowLayout&)>& begin,
    const std::function<Status(int, const BucketView<V>&)>& visit) const {
  SharedLock layout(&layout_lock_);
  EP_RETURN_IF_ERROR(begin(layout_));
  for (int b = 0; b < options_.num_buckets; ++b) {
    EP_RETURN_IF_ERROR(visit(b, ViewBucket(b)));
  }
  return Status();
}

template <typename V>
Status Table<V>::Import(const RowLayout& new_layout, ParallelRunner* runner,
                        const std::function<Status(int)>& load_bucket) {
  if (new_layout.dim != dim()) {
    return Error(Code::kInvalidArgument, "table '", options_.name, "' has dim ", dim(),
                 ", the rows to import have dim ", new_layout.dim);
  }
  ExclusiveLock layout(&layout_lock_);
  const RowLayout old_layout = layout_;
  layout_ = new_layout;
  MakeBuckets();
  const int shards = std::min(options_.num_buckets, runner->max_shards());
  std::vector<Status> statuses(shards);
  runner->Run(shards, [&](int shard) {
    const ShardRange range = RangeOfShard(options_.num_buckets, shards, shard);
    for (int64_t b = range.begin; b < range.end && statuses[shard].ok(); ++b) {
      statuses[shard] = load_bucket(static_cast<int>(b));
    }
  });
  const Status status = FirstError(statuses);
  if (!status.ok()) {
    layout_ = old_layout;
    MakeBuckets();
  }
  return status;
}

template <typename V>
Status Table<V>::ImportBucket(int number, const int64_t* keys, const V* values,
                              const int32_t* counts, const int64_t* last_seen, int64_t n) {
  Bucket<V>& bucket = *buckets_[number];
  Status room = bucket.index.Reserve(n);
  if (room.ok() && n > 0) room = bucket.store->Reserve(n);
  if (!room.ok()) return Error(room.code(), "table '", options_.name, "': ", room.message());
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t hash = MixKey(keys[i]);
    if (keys[i] == kNoKey || BucketOfHash(hash, bucket_shift_) != number) {
      return Error(Code::kDataLoss, "table '", options_.name, "': key ", keys[i],
                   " does not belong to bucket ", number, " of ", options_.num_buckets);
    }
    if (bucket.index.Find(keys[i], hash) != kNoRow) {
      return Error(Code::kDataLoss, "table '", options_.name, "': key ", keys[i],
                   " occurs twice in bucket ", number);
    }
    uint32_t row;
    EP_RETURN_IF_ERROR(bucket.store->Add(keys[i], &row));
    bucket.index.Insert(keys[i], hash, row);
    if (counts != nullptr && last_seen != nullptr) {
      bucket.store->SetUsage(row, counts[i], last_seen[i]);
    }
  }
  // Import starts from empty buckets, so the rows got the numbers 0 to n - 1.
  if (n > 0) std::copy_n(values, n * layout_.width(), bucket.row(0));
  return Status();
}

template class Table<float>;

}  // namespace estimator_plugin
