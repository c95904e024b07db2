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
  const int64_t row_bytes = dim * static_cast<int64_t>(sizeof(V));
  const int64_t entry_bytes = sizeof(Entry) + sizeof(int64_t) + sizeof(V*) + row_bytes;
  arena_.Reset(total * entry_bytes, 1 + 3 * num_shards_);
  entries_ = arena_.template Take<Entry>(total);
  Partition(segments, dim, total, runner);
  for (int s = 0; s < num_shards_; ++s) {
    const int64_t n = offsets_[s + 1] - offsets_[s];
    shards_[s]->addresses = arena_.template Take<int64_t>(n);
    shards_[s]->rows = arena_.template Take<V*>(n);
    shards_[s]->sums = arena_.template Take<V>(n * dim);
  }
  runner->Run(num_shards_, [&](int s) {
    Sum(entries_ + offsets_[s], offsets_[s + 1] - offsets_[s], dim, shards_[s].get());
  });
}

template <typename V>
bool GradientSums<V>::AllFinite() const {
  return std::all_of(shards_.begin(), shards_.begin() + num_shards_,
                     [](const std::unique_ptr<Shard>& shard) { return shard->finite; });
}

template <typename V>
void GradientSums<V>::Partition(const std::vector<GradientSegment<V>>& segments, int64_t dim,
                                int64_t total, ParallelRunner* runner) {
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
                entries_[at[n == 1 ? 0 : ShardOfHash(MixKey(address), n)]++] = {address, gradient};
              });
    ends[chunk] = at[0];
  });
  if (n == 1) offsets_[1] = ends[0];  // Nothing was counted beforehand.
}

template <typename V>
EP_MULTIVERSION void GradientSums<V>::Sum(const Entry* entries, int64_t n, int64_t dim,
                                          Shard* shard) {
  const int64_t row_bytes = dim * static_cast<int64_t>(sizeof(V));
  DistinctSet& distinct = shard->distinct;
  distinct.Reset(n);
  for (int64_t i = 0; i < n; ++i) {
    if (i + kAhead < n) distinct.Prefetch(MixKey(entries[i + kAhead].address));
    const int64_t address = entries[i].address;
    const uint32_t known = distinct.size();
    const uint32_t number = distinct.Add(address, MixKey(address));
    V* const sum = shard->sums + number * dim;
    if (number == known) {
      shard->addresses[number] = address;
      CopyBytes(entries[i].gradient, sum, row_bytes);
    } else {
      AddTo(entries[i].gradient, sum, dim);
    }
  }
  shard->size = distinct.size();
  shard->finite = estimator_plugin::AllFinite(shard->sums, shard->size * dim);
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
