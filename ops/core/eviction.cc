#include "eviction.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "row_budget.h"

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

struct UpTo {
  Rank rank;
  Place last;

  bool operator()(const RowStore& store, uint32_t row) const {
    return IsUpTo(PlaceOf(store, rank, row), last);
  }
};

// Keeps `budget` rows of those there are now.
std::unique_ptr<EvictionPolicy> WithinBudget(const EvictedTable& table, Rank rank, int64_t budget) {
  Place last;
  if (!FindLastToLeave(table, rank, budget, &last)) return nullptr;
  return MakeEachRow(UpTo{rank, last});
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
