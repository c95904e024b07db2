// Table::ApplyGradients: sum, check, update. The sums need no lock; the check and the update own
// the rows, so that a lookup sees a row before or after its update and an error leaves every
// row as it was.
#include <algorithm>

#include "finite.h"
#include "gradient_sums.h"
#include "row_copy.h"
#include "scratch.h"
#include "table.h"

namespace estimator_plugin {
namespace {

constexpr int64_t kRowsAhead = 6;

struct ShardResult {
  int64_t updated = 0;
  int64_t skipped = 0;
  int64_t stale = 0;
};

template <typename V>
ShardResult UpdateShard(const UpdateRule<V>& rule, int64_t dim, int64_t width,
                        const std::vector<std::unique_ptr<Bucket<V>>>& buckets,
                        const typename GradientSums<V>::Shard& shard) {
  ShardResult result;
  const int64_t row_bytes = width * static_cast<int64_t>(sizeof(V));
  for (int64_t u = 0; u < shard.size; ++u) {
    if (u + kRowsAhead < shard.size) PrefetchBytes(shard.rows[u + kRowsAhead], row_bytes);
    const V* const sum = shard.sums[u].gradient;
    if (shard.rows[u] == nullptr) {
      ++result.stale;
      continue;
    }
    if (!shard.finite && !AllFinite(sum, dim)) {
      ++result.skipped;
      continue;
    }
    rule.Apply(shard.rows[u], sum, dim);
    const int64_t address = shard.sums[u].address;
    buckets[BucketOfAddress(address)]->changes.MarkChanged(RowOfAddress(address));
    ++result.updated;
  }
  return result;
}

}  // namespace

template <typename V>
Status Table<V>::ResolveRows(typename GradientSums<V>::Shard* shard) const {
  for (int64_t u = 0; u < shard->size; ++u) {
    const int64_t address = shard->sums[u].address;
    const RowStore* const store = StoreOf(address);
    if (store == nullptr) return BadAddress(address);
    const uint32_t row = RowOfAddress(address);
    const bool there = store->Has(row, GenerationOfAddress(address));
    shard->rows[u] = there ? reinterpret_cast<V*>(store->row(row)) : nullptr;
  }
  return Status();
}

template <typename V>
Status Table<V>::ApplyGradients(const UpdateRule<V>& rule,
                                const std::vector<GradientSegment<V>>& segments,
                                OnNonFinite on_non_finite, ParallelRunner* runner,
                                UpdateResult* result) {
  *result = UpdateResult();
  typename ScratchPool<GradientSums<V>>::Lease sums(ScratchPool<GradientSums<V>>::Global());
  sums->Build(segments, dim(), runner);
  if (on_non_finite == OnNonFinite::kReject && !sums->AllFinite()) {
    return DescribeNonFinite(options_.name, "address", segments, dim());
  }
  const int shards = sums->num_shards();

  const auto resolve = [&] {
    std::vector<Status> statuses(shards);
    runner->Run(shards, [&](int s) { statuses[s] = ResolveRows(&sums->shard(s)); });
    return FirstError(statuses);
  };
  if (!SameSlotNames(this->layout().slots, rule.slots())) {
    // Rows are about to lose the slots of another optimizer: find a bad address before they do.
    SharedLock layout(&layout_lock_);
    SharedLock rows(&rows_lock_);
    EP_RETURN_IF_ERROR(resolve());
  }
  EP_RETURN_IF_ERROR(EnsureSlots(rule.slots(), &result->slots_changed));
  SharedLock layout(&layout_lock_);
  if (!SameSlotNames(layout_.slots, rule.slots())) {
    return Error(Code::kFailedPrecondition, "table '", options_.name,
                 "' is being updated by two optimizers at once; it can have one");
  }
  ExclusiveLock rows(&rows_lock_);
  EP_RETURN_IF_ERROR(resolve());
  std::vector<ShardResult> results(shards);
  runner->Run(shards, [&](int s) {
    results[s] = UpdateShard<V>(rule, dim(), layout_.width(), buckets_, sums->shard(s));
  });
  for (const ShardResult& shard : results) {
    result->updated_rows += shard.updated;
    result->skipped_rows += shard.skipped;
    result->stale_rows += shard.stale;
  }
  counters_.rows_updated += result->updated_rows;
  counters_.stale_updates += result->stale_rows;
  return Status();
}

template class Table<float>;

}  // namespace estimator_plugin
