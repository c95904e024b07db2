// A table, lookups of whole batches in it, and the batches.
#ifndef ESTIMATOR_PLUGIN_BENCHMARKS_USAGE_BENCH_TABLE_H_
#define ESTIMATOR_PLUGIN_BENCHMARKS_USAGE_BENCH_TABLE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/hash.h"
#include "core/table.h"
#include "pool_runner.h"

namespace usage {

using estimator_plugin::FilterKind;
using estimator_plugin::KeyUse;
using estimator_plugin::kNoThreshold;
using estimator_plugin::OnMissing;
using estimator_plugin::testing::PoolRunner;
using estimator_plugin::testing::ThreadPool;
using Ids = std::vector<int64_t>;

constexpr int64_t kBatch = 4096 * 26;
constexpr double kExponent = 1.05;

inline void Check(const estimator_plugin::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::exit(1);
}

inline int64_t IdOfRank(int64_t rank) {
  return static_cast<int64_t>(estimator_plugin::MixKey(rank) >> 1);
}

inline std::vector<Ids> ZipfBatches(int64_t ranks, int batches, uint64_t seed) {
  std::vector<double> cumulative(ranks);
  double sum = 0;
  for (int64_t i = 0; i < ranks; ++i) {
    cumulative[i] = sum += std::pow(static_cast<double>(i + 1), -kExponent);
  }
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0, sum);
  std::vector<Ids> drawn(batches, Ids(kBatch));
  for (Ids& ids : drawn) {
    for (int64_t& id : ids) {
      const auto at = std::lower_bound(cumulative.begin(), cumulative.end(), uniform(random));
      id = IdOfRank(std::min<int64_t>(at - cumulative.begin(), ranks - 1));
    }
  }
  return drawn;
}

inline KeyUse UseAt(int64_t now, int32_t threshold, FilterKind filter = FilterKind::kExact) {
  KeyUse use;
  use.now = now;
  use.admission.access_threshold = threshold;
  use.admission.filter = filter;
  return use;
}

class BenchTable {
 public:
  BenchTable(int64_t dim, ThreadPool* pool) : pool_(pool), addresses_(kBatch), rows_(kBatch * dim) {
    estimator_plugin::TableOptions options;
    options.name = "bench";
    options.dim = dim;
    Check(estimator_plugin::Table<float>::Create(options, &table_));
  }

  void LookUp(const Ids& ids, const KeyUse* use, OnMissing on_missing = OnMissing::kInsert) {
    PoolRunner runner(pool_);
    Check(table_->Lookup(ids.data(), static_cast<int64_t>(ids.size()), on_missing, nullptr,
                         addresses_.data(), rows_.data(), &runner, use));
  }

  // Gives the ids of all ranks below `ranks` a row, seen as often as the threshold asks for; every
  // `part` ranks a second later.
  void Fill(int64_t ranks, const KeyUse& use, int64_t part) {
    const int times = std::max(1, use.admission.access_threshold);
    for (int64_t begin = 0; begin < ranks; begin += kBatch) {
      Ids ids;
      for (int64_t r = begin; r < std::min(ranks, begin + kBatch); ++r) ids.push_back(IdOfRank(r));
      KeyUse at = use;
      at.now += begin / part;
      for (int i = 0; i < times; ++i) LookUp(ids, &at);
    }
  }

  // How many rows left.
  int64_t Evict(const std::string& policy, double threshold) {
    PoolRunner runner(pool_);
    int64_t evicted = 0;
    Check(table_->Evict({policy, threshold}, &runner, &evicted));
    return evicted;
  }

  void Clear() { Check(table_->Clear()); }
  estimator_plugin::TableStats stats() const { return table_->stats(); }

 private:
  ThreadPool* const pool_;
  std::unique_ptr<estimator_plugin::Table<float>> table_;
  Ids addresses_;
  std::vector<float> rows_;
};

}  // namespace usage

#endif  // ESTIMATOR_PLUGIN_BENCHMARKS_USAGE_BENCH_TABLE_H_
