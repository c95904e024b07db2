// Keys with a wanted hash. The mix is a bijection, so an adversary can aim every key of a batch at
// one bucket and one place inside it; so do the tests.
#ifndef ESTIMATOR_PLUGIN_TESTS_CORE_CRAFTED_KEYS_H_
#define ESTIMATOR_PLUGIN_TESTS_CORE_CRAFTED_KEYS_H_

#include <cstdint>
#include <vector>

#include "core/address.h"

namespace estimator_plugin {
namespace testing {

// The key whose MixKey is `hash`.
inline int64_t KeyOfHash(uint64_t hash) {
  const auto undo_xor_shift = [](uint64_t x, int shift) {
    uint64_t result = x;
    for (int known = shift; known < 64; known += shift) result = x ^ (result >> shift);
    return result;
  };
  // The multipliers are the inverses modulo 2^64 of the ones in MixKey.
  uint64_t x = undo_xor_shift(hash, 31) * 0x319642b2d24d8ec3ull;
  x = undo_xor_shift(x, 27) * 0x96de1b173f119089ull;
  return static_cast<int64_t>(undo_xor_shift(x, 30) - 0x9e3779b97f4a7c15ull);
}

// `n` different keys whose hashes share the low 32 bits, which are the place inside a bucket. They
// also share the top 16 bits, so they are all of one bucket; there are 2^16 of them.
inline std::vector<int64_t> KeysOfOnePlace(uint32_t low, uint16_t top, int n) {
  std::vector<int64_t> keys;
  for (uint64_t middle = 0; static_cast<int>(keys.size()) < n; ++middle) {
    const int64_t key = KeyOfHash((static_cast<uint64_t>(top) << 48) | (middle << 32) | low);
    if (key != kNoKey) keys.push_back(key);
  }
  return keys;
}

}  // namespace testing
}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_TESTS_CORE_CRAFTED_KEYS_H_
