// Runs core work on the intra-op threads TensorFlow gives a kernel.
#ifndef ESTIMATOR_PLUGIN_OPS_KERNELS_INTRA_OP_RUNNER_H_
#define ESTIMATOR_PLUGIN_OPS_KERNELS_INTRA_OP_RUNNER_H_

#include <functional>

#include "../core/parallel.h"
#include "tf_compat.h"

namespace estimator_plugin {

class IntraOpRunner : public ParallelRunner {
 public:
  explicit IntraOpRunner(tf::OpKernelContext* ctx)
      : workers_(*ctx->device()->tensorflow_cpu_worker_threads()) {}

  int max_shards() const override { return workers_.num_threads; }

  void Run(int num_shards, const std::function<void(int)>& shard) override {
    // So dear that TensorFlow gives every shard a block of its own.
    constexpr int64_t kCyclesPerShard = 10 * 1000 * 1000;
    tf::Shard(workers_.num_threads, workers_.workers, num_shards, kCyclesPerShard,
              [&shard](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) shard(static_cast<int>(i));
              });
  }

 private:
  const tf::DeviceBase::CpuWorkerThreads& workers_;
};

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_KERNELS_INTRA_OP_RUNNER_H_
