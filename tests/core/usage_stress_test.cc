// Threads count, train, evict, save, evaluate and change thresholds of one table at once. No count
// is lost, no key has two rows, and no freed row is written.
//
// Sixteen buckets: the thread sanitizer follows at most 64 locks held at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <set>
#include <thread>

#include "stress_time.h"
#include "thread_runner.h"
#include "usage_testing.h"

namespace estimator_plugin {
namespace testing {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kDim = 4;
constexpr int64_t kBatch = 3000;
constexpr uint64_t kKeys = 6000;

class UsageStress {
 public:
  UsageStress() {
    TableOptions options = Options(kDim);
    options.initializer.kind = "constant";
    options.initializer.arguments = {1.0};
    table_ = MakeTable(options);
  }

  FloatTable* table() { return table_.get(); }
  int64_t counted() const { return counted_; }

  void Run(const std::vector<std::function<void(std::mt19937_64*)>>& functions) {
    const auto end = Clock::now() + StressTime();
    std::vector<std::thread> threads;
    for (size_t i = 0; i < functions.size(); ++i) {
      threads.emplace_back([&functions, i, end] {
        std::mt19937_64 random(i);
        while (Clock::now() < end) functions[i](&random);
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(errors_, 0);
    EXPECT_EQ(mixed_, 0) << "rows that are half-written, or of two keys";
  }

  // A worker's step: every value of a row gets the same gradient, so that all stay equal.
  void Train(std::mt19937_64* random) {
    Keys keys(kBatch);
    for (int64_t& key : keys) key = static_cast<int64_t>((*random)() % kKeys);
    Keys addresses(kBatch);
    Floats rows(kBatch * kDim);
    ThreadRunner runner(static_cast<int>((*random)() % 2 + 1));
    const KeyUse use = Use(++time_, 3);
    errors_ += !table_
                    ->Lookup(keys.data(), kBatch, OnMissing::kInsert, nullptr, addresses.data(),
                             rows.data(), &runner, &use)
                    .ok();
    counted_ += kBatch;
    for (int64_t i = 0; i < kBatch * kDim; ++i) mixed_ += rows[i] != rows[i / kDim * kDim];
    UpdateResult result;
    errors_ += !Apply(table_.get(), *rule_, addresses, Floats(kBatch * kDim, 1e-3f), &result,
                      OnNonFinite::kReject, &runner)
                    .ok();
  }

  void Evaluate(std::mt19937_64* random) {
    Keys keys(kBatch);
    for (int64_t& key : keys) key = static_cast<int64_t>((*random)() % kKeys);
    const Found found = Lookup(table_.get(), keys, OnMissing::kDefault);
    for (int64_t i = 0; i < kBatch; ++i) {
      const Floats row = found.embedding(i);
      mixed_ += std::count(row.begin(), row.end(), row[0]) != kDim;
    }
  }

  void SaveIt() {
    const SaveKind kind = table_->can_save_delta() ? SaveKind::kDelta : SaveKind::kFull;
    SaveInfo info;
    std::vector<BucketView<float>> views;
    Status status = table_->PlanSave(kind, &info);
    if (status.ok()) {
      status = table_->Export(info, [&](int, const BucketView<float>& view, const Keys&) {
        views.push_back(view);
        return Status();
      });
    }
    errors_ += !status.ok() && kind == SaveKind::kFull;
    if (status.ok()) table_->CommitSave({info.save_id, "checkpoint"});
    for (const BucketView<float>& view : views) {
      const Snapshot::Part part = CopyView(view, info.layout.width());
      errors_ += std::set<int64_t>(part.keys.begin(), part.keys.end()).size() != part.keys.size();
    }
  }

  // No key has two rows, or a row and a record; the rows that a lookup finds are those there are.
  void CheckEnd() {
    const SeenByKey rows = RowsSeen(*table_);
    for (const auto& entry : WaitingSeen(*table_)) EXPECT_EQ(rows.count(entry.first), 0u);
    Keys keys;
    for (const auto& entry : rows) keys.push_back(entry.first);
    const Keys addresses = Lookup(table_.get(), keys, OnMissing::kDefault).addresses;
    EXPECT_EQ(std::count(addresses.begin(), addresses.end(), kNoAddress), 0);
    EXPECT_EQ(std::set<int64_t>(addresses.begin(), addresses.end()).size(), keys.size());
    EXPECT_EQ(table_->size(), static_cast<int64_t>(keys.size()));
  }

 private:
  std::unique_ptr<FloatTable> table_;
  const std::unique_ptr<UpdateRule<float>> rule_ = MakeRule("sgd", {1, 0});
  std::atomic<int64_t> time_{0};
  std::atomic<int64_t> counted_{0};
  std::atomic<int64_t> errors_{0};
  std::atomic<int64_t> mixed_{0};
};

TEST(UsageStressTest, NoCountIsLost) {
  UsageStress stress;
  const auto train = [&](std::mt19937_64* random) { stress.Train(random); };
  stress.Run({train, train, train, [&](std::mt19937_64* random) { stress.Evaluate(random); },
              [&](std::mt19937_64*) { stress.SaveIt(); },
              [&](std::mt19937_64*) { stress.table()->stats(); }});
  int64_t counts = 0;
  for (const auto& entry : RowsSeen(*stress.table())) counts += entry.second.count;
  for (const auto& entry : WaitingSeen(*stress.table())) counts += entry.second.count;
  EXPECT_EQ(counts, stress.counted());
  EXPECT_EQ(stress.table()->stats().stale_updates, 0);
  stress.CheckEnd();
}

TEST(UsageStressTest, RowsComeAndGo) {
  UsageStress stress;
  const auto train = [&](std::mt19937_64* random) { stress.Train(random); };
  const auto evict = [&](std::mt19937_64* random) {
    const char* const policies[] = {"older_than", "small_norm", "least_recent", "least_frequent"};
    const double thresholds[] = {2, 0.9, 3000, 3000};
    const size_t which = (*random)() % 4;
    ThreadRunner runner(2);
    Evict(stress.table(), policies[which], thresholds[which], &runner);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  };
  const auto set = [&](std::mt19937_64* random) {
    const int32_t threshold = static_cast<int32_t>((*random)() % 4);
    EXPECT_OK(stress.table()->admission()->SetThreshold(threshold, 3));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  };
  stress.Run({train, train, evict, set, [&](std::mt19937_64* random) { stress.Evaluate(random); },
              [&](std::mt19937_64*) { stress.SaveIt(); }});
  EXPECT_GT(stress.table()->stats().rows_evicted, 0);
  stress.CheckEnd();
}

}  // namespace
}  // namespace testing
}  // namespace estimator_plugin
