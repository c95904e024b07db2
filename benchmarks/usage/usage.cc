// What admission and eviction cost a table, beside the same table without them.
//
//   usage lookup|tail|evict DIM ROWS ROUNDS
//
// Two threads, no TensorFlow. Ids follow ../workload.py: a Zipf law of exponent 1.05 over ROWS
// ranks, 106,496 a lookup. All tables are in one process and take turns within a round; a ratio is
// of one round, and the median of the rounds is printed, by the clock and by processor time.
//
//   lookup    every id has a row; in lookups that are told nothing of use (off)
//     counting       no threshold: times and counts are kept, as for eviction alone
//     exact, sketch  a threshold of 2, every id admitted before
//   tail      ids of 10 million ranks, a threshold of 8: the ids that are left wait; beside lookups
//             that find the same rows and count nothing
//   evict     ROWS rows of which about a quarter leaves, in scans of the rows' metadata; and the
//             longest lookup beside it
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "bench_table.h"
#include "timing.h"

namespace usage {
namespace {

using estimator_plugin::RowUse;

constexpr int kBatches = 8;
constexpr int64_t kTailRanks = 10000000;
constexpr int32_t kTailThreshold = 8;
constexpr double kAloneSeconds = 0.3;

struct Contender {
  std::string name;
  std::function<void(const Ids&)> look_up;
};

// The first contender is what the others are compared with.
void Compare(const char* title, const std::vector<Ids>& batches, int rounds,
             const std::vector<Contender>& contenders) {
  std::vector<Cost> bases;
  std::vector<std::vector<Cost>> ratios(contenders.size());
  for (int round = -1; round < rounds; ++round) {  // The first one warms up.
    std::vector<Cost> costs(contenders.size());
    for (size_t i = 0; i < contenders.size(); ++i) {
      const size_t turn = round % 2 == 0 ? i : contenders.size() - 1 - i;
      std::vector<Cost> steps;
      for (const Ids& ids : batches) {
        steps.push_back(CostOf([&] { contenders[turn].look_up(ids); }));
      }
      costs[turn] = MedianOf(steps);
    }
    if (round < 0) continue;
    bases.push_back(costs[0]);
    for (size_t i = 0; i < costs.size(); ++i) ratios[i].push_back(Ratio(costs[i], costs[0]));
  }
  const Cost base = MedianOf(bases);
  std::printf("%s: %.2f ms, %.2f ms of processor time\n", title, base.wall * 1e3, base.cpu * 1e3);
  for (size_t i = 1; i < contenders.size(); ++i) {
    const Cost ratio = MedianOf(ratios[i]);
    std::printf("  %-9s %.3f, %.3f\n", contenders[i].name.c_str(), ratio.wall, ratio.cpu);
  }
}

void Warm(int64_t dim, int64_t rows, int rounds, ThreadPool* pool) {
  const std::vector<Ids> batches = ZipfBatches(rows, kBatches, 1);
  BenchTable off(dim, pool), counting(dim, pool), exact(dim, pool), sketch(dim, pool);
  const KeyUse none = UseAt(5, kNoThreshold), two = UseAt(5, 2);
  const KeyUse sketched = UseAt(5, 2, FilterKind::kSketch);
  off.Fill(rows, none, rows);
  counting.Fill(rows, none, rows);
  exact.Fill(rows, two, rows);
  sketch.Fill(rows, sketched, rows);
  Compare("lookup", batches, rounds,
          {{"off", [&](const Ids& ids) { off.LookUp(ids, nullptr); }},
           {"counting", [&](const Ids& ids) { counting.LookUp(ids, &none); }},
           {"exact", [&](const Ids& ids) { exact.LookUp(ids, &two); }},
           {"sketch", [&](const Ids& ids) { sketch.LookUp(ids, &sketched); }}});
}

void Tail(int64_t dim, int rounds, ThreadPool* pool) {
  const std::vector<Ids> batches = ZipfBatches(kTailRanks, 6 * kBatches, 2);
  const std::vector<Ids> measured(batches.begin(), batches.begin() + kBatches);
  BenchTable exact(dim, pool), sketch(dim, pool);
  KeyUse counted = UseAt(5, kTailThreshold);
  KeyUse sketched = UseAt(5, kTailThreshold, FilterKind::kSketch);
  for (const Ids& ids : batches) {
    exact.LookUp(ids, &counted);
    sketch.LookUp(ids, &sketched);
  }
  // Nothing is added to the counts, so that who waits goes on waiting, round after round.
  const std::vector<int32_t> never(kBatch, 0);
  counted.occurrences = sketched.occurrences = never.data();
  Compare("tail", measured, rounds,
          {{"off", [&](const Ids& ids) { exact.LookUp(ids, nullptr, OnMissing::kDefault); }},
           {"exact", [&](const Ids& ids) { exact.LookUp(ids, &counted); }},
           {"sketch", [&](const Ids& ids) { sketch.LookUp(ids, &sketched); }}});
  const auto stats = exact.stats();
  std::printf("  %lld rows, %lld ids wait\n", static_cast<long long>(stats.rows),
              static_cast<long long>(stats.waiting));
}

// Keys and uses of all rows, read once by two threads.
Cost CostOfScan(int64_t rows, ThreadPool* pool) {
  const std::vector<int64_t> keys(rows, 1);
  const std::vector<RowUse> uses(rows, RowUse{1, 2});
  std::vector<Cost> costs;
  std::atomic<int64_t> seen{0};
  for (int i = 0; i < 9; ++i) {
    costs.push_back(CostOf([&] {
      PoolRunner(pool).Run(2, [&](int shard) {
        const auto range = estimator_plugin::RangeOfShard(rows, 2, shard);
        int64_t sum = 0;
        for (int64_t row = range.begin; row < range.end; ++row) {
          sum += (uses[row].last_seen <= keys[row]) + uses[row].count;
        }
        seen += sum;
      });
    }));
  }
  if (seen == 0) std::exit(1);
  return MedianOf(costs);
}

// The longest lookup until `done`, in seconds; there is at least one.
double LongestLookup(BenchTable* table, const std::vector<Ids>& batches,
                     const std::function<bool()>& done) {
  double longest = 0;
  size_t lookups = 0;
  do {
    const Ids& ids = batches[lookups++ % batches.size()];
    const Cost cost = CostOf([&] { table->LookUp(ids, nullptr, OnMissing::kDefault); });
    longest = std::max(longest, cost.wall);
  } while (!done());
  return longest;
}

struct Policy {
  const char* name;
  double threshold;
};

void Pause(const Policy& policy, BenchTable* table, const std::vector<Ids>& batches) {
  const double end = SecondsOf(CLOCK_MONOTONIC) + kAloneSeconds;
  const double alone =
      LongestLookup(table, batches, [&] { return SecondsOf(CLOCK_MONOTONIC) > end; });
  std::atomic<bool> done{false};
  std::thread evicting([&] {
    table->Evict(policy.name, policy.threshold);
    done = true;
  });
  const double beside = LongestLookup(table, batches, [&] { return done.load(); });
  evicting.join();
  std::printf("  the longest lookup beside it: %.2f ms; alone: %.2f ms\n", beside * 1e3,
              alone * 1e3);
}

void Evictions(int64_t dim, int64_t rows, int rounds, ThreadPool* pool) {
  const int64_t quarter = rows / 4;
  const std::vector<Ids> batches = ZipfBatches(rows, kBatches, 3);
  const double kept = static_cast<double>(rows - quarter);
  for (const Policy& policy : {Policy{"older_than", 3},
                               {"least_recent", kept},
                               {"least_frequent", kept},
                               {"small_norm", 0}}) {
    BenchTable table(dim, pool);
    const auto fill = [&] {
      table.Clear();
      table.Fill(rows, UseAt(1, kNoThreshold), quarter);
    };
    std::vector<Cost> costs, scans;
    int64_t evicted = 0;
    for (int round = 0; round < rounds; ++round) {
      fill();
      const Cost scan = CostOfScan(rows, pool);
      costs.push_back(CostOf([&] { evicted = table.Evict(policy.name, policy.threshold); }));
      scans.push_back(Ratio(costs.back(), scan));
    }
    const Cost cost = MedianOf(costs), in_scans = MedianOf(scans);
    std::printf("evict %s: %lld of %lld rows, %.1f ms, %.1f ms of processor time\n", policy.name,
                static_cast<long long>(evicted), static_cast<long long>(rows), cost.wall * 1e3,
                cost.cpu * 1e3);
    std::printf("  %.2f scans, %.2f by processor time\n", in_scans.wall, in_scans.cpu);
    fill();
    Pause(policy, &table, batches);
  }
}

}  // namespace
}  // namespace usage

int main(int argc, char** argv) {
  const std::string what = argc == 5 ? argv[1] : "";
  const int64_t dim = argc == 5 ? std::atoll(argv[2]) : 0;
  const int64_t rows = argc == 5 ? std::atoll(argv[3]) : 0;
  const int rounds = argc == 5 ? std::atoi(argv[4]) : 0;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  usage::ThreadPool pool(1);
  if (what == "lookup") {
    usage::Warm(dim, rows, rounds, &pool);
  } else if (what == "tail") {
    usage::Tail(dim, rounds, &pool);
  } else if (what == "evict") {
    usage::Evictions(dim, rows, rounds, &pool);
  } else {
    std::fprintf(stderr, "usage: %s lookup|tail|evict DIM ROWS ROUNDS\n", argv[0]);
    return 2;
  }
  return 0;
}
