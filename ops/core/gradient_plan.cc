#include "gradient_plan.h"

#include <algorithm>

#include "address.h"
#include "hash.h"

namespace estimator_plugin {
namespace {

// Addresses per shard below which another thread costs more than it saves.
constexpr int64_t kGrain = 4096;

inline int ShardOfHash(uint64_t hash, int num_shards) {
  return static_cast<int>(((hash >> 32) * static_cast<uint64_t>(num_shards)) >> 32);
}

// Vectors only grow: shrinking and growing again would write zeros each time.
template <typename T>
void GrowTo(size_t size, std::vector<T>* vector) {
  if (vector->size() < size) vector->resize(size);
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
void GradientPlan<V>::Build(const std::vector<GradientSegment<V>>& segments, int64_t dim,
                            ParallelRunner* runner) {
  int64_t total = 0;
  for (const GradientSegment<V>& segment : segments) total += segment.n;
  num_shards_ = ShardsFor(*runner, total, kGrain);
  GrowTo(num_shards_, &shards_);
  GrowTo(total, &entries_);
  Partition(segments, dim, total, runner);
  runner->Run(num_shards_, [&](int s) {
    GroupShard(offsets_[s], offsets_[s + 1], &shards_[s]);
    GrowTo(dim, &shards_[s].sum);
  });
}

template <typename V>
void GradientPlan<V>::Partition(const std::vector<GradientSegment<V>>& segments, int64_t dim,
                                int64_t total, ParallelRunner* runner) {
  // A counting sort by shard over as many chunks as shards: next[chunk][shard].
  const int n = num_shards_;
  std::vector<std::vector<int64_t>> next(n, std::vector<int64_t>(n, 0));
  if (n > 1) {
    runner->Run(n, [&](int chunk) {
      std::vector<int64_t> counts(n, 0);
      ForEachIn(RangeOfShard(total, n, chunk), segments, dim, [&](int64_t address, const V*) {
        ++counts[ShardOfHash(MixKey(address), n)];
      });
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
                entries_[at[n == 1 ? 0 : ShardOfHash(MixKey(address), n)]++] = {address, gradient};
              });
    ends[chunk] = at[0];
  });
  if (n == 1) offsets_[1] = ends[0];  // Nothing was counted beforehand.
}

template <typename V>
void GradientPlan<V>::GroupShard(int64_t begin, int64_t end, Shard* shard) const {
  const size_t n = static_cast<size_t>(end - begin);
  const Entry* const entries = entries_.data() + begin;
  GrowTo(n, &shard->numbers);
  GrowTo(n, &shard->addresses);
  GrowTo(n, &shard->gradients);
  GrowTo(n, &shard->rows);
  GrowTo(n + 2, &shard->begins);
  shard->distinct.Reset(static_cast<int64_t>(n));
  // begins[u + 2] counts u's gradients; after the sums below begins[u + 1] is where the next of
  // u's gradients goes, and once all are placed, where u's list ends.
  uint32_t* const begins = shard->begins.data();
  begins[0] = begins[1] = 0;
  for (size_t i = 0; i < n; ++i) {
    const int64_t address = entries[i].address;
    const uint32_t known = shard->distinct.size();
    const uint32_t number = shard->distinct.Add(address, MixKey(address));
    if (number == known) {
      shard->addresses[number] = address;
      begins[number + 2] = 0;
    }
    ++begins[number + 2];
    shard->numbers[i] = number;
  }
  shard->size = shard->distinct.size();
  for (uint32_t u = 0; u < shard->size; ++u) begins[u + 2] += begins[u + 1];
  for (size_t i = 0; i < n; ++i) {
    shard->gradients[begins[shard->numbers[i] + 1]++] = entries[i].gradient;
  }
}

template class GradientPlan<float>;

}  // namespace estimator_plugin
