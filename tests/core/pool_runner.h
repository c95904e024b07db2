// A ParallelRunner over a pool of threads that several operations share, as TensorFlow's intra-op
// pool is shared by the operations of a step.
#ifndef ESTIMATOR_PLUGIN_TESTS_CORE_POOL_RUNNER_H_
#define ESTIMATOR_PLUGIN_TESTS_CORE_POOL_RUNNER_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "core/parallel.h"

namespace estimator_plugin {
namespace testing {

// Thread-safe.
class ThreadPool {
 public:
  explicit ThreadPool(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
  }
  ~ThreadPool() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  int size() const { return static_cast<int>(threads_.size()); }

  void Schedule(std::function<void()> task) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_one();
  }

 private:
  void Work() {
    for (;;) {
      std::function<void()> task;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return closing_ || !tasks_.empty(); });
        if (tasks_.empty()) return;
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      task();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

// Runs shard 0 on the caller and queues the others, as TensorFlow's Shard() does. One per
// operation.
class PoolRunner : public ParallelRunner {
 public:
  explicit PoolRunner(ThreadPool* pool) : pool_(pool) {}

  int max_shards() const override { return pool_->size() + 1; }

  void Run(int num_shards, const std::function<void(int)>& shard) override {
    std::mutex mutex;
    std::condition_variable finished;
    int left = num_shards - 1;
    for (int i = 1; i < num_shards; ++i) {
      pool_->Schedule([&, i] {
        shard(i);
        std::lock_guard<std::mutex> lock(mutex);
        if (--left == 0) finished.notify_one();
      });
    }
    shard(0);
    std::unique_lock<std::mutex> lock(mutex);
    finished.wait(lock, [&left] { return left == 0; });
  }

 private:
  ThreadPool* const pool_;
};

}  // namespace testing
}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_TESTS_CORE_POOL_RUNNER_H_
