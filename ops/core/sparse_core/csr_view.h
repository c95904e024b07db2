// A CSR buffer of all replicas, as the lookup and the update read it.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_CSR_VIEW_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_CSR_VIEW_H_

#include <cstdint>
#include <string>

#include "../parallel.h"
#include "../status.h"
#include "topology.h"

namespace estimator_plugin {
namespace sparse_core {

// Entry j adds gains[j] times row tokens[j] of the segment's shard to sample samples[j] of the
// segment's core.
struct Entries {
  const int32_t* samples;
  const int32_t* tokens;
  const float* gains;
  int64_t size;
};

// Views memory that outlives it. Thread-safe.
class CsrView {
 public:
  struct Arrays {
    const int32_t* row_pointers;
    int64_t num_row_pointers;
    const int32_t* samples;
    const int32_t* tokens;
    const float* gains;
    int64_t num_ids;
  };

  // What the arrays have to fit.
  struct Extent {
    std::string table;  // For error messages.
    Topology topology;
    int64_t minibatches;
    int64_t samples_per_core;
    int64_t rows_per_shard;
  };

  // An error if the arrays are no buffer: row pointers that fall or leave it, a sample or a row out
  // of range, rows of a segment that are not ascending. What it lets pass is safe to read.
  static Status Make(const Arrays& arrays, const Extent& extent, ParallelRunner* runner,
                     CsrView* view);

  const Extent& extent() const { return extent_; }
  int64_t cores() const { return extent_.topology.shards(); }
  int64_t minibatches() const { return extent_.minibatches; }

  // The ids of one minibatch of global core `core` whose rows are in shard `shard`.
  Entries segment(int64_t core, int64_t minibatch, int64_t shard) const;

 private:
  // The ends before and of a segment, and where its replica's ids begin.
  struct Place {
    int64_t first;
    int64_t begin;
    int64_t end;
  };

  Place PlaceOf(int64_t core, int64_t minibatch, int64_t shard) const;
  Status CheckCore(int64_t core) const;
  Status CheckEntries(int64_t core, int64_t shard, const Entries& entries) const;

  Arrays arrays_{};
  Extent extent_{};
};

}  // namespace sparse_core
}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_CSR_VIEW_H_
