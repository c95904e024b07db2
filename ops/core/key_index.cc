#include "key_index.h"

#include <algorithm>
#include <cmath>

namespace estimator_plugin {
namespace {

// Five-entry groups overflow often beyond this share of entries used.
constexpr double kMaxLoad = 0.8;
constexpr double kGrowth = 1.5;
constexpr int kStaggerSteps = 64;
// An index with room for so many times its keys is worth making anew.
constexpr int64_t kTrimDivisor = 3;

int64_t CapacityOf(uint64_t num_groups) {
  return static_cast<int64_t>(static_cast<double>(num_groups * KeyIndex::kEntries) * kMaxLoad);
}

uint64_t GroupsFor(int64_t size) {
  return static_cast<uint64_t>(
             std::ceil(static_cast<double>(size) / (kMaxLoad * KeyIndex::kEntries))) +
         1;
}

void FillEmpty(KeyIndex::Group* groups, uint64_t num_groups) {
  for (uint64_t g = 0; g < num_groups; ++g) {
    std::fill_n(groups[g].keys, KeyIndex::kEntries, kNoKey);
    groups[g].overflow = 0;
  }
}

}  // namespace

KeyIndex::~KeyIndex() {
  if (groups_ != nullptr) arena_->Free(groups_, bytes());
}

KeyIndex::Group* KeyIndex::Next(Group* group) const {
  return ++group == groups_ + num_groups_ ? groups_ : group;
}

uint32_t KeyIndex::Find(int64_t key, uint64_t hash) const {
  const Reader view = reader();
  return num_groups_ == 0 ? kNoRow : view.Find(view.Home(hash), key);
}

void KeyIndex::Insert(int64_t key, uint64_t hash, uint32_t row) {
  Group* group = const_cast<Group*>(reader().Home(hash));
  for (;;) {
    for (int i = 0; i < kEntries; ++i) {
      if (group->keys[i] == kNoKey) {
        group->keys[i] = key;
        group->rows[i] = row;
        ++size_;
        return;
      }
    }
    ++group->overflow;
    group = Next(group);
  }
}

uint32_t KeyIndex::Remove(int64_t key, uint64_t hash) {
  if (num_groups_ == 0) return kNoRow;
  Group* group = const_cast<Group*>(reader().Home(hash));
  unsigned match = group->Match(key);
  // Only a key that is there has counted in the groups that it passed.
  if (match == 0 && Find(key, hash) == kNoRow) return kNoRow;
  for (; match == 0; match = group->Match(key)) {
    --group->overflow;
    group = Next(group);
  }
  const int i = __builtin_ctz(match);
  group->keys[i] = kNoKey;
  --size_;
  return group->rows[i];
}

uint32_t KeyIndex::FindOrInsert(int64_t key, uint64_t hash, uint32_t row) {
  Group* const home = const_cast<Group*>(reader().Home(hash));
  if (home->overflow == 0) {  // Else the key may lie further on; most of the time it cannot.
    for (int i = 0; i < kEntries; ++i) {
      if (home->keys[i] == key) return home->rows[i];
    }
  } else {
    const uint32_t found = Find(key, hash);
    if (found != kNoRow) return found;
  }
  Insert(key, hash, row);
  return kNoRow;
}

void KeyIndex::Clear() {
  FillEmpty(groups_, num_groups_);
  size_ = 0;
}

Status KeyIndex::Trim() {
  if (kTrimDivisor * size_ >= capacity_) return Status();
  return Rebuild(GroupsFor(size_));
}

Status KeyIndex::Reserve(int64_t size) {
  if (size <= capacity_) return Status();
  if (size > static_cast<int64_t>(kMaxRowsPerBucket)) {
    return Error(Code::kResourceExhausted, "a bucket holds at most ", kMaxRowsPerBucket,
                 " keys, not ", size);
  }
  const uint64_t needed = GroupsFor(size);
  if (num_groups_ == 0) {
    // Buckets start at sizes spread evenly over one growth step, so they grow at different times.
    const double share = std::pow(kGrowth, static_cast<double>(stagger_ % kStaggerSteps) /
                                               static_cast<double>(kStaggerSteps));
    return Rebuild(std::max<uint64_t>(needed, static_cast<uint64_t>(8 * share)));
  }
  const uint64_t grown = static_cast<uint64_t>(static_cast<double>(num_groups_) * kGrowth) + 1;
  return Rebuild(std::max(needed, grown));
}

Status KeyIndex::Rebuild(uint64_t num_groups) {
  const int64_t new_bytes = static_cast<int64_t>(num_groups * sizeof(Group));
  Group* fresh = static_cast<Group*>(arena_->Allocate(new_bytes));
  if (fresh == nullptr) {
    return Error(Code::kResourceExhausted, "no memory for an index of ", new_bytes, " bytes");
  }
  FillEmpty(fresh, num_groups);
  Group* const old_groups = groups_;
  const uint64_t old_num_groups = num_groups_;
  groups_ = fresh;
  num_groups_ = num_groups;
  capacity_ = CapacityOf(num_groups);
  size_ = 0;
  for (uint64_t g = 0; g < old_num_groups; ++g) {
    for (int i = 0; i < kEntries; ++i) {
      const int64_t key = old_groups[g].keys[i];
      if (key != kNoKey) Insert(key, MixKey(key), old_groups[g].rows[i]);
    }
  }
  if (old_groups != nullptr) {
    arena_->Free(old_groups, static_cast<int64_t>(old_num_groups * sizeof(Group)));
  }
  return Status();
}

}  // namespace estimator_plugin
