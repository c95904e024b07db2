#include "combined_counts.h"

#include <algorithm>

#include "hash.h"

namespace estimator_plugin {
namespace {

constexpr int kLaneShift = 58;  // 64 lanes.

int LaneOf(int64_t key) { return BucketOfHash(MixKey(key), kLaneShift); }

class CombinedFilter : public AdmissionFilter {
 public:
  CombinedFilter(const std::shared_ptr<CombinedCounts>& counts, const void* table,
                 const KeysOfBucket& keys)
      : counts_(counts), table_(table), keys_(keys) {
    counts_->Join(table);
  }

  void Count(const MissingKey* keys, int64_t n, const Counting& counting) override {
    counts_->Count(keys, n, counting);
  }
  int32_t CountOf(int64_t key) const override { return counts_->CountOf(key); }
  int32_t Take(int64_t key) override { return counts_->CountOf(key); }
  int64_t RemoveOlder(int64_t last) override { return counts_->RemoveOlder(table_, keys_, last); }
  // The record belongs to no table.
  int64_t waiting() const override { return 0; }
  int64_t bytes() const override { return 0; }
  void Save(WaitingRecords* records) const override { counts_->Save(table_, keys_, records); }
  void Load(const WaitingView& saved) override { counts_->Load(saved); }

 private:
  const std::shared_ptr<CombinedCounts> counts_;
  const void* const table_;
  const KeysOfBucket keys_;
};

// The lanes that a bucket's keys are in.
struct Lanes {
  int begin;
  int end;
};

Lanes LanesOf(const KeysOfBucket& keys) {
  if (keys.bucket_shift <= kLaneShift) {  // As many buckets as lanes, or more.
    const int lane = keys.bucket >> (kLaneShift - keys.bucket_shift);
    return {lane, lane + 1};
  }
  const int lanes = 1 << (keys.bucket_shift - kLaneShift);
  return {keys.bucket * lanes, (keys.bucket + 1) * lanes};
}

}  // namespace

constexpr int CombinedCounts::kLanes;

bool KeysOfBucket::Has(int64_t key) const {
  return BucketOfHash(MixKey(key), bucket_shift) == bucket;
}

void CombinedCounts::Count(const MissingKey* keys, int64_t n, const Counting& counting) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (int64_t i = 0; i < n; ++i) lanes_[LaneOf(keys[i].key)].Count(keys + i, 1, counting);
}

int32_t CombinedCounts::CountOf(int64_t key) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return lanes_[LaneOf(key)].CountOf(key);
}

void CombinedCounts::Join(const void* table) {
  std::lock_guard<std::mutex> lock(mutex_);
  needless_.emplace(table, kNoClock);
}

int64_t CombinedCounts::RemoveOlder(const void* table, const KeysOfBucket& keys, int64_t last) {
  std::lock_guard<std::mutex> lock(mutex_);
  needless_[table] = last;
  for (const auto& entry : needless_) last = std::min(last, entry.second);
  int64_t removed = 0;
  if (last < 0) return removed;
  const Lanes lanes = LanesOf(keys);
  for (int lane = lanes.begin; lane < lanes.end; ++lane) {
    removed += lanes_[lane].RemoveIf(
        [&](int64_t key, int64_t last_seen) { return last_seen <= last && keys.Has(key); });
  }
  return removed;
}

void CombinedCounts::Save(const void* table, const KeysOfBucket& keys, WaitingRecords* records) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (saver_ == nullptr) saver_ = table;
  if (saver_ != table) return;
  const Lanes lanes = LanesOf(keys);
  for (int lane = lanes.begin; lane < lanes.end; ++lane) {
    lanes_[lane].SaveIf([&](int64_t key) { return keys.Has(key); }, records);
  }
}

void CombinedCounts::Load(const WaitingView& saved) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (int64_t i = 0; i < saved.n; ++i) {
    lanes_[LaneOf(saved.keys[i])].Raise(saved.keys[i], saved.counts[i], saved.last_seen[i]);
  }
}

std::unique_ptr<AdmissionFilter> MakeCombinedFilter(const std::shared_ptr<CombinedCounts>& counts,
                                                    const void* table, const KeysOfBucket& keys) {
  return std::unique_ptr<AdmissionFilter>(new CombinedFilter(counts, table, keys));
}

}  // namespace estimator_plugin
