// Operations of one step run side by side and share a pool of threads. None may wait for a lock in
// a shard: the shards of the operation that holds the lock might be queued behind it for ever.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "pool_runner.h"
#include "table_testing.h"

namespace estimator_plugin {
namespace testing {
namespace {

constexpr int64_t kBatch = 12000;  // Several shards' worth.

// Ends the process when no operation ends for a minute: a deadlock cannot be joined.
class Watchdog {
 public:
  Watchdog()
      : thread_([this] {
          constexpr int kPatience = 600;  // Tenths of a second.
          for (int idle = 0, seen = 0; !done_; ++idle) {
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            if (ended_ != seen) idle = 0;
            seen = ended_;
            if (idle < kPatience) continue;
            std::fprintf(stderr, "deadlock: operations that share a pool wait for each other\n");
            std::abort();
          }
        }) {}
  ~Watchdog() {
    done_ = true;
    thread_.join();
  }
  void OperationEnded() { ++ended_; }

 private:
  std::atomic<bool> done_{false};
  std::atomic<int> ended_{0};
  std::thread thread_;
};

// What a worker does: look known keys up, insert new ones, update, gather.
void UseTable(FloatTable* table, ThreadPool* pool, int worker, Watchdog* watchdog,
              std::atomic<int>* errors) {
  std::mt19937_64 random(worker);
  PoolRunner runner(pool);
  const auto rule = MakeRule("adagrad", {0.1, 0, 0.1});
  Keys keys(kBatch);
  Keys addresses(kBatch);
  Floats values(kBatch * table->dim());
  for (int step = 0; step < 8; ++step) {
    for (int64_t& key : keys) key = static_cast<int64_t>(random() % 1000000);
    *errors += !table
                    ->Lookup(keys.data(), kBatch, OnMissing::kInsert, nullptr, addresses.data(),
                             values.data(), &runner)
                    .ok();
    watchdog->OperationEnded();
    if (worker % 2 == 0) {
      *errors +=
          !Apply(table, *rule, addresses, values, nullptr, OnNonFinite::kReject, &runner).ok();
    } else {
      *errors += !table->Gather(addresses.data(), kBatch, nullptr, values.data(), &runner).ok();
    }
    watchdog->OperationEnded();
  }
}

TEST(TableSharedPoolTest, OperationsDoNotWaitForEachOtherInThePool) {
  Watchdog watchdog;
  for (int threads : {1, 2, 4}) {
    const auto table = MakeTable(4);
    ThreadPool pool(threads);
    std::atomic<int> errors(0);
    std::vector<std::thread> workers;
    for (int worker = 0; worker < 6; ++worker) {
      workers.emplace_back(
          [&, worker] { UseTable(table.get(), &pool, worker, &watchdog, &errors); });
    }
    for (std::thread& worker : workers) worker.join();
    EXPECT_EQ(errors, 0);
    EXPECT_EQ(static_cast<int64_t>(Rows(*table).size()), table->size());
  }
}

}  // namespace
}  // namespace testing
}  // namespace estimator_plugin
