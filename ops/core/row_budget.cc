// A sample of the rows says between which places the last one to leave has to be, but for bad luck;
// one pass over all rows counts those before and takes out those between, which are few.
#include "row_budget.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace estimator_plugin {
namespace {

constexpr int64_t kSample = 4096;
// Standard deviations of a sample's quantile; beyond them lies one sample of some hundreds.
constexpr double kDeviations = 3.0;

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

// Places that are behind `after` and not behind `last`.
struct Bracket {
  Place after;
  Place last;
};

constexpr Bracket kAllPlaces = {{kLeast, kLeast}, {kMost, kMost}};

// What a thread has seen of the rows.
struct Seen {
  int64_t rows = 0;
  int64_t before = 0;         // Of the bracket.
  std::vector<Place> places;  // Within it.
};

// In order.
std::vector<Place> SampleOf(const EvictedTable& table, Rank rank) {
  const int64_t step = std::max<int64_t>(1, table.rows / kSample);
  std::vector<std::vector<Place>> parts(table.shards);
  std::vector<int64_t> skips(table.shards, 0);  // Rows of the next range to pass over.
  table.for_each_range([&](int shard, const RowStore& store, uint32_t begin, uint32_t end) {
    int64_t row = begin + skips[shard];
    for (; row < end; row += step) {
      const uint32_t number = static_cast<uint32_t>(row);
      if (store.IsLive(number)) parts[shard].push_back(PlaceOf(store, rank, number));
    }
    skips[shard] = row - end;
  });
  std::vector<Place> sample;
  for (const std::vector<Place>& part : parts)
    sample.insert(sample.end(), part.begin(), part.end());
  std::sort(sample.begin(), sample.end());
  return sample;
}

// Where the last of a share of all rows has to be, as far as a sample of them tells.
Bracket BracketOf(const std::vector<Place>& sample, double share) {
  const double n = static_cast<double>(sample.size());
  const double margin = kDeviations * std::sqrt(n * share * (1 - share)) + 2;
  const int64_t after = static_cast<int64_t>(std::floor(share * n - margin));
  const int64_t last = static_cast<int64_t>(std::ceil(share * n + margin));
  Bracket bracket = kAllPlaces;
  if (after >= 0) bracket.after = sample[after];
  if (last < static_cast<int64_t>(sample.size())) bracket.last = sample[last];
  return bracket;
}

Seen LookThrough(const EvictedTable& table, Rank rank, const Bracket& bracket) {
  std::vector<Seen> parts(table.shards);
  table.for_each_range([&](int shard, const RowStore& store, uint32_t begin, uint32_t end) {
    int64_t rows = 0, before = 0;
    for (uint32_t row = begin; row < end; ++row) {
      const Place place = PlaceOf(store, rank, row);
      const bool live = store.IsLive(row);
      const bool is_before = IsUpTo(place, bracket.after);
      rows += live;
      before += live & is_before;
      if (live & !is_before & IsUpTo(place, bracket.last)) parts[shard].places.push_back(place);
    }
    parts[shard].rows += rows;
    parts[shard].before += before;
  });
  Seen all;
  for (const Seen& part : parts) {
    all.rows += part.rows;
    all.before += part.before;
    all.places.insert(all.places.end(), part.places.begin(), part.places.end());
  }
  return all;
}

}  // namespace

bool FindLastToLeave(const EvictedTable& table, Rank rank, int64_t budget, Place* last) {
  if (table.rows <= budget) return false;
  const double share = static_cast<double>(table.rows - budget) / static_cast<double>(table.rows);
  Seen seen = LookThrough(table, rank, BracketOf(SampleOf(table, rank), share));
  int64_t leave = seen.rows - budget - seen.before;  // Of those within the bracket.
  if (leave < 1 || leave > static_cast<int64_t>(seen.places.size())) {
    seen = LookThrough(table, rank, kAllPlaces);
    leave = seen.rows - budget;
  }
  if (leave < 1) return false;  // Others have left meanwhile.
  const auto found = seen.places.begin() + (leave - 1);
  std::nth_element(seen.places.begin(), found, seen.places.end());
  *last = *found;
  return true;
}

}  // namespace estimator_plugin
