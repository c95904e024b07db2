#include "core/save_ledger.h"

#include <gtest/gtest.h>

namespace estimator_plugin {
namespace {

uint64_t BeginSave(SaveLedger* ledger) {
  const uint64_t id = DrawSaveId();
  ledger->Begin(id);
  return id;
}

TEST(SaveLedgerTest, ATableThatWasNeverSavedHasNoBase) {
  SaveLedger ledger;
  EXPECT_FALSE(ledger.base().exists());
  EXPECT_FALSE(ledger.IsBase({0, "model-1"}));
  EXPECT_FALSE(ledger.Commit({0, "model-1"}));
}

TEST(SaveLedgerTest, ASaveIsNoBaseUntilItIsCommitted) {
  SaveLedger ledger;
  const uint64_t id = BeginSave(&ledger);
  EXPECT_NE(id, 0u);
  EXPECT_FALSE(ledger.base().exists());
  EXPECT_FALSE(ledger.IsBase({id, "model-1"}));
  EXPECT_TRUE(ledger.Commit({id, "model-1"}));
  EXPECT_EQ(ledger.base().save_id, id);
  EXPECT_EQ(ledger.base().checkpoint, "model-1");
}

TEST(SaveLedgerTest, ASaveIsCommittedOnce) {
  SaveLedger ledger;
  const uint64_t id = BeginSave(&ledger);
  EXPECT_TRUE(ledger.Commit({id, "model-1"}));
  EXPECT_FALSE(ledger.Commit({id, "model-2"}));
  EXPECT_EQ(ledger.base().checkpoint, "model-1");
}

TEST(SaveLedgerTest, OnlyTheSaveThatBeganLastCanBeCommitted) {
  SaveLedger ledger;
  const uint64_t first = BeginSave(&ledger);
  const uint64_t second = BeginSave(&ledger);
  EXPECT_NE(first, second);
  EXPECT_FALSE(ledger.Commit({first, "model-1"}));
  EXPECT_FALSE(ledger.base().exists());
  EXPECT_TRUE(ledger.Commit({second, "model-2"}));
  EXPECT_EQ(ledger.base().save_id, second);
}

TEST(SaveLedgerTest, AStrangersSaveIsNotCommitted) {
  SaveLedger ledger;
  const uint64_t id = BeginSave(&ledger);
  EXPECT_FALSE(ledger.Commit({id + 1, "model-1"}));
  EXPECT_TRUE(ledger.Commit({id, "model-1"}));
}

TEST(SaveLedgerTest, ASaveThatFailsLeavesTheBase) {
  SaveLedger ledger;
  const uint64_t base = BeginSave(&ledger);
  EXPECT_TRUE(ledger.Commit({base, "model-1"}));
  BeginSave(&ledger);  // Never committed.
  EXPECT_EQ(ledger.base().save_id, base);
  EXPECT_TRUE(ledger.IsBase({base, "model-1"}));
}

TEST(SaveLedgerTest, TheBaseGoesByThePathItWasMovedTo) {
  SaveLedger ledger;
  const uint64_t id = BeginSave(&ledger);
  EXPECT_TRUE(ledger.Commit({id, "model-1_temp/model-1"}));
  EXPECT_TRUE(ledger.IsBase({id, "model-1"}));
  EXPECT_EQ(ledger.base().checkpoint, "model-1");
  EXPECT_FALSE(ledger.IsBase({id + 1, "model-2"}));
  EXPECT_EQ(ledger.base().checkpoint, "model-1");
}

TEST(SaveLedgerTest, ATableThatWasReadGoesOnFromWhatItWasReadFrom) {
  SaveLedger ledger;
  const uint64_t begun = BeginSave(&ledger);
  ledger.Reset({17, "model-9"});
  EXPECT_EQ(ledger.base().save_id, 17u);
  EXPECT_EQ(ledger.base().checkpoint, "model-9");
  EXPECT_FALSE(ledger.Commit({begun, "model-10"}));  // It holds what was there before.
}

TEST(SaveLedgerTest, ATableThatWasEmptiedHasNoBase) {
  SaveLedger ledger;
  EXPECT_TRUE(ledger.Commit({BeginSave(&ledger), "model-1"}));
  ledger.Reset(SavedAs());
  EXPECT_FALSE(ledger.base().exists());
  EXPECT_FALSE(ledger.IsBase({0, "model-1"}));
}

}  // namespace
}  // namespace estimator_plugin
