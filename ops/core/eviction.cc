#include "eviction.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace estimator_plugin {
namespace {

// A policy that looks at each row alone: leaves(store, row) says of a live row whether it leaves.
template <typename Leaves>
class EachRow : public EvictionPolicy {
 public:
  EachRow(const Leaves& leaves, int64_t last_waiting)
      : leaves_(leaves), last_waiting_(last_waiting) {}

  size_t Select(const RowStore& store, uint32_t begin, uint32_t end,
                uint32_t* rows) const override {
    size_t selected = 0;
    for (uint32_t row = begin; row < end; ++row) {  // No branch: it could not be foreseen.
      rows[selected] = row;
      selected += leaves_(store, row) ? 1 : 0;
    }
    size_t live = 0;
    for (size_t i = 0; i < selected; ++i) {
      rows[live] = rows[i];
      live += store.IsLive(rows[i]) ? 1 : 0;
    }
    return live;
  }

  int64_t last_waiting() const override { return last_waiting_; }

 private:
  const Leaves leaves_;
  const int64_t last_waiting_;
};

template <typename Leaves>
std::unique_ptr<EvictionPolicy> MakeEachRow(const Leaves& leaves, int64_t last_waiting = -1) {
  return std::unique_ptr<EvictionPolicy>(new EachRow<Leaves>(leaves, last_waiting));
}

struct OlderThan {
  int64_t last;

  bool operator()(const RowStore& store, uint32_t row) const {
    return store.uses()[row].last_seen <= last;
  }
};

struct SmallNorm {
  int64_t dim;
  double limit;

  bool operator()(const RowStore& store, uint32_t row) const {
    if (!store.IsLive(row)) return false;  // Its memory may have been given back.
    const float* const values = reinterpret_cast<const float*>(store.row(row));
    double squares = 0;
    for (int64_t i = 0; i < dim; ++i) squares += static_cast<double>(values[i]) * values[i];
    return std::sqrt(squares) < limit;
  }
};

// What a row budget ranks rows by: the least leave first.
enum class Rank { kLastSeen, kCount };

int64_t RankOf(const RowStore& store, Rank rank, uint32_t row) {
  const RowUse& use = store.uses()[row];
  return rank == Rank::kLastSeen ? use.last_seen : use.count;
}

// A row's place in the order in which rows leave: ties of rank go by key.
using Place = std::pair<int64_t, int64_t>;

Place PlaceOf(const RowStore& store, Rank rank, uint32_t row) {
  return {RankOf(store, rank, row), store.keys()[row]};
}

struct UpTo {
  Rank rank;
  Place last;

  bool operator()(const RowStore& store, uint32_t row) const {
    return PlaceOf(store, rank, row) <= last;
  }
};

// Calls visit(store, row) for all live rows.
template <typename Visit>
void ForEachRow(const EvictedTable& table, const Visit& visit) {
  table.for_each_range([&](const RowStore& store, uint32_t begin, uint32_t end) {
    for (uint32_t row = begin; row < end; ++row) {
      if (store.IsLive(row)) visit(store, row);
    }
  });
}

// Ranks in steps of a power of two, so that few of them have to be sorted.
struct Histogram {
  static constexpr uint64_t kBins = 1 << 14;

  int64_t least = std::numeric_limits<int64_t>::max();
  int64_t most = std::numeric_limits<int64_t>::min();
  int shift = 0;
  std::vector<int64_t> rows;

  uint64_t BinOf(int64_t rank) const {  // Ranks may rise while they are looked at.
    const uint64_t bin = (static_cast<uint64_t>(rank) - static_cast<uint64_t>(least)) >> shift;
    return std::min(bin, kBins - 1);
  }
};

constexpr uint64_t Histogram::kBins;

Histogram MakeHistogram(const EvictedTable& table, Rank rank) {
  Histogram histogram;
  ForEachRow(table, [&](const RowStore& store, uint32_t row) {
    histogram.least = std::min(histogram.least, RankOf(store, rank, row));
    histogram.most = std::max(histogram.most, RankOf(store, rank, row));
  });
  const uint64_t range =
      static_cast<uint64_t>(histogram.most) - static_cast<uint64_t>(histogram.least);
  while (range >> histogram.shift >= Histogram::kBins) ++histogram.shift;
  histogram.rows.assign(Histogram::kBins, 0);
  ForEachRow(table, [&](const RowStore& store, uint32_t row) {
    ++histogram.rows[histogram.BinOf(RankOf(store, rank, row))];
  });
  return histogram;
}

// Keeps `budget` rows of those there are now.
std::unique_ptr<EvictionPolicy> WithinBudget(const EvictedTable& table, Rank rank, int64_t budget) {
  if (table.rows <= budget) return nullptr;
  const Histogram histogram = MakeHistogram(table, rank);
  int64_t excess = std::accumulate(histogram.rows.begin(), histogram.rows.end(), -budget);
  if (excess <= 0) return nullptr;
  uint64_t bin = 0;
  for (; excess > histogram.rows[bin]; ++bin) excess -= histogram.rows[bin];
  std::vector<Place> places;  // Of the bin in which the last row to leave is.
  ForEachRow(table, [&](const RowStore& store, uint32_t row) {
    if (histogram.BinOf(RankOf(store, rank, row)) == bin) {
      places.push_back(PlaceOf(store, rank, row));
    }
  });
  if (places.empty()) return nullptr;  // All of them were seen meanwhile.
  const auto last = places.begin() + (std::min<int64_t>(excess, places.size()) - 1);
  std::nth_element(places.begin(), last, places.end());
  return MakeEachRow(UpTo{rank, *last});
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
    const int64_t last = table.clock - whole;
    if (last >= 0) *policy = MakeEachRow(OlderThan{last}, last);
  } else if (rule.policy == "small_norm") {
    *policy = MakeEachRow(SmallNorm{table.dim, rule.threshold});
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
