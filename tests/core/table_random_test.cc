// Thousands of random operations on a table and on a std::map that must agree after each of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "crafted_keys.h"
#include "table_testing.h"
#include "thread_runner.h"

namespace estimator_plugin {
namespace testing {
namespace {

constexpr int64_t kDim = 3;
constexpr double kRate = 0.5;
constexpr float kFreshSlot = 0.25f;

// The table as a map from key to [embedding | accumulator]. Adagrad with a float accumulator,
// written out a second time.
class Model {
 public:
  explicit Model(const TableOptions& options) : options_(options) {}

  bool Has(int64_t key) const { return rows_.count(key) != 0; }
  void Insert(int64_t key) {
    if (key == kNoKey || Has(key)) return;
    Floats row = Fresh(key, options_);
    if (has_slots_) row.insert(row.end(), kDim, kFreshSlot);
    rows_[key] = row;
  }
  void AddSlots() {
    if (has_slots_) return;
    has_slots_ = true;
    for (auto& entry : rows_) entry.second.insert(entry.second.end(), kDim, kFreshSlot);
  }
  void Update(int64_t key, const Floats& gradient) {
    Floats& row = rows_.at(key);
    for (int64_t i = 0; i < kDim; ++i) {
      row[kDim + i] += gradient[i] * gradient[i];
      row[i] -= static_cast<float>(kRate) * gradient[i] / std::sqrt(row[kDim + i]);
    }
  }
  bool Remove(int64_t key) { return rows_.erase(key) == 1; }
  void Clear() { rows_.clear(); }
  Floats Embedding(int64_t key) const {
    const Floats& row = rows_.at(key);
    return Floats(row.begin(), row.begin() + kDim);
  }
  const std::map<int64_t, Floats>& rows() const { return rows_; }

 private:
  const TableOptions options_;
  std::map<int64_t, Floats> rows_;
  bool has_slots_ = false;
};

class Walk {
 public:
  explicit Walk(unsigned seed)
      : random_(seed),
        options_(Options(kDim, 1 << seed % 5)),
        table_(MakeTable(options_)),
        model_(options_),
        rule_(MakeRule("adagrad", {kRate, 0, kFreshSlot})),
        runner_(1 + seed % 8),
        crafted_(KeysOfOnePlace(0xfffffff0u, static_cast<uint16_t>(seed * 4099), 40)) {}

  void Step() {
    const uint64_t choice = random_() % 1000;
    if (choice < 400) return LookupStep();
    if (choice < 700) return UpdateStep();
    if (choice < 850) return RemoveStep();
    if (choice < 900) return RejectStep();
    if (choice < 990) return CompareStep();
    if (choice < 997) return ImportStep();
    EXPECT_OK(table_->Clear());
    model_.Clear();
  }

  void CompareStep() {
    ASSERT_EQ(table_->size(), static_cast<int64_t>(model_.rows().size()));
    ASSERT_EQ(Rows(*table_), model_.rows());
  }

 private:
  Keys DrawKeys() {
    Keys keys(random_() % (random_() % 10 == 0 ? 600 : 20));
    for (int64_t& key : keys) {
      switch (random_() % 8) {
        case 0:
          key = kNoKey;
          break;
        case 1:
          key = crafted_[random_() % crafted_.size()];
          break;
        case 2:
          key = random_() % 2 == 0 ? INT64_MIN : INT64_MAX;
          break;
        default:
          key = static_cast<int64_t>(random_() % 400) - 200;
      }
    }
    return keys;
  }

  void LookupStep() {
    const Keys keys = DrawKeys();
    const bool insert = random_() % 2 == 0;
    const Floats default_row = {7, 8, 9};
    const Found found =
        Lookup(table_.get(), keys, insert ? OnMissing::kInsert : OnMissing::kDefault, &runner_,
               default_row.data());
    if (insert) {
      for (int64_t key : keys) model_.Insert(key);
    }
    for (size_t i = 0; i < keys.size(); ++i) {
      const bool there = model_.Has(keys[i]);
      ASSERT_EQ(found.addresses[i] != kNoAddress, there) << keys[i];
      ASSERT_EQ(found.embedding(i), there ? model_.Embedding(keys[i]) : default_row) << keys[i];
    }
  }

  void UpdateStep() {
    const Keys keys = DrawKeys();
    const Found found = Lookup(table_.get(), keys, OnMissing::kDefault, &runner_);
    Floats gradients;
    std::map<int64_t, Floats> sums;
    for (int64_t key : keys) {
      Floats gradient(kDim);
      for (float& value : gradient) value = static_cast<float>(random_() % 200) / 100 - 1;
      gradients.insert(gradients.end(), gradient.begin(), gradient.end());
      if (!model_.Has(key)) continue;
      const auto inserted = sums.emplace(key, gradient);
      for (int64_t i = 0; !inserted.second && i < kDim; ++i) {
        inserted.first->second[i] += gradient[i];
      }
    }
    UpdateResult result;
    ASSERT_OK(Apply(table_.get(), *rule_, found.addresses, gradients, &result, OnNonFinite::kReject,
                    &runner_));
    ASSERT_EQ(result.updated_rows, static_cast<int64_t>(sums.size()));
    model_.AddSlots();
    for (const auto& entry : sums) model_.Update(entry.first, entry.second);
  }

  void RemoveStep() {
    const Keys keys = DrawKeys();
    const Found found = Lookup(table_.get(), keys, OnMissing::kDefault);
    int64_t expected = 0;
    int64_t freed = kNoAddress;
    for (size_t i = 0; i < keys.size(); ++i) {
      if (!model_.Remove(keys[i])) continue;
      ++expected;
      freed = found.addresses[i];
    }
    ASSERT_EQ(Remove(table_.get(), keys), expected);
    if (freed == kNoAddress) return;
    Floats embedding(kDim);
    ASSERT_OK(table_->Gather(&freed, 1, nullptr, embedding.data(), &runner_));
    ASSERT_EQ(embedding, Floats(kDim, 0.0f));
  }

  // Updates that must change nothing.
  void RejectStep() {
    Keys addresses = Lookup(table_.get(), DrawKeys(), OnMissing::kDefault).addresses;
    addresses.push_back(MakeAddress(0, 1u << 30, 0));
    Floats gradients(addresses.size() * kDim, 1.0f);
    ExpectInvalid(
        Apply(table_.get(), *rule_, addresses, gradients, nullptr, OnNonFinite::kReject, &runner_),
        std::to_string(addresses.back()));
    addresses.pop_back();
    gradients.resize(addresses.size() * kDim);
    for (size_t i = 0; i < addresses.size(); ++i) {
      if (addresses[i] == kNoAddress) continue;
      gradients[i * kDim + random_() % kDim] = std::numeric_limits<float>::quiet_NaN();
      ExpectInvalid(Apply(table_.get(), *rule_, addresses, gradients, nullptr, OnNonFinite::kReject,
                          &runner_),
                    "nan");
      break;
    }
    CompareStep();
  }

  void ImportStep() {
    const Snapshot snapshot = TakeSnapshot(*table_);
    auto fresh = MakeTable(options_);
    ASSERT_OK(ImportSnapshot(fresh.get(), snapshot, &runner_));
    table_ = std::move(fresh);
    CompareStep();
  }

  static void ExpectInvalid(const Status& status, const std::string& mention) {
    EXPECT_TRUE(IsError(status, Code::kInvalidArgument, mention));
  }

  std::mt19937_64 random_;
  const TableOptions options_;
  std::unique_ptr<FloatTable> table_;
  Model model_;
  const std::unique_ptr<UpdateRule<float>> rule_;
  ThreadRunner runner_;
  const Keys crafted_;
};

TEST(TableRandomTest, AgreesWithAMap) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Walk walk(seed);
    for (int step = 0; step < 600; ++step) {
      SCOPED_TRACE(::testing::Message() << "step " << step);
      ASSERT_NO_FATAL_FAILURE(walk.Step());
    }
    ASSERT_NO_FATAL_FAILURE(walk.CompareStep());
  }
}

}  // namespace
}  // namespace testing
}  // namespace estimator_plugin
