// Short ways to make a table, use it and see what is in it.
#ifndef ESTIMATOR_PLUGIN_TESTS_CORE_TABLE_TESTING_H_
#define ESTIMATOR_PLUGIN_TESTS_CORE_TABLE_TESTING_H_

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/table.h"
#include "status_testing.h"

namespace estimator_plugin {
namespace testing {

using FloatTable = Table<float>;
using Keys = std::vector<int64_t>;
using Floats = std::vector<float>;

constexpr uint64_t kSeed = 17;

inline TableOptions Options(int64_t dim, int num_buckets = 16) {
  TableOptions options;
  options.name = "colours";
  options.dim = dim;
  options.num_buckets = num_buckets;
  options.initializer.kind = "uniform";
  options.initializer.arguments = {-1.0, 1.0};
  options.initializer.seed = kSeed;
  return options;
}

inline std::unique_ptr<FloatTable> MakeTable(const TableOptions& options) {
  std::unique_ptr<FloatTable> table;
  EXPECT_OK(FloatTable::Create(options, &table));
  return table;
}

inline std::unique_ptr<FloatTable> MakeTable(int64_t dim, int num_buckets = 16) {
  return MakeTable(Options(dim, num_buckets));
}

// The embedding a fresh row of `key` starts from in a table made with `options`.
inline Floats Fresh(int64_t key, const TableOptions& options) {
  std::unique_ptr<Initializer<float>> initializer;
  EXPECT_OK(MakeInitializer<float>(options.initializer, options.dim, nullptr, 0, &initializer));
  Floats row(options.dim);
  initializer->Fill(key, row.data(), options.dim);
  return row;
}

struct Found {
  Keys addresses;
  Floats embeddings;

  Floats embedding(size_t i) const {
    const size_t dim = embeddings.size() / addresses.size();
    return Floats(embeddings.begin() + i * dim, embeddings.begin() + (i + 1) * dim);
  }
};

inline Found Lookup(FloatTable* table, const Keys& keys, OnMissing on_missing = OnMissing::kInsert,
                    ParallelRunner* runner = nullptr, const float* default_row = nullptr) {
  InlineRunner inline_runner;
  Found found;
  found.addresses.assign(keys.size(), -77);
  found.embeddings.assign(keys.size() * table->dim(), -77.0f);
  EXPECT_OK(table->Lookup(keys.data(), keys.size(), on_missing, default_row, found.addresses.data(),
                          found.embeddings.data(), runner == nullptr ? &inline_runner : runner));
  return found;
}

// One update from one segment.
inline Status Apply(FloatTable* table, const UpdateRule<float>& rule, const Keys& addresses,
                    const Floats& gradients, UpdateResult* result = nullptr,
                    OnNonFinite on_non_finite = OnNonFinite::kReject,
                    ParallelRunner* runner = nullptr) {
  InlineRunner inline_runner;
  UpdateResult unused;
  EXPECT_EQ(gradients.size(), addresses.size() * table->dim());
  const GradientSegment<float> segment = {addresses.data(), gradients.data(),
                                          static_cast<int64_t>(addresses.size())};
  return table->ApplyGradients(rule, {segment}, on_non_finite,
                               runner == nullptr ? &inline_runner : runner,
                               result == nullptr ? &unused : result);
}

inline std::unique_ptr<UpdateRule<float>> MakeRule(const std::string& name,
                                                   const std::vector<double>& hyperparameters) {
  std::unique_ptr<UpdateRule<float>> rule;
  EXPECT_OK(MakeUpdateRule<float>(name, hyperparameters, &rule));
  return rule;
}

inline int64_t Remove(FloatTable* table, const Keys& keys) {
  int64_t removed = -1;
  EXPECT_OK(table->Remove(keys.data(), keys.size(), &removed));
  return removed;
}

// Copies what a view shows. An update may write a value at this very instant, which is allowed (see
// table.h) and not for the thread sanitizer to report.
__attribute__((no_sanitize("thread"), noinline)) inline void CopyValues(const float* from,
                                                                        int64_t n, float* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = from[i];
}

// What a save of a table holds, copied bucket by bucket.
struct Snapshot {
  struct Part {
    Keys keys;
    Floats values;
    std::vector<int32_t> counts;
    Keys last_seen;
    Keys removed;
  };
  SaveInfo info;
  RowLayout layout;
  std::vector<Part> parts;

  // Key -> [embedding | slots]. A key that occurs twice is a test failure.
  std::map<int64_t, Floats> rows() const {
    std::map<int64_t, Floats> rows;
    const int64_t width = layout.width();
    for (const Part& part : parts) {
      for (size_t r = 0; r < part.keys.size(); ++r) {
        const auto begin = part.values.begin() + r * width;
        EXPECT_TRUE(rows.emplace(part.keys[r], Floats(begin, begin + width)).second)
            << "key " << part.keys[r] << " is there twice";
      }
    }
    return rows;
  }

  std::set<int64_t> removed() const {
    std::set<int64_t> removed;
    for (const Part& part : parts) removed.insert(part.removed.begin(), part.removed.end());
    return removed;
  }
};

inline Snapshot::Part CopyView(const BucketView<float>& view, int64_t width) {
  Snapshot::Part part;
  part.keys.assign(view.keys, view.keys + view.rows);
  part.values.resize(view.rows * width);
  CopyValues(view.values, view.rows * width, part.values.data());
  part.counts.assign(view.counts, view.counts + view.rows);
  part.last_seen.assign(view.last_seen, view.last_seen + view.rows);
  return part;
}

// The part of a planned save that this table, or partition of one, has. Other parts are empty.
inline Snapshot SavePart(FloatTable* table, const SaveInfo& info,
                         ParallelRunner* runner = nullptr) {
  Snapshot snapshot;
  snapshot.info = info;
  snapshot.layout = info.layout;
  snapshot.parts.resize(table->options().num_buckets);
  int next = table->options().first_bucket;
  EXPECT_OK(table->Export(
      info,
      [&](int bucket, const BucketView<float>& view, const Keys& removed) {
        EXPECT_EQ(bucket, next++) << "buckets come in order";
        snapshot.parts[bucket] = CopyView(view, snapshot.layout.width());
        snapshot.parts[bucket].removed = removed;
        return Status();
      },
      runner));
  return snapshot;
}

inline Snapshot Save(FloatTable* table, SaveKind kind, ParallelRunner* runner = nullptr) {
  SaveInfo info;
  EXPECT_OK(table->PlanSave(kind, &info));
  return SavePart(table, info, runner);
}

inline Snapshot TakeSnapshot(FloatTable& table) { return Save(&table, SaveKind::kFull); }

inline std::map<int64_t, Floats> Rows(FloatTable& table) { return TakeSnapshot(table).rows(); }

inline ImportedRows<float> RowsOf(const RowLayout& layout, const Snapshot::Part& part) {
  ImportedRows<float> rows;
  rows.layout = layout;
  rows.width = layout.width();
  rows.rows = static_cast<int64_t>(part.keys.size());
  rows.keys = part.keys.data();
  rows.values = part.values.data();
  if (!part.counts.empty()) {
    rows.counts = part.counts.data();
    rows.last_seen = part.last_seen.data();
  }
  rows.num_removed = static_cast<int64_t>(part.removed.size());
  rows.removed = part.removed.data();
  return rows;
}

// Loads a chain of saves, oldest first, into a table of as many buckets.
inline Status ImportChain(FloatTable* table, const std::vector<Snapshot>& chain,
                          const SavedAs& saved = SavedAs(), ParallelRunner* runner = nullptr) {
  InlineRunner inline_runner;
  const int buckets = table->options().num_buckets;
  return table->Import(chain.back().layout, saved, buckets,
                       runner == nullptr ? &inline_runner : runner, [&](int bucket) {
                         for (const Snapshot& link : chain) {
                           EP_RETURN_IF_ERROR(table->ImportRows(
                               bucket, buckets, RowsOf(link.layout, link.parts[bucket])));
                         }
                         return Status();
                       });
}

inline Status ImportSnapshot(FloatTable* table, const Snapshot& snapshot,
                             ParallelRunner* runner = nullptr) {
  return ImportChain(table, {snapshot}, SavedAs(), runner);
}

// The same bits, NaNs and the sign of zero included.
inline bool SameBits(const Floats& a, const Floats& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace testing
}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_TESTS_CORE_TABLE_TESTING_H_
