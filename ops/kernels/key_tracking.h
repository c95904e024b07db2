// What an op is told about the use of the keys it looks up in training, and what it makes of it.
#ifndef ESTIMATOR_PLUGIN_OPS_KERNELS_KEY_TRACKING_H_
#define ESTIMATOR_PLUGIN_OPS_KERNELS_KEY_TRACKING_H_

#include <memory>
#include <string>
#include <vector>

#include "../core/key_use.h"
#include "table_resource.h"
#include "tf_compat.h"

namespace estimator_plugin {

// How one table counts the keys of training lookups and admits them: an op's attrs.
struct KeyTracking {
  int32_t coefficient = 1;
  bool in_seconds = true;
  bool combined = false;
  AdmissionOptions admission;

  // The use of a batch of n keys at time `now`; `occurrences` may be null, one each.
  // InvalidArgument for a time or occurrences that cannot be. REQUIRES: `use` lives no longer than
  // `occurrences`.
  Status MakeUse(tf::OpKernelContext* ctx, const TableResource& resource, int64_t now,
                 const int32_t* occurrences, int64_t n, KeyUse* use) const;
};

// The attrs of an op for one table: faae_coefficient, access_threshold, time_unit,
// admission_filter, sketch_bytes, combined.
KeyTracking TrackingFromAttrs(tf::OpKernelConstruction* ctx);

// Those of an op for several: `tracked`, the tables that are tracked, and lists of the attrs above
// with an entry for each. By table; null for one that is not tracked.
using TrackingByTable = std::vector<std::unique_ptr<const KeyTracking>>;
TrackingByTable TrackingFromListAttrs(tf::OpKernelConstruction* ctx, int num_tables);
Status CheckTrackingListAttrs(tf::shape_inference::InferenceContext* c, int num_tables);

// Logs, once for a table, that a lookup came with a time earlier than one before.
void ReportBackwardClock(const TableResource& resource);

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_KERNELS_KEY_TRACKING_H_
