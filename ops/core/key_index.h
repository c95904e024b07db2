// Key -> row number, for the keys of one bucket.
//
// Open addressing over 64-byte groups of five entries, one cache line a group: a probe of a key
// that is in its home group touches one line. `overflow` counts the keys that had to pass the
// group, so a search ends at the first group nobody passed and a removal leaves no tombstone (the
// scheme of Facebook's F14). Grows by half, never shrinks. Thread-compatible.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_KEY_INDEX_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_KEY_INDEX_H_

#include <cstdint>

#include "address.h"
#include "hash.h"
#include "index_arena.h"
#include "status.h"

namespace estimator_plugin {

class KeyIndex {
 public:
  static constexpr int kEntries = 5;

  struct alignas(64) Group {
    int64_t keys[kEntries];  // kNoKey where empty.
    uint32_t rows[kEntries];
    uint32_t overflow;

    // A bit for the entry of the key, if it is here.
    unsigned Match(int64_t key) const {
      unsigned match = 0;
      for (int i = 0; i < kEntries; ++i) match |= static_cast<unsigned>(keys[i] == key) << i;
      return match;
    }
  };
  static_assert(sizeof(Group) == 64, "a group is one cache line");

  // What a search needs, small enough to keep for all buckets of a table in the first-level cache.
  struct Reader {
    const Group* groups;
    uint64_t num_groups;

    // The low half of the hash scaled to the groups (Lemire 2016), so any count of groups works.
    const Group* Home(uint64_t hash) const {
      return groups + (((hash & 0xffffffffu) * num_groups) >> 32);
    }
    uint32_t Find(const Group* home, int64_t key) const;
  };

  // `stagger` spreads the growth of a table's buckets over many steps.
  KeyIndex(IndexArena* arena, int stagger) : arena_(arena), stagger_(stagger) {}
  ~KeyIndex();
  KeyIndex(const KeyIndex&) = delete;
  KeyIndex& operator=(const KeyIndex&) = delete;

  Reader reader() const { return {groups_, num_groups_}; }

  // The row of `key`, or kNoRow. REQUIRES for all: hash == MixKey(key), key != kNoKey.
  uint32_t Find(int64_t key, uint64_t hash) const;
  // REQUIRES: the key is not there, and Reserve left room for it.
  void Insert(int64_t key, uint64_t hash, uint32_t row);
  // The row of `key`; if it has none, gives it `row` and returns kNoRow. REQUIRES: as for Insert.
  uint32_t FindOrInsert(int64_t key, uint64_t hash, uint32_t row);
  // Returns the row the key had, or kNoRow.
  uint32_t Remove(int64_t key, uint64_t hash);

  // Makes room for `size` keys in all; ResourceExhausted when the system gives no memory.
  Status Reserve(int64_t size);

  // Forgets all keys and keeps the memory for the next ones.
  void Clear();
  // Gives back the memory that was kept, if the keys need much less.
  Status Trim();

  int64_t size() const { return size_; }
  int64_t bytes() const { return static_cast<int64_t>(num_groups_ * sizeof(Group)); }

 private:
  Status Rebuild(uint64_t num_groups);
  Group* Next(Group* group) const;

  IndexArena* const arena_;
  const int stagger_;
  Group* groups_ = nullptr;
  uint64_t num_groups_ = 0;
  int64_t size_ = 0;
  int64_t capacity_ = 0;  // Keys it takes before it grows.
};

inline uint32_t KeyIndex::Reader::Find(const Group* group, int64_t key) const {
  for (uint64_t probed = 0; probed < num_groups; ++probed) {
    const unsigned match = group->Match(key);
    if (match != 0) return group->rows[__builtin_ctz(match)];
    if (group->overflow == 0) return kNoRow;
    if (++group == groups + num_groups) group = groups;
  }
  return kNoRow;
}

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_KEY_INDEX_H_
