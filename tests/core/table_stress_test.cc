// Eight threads use one table at once for a few seconds: lookups, inserts, updates, removals,
// exports, statistics, changes of the optimizer, clearing. What must hold at every moment is
// checked while they run, and what must hold of the end when they are done.
//
// Sixteen buckets: the thread sanitizer follows at most 64 locks held at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <random>
#include <set>

#include "core/hash.h"
#include "stress_time.h"
#include "table_testing.h"
#include "thread_runner.h"

namespace estimator_plugin {
namespace testing {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kDim = 4;
constexpr int64_t kBatch = 3000;
constexpr uint64_t kKeys = 20000;

// Every update adds the same to all values of a row, and every row starts with equal values: a row
// whose values differ is half-written, or of two keys.
TableOptions EqualValues() {
  TableOptions options = Options(kDim);
  options.initializer.kind = "constant";
  options.initializer.arguments = {1.0};
  return options;
}

class Stress {
 public:
  Stress() : table_(MakeTable(EqualValues())) {}

  // Runs every function again and again, each on a thread of its own, until the time is over.
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
  }

  Keys DrawKeys(std::mt19937_64* random) const {
    Keys keys(kBatch);
    for (int64_t& key : keys) key = static_cast<int64_t>((*random)() % kKeys) - 1;
    return keys;
  }

  void CheckEqual(const float* row, int64_t n) {
    for (int64_t i = 1; i < n; ++i) mixed_ += row[i] != row[0];
  }

  Keys LookUp(std::mt19937_64* random, OnMissing on_missing) {
    const Keys keys = DrawKeys(random);
    Keys addresses(kBatch);
    Floats embeddings(kBatch * kDim);
    ThreadRunner runner(static_cast<int>((*random)() % 2 + 1));
    const Status status = table_->Lookup(keys.data(), kBatch, on_missing, nullptr, addresses.data(),
                                         embeddings.data(), &runner);
    errors_ += !status.ok();
    for (int64_t i = 0; i < kBatch; ++i) {
      CheckEqual(&embeddings[i * kDim], kDim);
      lost_ += on_missing == OnMissing::kInsert && (addresses[i] == kNoAddress) != (keys[i] == -1);
    }
    return addresses;
  }

  // A row may have been removed since its address was looked up: then its gradient is dropped. The
  // whole update is refused where the table was cleared.
  void Update(std::mt19937_64* random, const UpdateRule<float>& rule) {
    const Keys addresses = LookUp(random, OnMissing::kDefault);
    Floats gradients(kBatch * kDim, 1e-3f);
    ThreadRunner runner(2);
    const Status status =
        Apply(table_.get(), rule, addresses, gradients, nullptr, OnNonFinite::kReject, &runner);
    errors_ += !status.ok() && status.code() != Code::kInvalidArgument &&
               status.code() != Code::kFailedPrecondition;
    updates_ += status.ok();
  }

  void GatherRows(std::mt19937_64* random) {
    const Keys addresses = LookUp(random, OnMissing::kInsert);
    Floats embeddings(kBatch * kDim);
    InlineRunner runner;
    const Status status =
        table_->Gather(addresses.data(), kBatch, nullptr, embeddings.data(), &runner);
    errors_ += !status.ok() && status.code() != Code::kInvalidArgument;
    for (int64_t i = 0; status.ok() && i < kBatch; ++i) CheckEqual(&embeddings[i * kDim], kDim);
  }

  void RemoveSome(std::mt19937_64* random) {
    const Keys keys = DrawKeys(random);
    int64_t removed = 0;
    errors_ += !table_->Remove(keys.data(), kBatch / 10, &removed).ok();
  }

  // A full save or, where one will do, a delta.
  void Export() {
    SaveInfo info;
    std::vector<BucketView<float>> views;
    const SaveKind kind =
        exports_ % 2 == 1 && table_->can_save_delta() ? SaveKind::kDelta : SaveKind::kFull;
    Status status = table_->PlanSave(kind, &info);
    if (status.ok()) {
      status = table_->Export(info, [&views](int, const BucketView<float>& view, const Keys&) {
        views.push_back(view);
        return Status();
      });
    }
    // Another thread may have removed too much since the question.
    errors_ += !status.ok() && kind == SaveKind::kFull;
    if (status.ok()) table_->CommitSave({info.save_id, "checkpoint"});
    const RowLayout layout = info.layout;
    // Read after the export, as an asynchronous save does.
    for (size_t bucket = 0; bucket < views.size(); ++bucket) {
      CheckPart(CopyView(views[bucket], layout.width()), static_cast<int>(bucket));
    }
    ++exports_;
  }

  void CheckPart(const Snapshot::Part& part, int bucket) {
    const std::set<int64_t> keys(part.keys.begin(), part.keys.end());
    lost_ += keys.size() != part.keys.size();
    for (int64_t key : part.keys) {
      lost_ += key == kNoKey || BucketOfHash(MixKey(key), 60) != bucket;
    }
    for (float value : part.values) mixed_ += !std::isfinite(value);
  }

  void Ask() {
    const TableStats stats = table_->stats();
    lost_ += stats.rows < 0 || stats.rows > static_cast<int64_t>(kKeys) || table_->size() < 0;
  }

  void CheckEnd() {
    EXPECT_EQ(errors_, 0);
    EXPECT_EQ(lost_, 0) << "keys without row, of a wrong bucket or there twice";
    EXPECT_EQ(mixed_, 0) << "half-written rows, or rows of another key";
    const Snapshot snapshot = TakeSnapshot(*table_);
    for (int bucket = 0; bucket < 16; ++bucket) CheckPart(snapshot.parts[bucket], bucket);
    const auto rows = snapshot.rows();
    EXPECT_EQ(lost_, 0);
    EXPECT_EQ(static_cast<int64_t>(rows.size()), table_->size());
    EXPECT_EQ(table_->stats().rows, table_->size());
    Keys keys;
    for (const auto& entry : rows) keys.push_back(entry.first);
    const Found found = Lookup(table_.get(), keys, OnMissing::kDefault);
    std::set<int64_t> addresses(found.addresses.begin(), found.addresses.end());
    EXPECT_EQ(addresses.size(), keys.size());
    EXPECT_EQ(addresses.count(kNoAddress), 0u);
    for (size_t i = 0; i < keys.size(); ++i) {
      const Floats& row = rows.at(keys[i]);
      ASSERT_EQ(found.embedding(i), Floats(row.begin(), row.begin() + kDim)) << keys[i];
      ASSERT_EQ(found.embedding(i), Floats(kDim, row[0])) << keys[i];
    }
  }

  FloatTable* table() { return table_.get(); }
  int64_t updates() const { return updates_; }
  int64_t exports() const { return exports_; }

 private:
  const std::unique_ptr<FloatTable> table_;
  std::atomic<int64_t> errors_{0}, lost_{0}, mixed_{0}, updates_{0}, exports_{0};
};

using Random = std::mt19937_64*;

TEST(TableStressTest, EveryOperationBesideEveryOther) {
  Stress stress;
  const auto rule = MakeRule("adagrad", {0.1, 0, 0.1});
  stress.Run({[&](Random random) { stress.LookUp(random, OnMissing::kInsert); },
              [&](Random random) { stress.LookUp(random, OnMissing::kDefault); },
              [&](Random random) { stress.Update(random, *rule); },
              [&](Random random) { stress.Update(random, *rule); },
              [&](Random random) { stress.GatherRows(random); },
              [&](Random random) { stress.RemoveSome(random); }, [&](Random) { stress.Export(); },
              [&](Random) { stress.Ask(); }});
  stress.CheckEnd();
  EXPECT_GT(stress.exports(), 0);
  const TableStats stats = stress.table()->stats();
  EXPECT_EQ(stats.rows, stats.rows_inserted - stats.rows_removed);
}

TEST(TableStressTest, NothingIsLostWithoutRemovals) {
  Stress stress;
  const auto rule = MakeRule("adam", {0.1, 0.9, 0.99, 1e-8, 0.9, 0.99});
  stress.Run({[&](Random random) { stress.LookUp(random, OnMissing::kInsert); },
              [&](Random random) { stress.LookUp(random, OnMissing::kInsert); },
              [&](Random random) { stress.Update(random, *rule); },
              [&](Random random) { stress.Update(random, *rule); },
              [&](Random random) { stress.GatherRows(random); }, [&](Random) { stress.Export(); }});
  stress.CheckEnd();
  EXPECT_GT(stress.updates(), 0);
  EXPECT_EQ(stress.table()->stats().rows_inserted, stress.table()->size());
}

// Rows are laid out anew, cleared and replaced while others read and write.
TEST(TableStressTest, TheWholeTableChangesUnderItsUsers) {
  Stress stress;
  const auto adagrad = MakeRule("adagrad", {0.1, 0, 0.1});
  const auto momentum = MakeRule("momentum", {0.1, 0.9, 0});
  stress.Run({[&](Random random) { stress.LookUp(random, OnMissing::kInsert); },
              [&](Random random) { stress.Update(random, *adagrad); },
              [&](Random random) { stress.Update(random, *momentum); },
              [&](Random random) { stress.GatherRows(random); },
              [&](Random random) { stress.RemoveSome(random); }, [&](Random) { stress.Export(); },
              [&](Random random) {
                std::this_thread::sleep_for(std::chrono::milliseconds((*random)() % 40));
                EXPECT_OK(stress.table()->Clear());
              },
              [&](Random) {
                EXPECT_OK(ImportSnapshot(stress.table(), TakeSnapshot(*stress.table())));
                std::this_thread::sleep_for(std::chrono::milliseconds(30));
              }});
  stress.CheckEnd();
}

}  // namespace
}  // namespace testing
}  // namespace estimator_plugin
