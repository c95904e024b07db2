// Holds the locks of all buckets of a table at once, in bucket order.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_BUCKET_LOCKS_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_BUCKET_LOCKS_H_

#include <memory>
#include <vector>

#include "bucket.h"

namespace estimator_plugin {

// No deadlock: everybody else holds one bucket's lock at a time, or takes them in the same order.
template <typename V, void (RwLock::*kLock)()>
class AllBucketsLock {
 public:
  explicit AllBucketsLock(const std::vector<std::unique_ptr<Bucket<V>>>& buckets)
      : buckets_(buckets) {
    for (const auto& bucket : buckets_) (bucket->lock.*kLock)();
  }
  ~AllBucketsLock() {
    for (const auto& bucket : buckets_) bucket->lock.Unlock();
  }
  AllBucketsLock(const AllBucketsLock&) = delete;
  AllBucketsLock& operator=(const AllBucketsLock&) = delete;

 private:
  const std::vector<std::unique_ptr<Bucket<V>>>& buckets_;
};

template <typename V>
using AllBucketsShared = AllBucketsLock<V, &RwLock::LockShared>;
template <typename V>
using AllBucketsExclusive = AllBucketsLock<V, &RwLock::LockExclusive>;

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_BUCKET_LOCKS_H_
