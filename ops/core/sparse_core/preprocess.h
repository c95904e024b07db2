// Convert, sort and pack for all features, cores and replicas of a stack, on all threads.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_PREPROCESS_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_PREPROCESS_H_

#include <cstdint>
#include <vector>

#include "../huge_buffer.h"
#include "../parallel.h"
#include "core_sort.h"
#include "id_limits.h"
#include "segment_plan.h"
#include "token_sorter.h"

namespace estimator_plugin {
namespace sparse_core {

struct Stack {
  std::vector<Feature> features;
  std::vector<std::vector<int>> tables;  // GroupByTable of the features.
  SortOptions sort;
  BufferOptions buffer;
};

// One batch on its way: Sort, then Plan, then Write. Reusable: its memory grows to the largest
// batch and stays. Thread-compatible. What it gives is what ConvertSamples, SortCore and Pack give,
// for one minibatch.
class Preprocessor {
 public:
  // `ids` has the samples of all replicas for each feature. Both outlive the object's use.
  Status Sort(const Stack& stack, const std::vector<FeatureIds>& ids, const IdLimits& limits,
              ParallelRunner* runner);

  // Where everything goes: one plan for each replica. Writes the row pointers of all replicas.
  Status Plan(int32_t* row_pointers, std::vector<SegmentPlan>* plans);

  // Fills the buffers up to each plan's ids_size.
  void Write(const std::vector<SegmentPlan>& plans, const Tokens& buffers, ParallelRunner* runner);

 private:
  // The ids of one table on one core, core by core.
  struct Unit {
    int64_t core;
    int64_t table;
    int64_t first;  // Of its sorted tokens among those of all units.
    int64_t size;   // At most: before ids become one.
  };

  void MakeUnits();
  Status SortUnit(const Unit& unit, TokenSorter* sorter, const Tokens& scratch);
  // Adds up what the units have for each core and shard.
  Status CountIds(const IdLimits& limits);
  void WriteUnit(const Unit& unit, const std::vector<SegmentPlan>& plans, const Tokens& buffers);
  // Calls work(unit, shard) for all units, those of a shard on one thread.
  template <typename Work>
  void ForEachUnit(ParallelRunner* runner, int shards, const Work& work);

  const Stack* stack_ = nullptr;
  const std::vector<FeatureIds>* ids_ = nullptr;
  std::vector<Unit> units_;
  int64_t total_ = 0;  // Tokens of all units, at most.
  HugeArena arena_;
  Tokens sorted_{};
  std::vector<int32_t> shard_ids_;         // By unit and shard.
  std::vector<int32_t> shard_unique_ids_;  // By unit and shard.
  std::vector<int32_t> before_;  // By unit and shard: ids of the core's tables that come first.
  std::vector<int32_t> sizes_;   // By core and shard.
  std::vector<TokenSorter> sorters_;
};

}  // namespace sparse_core
}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_PREPROCESS_H_
