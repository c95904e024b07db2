// Keys of a batch that a lookup found no row for, and what is to become of them.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_MISSING_KEYS_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_MISSING_KEYS_H_

#include <cstdint>
#include <vector>

#include "hash.h"

namespace estimator_plugin {

struct Counting;

struct MissingKey {
  int64_t key;
  int64_t position;  // In the batch.
};

// Where the rows of missing keys are reported.
template <typename V>
struct MissingRows {
  int64_t* addresses;        // By position.
  V* embeddings;             // By position; may be null.
  const Counting* counting;  // Null unless the lookup counts its keys.
};

// Missing keys by bucket, each bucket's in the order of the batch.
struct MissingByBucket {
  std::vector<MissingKey> keys;
  std::vector<int64_t> begins;  // begins[b] to begins[b + 1] is bucket b's part of `keys`.

  MissingByBucket(const std::vector<MissingKey>& missing, int num_buckets, int bucket_shift)
      : keys(missing.size()), begins(num_buckets + 1, 0) {
    for (const MissingKey& key : missing) {
      ++begins[BucketOfHash(MixKey(key.key), bucket_shift) + 1];
    }
    for (int b = 0; b < num_buckets; ++b) begins[b + 1] += begins[b];
    std::vector<int64_t> next(begins.begin(), begins.end() - 1);
    for (const MissingKey& key : missing) {
      keys[next[BucketOfHash(MixKey(key.key), bucket_shift)]++] = key;
    }
  }
};

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_MISSING_KEYS_H_
