// Runs a piece of work on two threads with next to no hand-over time.
#ifndef ESTIMATOR_PLUGIN_BENCHMARKS_LIMIT_TWO_THREADS_H_
#define ESTIMATOR_PLUGIN_BENCHMARKS_LIMIT_TWO_THREADS_H_

#include <atomic>
#include <functional>
#include <thread>

namespace limit {

// The second thread spins between pieces, so keep a TwoThreads only while measuring.
class TwoThreads {
 public:
  TwoThreads() : second_([this] { Serve(); }) {}
  ~TwoThreads() {
    stop_.store(true);
    given_.fetch_add(1);
    second_.join();
  }

  // work(0) here and work(1) on the other thread; returns when both are done.
  void Run(const std::function<void(int)>& work) {
    work_ = &work;
    const int piece = given_.fetch_add(1) + 1;
    work(0);
    WaitFor(done_, piece);
  }

 private:
  static void WaitFor(const std::atomic<int>& counter, int value) {
    for (int spins = 0; counter.load(std::memory_order_acquire) < value; ++spins) {
      if (spins > 20000) std::this_thread::yield();
    }
  }

  void Serve() {
    for (int piece = 1;; ++piece) {
      WaitFor(given_, piece);
      if (stop_.load()) return;
      (*work_)(1);
      done_.store(piece, std::memory_order_release);
    }
  }

  std::atomic<int> given_{0};
  std::atomic<int> done_{0};
  std::atomic<bool> stop_{false};
  const std::function<void(int)>* work_ = nullptr;
  std::thread second_;  // Last: it uses the others.
};

}  // namespace limit

#endif  // ESTIMATOR_PLUGIN_BENCHMARKS_LIMIT_TWO_THREADS_H_
