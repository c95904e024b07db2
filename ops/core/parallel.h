// How core code uses threads it does not own.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_PARALLEL_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_PARALLEL_H_

#include <cstdint>
#include <functional>

namespace estimator_plugin {

// Runs the shards of one operation. Kernels adapt TensorFlow's intra-op pool to it, tests a plain
// vector of threads. Thread-compatible: one operation uses one runner at a time.
//
// Every batched operation of this library gives the same bits whatever max_shards() is.
class ParallelRunner {
 public:
  virtual ~ParallelRunner() = default;

  // The most shards that are worth making; at least 1.
  virtual int max_shards() const = 0;

  // Calls shard(0) ... shard(num_shards - 1), each once, in any order and on any thread; returns
  // when all have returned. REQUIRES: the shards wait for nothing, neither each other nor a lock
  // that another operation may hold while its own shards are queued behind them.
  virtual void Run(int num_shards, const std::function<void(int)>& shard) = 0;
};

// Runs everything on the calling thread.
class InlineRunner : public ParallelRunner {
 public:
  int max_shards() const override { return 1; }
  void Run(int num_shards, const std::function<void(int)>& shard) override {
    for (int i = 0; i < num_shards; ++i) shard(i);
  }
};

// The half-open part [begin, end) of `total` items that shard `index` of `num_shards` works on.
struct ShardRange {
  int64_t begin;
  int64_t end;
};

inline ShardRange RangeOfShard(int64_t total, int num_shards, int index) {
  return {total * index / num_shards, total * (index + 1) / num_shards};
}

// Shards worth making for `total` items when one shard should have at least `grain` of them.
inline int ShardsFor(const ParallelRunner& runner, int64_t total, int64_t grain) {
  const int64_t by_grain = total / grain;
  const int64_t most = runner.max_shards();
  return static_cast<int>(by_grain < 1 ? 1 : (by_grain < most ? by_grain : most));
}

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_PARALLEL_H_
