// Table::ApplyGradients: plan (who gets which gradients), check, update. The plan needs no lock;
// the check and the update hold all buckets, so that a lookup sees a row before or after its
// update and an error leaves every row as it was.
#include <algorithm>

#include "bucket_locks.h"
#include "finite.h"
#include "gradient_plan.h"
#include "multiversion.h"
#include "row_copy.h"
#include "scratch.h"
#include "table.h"

namespace estimator_plugin {
namespace {

constexpr uint32_t kRowsAhead = 6;
constexpr uint32_t kGradientsAhead = 12;
constexpr int64_t kFiniteGrain = 16384;  // Gradients per shard of the finite check.
constexpr int64_t kBlock = 16;           // Values summed at a time: they stay in registers.

// Sums n >= 1 gradients in order.
template <typename V>
EP_MULTIVERSION void SumRows(const V* const* gradients, uint32_t n, int64_t dim, V* sum) {
  int64_t at = 0;
  for (; at + kBlock <= dim; at += kBlock) {
    V block[kBlock];
    for (int64_t i = 0; i < kBlock; ++i) block[i] = gradients[0][at + i];
    for (uint32_t g = 1; g < n; ++g) {
      const V* const gradient = gradients[g] + at;
      for (int64_t i = 0; i < kBlock; ++i) block[i] += gradient[i];
    }
    for (int64_t i = 0; i < kBlock; ++i) sum[at + i] = block[i];
  }
  for (; at < dim; ++at) {
    V total = gradients[0][at];
    for (uint32_t g = 1; g < n; ++g) total += gradients[g][at];
    sum[at] = total;
  }
}

template <typename V>
bool SegmentIsFinite(const GradientSegment<V>& segment, int64_t dim, ParallelRunner* runner) {
  const int shards = ShardsFor(*runner, segment.n, kFiniteGrain);
  std::vector<char> finite(shards, 0);
  runner->Run(shards, [&](int shard) {
    const ShardRange range = RangeOfShard(segment.n, shards, shard);
    finite[shard] =
        AllFinite(segment.gradients + range.begin * dim, (range.end - range.begin) * dim);
  });
  return std::find(finite.begin(), finite.end(), 0) == finite.end();
}

// The error for the first non-finite gradient that would be used; OK when only padding has any.
template <typename V>
Status DescribeNonFinite(const std::string& table, const GradientSegment<V>& segment, int64_t dim) {
  for (int64_t i = 0; i < segment.n; ++i) {
    const V* const gradient = segment.gradients + i * dim;
    if (segment.addresses[i] == kNoAddress || AllFinite(gradient, dim)) continue;
    const V* const bad = std::find_if_not(gradient, gradient + dim,
                                          [](const V& value) { return AllFinite(&value, 1); });
    return Error(Code::kInvalidArgument, "table '", table, "': gradients[", i, ", ",
                 bad - gradient, "] (address ", segment.addresses[i], ") is ", *bad,
                 "; gradients must be finite. No row was changed; on_non_finite='skip' leaves such "
                 "rows alone and goes on");
  }
  return Status();
}

struct ShardResult {
  int64_t updated = 0;
  int64_t skipped = 0;
};

template <typename V>
ShardResult UpdateShard(const UpdateRule<V>& rule, bool check_finite, int64_t dim, int64_t width,
                        typename GradientPlan<V>::Shard* shard) {
  ShardResult result;
  const int64_t gradient_bytes = dim * static_cast<int64_t>(sizeof(V));
  const int64_t row_bytes = width * static_cast<int64_t>(sizeof(V));
  const uint32_t num_gradients = shard->begins[shard->size];
  uint32_t asked = std::min(kGradientsAhead, num_gradients);  // Gradients prefetched so far.
  for (uint32_t u = 0; u < shard->size; ++u) {
    if (u + kRowsAhead < shard->size) PrefetchBytes(shard->rows[u + kRowsAhead], row_bytes);
    const uint32_t begin = shard->begins[u];
    const uint32_t end = shard->begins[u + 1];
    const uint32_t until = std::min(end + kGradientsAhead, num_gradients);
    for (; asked < until; ++asked) PrefetchBytes(shard->gradients[asked], gradient_bytes);
    const V* gradient = shard->gradients[begin];
    if (end - begin > 1) {
      SumRows(&shard->gradients[begin], end - begin, dim, shard->sum.data());
      gradient = shard->sum.data();
    }
    // Finite gradients can still add up to an infinite one.
    if ((check_finite || end - begin > 1) && !AllFinite(gradient, dim)) {
      ++result.skipped;
      continue;
    }
    rule.Apply(shard->rows[u], gradient, dim);
    ++result.updated;
  }
  return result;
}

}  // namespace

template <typename V>
Status Table<V>::ResolveRows(typename GradientPlan<V>::Shard* shard) const {
  for (uint32_t u = 0; u < shard->size; ++u) {
    const int64_t address = shard->addresses[u];
    const uint64_t bucket = static_cast<uint64_t>(BucketOfAddress(address));
    if (bucket >= buckets_.size() || !buckets_[bucket]->store->IsLive(RowOfAddress(address))) {
      return BadAddress(address);
    }
    shard->rows[u] = buckets_[bucket]->row(RowOfAddress(address));
  }
  return Status();
}

template <typename V>
Status Table<V>::ApplyGradients(const UpdateRule<V>& rule,
                                const std::vector<GradientSegment<V>>& segments,
                                OnNonFinite on_non_finite, ParallelRunner* runner,
                                UpdateResult* result) {
  *result = UpdateResult();
  bool check_finite = false;
  for (const GradientSegment<V>& segment : segments) {
    if (SegmentIsFinite(segment, dim(), runner)) continue;
    check_finite = true;
    if (on_non_finite == OnNonFinite::kReject) {
      EP_RETURN_IF_ERROR(DescribeNonFinite(options_.name, segment, dim()));
    }
  }
  typename ScratchPool<GradientPlan<V>>::Lease plan(ScratchPool<GradientPlan<V>>::Global());
  plan->Build(segments, dim(), runner);
  const int shards = plan->num_shards();

  EP_RETURN_IF_ERROR(EnsureSlots(rule.slots(), &result->slots_changed));
  SharedLock layout(&layout_lock_);
  if (layout_.slots.size() != rule.slots().size()) {
    return Error(Code::kFailedPrecondition, "table '", options_.name,
                 "' is being updated by two optimizers at once; it can have one");
  }
  AllBucketsExclusive<V> locks(buckets_);
  std::vector<Status> statuses(shards);
  runner->Run(shards, [&](int s) { statuses[s] = ResolveRows(&plan->shard(s)); });
  EP_RETURN_IF_ERROR(FirstError(statuses));
  std::vector<ShardResult> results(shards);
  runner->Run(shards, [&](int s) {
    results[s] = UpdateShard<V>(rule, check_finite, dim(), layout_.width(), &plan->shard(s));
  });
  for (const ShardResult& shard : results) {
    result->updated_rows += shard.updated;
    result->skipped_rows += shard.skipped;
  }
  rows_updated_ += result->updated_rows;
  return Status();
}

template class Table<float>;

}  // namespace estimator_plugin
