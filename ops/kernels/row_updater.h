// One optimizer, as the attrs of an op describe it, at work on tables.
#ifndef ESTIMATOR_PLUGIN_OPS_KERNELS_ROW_UPDATER_H_
#define ESTIMATOR_PLUGIN_OPS_KERNELS_ROW_UPDATER_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "../core/update_rule.h"
#include "input_checks.h"
#include "table_kernel.h"
#include "tf_compat.h"

namespace estimator_plugin {

using Segments = std::vector<GradientSegment<Value>>;

// Thread-safe.
class RowUpdater {
 public:
  // Reads the attrs `rule` and `on_non_finite`.
  explicit RowUpdater(tf::OpKernelConstruction* ctx)
      : rule_(AttrOf<std::string>(ctx, "rule")),
        on_non_finite_(AttrOf<std::string>(ctx, "on_non_finite") == "skip" ? OnNonFinite::kSkip
                                                                           : OnNonFinite::kReject) {
  }

  OnNonFinite on_non_finite() const { return on_non_finite_; }

  // The rule with the hyperparameters of an op's input.
  Status MakeRule(const TableResource& resource, const tf::Tensor& hyperparameters,
                  std::unique_ptr<UpdateRule<Value>>* rule) const {
    EP_RETURN_IF_ERROR(CheckVector(resource, "hyperparameters", hyperparameters));
    const double* const values = hyperparameters.flat<double>().data();
    const Status made = MakeUpdateRule(
        rule_, std::vector<double>(values, values + hyperparameters.NumElements()), rule);
    if (made.ok()) return made;
    return Error(made.code(), "table '", resource.name(), "': ", made.message());
  }

  Status Update(TableResource* resource, const UpdateRule<Value>& rule, const Segments& segments,
                ParallelRunner* runner) {
    UpdateResult result;
    EP_RETURN_IF_ERROR(
        resource->table()->ApplyGradients(rule, segments, on_non_finite_, runner, &result));
    // Said once: said every step it would flood the log.
    if (result.slots_changed && !reported_slots_.exchange(true)) {
      LOG(WARNING) << "table '" << resource->name() << "': its rows had the slots of another "
                   << "optimizer than '" << rule_ << "'; slots it lacks start fresh";
    }
    if (result.skipped_rows > 0 && !reported_skips_.exchange(true)) {
      LOG(WARNING) << "table '" << resource->name() << "': " << result.skipped_rows
                   << " rows were not updated, their gradients are not finite";
    }
    return Status();
  }

 private:
  const std::string rule_;
  const OnNonFinite on_non_finite_;
  std::atomic<bool> reported_slots_{false};
  std::atomic<bool> reported_skips_{false};
};

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_KERNELS_ROW_UPDATER_H_
