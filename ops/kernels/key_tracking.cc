#include "key_tracking.h"

#include <memory>

#include "../core/combined_counts.h"
#include "input_checks.h"
#include "table_kernel.h"

namespace estimator_plugin {
namespace {

// The record of counts that the tables of one device share, in the place where they are.
class CombinedCountsResource : public tf::ResourceBase {
 public:
  std::string DebugString() const override { return "Counts of the keys of several tables"; }

  const std::shared_ptr<CombinedCounts> counts = std::make_shared<CombinedCounts>();
};

Status FindCombinedCounts(tf::OpKernelContext* ctx, std::shared_ptr<CombinedCounts>* counts) {
  tf::ResourceMgr* const manager = ctx->resource_manager();
  CombinedCountsResource* found = nullptr;
  EP_RETURN_IF_ERROR(FromTensorFlow(manager->LookupOrCreate<CombinedCountsResource>(
      manager->default_container(), "estimator_plugin_combined_counts", &found,
      [](CombinedCountsResource** made) {
        *made = new CombinedCountsResource;
        return tf::Status();
      })));
  const tf::core::ScopedUnref unref(found);
  *counts = found->counts;
  return Status();
}

KeyTracking MakeTracking(int32_t coefficient, int32_t access_threshold,
                         const std::string& time_unit, const std::string& filter,
                         int64_t sketch_bytes, bool combined) {
  KeyTracking tracking;
  tracking.coefficient = coefficient;
  tracking.in_seconds = time_unit == "seconds";
  tracking.combined = combined;
  tracking.admission.access_threshold = access_threshold;
  tracking.admission.filter = filter == "sketch" ? FilterKind::kSketch : FilterKind::kExact;
  tracking.admission.sketch_bytes = sketch_bytes;
  return tracking;
}

template <typename Value>
Status CheckList(const std::string& attr, const std::vector<Value>& list, size_t size,
                 int64_t least) {
  if (list.size() != size) {
    return Error(Code::kInvalidArgument, attr, " has ", list.size(), " entries for ", size,
                 " tracked tables");
  }
  for (int64_t value : list) {
    if (value >= least) continue;
    return Error(Code::kInvalidArgument, attr, " has ", value, ", want at least ", least);
  }
  return Status();
}

}  // namespace

Status KeyTracking::MakeUse(tf::OpKernelContext* ctx, const TableResource& resource, int64_t now,
                            const int32_t* occurrences, int64_t n, KeyUse* use) const {
  if (now < (in_seconds ? 1 : 0)) {
    return Error(Code::kInvalidArgument, "table '", resource.name(),
                 "': ", in_seconds ? "the timestamp" : "the step", " is ", now, ", want ",
                 in_seconds ? "more than 0" : "at least 0");
  }
  for (int64_t i = 0; occurrences != nullptr && i < n; ++i) {
    if (occurrences[i] >= 0) continue;
    return Error(Code::kInvalidArgument, "table '", resource.name(), "': occurrences[", i, "] is ",
                 occurrences[i], ", want at least 0");
  }
  use->now = now;
  use->occurrences = occurrences;
  use->coefficient = coefficient;
  use->admission = admission;
  if (combined) return FindCombinedCounts(ctx, &use->admission.combined);
  return Status();
}

KeyTracking TrackingFromAttrs(tf::OpKernelConstruction* ctx) {
  return MakeTracking(
      AttrOf<tf::int32>(ctx, "faae_coefficient"), AttrOf<tf::int32>(ctx, "access_threshold"),
      AttrOf<std::string>(ctx, "time_unit"), AttrOf<std::string>(ctx, "admission_filter"),
      AttrOf<TfInt64>(ctx, "sketch_bytes"), AttrOf<bool>(ctx, "combined"));
}

TrackingByTable TrackingFromListAttrs(tf::OpKernelConstruction* ctx, int num_tables) {
  const auto tracked = AttrOf<std::vector<tf::int32>>(ctx, "tracked");
  const auto coefficients = AttrOf<std::vector<tf::int32>>(ctx, "faae_coefficient");
  const auto thresholds = AttrOf<std::vector<tf::int32>>(ctx, "access_threshold");
  const auto units = AttrOf<std::vector<std::string>>(ctx, "time_unit");
  const auto filters = AttrOf<std::vector<std::string>>(ctx, "admission_filter");
  const auto sketch_bytes = AttrOf<std::vector<TfInt64>>(ctx, "sketch_bytes");
  const auto combined = AttrOf<std::vector<bool>>(ctx, "combined");
  TrackingByTable by_table(num_tables);
  for (size_t i = 0; i < tracked.size(); ++i) {
    by_table[tracked[i]].reset(new KeyTracking(MakeTracking(
        coefficients[i], thresholds[i], units[i], filters[i], sketch_bytes[i], combined[i])));
  }
  return by_table;
}

Status CheckTrackingListAttrs(tf::shape_inference::InferenceContext* c, int num_tables) {
  const auto tracked = AttrOf<std::vector<tf::int32>>(c, "tracked");
  EP_RETURN_IF_ERROR(CheckChosen("tracked", tracked, num_tables));
  const size_t n = tracked.size();
  if (n > 0 && !AttrOf<bool>(c, "insert")) {
    return Error(Code::kInvalidArgument, "tracked tables admit keys, so insert must be true");
  }
  EP_RETURN_IF_ERROR(
      CheckList("faae_coefficient", AttrOf<std::vector<tf::int32>>(c, "faae_coefficient"), n, 1));
  EP_RETURN_IF_ERROR(CheckList(
      "access_threshold", AttrOf<std::vector<tf::int32>>(c, "access_threshold"), n, kNoThreshold));
  EP_RETURN_IF_ERROR(
      CheckList("sketch_bytes", AttrOf<std::vector<TfInt64>>(c, "sketch_bytes"), n, 1));
  EP_RETURN_IF_ERROR(CheckList("combined", AttrOf<std::vector<bool>>(c, "combined"), n, 0));
  for (const char* attr : {"time_unit", "admission_filter"}) {
    const std::vector<bool> given(AttrOf<std::vector<std::string>>(c, attr).size());
    EP_RETURN_IF_ERROR(CheckList(attr, given, n, 0));
  }
  return Status();
}

void ReportBackwardClock(const TableResource& resource) {
  Admission* const admission = resource.table()->admission();
  const int64_t late = admission->TakeFirstLate();
  if (late == kNoClock) return;
  LOG(WARNING) << "table '" << resource.name() << "': a lookup came with time " << late
               << ", earlier than " << admission->clock()
               << " of one before; the table's clock does not go back";
}

}  // namespace estimator_plugin
