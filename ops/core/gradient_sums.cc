#include "gradient_sums.h"

#include <algorithm>

#include "address.h"
#include "finite.h"
#include "hash.h"
#include "multiversion.h"
#include "row_copy.h"

namespace estimator_plugin {
namespace {

// Addresses per shard below which another thread costs more than it saves.
constexpr int64_t kGrain = 4096;
// Entries ahead that a slot of the set of distinct addresses is asked for.
constexpr int64_t kAhead = 8;

inline int ShardOfHash(uint64_t hash, int num_shards) {
  return static_cast<int>(((hash >> 32) * static_cast<uint64_t>(num_shards)) >> 32);
}

// Calls visit(address, gradient) for the addresses of [range.begin, range.end) of all segments
// laid end to end.
template <typename V, typename Visit>
void ForEachIn(ShardRange range, const std::vector<GradientSegment<V>>& segments, int64_t dim,
               const Visit& visit) {
  int64_t first = 0;  // Of the segment, counted over all segments.
  for (const GradientSegment<V>& segment : segments) {
    const int64_t begin = std::max<int64_t>(range.begin - first, 0);
    const int64_t end = std::min(range.end - first, segment.n);
    for (int64_t i = begin; i < end; ++i) {
      if (segment.addresses[i] != kNoAddress) {
        visit(segment.addresses[i], segment.gradients + i * dim);
      }
    }
    first += segment.n;
  }
}

}  // namespace

template <typename V>
void GradientSums<V>::Build(const std::vector<GradientSegment<V>>& segments, int64_t dim,
                            ParallelRunner* runner) {
  int64_t total = 0;
  for (const GradientSegment<V>& segment : segments) total += segment.n;
  num_shards_ = ShardsFor(*runner, total, kGrain);
  while (static_cast<int>(shards_.size()) < num_shards_) shards_.emplace_back(new Shard);
  const bool distinct = segments.size() == 1 && segments[0].distinct;
  const int64_t value_bytes = distinct ? 0 : dim * static_cast<int64_t>(sizeof(V));
  const int64_t entry_bytes = sizeof(Entry) + sizeof(V*) + value_bytes;
  arena_.Reset(total * entry_bytes, 1 + 2 * num_shards_);
  Entry* const entries = arena_.template Take<Entry>(total);
  Partition(segments, dim, total, entries, runner);
  for (int s = 0; s < num_shards_; ++s) {
    shards_[s]->size = offsets_[s + 1] - offsets_[s];
    shards_[s]->sums = entries + offsets_[s];
    shards_[s]->rows = arena_.template Take<V*>(shards_[s]->size);
  }
  if (distinct) return CheckFinite(segments[0], dim, runner);
  for (int s = 0; s < num_shards_; ++s) {
    shards_[s]->values = arena_.template Take<V>(shards_[s]->size * dim);
  }
  runner->Run(num_shards_, [&](int s) { Sum(dim, shards_[s].get()); });
}

template <typename V>
void GradientSums<V>::CheckFinite(const GradientSegment<V>& distinct, int64_t dim,
                                  ParallelRunner* runner) {
  // All at one go. Gradients without an address are of no account: a no needs a closer look.
  std::vector<char> finite(num_shards_);
  runner->Run(num_shards_, [&](int s) {
    const ShardRange part = RangeOfShard(distinct.n * dim, num_shards_, s);
    finite[s] = estimator_plugin::AllFinite(distinct.gradients + part.begin, part.end - part.begin);
  });
  const bool all = std::count(finite.begin(), finite.end(), 0) == 0;
  for (int s = 0; s < num_shards_; ++s) {
    const Entry* const sums = shards_[s]->sums;
    shards_[s]->finite = all || std::all_of(sums, sums + shards_[s]->size, [dim](const Entry& sum) {
                           return estimator_plugin::AllFinite(sum.gradient, dim);
                         });
  }
}

template <typename V>
bool GradientSums<V>::AllFinite() const {
  return std::all_of(shards_.begin(), shards_.begin() + num_shards_,
                     [](const std::unique_ptr<Shard>& shard) { return shard->finite; });
}

template <typename V>
void GradientSums<V>::Partition(const std::vector<GradientSegment<V>>& segments, int64_t dim,
                                int64_t total, Entry* entries, ParallelRunner* runner) {
  // A counting sort by shard over as many chunks as shards: next[chunk][shard].
  const int n = num_shards_;
  std::vector<std::vector<int64_t>> next(n, std::vector<int64_t>(n, 0));
  if (n > 1) {
    runner->Run(n, [&](int chunk) {
      std::vector<int64_t> counts(n, 0);
      ForEachIn(RangeOfShard(total, n, chunk), segments, dim,
                [&](int64_t address, const V*) { ++counts[ShardOfHash(MixKey(address), n)]; });
      next[chunk] = counts;
    });
  }
  offsets_.assign(n + 1, 0);
  int64_t offset = 0;
  for (int shard = 0; shard < n; ++shard) {
    for (int chunk = 0; chunk < n; ++chunk) {
      const int64_t count = next[chunk][shard];
      next[chunk][shard] = offset;
      offset += count;
    }
    offsets_[shard + 1] = offset;
  }
  std::vector<int64_t> ends(n, 0);
  runner->Run(n, [&](int chunk) {
    std::vector<int64_t> at = next[chunk];
    ForEachIn(RangeOfShard(total, n, chunk), segments, dim,
              [&](int64_t address, const V* gradient) {
                entries[at[n == 1 ? 0 : ShardOfHash(MixKey(address), n)]++] = {address, gradient};
              });
    ends[chunk] = at[0];
  });
  if (n == 1) offsets_[1] = ends[0];  // Nothing was counted beforehand.
}

template <typename V>
EP_MULTIVERSION void GradientSums<V>::Sum(int64_t dim, Shard* shard) {
  const int64_t row_bytes = dim * static_cast<int64_t>(sizeof(V));
  const int64_t n = shard->size;
  Entry* const entries = shard->sums;  // Those that were read make way for the sums.
  DistinctSet& distinct = shard->distinct;
  distinct.Reset(n);
  for (int64_t i = 0; i < n; ++i) {
    if (i + kAhead < n) distinct.Prefetch(MixKey(entries[i + kAhead].address));
    const Entry entry = entries[i];
    const uint32_t known = distinct.size();
    const uint32_t number = distinct.Add(entry.address, MixKey(entry.address));
    V* const sum = shard->values + number * dim;
    if (number == known) {
      entries[number] = {entry.address, sum};
      CopyBytes(entry.gradient, sum, row_bytes);
    } else {
      AddTo(entry.gradient, sum, dim);
    }
  }
  shard->size = distinct.size();
  shard->finite = estimator_plugin::AllFinite(shard->values, shard->size * dim);
}

template <typename V>
Status DescribeNonFinite(const std::string& table, const char* id,
                         const std::vector<GradientSegment<V>>& segments, int64_t dim) {
  const char* const advice =
      "; gradients must be finite. No row was changed; on_non_finite='skip' leaves such rows alone "
      "and goes on";
  for (const GradientSegment<V>& segment : segments) {
    for (int64_t i = 0; i < segment.n; ++i) {
      const V* const gradient = segment.gradients + i * dim;
      if (segment.addresses[i] == kNoAddress || AllFinite(gradient, dim)) continue;
      const V* const bad = std::find_if_not(gradient, gradient + dim,
                                            [](const V& value) { return AllFinite(&value, 1); });
      return Error(Code::kInvalidArgument, "table '", table, "': gradients[", i, ", ",
                   bad - gradient, "] (", id, " ", segment.addresses[i], ") is ", *bad, advice);
    }
  }
  return Error(Code::kInvalidArgument, "table '", table,
               "': the gradients of one key add up to more than a number can hold", advice);
}

template class GradientSums<float>;
template Status DescribeNonFinite(const std::string&, const char*,
                                  const std::vector<GradientSegment<float>>&, int64_t);

}  // namespace estimator_plugin
