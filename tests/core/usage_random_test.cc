// Random counted lookups, thresholds, evictions, saves and restores on a table and on maps that
// must agree with it after each of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "thread_runner.h"
#include "usage_testing.h"

namespace estimator_plugin {
namespace testing {
namespace {

constexpr int32_t kConfigured = 4;

// What design and comments say of counting, written out a second time.
struct Model {
  SeenByKey rows;
  SeenByKey waiting;
  int64_t clock = 0;
  int32_t threshold = kConfigured;
  bool frozen = false;

  void LookUp(const Keys& keys, int64_t now, int32_t coefficient) {
    clock = std::max(clock, now);
    for (int64_t key : keys) {
      if (key == kNoKey) continue;
      const bool has_row = rows.count(key) != 0;
      if (!has_row && frozen) continue;
      Seen& seen = has_row ? rows[key] : waiting[key];
      if (!frozen) seen.count += coefficient;
      seen.last_seen = clock;
    }
    for (int64_t key : keys) {
      const auto found = waiting.find(key);
      if (found == waiting.end() || found->second.count < threshold) continue;
      rows[key] = {found->second.count, clock};
      waiting.erase(found);
    }
  }

  int64_t EvictOlder(int64_t age) {
    for (auto it = waiting.begin(); it != waiting.end();) {
      it = clock - it->second.last_seen >= age ? waiting.erase(it) : std::next(it);
    }
    int64_t evicted = 0;
    for (auto it = rows.begin(); it != rows.end();) {
      if (clock - it->second.last_seen < age) {
        ++it;
        continue;
      }
      it = rows.erase(it);
      ++evicted;
    }
    return evicted;
  }

  int64_t KeepBest(size_t budget, bool by_count) {
    std::vector<std::pair<int64_t, int64_t>> ranks;
    for (const auto& row : rows) {
      ranks.emplace_back(by_count ? row.second.count : row.second.last_seen, row.first);
    }
    std::sort(ranks.begin(), ranks.end());
    const size_t excess = ranks.size() > budget ? ranks.size() - budget : 0;
    for (size_t i = 0; i < excess; ++i) rows.erase(ranks[i].second);
    return static_cast<int64_t>(excess);
  }
};

class Walk {
 public:
  explicit Walk(uint64_t seed)
      : random_(seed),
        buckets_(1 << random_() % 5),
        table_(MakeTable(2, buckets_)),
        runner_(static_cast<int>(1 + random_() % 4)) {}

  void Run(int steps) {
    for (int step = 0; step < steps && !::testing::Test::HasFatalFailure(); ++step) {
      Step(random_() % 20);
      ASSERT_EQ(RowsSeen(*table_), model_.rows) << "step " << step;
      ASSERT_EQ(WaitingSeen(*table_), model_.waiting) << "step " << step;
    }
  }

 private:
  void Step(uint64_t what) {
    if (what < 11) return LookUp();
    if (what < 13) return SetThreshold();
    if (what < 15) return Evict();
    if (what < 16) return Remove();
    if (what < 18) return Delta();
    Restore();
  }

  Keys DrawKeys() {
    Keys keys(random_() % 4 == 0 ? 9000 : random_() % 50);
    const uint64_t among = random_() % 2 == 0 ? 60 : 2000;
    for (int64_t& key : keys) key = static_cast<int64_t>(random_() % among) - 1;
    return keys;
  }

  void LookUp() {
    const Keys keys = DrawKeys();
    const int64_t now = model_.clock + static_cast<int64_t>(random_() % 5) - 1;
    const int32_t coefficient = static_cast<int32_t>(1 + random_() % 2);
    if (now < 0) return;
    const Keys addresses =
        CountedLookup(table_.get(), keys, Use(now, kConfigured, coefficient), &runner_);
    model_.LookUp(keys, now, coefficient);
    for (size_t i = 0; i < keys.size(); ++i) {
      ASSERT_EQ(addresses[i] != kNoAddress, model_.rows.count(keys[i]) != 0) << keys[i];
    }
  }

  void SetThreshold() {
    const int32_t threshold = static_cast<int32_t>(random_() % 7);
    ASSERT_OK(table_->admission()->SetThreshold(threshold, kConfigured));
    model_.frozen = threshold == 0;
    if (threshold > 0) model_.threshold = threshold;
  }

  void Evict() {
    const int64_t age = static_cast<int64_t>(1 + random_() % 30);
    const size_t budget = random_() % 800;
    switch (random_() % 3) {
      case 0:
        if (table_->admission()->clock() < 0) return;
        ASSERT_EQ(testing::Evict(table_.get(), "older_than", static_cast<double>(age), &runner_),
                  model_.EvictOlder(age));
        break;
      case 1:
        ASSERT_EQ(
            testing::Evict(table_.get(), "least_recent", static_cast<double>(budget), &runner_),
            model_.KeepBest(budget, false));
        break;
      default:
        ASSERT_EQ(
            testing::Evict(table_.get(), "least_frequent", static_cast<double>(budget), &runner_),
            model_.KeepBest(budget, true));
    }
  }

  void Remove() {
    for (int64_t key : DrawKeys()) {
      testing::Remove(table_.get(), {key});
      model_.rows.erase(key);
    }
  }

  // The chain since the last full save is the table, its keys that wait in the last link.
  void Delta() {
    if (chain_.empty() || !table_->can_save_delta()) {
      chain_ = {TakeSnapshot(*table_)};
    } else {
      chain_.push_back(Save(table_.get(), SaveKind::kDelta));
    }
    ASSERT_TRUE(table_->CommitSave({chain_.back().info.save_id, "checkpoint"}));
    SeenByKey restored;
    const auto other = MakeTable(2, buckets_);
    ASSERT_OK(ImportChain(other.get(), chain_));
    ASSERT_EQ(RowsSeen(*other), model_.rows);
  }

  // Into a new table, with which the walk goes on.
  void Restore() {
    const Snapshot rows = TakeSnapshot(*table_);
    const auto waiting = table_->ExportWaiting();
    const AdmissionState state = rows.info.admission;
    auto other = MakeTable(2, buckets_);
    ASSERT_OK(other->Import(rows.layout, SavedAs(), buckets_, &runner_, [&](int b) {
      EP_RETURN_IF_ERROR(other->ImportRows(b, buckets_, RowsOf(rows.layout, rows.parts[b])));
      if (waiting[b] == nullptr) return Status();
      return other->ImportWaiting(b, buckets_, waiting[b]->view());
    }));
    other->admission()->Restore(state);
    ASSERT_EQ(state.clock < 0 ? 0 : state.clock, model_.clock);
    table_ = std::move(other);
    chain_.clear();
  }

  std::mt19937_64 random_;
  const int buckets_;
  std::unique_ptr<FloatTable> table_;
  ThreadRunner runner_;
  Model model_;
  std::vector<Snapshot> chain_;
};

TEST(UsageRandomTest, ATableAgreesWithMaps) {
  for (uint64_t seed = 1; seed <= 12 && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Walk(seed).Run(120);
  }
}

}  // namespace
}  // namespace testing
}  // namespace estimator_plugin
