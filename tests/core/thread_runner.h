// A ParallelRunner over plain threads, for tests.
#ifndef ESTIMATOR_PLUGIN_TESTS_CORE_THREAD_RUNNER_H_
#define ESTIMATOR_PLUGIN_TESTS_CORE_THREAD_RUNNER_H_

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "core/parallel.h"

namespace estimator_plugin {
namespace testing {

// Runs shards on up to `threads` threads at once, the last shard first: whoever relies on the order
// of shards, or on shard 0 running on the calling thread, is found out.
class ThreadRunner : public ParallelRunner {
 public:
  explicit ThreadRunner(int threads) : threads_(threads) {}

  int max_shards() const override { return threads_; }

  void Run(int num_shards, const std::function<void(int)>& shard) override {
    std::atomic<int> left(num_shards);
    const auto work = [&left, &shard] {
      for (int i = --left; i >= 0; i = --left) shard(i);
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < std::min(threads_, num_shards); ++i) threads.emplace_back(work);
    for (std::thread& thread : threads) thread.join();
  }

 private:
  const int threads_;
};

}  // namespace testing
}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_TESTS_CORE_THREAD_RUNNER_H_
