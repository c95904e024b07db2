// Which row belongs to a key: open addressing with linear probing, sized once, never rehashed.
#ifndef ESTIMATOR_PLUGIN_BENCHMARKS_LIMIT_KEY_INDEX_H_
#define ESTIMATOR_PLUGIN_BENCHMARKS_LIMIT_KEY_INDEX_H_

#include <cstddef>
#include <cstdint>

#include "memory.h"

namespace limit {

inline uint64_t Mix(uint64_t x) {  // SplitMix64.
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Two halves by the hash's top bit: two threads insert without a lock, each into its own half.
// Any thread may find any key while nobody inserts.
class KeyIndex {
 public:
  struct Slot {
    int64_t key;
    int64_t row_plus_one;  // 0: the slot is free.
  };

  explicit KeyIndex(size_t capacity) : half_slots_(HalfSlots(capacity)), slots_(2 * half_slots_) {}

  static int HalfOf(uint64_t hash) { return static_cast<int>(hash >> 63); }

  // Where the search for a key of this hash starts; worth a prefetch.
  Slot* Start(uint64_t hash) {
    return slots_.data() + HalfOf(hash) * half_slots_ + (hash & (half_slots_ - 1));
  }

  // REQUIRES: the key is there.
  int64_t Find(Slot* start, uint64_t hash, int64_t key) {
    Slot* slot = start;
    while (slot->key != key || slot->row_plus_one == 0) slot = Next(slot, hash);
    return slot->row_plus_one - 1;
  }

  // The row of the key, or, where it has none, `free_row`, which it then has.
  int64_t FindOrInsert(Slot* start, uint64_t hash, int64_t key, int64_t free_row) {
    Slot* slot = start;
    while (slot->row_plus_one != 0) {
      if (slot->key == key) return slot->row_plus_one - 1;
      slot = Next(slot, hash);
    }
    *slot = {key, free_row + 1};
    return free_row;
  }

 private:
  // Half full at most two thirds of the time: a power of two above 1.5 times the capacity.
  static size_t HalfSlots(size_t capacity) {
    size_t slots = 1024;
    while (slots < capacity * 3 / 2) slots *= 2;
    return slots / 2;
  }

  Slot* Next(Slot* slot, uint64_t hash) {
    Slot* end = slots_.data() + (HalfOf(hash) + 1) * half_slots_;
    return slot + 1 == end ? end - half_slots_ : slot + 1;
  }

  const size_t half_slots_;
  Memory<Slot> slots_;
};

}  // namespace limit

#endif  // ESTIMATOR_PLUGIN_BENCHMARKS_LIMIT_KEY_INDEX_H_
