// The one rule that maps a key to its bucket. estimator_plugin/hashing.py holds the same rule in
// numpy; tests/core/hash_test.cc and tests/test_hashing.py check both against shared vectors.
//
// Checkpoints and server placement depend on it: a change needs a new kHashVersion.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_HASH_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_HASH_H_

#include <cstdint>

namespace estimator_plugin {

constexpr int kHashVersion = 1;

// Buckets of a table: a power of two.
constexpr int kMaxBuckets = 4096;
inline bool IsNumBuckets(int64_t n) { return n >= 1 && n <= kMaxBuckets && (n & (n - 1)) == 0; }

// What a hash is shifted by to find its bucket.
inline int BucketShift(int num_buckets) {
  int shift = 64;
  for (int n = num_buckets; n > 1; n /= 2) --shift;
  return shift;
}

// SplitMix64's increment and finalizer (Steele, Lea, Flood 2014): a bijection of 64-bit words.
inline uint64_t MixKey(int64_t key) {
  uint64_t x = static_cast<uint64_t>(key) + 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// The top bits choose the bucket, so that the low 32 bits stay free for the position inside it.
// REQUIRES: num_buckets is a power of two up to 2^16; bucket_shift = 64 - log2(num_buckets).
inline int BucketOfHash(uint64_t hash, int bucket_shift) {
  return bucket_shift == 64 ? 0 : static_cast<int>(hash >> bucket_shift);
}

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_HASH_H_
