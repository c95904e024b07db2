// Table::Import: rows that come from elsewhere.
#include <algorithm>

#include "count_sketch.h"
#include "hash.h"
#include "table.h"

namespace estimator_plugin {
namespace {

// Keys ahead that an index group is asked for.
constexpr int64_t kAhead = 8;

Status MisplacedKey(const TableOptions& table, int64_t key, ShardRange buckets) {
  return Error(Code::kDataLoss, "table '", table.name, "': key ", key,
               " does not belong to bucket ", buckets.begin, " of ", table.num_buckets,
               ", where it was found");
}

Status RepeatedKey(const TableOptions& table, int64_t key, ShardRange buckets) {
  return Error(Code::kDataLoss, "table '", table.name, "': key ", key, " occurs twice in bucket ",
               buckets.begin, " of ", table.num_buckets);
}

template <typename V>
Status FindOrAddRow(int64_t key, Bucket<V>* bucket, uint32_t* row, bool* found) {
  const uint64_t hash = MixKey(key);
  *row = bucket->index.Find(key, hash);
  *found = *row != kNoRow;
  if (*found) return Status();
  EP_RETURN_IF_ERROR(bucket->index.Reserve(bucket->index.size() + 1));
  EP_RETURN_IF_ERROR(bucket->store->Add(key, row));
  bucket->index.Insert(key, hash, *row);
  bucket->changes.AddRow(*row);
  return Status();
}

}  // namespace

template <typename V>
Status Table<V>::Import(const RowLayout& new_layout, const SavedAs& saved, int num_parts,
                        ParallelRunner* runner, const std::function<Status(int)>& load_part) {
  if (new_layout.dim != dim()) {
    return Error(Code::kInvalidArgument, "table '", options_.name, "' has dim ", dim(),
                 ", the rows to import have dim ", new_layout.dim);
  }
  ExclusiveLock layout(&layout_lock_);
  const RowLayout old_layout = layout_;
  layout_ = new_layout;
  ReuseBuckets(old_layout.width() == new_layout.width());
  const ShardRange owned = options_.owned_buckets();
  const int64_t part_buckets = options_.num_buckets / num_parts;
  const int64_t first_part = owned.begin / part_buckets;
  const int64_t parts_here = (owned.end - 1) / part_buckets + 1 - first_part;
  const int shards = static_cast<int>(std::min<int64_t>(parts_here, runner->max_shards()));
  std::vector<Status> statuses(shards);
  runner->Run(shards, [&](int shard) {
    const ShardRange parts = RangeOfShard(parts_here, shards, shard);
    for (int64_t p = parts.begin; p < parts.end && statuses[shard].ok(); ++p) {
      statuses[shard] = load_part(static_cast<int>(first_part + p));
    }
  });
  for (const auto& bucket : buckets_) {
    bucket->store->Trim();
    statuses.push_back(bucket->index.Trim());
  }
  const Status status = FirstError(statuses);
  if (!status.ok()) {
    layout_ = old_layout;
    MakeBuckets();
  }
  if (status.ok() && saved.exists()) {
    for (const auto& bucket : buckets_) bucket->changes.MarkAllSaved(bucket->store->used());
  }
  saves_.Reset(status.ok() ? saved : SavedAs());
  return status;
}

template <typename V>
void Table<V>::ReuseBuckets(bool same_width) {
  ++generation_;
  admission_.Restore(AdmissionState());
  for (int b = 0; b < options_.num_buckets; ++b) {
    Bucket<V>& bucket = *buckets_[b];
    bucket.index.Clear();
    bucket.changes = ChangeLog();
    bucket.filter.reset();
    if (same_width && !bucket.store->pinned()) {
      bucket.store->Clear(
          generation_);  // Fresh pages would cost as much as the rows to be read into them.
    } else {
      bucket.store.reset(Bucket<V>::NewStore(layout_.width(), generation_));
    }
  }
}

template <typename V>
Status Table<V>::FillBucket(int number, const ImportedRows<V>& rows) {
  Bucket<V>& bucket = *buckets_[number];
  const ShardRange range = {number, number + 1};
  Status room = bucket.index.Reserve(rows.rows);
  if (room.ok()) room = bucket.store->Reserve(rows.rows);
  if (!room.ok()) return Error(room.code(), "table '", options_.name, "': ", room.message());
  const KeyIndex::Reader index = bucket.index.reader();
  for (int64_t i = 0; i < rows.rows; ++i) {
    if (i + kAhead < rows.rows) __builtin_prefetch(index.Home(MixKey(rows.keys[i + kAhead])), 1);
    const int64_t key = rows.keys[i];
    const uint64_t hash = MixKey(key);
    if (key == kNoKey || BucketOfHash(hash, bucket_shift_) != number) {
      return MisplacedKey(options_, key, range);
    }
    if (bucket.index.FindOrInsert(key, hash, static_cast<uint32_t>(i)) != kNoRow) {
      return RepeatedKey(options_, key, range);
    }
  }
  bucket.store->Append(rows.keys, rows.rows);
  bucket.changes.AddRows(0, bucket.store->used());
  std::copy_n(rows.values, rows.rows * rows.width, bucket.row(0));
  if (rows.counts == nullptr || rows.last_seen == nullptr) return Status();
  for (int64_t i = 0; i < rows.rows; ++i) {
    bucket.store->SetUsage(static_cast<uint32_t>(i), rows.counts[i], rows.last_seen[i]);
  }
  return Status();
}

template <typename V>
Status Table<V>::ImportRows(int part, int num_parts, const ImportedRows<V>& rows) {
  const ShardRange buckets = RangeOfShard(options_.num_buckets, num_parts, part);
  const bool same_layout = SameSlotNames(rows.layout.slots, layout_.slots);
  const bool first = std::all_of(
      buckets_.begin() + buckets.begin, buckets_.begin() + buckets.end,
      [](const std::unique_ptr<Bucket<V>>& bucket) { return bucket->store->used() == 0; });
  if (first && same_layout && buckets.end - buckets.begin == 1 && rows.width == layout_.width()) {
    return FillBucket(static_cast<int>(buckets.begin), rows);
  }
  const auto bucket_of = [this](int64_t key) {
    return buckets_[BucketOfHash(MixKey(key), bucket_shift_)].get();
  };
  for (int64_t i = 0; i < rows.num_removed; ++i) {
    if (rows.removed[i] == kNoKey) continue;
    Bucket<V>* const bucket = bucket_of(rows.removed[i]);
    const uint32_t row = bucket->index.Remove(rows.removed[i], MixKey(rows.removed[i]));
    if (row != kNoRow) bucket->store->Free(row);
  }
  const ShardRange owned = options_.owned_buckets();
  for (int64_t i = 0; i < rows.rows; ++i) {
    const int64_t key = rows.keys[i];
    const int number = BucketOfHash(MixKey(key), bucket_shift_);
    if (key == kNoKey || number < buckets.begin || number >= buckets.end) {
      return MisplacedKey(options_, key, buckets);
    }
    if (number < owned.begin || number >= owned.end) continue;
    uint32_t row;
    bool found;
    EP_RETURN_IF_ERROR(FindOrAddRow(key, buckets_[number].get(), &row, &found));
    if (first && found) return RepeatedKey(options_, key, buckets);
    V* const target = buckets_[number]->row(row);
    const V* const values = rows.values + i * rows.width;
    if (same_layout) {
      std::copy_n(values, layout_.width(), target);
    } else {
      ConvertRow(rows.layout, values, layout_, target);
    }
    if (rows.counts != nullptr && rows.last_seen != nullptr) {
      buckets_[number]->store->SetUsage(row, rows.counts[i], rows.last_seen[i]);
    }
  }
  return Status();
}

template <typename V>
Status Table<V>::ReplaceWaiting(const std::function<Status()>& load) {
  ExclusiveLock layout(&layout_lock_);
  for (const auto& bucket : buckets_) bucket->filter.reset();
  admission_.Restore(admission_.state());
  return load();
}

template <typename V>
Status Table<V>::ImportWaiting(int part, int num_parts, const WaitingView& waiting) {
  const ShardRange buckets = RangeOfShard(options_.num_buckets, num_parts, part);
  const ShardRange owned = options_.owned_buckets();
  if (waiting.sketch_cells > 0 && !CountSketch::IsCells(waiting.sketch_cells)) {
    return Error(Code::kDataLoss, "table '", options_.name, "': a sketch of ", waiting.sketch_cells,
                 " cells in bucket ", buckets.begin);
  }
  std::vector<WaitingRecords> records(buckets.end - buckets.begin);
  for (int64_t i = 0; i < waiting.n; ++i) {
    const int64_t key = waiting.keys[i];
    const int number = BucketOfHash(MixKey(key), bucket_shift_);
    if (key == kNoKey || number < buckets.begin || number >= buckets.end) {
      return MisplacedKey(options_, key, buckets);
    }
    if (number < owned.begin || number >= owned.end) continue;  // Another partition's.
    if (buckets_[number]->index.Find(key, MixKey(key)) != kNoRow) continue;
    WaitingRecords& of_bucket = records[number - buckets.begin];
    of_bucket.keys.push_back(key);
    of_bucket.counts.push_back(waiting.counts[i]);
    of_bucket.last_seen.push_back(waiting.last_seen[i]);
  }
  const int64_t end = std::min(buckets.end, owned.end);
  for (int64_t b = std::max(buckets.begin, owned.begin); b < end; ++b) {
    WaitingView view = records[b - buckets.begin].view();
    view.sketch_cells = waiting.sketch_cells;
    view.sketch = waiting.sketch;
    if (view.n == 0 && view.sketch_cells == 0) continue;
    Bucket<V>& bucket = *buckets_[b];
    if (bucket.filter == nullptr) bucket.filter = Admission::MakeFilterFor(view);
    bucket.filter->Load(view);
  }
  return Status();
}

template class Table<float>;

}  // namespace estimator_plugin
