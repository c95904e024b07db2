#include "csr_view.h"

#include <vector>

namespace estimator_plugin {
namespace sparse_core {

CsrView::Place CsrView::PlaceOf(int64_t core, int64_t minibatch, int64_t shard) const {
  const Topology& topology = extent_.topology;
  const int64_t replica = core / topology.cores_per_replica;
  const int64_t block = core % topology.cores_per_replica * extent_.minibatches + minibatch;
  const int64_t index = block * topology.pointers_per_minibatch() + shard;
  const int32_t* const pointers =
      arrays_.row_pointers + replica * (arrays_.num_row_pointers / topology.replicas);
  return {replica * (arrays_.num_ids / topology.replicas),
          index == 0 ? 0 : Aligned(pointers[index - 1]), pointers[index]};
}

Entries CsrView::segment(int64_t core, int64_t minibatch, int64_t shard) const {
  const Place place = PlaceOf(core, minibatch, shard);
  const int64_t at = place.first + place.begin;
  return {arrays_.samples + at, arrays_.tokens + at, arrays_.gains + at, place.end - place.begin};
}

Status CsrView::CheckEntries(int64_t core, int64_t shard, const Entries& entries) const {
  const uint32_t samples = static_cast<uint32_t>(extent_.samples_per_core);
  const uint32_t rows = static_cast<uint32_t>(extent_.rows_per_shard);
  bool good = true;
  for (int64_t j = 0; j < entries.size; ++j) {
    good &= static_cast<uint32_t>(entries.samples[j]) < samples;
    good &= static_cast<uint32_t>(entries.tokens[j]) < rows;
  }
  for (int64_t j = 1; j < entries.size; ++j) good &= entries.tokens[j - 1] <= entries.tokens[j];
  if (good) return Status();
  return Error(Code::kInvalidArgument, "table '", extent_.table, "': ids of core ", core,
               " for shard ", shard, " are malformed: want samples below ",
               extent_.samples_per_core, ", and rows below ", extent_.rows_per_shard,
               " that never fall");
}

Status CsrView::CheckCore(int64_t core) const {
  const int64_t capacity = arrays_.num_ids / extent_.topology.replicas;
  for (int64_t b = 0; b < extent_.minibatches; ++b) {
    for (int64_t shard = 0; shard < cores(); ++shard) {
      const Place place = PlaceOf(core, b, shard);
      if (place.begin < 0 || place.end < place.begin || place.end > capacity) {
        return Error(Code::kInvalidArgument, "table '", extent_.table, "': row pointer of core ",
                     core, ", minibatch ", b, " and shard ", shard, " is ", place.end,
                     "; the segment begins at ", place.begin, " of ", capacity, " ids");
      }
      EP_RETURN_IF_ERROR(CheckEntries(core, shard, segment(core, b, shard)));
    }
  }
  return Status();
}

Status CsrView::Make(const Arrays& arrays, const Extent& extent, ParallelRunner* runner,
                     CsrView* view) {
  EP_RETURN_IF_ERROR(CheckTopology(extent.table, extent.topology));
  const Topology& topology = extent.topology;
  const int64_t used =
      extent.minibatches * topology.cores_per_replica * topology.pointers_per_minibatch();
  if (extent.minibatches < 1 || arrays.num_row_pointers % topology.replicas != 0 ||
      arrays.num_row_pointers / topology.replicas < used ||
      arrays.num_ids % topology.replicas != 0) {
    return Error(Code::kInvalidArgument, "table '", extent.table, "': a buffer of ",
                 arrays.num_row_pointers, " row pointers and ", arrays.num_ids,
                 " ids does not fit ", topology.replicas, " replicas of ",
                 topology.cores_per_replica, " SparseCores with ", extent.minibatches,
                 " minibatches, which have ", used, " row pointers each");
  }
  view->arrays_ = arrays;
  view->extent_ = extent;
  const int64_t cores = topology.shards();
  const int shards = ShardsFor(*runner, cores, 1);
  std::vector<Status> statuses(cores);
  runner->Run(shards, [&](int s) {
    const ShardRange range = RangeOfShard(cores, shards, s);
    for (int64_t core = range.begin; core < range.end; ++core) {
      statuses[core] = view->CheckCore(core);
    }
  });
  return FirstError(statuses);
}

}  // namespace sparse_core
}  // namespace estimator_plugin
