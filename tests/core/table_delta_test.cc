#include <gtest/gtest.h>

#include <random>

#include "table_testing.h"
#include "thread_runner.h"

namespace estimator_plugin {
namespace testing {
namespace {

const std::vector<double> kSgd = {0.01, 0};

void Touch(FloatTable* table, const Keys& keys) {
  const Keys addresses = Lookup(table, keys).addresses;
  EXPECT_OK(Apply(table, *MakeRule("sgd", kSgd), addresses, Floats(keys.size() * table->dim(), 1)));
}

Snapshot SaveAndCommit(FloatTable* table, SaveKind kind, const std::string& name = "save") {
  Snapshot snapshot = Save(table, kind);
  EXPECT_TRUE(table->CommitSave({snapshot.info.save_id, name}));
  return snapshot;
}

std::set<int64_t> KeysOf(const Snapshot& snapshot) {
  std::set<int64_t> keys;
  for (const auto& row : snapshot.rows()) keys.insert(row.first);
  return keys;
}

TEST(TableDeltaTest, HoldsWhatWasTouchedSinceTheBase) {
  for (int buckets : {1, 64}) {
    const auto table = MakeTable(4, buckets);
    Touch(table.get(), {1, 2, 3, 4});
    EXPECT_FALSE(table->can_save_delta());
    SaveAndCommit(table.get(), SaveKind::kFull, "full");
    EXPECT_TRUE(table->can_save_delta());
    Touch(table.get(), {2, 50});
    Lookup(table.get(), {3}, OnMissing::kDefault);
    EXPECT_EQ(Remove(table.get(), {4, 1000}), 1);
    const Snapshot delta = SaveAndCommit(table.get(), SaveKind::kDelta, "delta");
    EXPECT_EQ(KeysOf(delta), (std::set<int64_t>{2, 50}));
    EXPECT_EQ(delta.removed(), std::set<int64_t>{4});
    EXPECT_EQ(delta.info.parent.checkpoint, "full");
    EXPECT_EQ(table->base().checkpoint, "delta");
    EXPECT_TRUE(KeysOf(SaveAndCommit(table.get(), SaveKind::kDelta)).empty());
  }
}

// Rows of 4 KB: twelve megabytes of changes, more than are copied at once.
TEST(TableDeltaTest, ABigDeltaHoldsEveryChangeWithAnyNumberOfThreads) {
  const auto table = MakeTable(1024, 16);
  Keys all;
  for (int64_t key = 0; key < 4000; ++key) all.push_back(key);
  Touch(table.get(), all);
  SaveAndCommit(table.get(), SaveKind::kFull);
  const Keys touched(all.begin() + 500, all.begin() + 3500);
  Touch(table.get(), touched);
  Remove(table.get(), {0, 1, 600});
  std::map<int64_t, Floats> wanted = Rows(*table);  // A save that nobody commits.
  for (int64_t key : all) {
    if (key < 500 || key >= 3500) wanted.erase(key);
  }
  for (int threads : {1, 2, 7}) {
    ThreadRunner runner(threads);
    const Snapshot delta = Save(table.get(), SaveKind::kDelta, &runner);
    EXPECT_EQ(delta.parts.size(), 16u);
    EXPECT_EQ(delta.rows(), wanted);
    EXPECT_EQ(delta.removed(), (std::set<int64_t>{0, 1, 600}));
  }
}

TEST(TableDeltaTest, CountsAndTimesComeAlong) {
  const auto table = MakeTable(2, 1);
  Touch(table.get(), {1, 2, 3});
  Snapshot full = Save(table.get(), SaveKind::kFull);
  full.parts[0].counts = {5, 6, 7};
  full.parts[0].last_seen = {50, 60, 70};
  ASSERT_OK(ImportChain(table.get(), {full}, {full.info.save_id, "model"}));
  Touch(table.get(), {3, 4});
  const Snapshot::Part delta = Save(table.get(), SaveKind::kDelta).parts[0];
  EXPECT_EQ(delta.keys, (Keys{3, 4}));
  EXPECT_EQ(delta.counts, (std::vector<int32_t>{7, 0}));
  EXPECT_EQ(delta.last_seen, (Keys{70, 0}));
}

TEST(TableDeltaTest, NeedsABase) {
  const auto table = MakeTable(4);
  Touch(table.get(), {1});
  const auto visit = [](int, const BucketView<float>&, const Keys&) { return Status(); };
  SaveInfo info;
  EXPECT_ERROR(table->PlanSave(SaveKind::kDelta, &info), Code::kFailedPrecondition, "colours");
  Save(table.get(), SaveKind::kFull);  // Nobody says that it is whole.
  EXPECT_ERROR(table->PlanSave(SaveKind::kDelta, &info), Code::kFailedPrecondition, "colours");
  SaveAndCommit(table.get(), SaveKind::kFull);
  EXPECT_OK(table->PlanSave(SaveKind::kDelta, &info));
  EXPECT_OK(table->Export(info, visit));
  EXPECT_OK(table->Clear());
  EXPECT_ERROR(table->PlanSave(SaveKind::kDelta, &info), Code::kFailedPrecondition, "colours");
  EXPECT_ERROR(table->Export(info, visit), Code::kFailedPrecondition, "colours");
}

TEST(TableDeltaTest, OnlyTheLastSaveCanBeCommitted) {
  const auto table = MakeTable(4);
  Touch(table.get(), {1});
  const Snapshot first = Save(table.get(), SaveKind::kFull);
  const Snapshot second = Save(table.get(), SaveKind::kFull);
  EXPECT_NE(first.info.save_id, second.info.save_id);
  EXPECT_FALSE(table->CommitSave({first.info.save_id, "first"}));
  EXPECT_FALSE(table->base().exists());
  EXPECT_TRUE(table->CommitSave({second.info.save_id, "second"}));
  EXPECT_EQ(table->base().checkpoint, "second");
  EXPECT_TRUE(table->CommitSave({second.info.save_id, "moved/second"}));  // The directory moved.
  EXPECT_EQ(table->base().checkpoint, "moved/second");
  EXPECT_FALSE(table->CommitSave({first.info.save_id, "first"}));
}

TEST(TableDeltaTest, AFailedSaveLosesNoLaterDeltaRow) {
  const auto table = MakeTable(4);
  Touch(table.get(), {1, 2, 3});
  SaveAndCommit(table.get(), SaveKind::kFull);
  Touch(table.get(), {1});
  Remove(table.get(), {3});
  Save(table.get(), SaveKind::kDelta);  // Killed before it was whole.
  Touch(table.get(), {2});
  const Snapshot delta = SaveAndCommit(table.get(), SaveKind::kDelta);
  EXPECT_EQ(KeysOf(delta), (std::set<int64_t>{1, 2}));
  EXPECT_EQ(delta.removed(), std::set<int64_t>{3});
}

TEST(TableDeltaTest, AKeyThatCameBackIsRemovedFirst) {
  const auto table = MakeTable(2, 1);
  Touch(table.get(), {7, 8});
  std::vector<Snapshot> chain = {SaveAndCommit(table.get(), SaveKind::kFull)};
  Remove(table.get(), {7});
  Touch(table.get(), {7});
  chain.push_back(SaveAndCommit(table.get(), SaveKind::kDelta));
  const auto copy = MakeTable(2, 1);
  ASSERT_OK(ImportChain(copy.get(), chain));
  EXPECT_EQ(Rows(*copy), Rows(*table));
}

TEST(TableDeltaTest, OtherSlotsMakeEveryRowAChange) {
  const auto table = MakeTable(2);
  Touch(table.get(), {1, 2, 3});
  std::vector<Snapshot> chain = {SaveAndCommit(table.get(), SaveKind::kFull)};
  const Keys addresses = Lookup(table.get(), {1}).addresses;
  EXPECT_OK(Apply(table.get(), *MakeRule("adagrad", {0.1, 0, 0.5}), addresses, {1, 1}));
  chain.push_back(SaveAndCommit(table.get(), SaveKind::kDelta));
  EXPECT_EQ(KeysOf(chain.back()), (std::set<int64_t>{1, 2, 3}));
  const auto copy = MakeTable(2);
  ASSERT_OK(ImportChain(copy.get(), chain));
  EXPECT_EQ(Rows(*copy), Rows(*table));
}

TEST(TableDeltaTest, ARestoredTableGoesOnFromItsCheckpoint) {
  const auto table = MakeTable(2);
  Touch(table.get(), {1, 2, 3});
  const Snapshot full = SaveAndCommit(table.get(), SaveKind::kFull);
  const auto copy = MakeTable(2);
  ASSERT_OK(ImportChain(copy.get(), {full}, {full.info.save_id, "dir/model"}));
  EXPECT_EQ(copy->base().checkpoint, "dir/model");
  Touch(copy.get(), {2});
  const Snapshot delta = Save(copy.get(), SaveKind::kDelta);
  EXPECT_EQ(KeysOf(delta), std::set<int64_t>{2});
  EXPECT_EQ(delta.info.parent.save_id, full.info.save_id);
  ASSERT_OK(ImportChain(copy.get(), {full}));  // From nowhere it could go on from.
  EXPECT_FALSE(copy->can_save_delta());
}

TEST(TableDeltaTest, RowsMoveToAnotherNumberOfBuckets) {
  const auto table = MakeTable(2, 16);
  Keys keys;
  for (int64_t key = 0; key < 3000; ++key) keys.push_back(key);
  Touch(table.get(), keys);
  const Snapshot full = Save(table.get(), SaveKind::kFull);
  for (int buckets : {1, 4, 16, 256}) {
    const auto copy = MakeTable(2, buckets);
    const int parts = std::min(16, buckets);
    ThreadRunner runner(3);
    ASSERT_OK(copy->Import(full.layout, SavedAs(), parts, &runner, [&](int part) {
      const ShardRange range = RangeOfShard(16, parts, part);
      for (int64_t b = range.begin; b < range.end; ++b) {
        EP_RETURN_IF_ERROR(copy->ImportRows(part, parts, RowsOf(full.layout, full.parts[b])));
      }
      return Status();
    }));
    EXPECT_EQ(Rows(*copy), full.rows());
  }
}

TEST(TableDeltaTest, SlotsMayStayBehind) {
  const auto table = MakeTable(2, 1);
  const Keys addresses = Lookup(table.get(), {1, 2}).addresses;
  EXPECT_OK(Apply(table.get(), *MakeRule("adam", {0.1, 0.9, 0.99, 1e-8, 0.9, 0.99}), addresses,
                  {1, 2, 3, 4}));
  const Snapshot full = Save(table.get(), SaveKind::kFull);
  RowLayout layout;
  layout.dim = 2;
  ImportedRows<float> rows = RowsOf(full.layout, full.parts[0]);
  rows.layout = layout;
  const auto copy = MakeTable(2, 1);
  InlineRunner runner;
  ASSERT_OK(copy->Import(layout, SavedAs(), 1, &runner,
                         [&](int part) { return copy->ImportRows(part, 1, rows); }));
  EXPECT_EQ(Lookup(copy.get(), {1, 2}).embeddings, Lookup(table.get(), {1, 2}).embeddings);
  EXPECT_EQ(copy->layout().width(), 2);
}

// Any history of touches, removals, saves that are committed or not, and returns to the last
// checkpoint: the chain of committed saves is the table at the last of them.
TEST(TableDeltaTest, AChainIsTheTable) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int buckets : {1, 8}) {
    auto table = MakeTable(3, buckets);
    std::vector<Snapshot> chain;
    for (int step = 0; step < 300; ++step) {
      Keys keys;
      for (int i = 0; i < 40; ++i) keys.push_back(static_cast<int64_t>(random() % 500));
      Touch(table.get(), keys);
      keys.resize(random() % 10);
      Remove(table.get(), keys);
      const bool delta = random() % 4 != 0 && table->can_save_delta();
      const Snapshot saved = Save(table.get(), delta ? SaveKind::kDelta : SaveKind::kFull);
      if (random() % 3 == 0) continue;  // Killed.
      const SavedAs name = {saved.info.save_id, "step-" + std::to_string(step)};
      ASSERT_TRUE(table->CommitSave(name));
      if (!delta) chain.clear();
      chain.push_back(saved);
      const auto copy = MakeTable(3, buckets);
      ASSERT_OK(ImportChain(copy.get(), chain, name));
      std::map<int64_t, Floats> restored;
      for (const auto& row : Save(copy.get(), SaveKind::kFull).rows()) restored.insert(row);
      if (random() % 5 == 0) {  // The process ends and goes on from the checkpoint.
        table = MakeTable(3, buckets);
        ASSERT_OK(ImportChain(table.get(), chain, name));
      }
      EXPECT_EQ(restored.size(), static_cast<size_t>(table->size()));
      for (const auto& row : restored) {
        EXPECT_EQ(Lookup(table.get(), {row.first}, OnMissing::kDefault).embeddings, row.second);
      }
    }
  }
}

}  // namespace
}  // namespace testing
}  // namespace estimator_plugin
