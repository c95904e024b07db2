#include "preprocess.h"

#include <algorithm>

#include "pack.h"

namespace estimator_plugin {
namespace sparse_core {
namespace {

// Ids below which another thread costs more than it saves.
constexpr int64_t kGrain = 4096;

SampleRange SamplesOf(const Feature& feature, const Topology& topology, int64_t core) {
  const int64_t per_core = feature.samples / topology.cores_per_replica;
  return {core * per_core, (core + 1) * per_core};
}

Tokens From(const Tokens& tokens, int64_t first) {
  return {tokens.rows + first, tokens.cols + first, tokens.gains + first};
}

}  // namespace

void Preprocessor::MakeUnits() {
  const Topology& topology = stack_->sort.topology;
  units_.clear();
  total_ = 0;
  for (int64_t core = 0; core < topology.shards(); ++core) {
    for (size_t t = 0; t < stack_->tables.size(); ++t) {
      int64_t size = 0;
      for (int f : stack_->tables[t]) {
        const SampleRange samples = SamplesOf(stack_->features[f], topology, core);
        size += (*ids_)[f].first_of(samples.end) - (*ids_)[f].first_of(samples.begin);
      }
      units_.push_back({core, static_cast<int64_t>(t), total_, size});
      total_ += size;
    }
  }
}

template <typename Work>
void Preprocessor::ForEachUnit(ParallelRunner* runner, int shards, const Work& work) {
  runner->Run(shards, [&](int s) {
    // A unit belongs to the shard that its first token is in.
    const ShardRange mine = RangeOfShard(total_, shards, s);
    const auto before = [](const Unit& unit, int64_t token) { return unit.first < token; };
    auto unit = std::lower_bound(units_.begin(), units_.end(), mine.begin, before);
    const auto end = s + 1 == shards
                         ? units_.end()
                         : std::lower_bound(units_.begin(), units_.end(), mine.end, before);
    for (; unit != end; ++unit) work(*unit, s);
  });
}

Status Preprocessor::SortUnit(const Unit& unit, TokenSorter* sorter, const Tokens& scratch) {
  const Topology& topology = stack_->sort.topology;
  int64_t size = 0;
  for (int f : stack_->tables[unit.table]) {
    const Feature& feature = stack_->features[f];
    int64_t converted = 0;
    EP_RETURN_IF_ERROR(ConvertSamples(feature, (*ids_)[f], SamplesOf(feature, topology, unit.core),
                                      feature.row_offset / topology.cores_per_replica,
                                      topology.shards(), From(scratch, size), &converted));
    size += converted;
  }
  const int64_t counts = (&unit - units_.data()) * topology.shards();
  return sorter->Sort(scratch, size, stack_->sort, From(sorted_, unit.first),
                      {shard_ids_.data() + counts, shard_unique_ids_.data() + counts});
}

Status Preprocessor::Sort(const Stack& stack, const std::vector<FeatureIds>& ids,
                          const IdLimits& limits, ParallelRunner* runner) {
  stack_ = &stack;
  ids_ = &ids;
  MakeUnits();
  const int shards = ShardsFor(*runner, total_, kGrain);
  int64_t largest = 0;
  for (const Unit& unit : units_) largest = std::max(largest, unit.size);
  constexpr int64_t kTokenBytes = 2 * sizeof(int32_t) + sizeof(float);
  arena_.Reset((total_ + shards * largest) * kTokenBytes, 3 * (1 + shards));
  const auto take = [&](int64_t size) {
    return Tokens{arena_.Take<int32_t>(size), arena_.Take<int32_t>(size), arena_.Take<float>(size)};
  };
  sorted_ = take(total_);
  std::vector<Tokens> scratch;
  for (int s = 0; s < shards; ++s) scratch.push_back(take(largest));
  const int64_t counts = static_cast<int64_t>(units_.size()) * stack.sort.topology.shards();
  shard_ids_.resize(counts);
  shard_unique_ids_.resize(counts);
  if (static_cast<int>(sorters_.size()) < shards) sorters_.resize(shards);
  std::vector<Status> statuses(units_.size());
  ForEachUnit(runner, shards, [&](const Unit& unit, int s) {
    statuses[&unit - units_.data()] = SortUnit(unit, &sorters_[s], scratch[s]);
  });
  EP_RETURN_IF_ERROR(FirstError(statuses));
  return CountIds(limits);
}

Status Preprocessor::CountIds(const IdLimits& limits) {
  const int64_t shards = stack_->sort.topology.shards();
  const int64_t tables = stack_->tables.size();
  before_.resize(shard_ids_.size());
  sizes_.assign(shards * shards, 0);
  for (int64_t core = 0; core < shards; ++core) {
    for (int64_t shard = 0; shard < shards; ++shard) {
      int32_t& size = sizes_[core * shards + shard];
      int64_t unique_ids = 0;
      for (int64_t t = 0; t < tables; ++t) {
        const int64_t i = (core * tables + t) * shards + shard;
        before_[i] = size;
        size += shard_ids_[i];
        unique_ids += shard_unique_ids_[i];
      }
      EP_RETURN_IF_ERROR(CheckCounts(stack_->sort.table, limits, shard, size, unique_ids));
    }
  }
  return Status();
}

Status Preprocessor::Plan(int32_t* row_pointers, std::vector<SegmentPlan>* plans) {
  const Topology& topology = stack_->sort.topology;
  plans->resize(topology.replicas);
  const int64_t segments = topology.cores_per_replica * topology.shards();
  for (int64_t r = 0; r < topology.replicas; ++r) {
    const auto first = sizes_.begin() + r * segments;
    const std::vector<int32_t> sizes(first, first + segments);
    EP_RETURN_IF_ERROR(PlanSegments(
        stack_->buffer, 1, sizes, row_pointers + r * stack_->buffer.row_pointers(), &(*plans)[r]));
  }
  return Status();
}

void Preprocessor::WriteUnit(const Unit& unit, const std::vector<SegmentPlan>& plans,
                             const Tokens& buffers) {
  const Topology& topology = stack_->sort.topology;
  const int64_t shards = topology.shards();
  const int64_t replica = unit.core / topology.cores_per_replica;
  const Segment* const segments =
      plans[replica].segments.data() + unit.core % topology.cores_per_replica * shards;
  const int64_t index = &unit - units_.data();
  Tokens from = From(sorted_, unit.first);
  for (int64_t shard = 0; shard < shards; ++shard) {
    const int64_t before = before_[index * shards + shard];
    const int64_t size = shard_ids_[index * shards + shard];
    const int64_t taken =
        std::max<int64_t>(0, std::min<int64_t>(size, segments[shard].size() - before));
    const int64_t at = replica * stack_->buffer.capacity + segments[shard].begin + before;
    if (taken > 0) {
      std::copy_n(from.rows, taken, buffers.rows + at);
      std::copy_n(from.cols, taken, buffers.cols + at);
      std::copy_n(from.gains, taken, buffers.gains + at);
    }
    from = From(from, size);
  }
}

void Preprocessor::Write(const std::vector<SegmentPlan>& plans, const Tokens& buffers,
                         ParallelRunner* runner) {
  ForEachUnit(runner, ShardsFor(*runner, total_, kGrain),
              [&](const Unit& unit, int) { WriteUnit(unit, plans, buffers); });
  for (size_t r = 0; r < plans.size(); ++r) {
    FillGaps(From(buffers, static_cast<int64_t>(r) * stack_->buffer.capacity), plans[r]);
  }
}

}  // namespace sparse_core
}  // namespace estimator_plugin
