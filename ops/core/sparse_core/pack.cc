#include "pack.h"

#include <algorithm>

namespace estimator_plugin {
namespace sparse_core {
namespace {

constexpr int kLevels = 6;  // 2^6 buckets.

bool HasBuckets(const SortedCore& core, int64_t shards) {
  return core.num_counts == kBuckets * shards + 1;
}

Status CheckCore(const std::string& table, const SortedCore& core, int64_t index, int64_t shards,
                 int64_t minibatches) {
  if (core.num_counts != shards + 1 && !HasBuckets(core, shards)) {
    return Error(Code::kInvalidArgument, "table '", table, "': id_counts of core ", index, " has ",
                 core.num_counts, " elements; ", shards, " shards want ", shards + 1, " or ",
                 kBuckets * shards + 1);
  }
  if (minibatches > 1 && !HasBuckets(core, shards)) {
    return Error(Code::kInvalidArgument, "table '", table, "': ", minibatches,
                 " minibatches want ids counted by bucket; id_counts of core ", index, " has ",
                 core.num_counts, " elements, not ", kBuckets * shards + 1);
  }
  const int32_t* const end = core.id_counts + core.num_counts;
  if (core.id_counts[0] != 0 || end[-1] != core.size || !std::is_sorted(core.id_counts, end)) {
    return Error(Code::kInvalidArgument, "table '", table, "': id_counts of core ", index,
                 " go from ", core.id_counts[0], " to ", end[-1],
                 "; they must go from 0 to the number of ids, ", core.size, ", and never fall");
  }
  return Status();
}

// Where the tokens of one minibatch and shard lie among those of the core.
Segment SourceOf(const SortedCore& core, int64_t shards, const std::vector<int>& edges,
                 size_t minibatch, int64_t shard) {
  if (!HasBuckets(core, shards)) return {core.id_counts[shard], core.id_counts[shard + 1]};
  const int32_t* const counts = core.id_counts + kBuckets * shard;
  return {counts[edges[minibatch]], counts[edges[minibatch + 1]]};
}

}  // namespace

void FillPadding(const Tokens& buffer, int64_t begin, int64_t end) {
  std::fill(buffer.rows + begin, buffer.rows + end, kPaddingId);
  std::fill(buffer.cols + begin, buffer.cols + end, kPaddingId);
  std::fill(buffer.gains + begin, buffer.gains + end, kPaddingGain);
}

void FillGaps(const Tokens& buffer, const SegmentPlan& plan) {
  for (const Segment& segment : plan.segments) {
    FillPadding(buffer, segment.end, Aligned(segment.end));
  }
}

Status MinibatchEdges(const std::string& table, uint64_t splits, std::vector<int>* edges) {
  constexpr int kNodes = (1 << kLevels) - 1;
  if (splits >> kNodes != 0) {
    return Error(Code::kInvalidArgument, "table '", table, "': splits have bit ", kNodes, " set; ",
                 kBuckets, " buckets have ", kNodes, " boundaries");
  }
  *edges = {0, static_cast<int>(kBuckets)};
  for (int level = 0; level < kLevels; ++level) {
    const int section_size = static_cast<int>(kBuckets) >> level;
    for (int section = 0; section < 1 << level; ++section) {
      if ((splits >> ((1 << level) - 1 + section) & 1) == 0) continue;
      edges->push_back(section * section_size + section_size / 2);
    }
  }
  std::sort(edges->begin(), edges->end());
  return Status();
}

Status Pack(const std::vector<SortedCore>& cores, const std::vector<int>& edges,
            const BufferOptions& options, int32_t* row_pointers, const Tokens& buffer,
            SegmentPlan* plan) {
  const int64_t shards = options.topology.shards();
  const int64_t minibatches = edges.size() - 1;
  if (minibatches > options.max_minibatches) {
    return Error(Code::kInvalidArgument, "table '", options.table, "': splits make ", minibatches,
                 " minibatches; max_minibatches_per_sc is ", options.max_minibatches);
  }
  std::vector<Segment> sources;
  std::vector<int32_t> sizes;
  for (size_t k = 0; k < cores.size(); ++k) {
    EP_RETURN_IF_ERROR(CheckCore(options.table, cores[k], k, shards, minibatches));
    for (int64_t b = 0; b < minibatches; ++b) {
      for (int64_t shard = 0; shard < shards; ++shard) {
        sources.push_back(SourceOf(cores[k], shards, edges, b, shard));
        sizes.push_back(sources.back().size());
      }
    }
  }
  EP_RETURN_IF_ERROR(PlanSegments(options, minibatches, sizes, row_pointers, plan));
  const int64_t per_core = minibatches * shards;
  for (size_t i = 0; i < sources.size(); ++i) {
    const SortedCore& core = cores[i / per_core];
    const Segment& target = plan->segments[i];
    std::copy_n(core.rows + sources[i].begin, target.size(), buffer.rows + target.begin);
    std::copy_n(core.cols + sources[i].begin, target.size(), buffer.cols + target.begin);
    std::copy_n(core.gains + sources[i].begin, target.size(), buffer.gains + target.begin);
  }
  FillGaps(buffer, *plan);
  FillPadding(buffer, plan->ids_size, options.capacity);
  return Status();
}

}  // namespace sparse_core
}  // namespace estimator_plugin
