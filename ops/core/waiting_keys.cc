#include "waiting_keys.h"

#include <algorithm>
#include <utility>

#include "address.h"
#include "hash.h"

namespace estimator_plugin {
namespace {

constexpr int64_t kAhead = 8;
constexpr size_t kSmallest = 16;

// A power of two: at most two thirds of the places are used.
size_t CapacityFor(int64_t size) {
  size_t capacity = kSmallest;
  while (2 * capacity < 3 * static_cast<size_t>(size)) capacity *= 2;
  return capacity;
}

}  // namespace

size_t WaitingKeys::Place(int64_t key) const {
  const size_t mask = records_.size() - 1;
  size_t at = MixKey(key) & mask;
  while (records_[at].key != key && records_[at].key != kNoKey) at = (at + 1) & mask;
  return at;
}

void WaitingKeys::Rebuild(int64_t size) {
  std::vector<Record> old(CapacityFor(size), Record{kNoKey, 0, 0});
  records_.swap(old);
  for (const Record& record : old) {
    if (record.key != kNoKey) records_[Place(record.key)] = record;
  }
}

void WaitingKeys::Reserve(int64_t size) {
  if (2 * records_.size() < 3 * static_cast<size_t>(size)) Rebuild(size);
}

WaitingKeys::Record* WaitingKeys::FindOrAdd(int64_t key) {
  Reserve(size_ + 1);
  Record* const record = &records_[Place(key)];
  if (record->key == kNoKey) {
    *record = {key, 0, 0};
    ++size_;
  }
  return record;
}

void WaitingKeys::Raise(int64_t key, int32_t count, int64_t last_seen) {
  Record* const record = FindOrAdd(key);
  record->count = std::max(record->count, count);
  record->last_seen = std::max(record->last_seen, last_seen);
}

void WaitingKeys::Count(const MissingKey* keys, int64_t n, const Counting& counting) {
  for (int64_t i = 0; i < n; ++i) {
    if (i + kAhead < n && !records_.empty()) {
      const size_t home = MixKey(keys[i + kAhead].key) & (records_.size() - 1);
      __builtin_prefetch(&records_[home], 1);
    }
    Record* const record = FindOrAdd(keys[i].key);
    record->count = AddCounts(record->count, counting.Added(keys[i].position));
    record->last_seen = std::max(record->last_seen, counting.now);
  }
}

int32_t WaitingKeys::CountOf(int64_t key) const {
  if (records_.empty()) return 0;
  const Record& record = records_[Place(key)];
  return record.key == key ? record.count : 0;
}

int32_t WaitingKeys::Take(int64_t key) {
  if (records_.empty()) return 0;
  const size_t mask = records_.size() - 1;
  size_t hole = Place(key);
  if (records_[hole].key != key) return 0;
  const int32_t count = records_[hole].count;
  for (size_t at = (hole + 1) & mask; records_[at].key != kNoKey; at = (at + 1) & mask) {
    // A record moves into the hole unless its home lies behind the hole.
    const size_t home = MixKey(records_[at].key) & mask;
    if (((at - home) & mask) < ((at - hole) & mask)) continue;
    records_[hole] = records_[at];
    hole = at;
  }
  records_[hole].key = kNoKey;
  --size_;
  return count;
}

int64_t WaitingKeys::RemoveOlder(int64_t last) {
  return RemoveIf([last](int64_t, int64_t last_seen) { return last_seen <= last; });
}

void WaitingKeys::Save(WaitingRecords* records) const {
  records->keys.reserve(size_);
  records->counts.reserve(size_);
  records->last_seen.reserve(size_);
  SaveIf([](int64_t) { return true; }, records);
}

void WaitingKeys::Load(const WaitingView& saved) {
  Reserve(size_ + saved.n);
  for (int64_t i = 0; i < saved.n; ++i) Raise(saved.keys[i], saved.counts[i], saved.last_seen[i]);
}

}  // namespace estimator_plugin
