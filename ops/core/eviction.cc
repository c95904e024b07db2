#include "eviction.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace estimator_plugin {
namespace {

// The rows of [begin, end) for which `leaves` is true.
template <typename Leaves>
void SelectIf(uint32_t begin, uint32_t end, std::vector<uint32_t>* rows, const Leaves& leaves) {
  const size_t before = rows->size();
  rows->resize(before + (end - begin));
  uint32_t* next = rows->data() + before;
  for (uint32_t row = begin; row < end; ++row) {  // No branch: it could not be foreseen.
    *next = row;
    next += leaves(row) ? 1 : 0;
  }
  rows->resize(next - rows->data());
}

class OlderThan : public EvictionPolicy {
 public:
  explicit OlderThan(int64_t last) : last_(last) {}

  void Select(const RowStore& store, uint32_t begin, uint32_t end,
              std::vector<uint32_t>* rows) const override {
    const RowUse* const uses = store.uses();
    SelectIf(begin, end, rows, [&](uint32_t row) { return uses[row].last_seen <= last_; });
  }
  int64_t last_waiting() const override { return last_; }

 private:
  const int64_t last_;
};

class SmallNorm : public EvictionPolicy {
 public:
  SmallNorm(int64_t dim, double limit) : dim_(dim), limit_(limit) {}

  void Select(const RowStore& store, uint32_t begin, uint32_t end,
              std::vector<uint32_t>* rows) const override {
    SelectIf(begin, end, rows, [&](uint32_t row) {
      if (!store.IsLive(row)) return false;
      const float* const values = reinterpret_cast<const float*>(store.row(row));
      double squares = 0;
      for (int64_t i = 0; i < dim_; ++i) squares += static_cast<double>(values[i]) * values[i];
      return std::sqrt(squares) < limit_;
    });
  }

 private:
  const int64_t dim_;
  const double limit_;
};

// What a row budget ranks rows by: the least leave first.
enum class Rank { kLastSeen, kCount };

int64_t RankOf(const RowStore& store, Rank rank, uint32_t row) {
  const RowUse& use = store.uses()[row];
  return rank == Rank::kLastSeen ? use.last_seen : use.count;
}

// Rows of a lower rank leave, and of those of this rank the ones with lower keys.
struct Cutoff {
  int64_t rank;
  int64_t key;
};

class BelowCutoff : public EvictionPolicy {
 public:
  BelowCutoff(Rank rank, Cutoff cutoff) : rank_(rank), cutoff_(cutoff) {}

  void Select(const RowStore& store, uint32_t begin, uint32_t end,
              std::vector<uint32_t>* rows) const override {
    SelectIf(begin, end, rows, [&](uint32_t row) {
      const int64_t rank = RankOf(store, rank_, row);
      return rank < cutoff_.rank || (rank == cutoff_.rank && store.keys()[row] <= cutoff_.key);
    });
  }

 private:
  const Rank rank_;
  const Cutoff cutoff_;
};

// Keeps `budget` rows of those there are now. Two passes over the metadata: one for the rank at the
// limit, one for the keys of that rank.
std::unique_ptr<EvictionPolicy> WithinBudget(const EvictedTable& table, Rank rank, int64_t budget) {
  std::vector<int64_t> ranks;
  table.for_each_range([&](const RowStore& store, uint32_t begin, uint32_t end) {
    for (uint32_t row = begin; row < end; ++row) {
      if (store.IsLive(row)) ranks.push_back(RankOf(store, rank, row));
    }
  });
  const int64_t excess = static_cast<int64_t>(ranks.size()) - budget;
  if (excess <= 0) return nullptr;
  const auto limit = ranks.begin() + (excess - 1);
  std::nth_element(ranks.begin(), limit, ranks.end());
  Cutoff cutoff = {*limit, 0};
  const int64_t of_rank = 1 + std::count(ranks.begin(), limit, cutoff.rank);
  std::vector<int64_t>().swap(ranks);
  std::vector<int64_t> keys;
  table.for_each_range([&](const RowStore& store, uint32_t begin, uint32_t end) {
    for (uint32_t row = begin; row < end; ++row) {
      if (RankOf(store, rank, row) == cutoff.rank && store.IsLive(row)) {
        keys.push_back(store.keys()[row]);
      }
    }
  });
  if (keys.empty()) return nullptr;  // All of them were seen meanwhile.
  const int64_t last = std::min(of_rank, static_cast<int64_t>(keys.size())) - 1;
  std::nth_element(keys.begin(), keys.begin() + last, keys.end());
  cutoff.key = keys[last];
  return std::unique_ptr<EvictionPolicy>(new BelowCutoff(rank, cutoff));
}

// Of a number that is not negative.
int64_t Truncated(double value) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  return value < static_cast<double>(kMost) ? static_cast<int64_t>(value) : kMost;
}

}  // namespace

Status MakeEvictionPolicy(const EvictionRule& rule, const EvictedTable& table,
                          std::unique_ptr<EvictionPolicy>* policy) {
  if (!(rule.threshold >= 0)) {
    return Error(Code::kInvalidArgument, "the threshold of eviction policy '", rule.policy, "' is ",
                 rule.threshold, "; it must be at least 0");
  }
  const int64_t whole = Truncated(std::ceil(rule.threshold));
  if (rule.policy == "older_than") {
    if (table.clock >= whole) policy->reset(new OlderThan(table.clock - whole));
  } else if (rule.policy == "small_norm") {
    policy->reset(new SmallNorm(table.dim, rule.threshold));
  } else if (rule.policy == "least_recent") {
    *policy = WithinBudget(table, Rank::kLastSeen, whole);
  } else if (rule.policy == "least_frequent") {
    *policy = WithinBudget(table, Rank::kCount, whole);
  } else {
    return Error(Code::kInvalidArgument, "no eviction policy '", rule.policy,
                 "'; there are older_than, small_norm, least_recent and least_frequent");
  }
  return Status();
}

}  // namespace estimator_plugin
