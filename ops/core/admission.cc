#include "admission.h"

#include "combined_counts.h"
#include "count_sketch.h"
#include "hash.h"
#include "waiting_keys.h"

namespace estimator_plugin {
namespace {

template <typename Filter, typename... Arguments>
std::unique_ptr<AdmissionFilter> MakeUnique(Arguments... arguments) {
  return std::unique_ptr<AdmissionFilter>(new Filter(arguments...));
}

}  // namespace

void Admission::Configure(int32_t threshold) {
  if (state_.configured == threshold) return;
  state_.configured = state_.threshold = threshold;
  state_.frozen = false;
}

Counting Admission::Begin(const KeyUse& use, bool* first) {
  Configure(use.admission.access_threshold);
  const AdmissionOptions& wanted = use.admission;
  filters_outdated_ |= options_.filter != wanted.filter ||
                       options_.sketch_bytes != wanted.sketch_bytes ||
                       options_.combined != wanted.combined;
  options_ = wanted;
  *first = clock_ == kNoClock;
  if (use.now < clock_) {
    if (++backward_clocks_ == 1) first_late_ = use.now;
  } else {
    clock_ = use.now;
  }
  Counting counting;
  counting.occurrences = use.occurrences;
  counting.coefficient = state_.frozen || state_.threshold == 0 ? 0 : use.coefficient;
  counting.threshold = std::max(state_.threshold, 0);
  counting.now = clock_;
  return counting;
}

bool Admission::TakeFiltersOutdated() {
  const bool outdated = filters_outdated_;
  filters_outdated_ = false;
  return outdated;
}

std::unique_ptr<AdmissionFilter> Admission::MakeFilter(int bucket, int num_buckets) const {
  if (options_.combined != nullptr) {
    return MakeCombinedFilter(options_.combined, this, {bucket, BucketShift(num_buckets)});
  }
  if (options_.filter == FilterKind::kExact) return MakeUnique<WaitingKeys>();
  return MakeUnique<CountSketch>(CountSketch::WidthFor(options_.sketch_bytes, num_buckets));
}

std::unique_ptr<AdmissionFilter> Admission::MakeFilterFor(const WaitingView& saved) {
  if (saved.sketch_cells == 0) return MakeUnique<WaitingKeys>();
  return MakeUnique<CountSketch>(saved.sketch_cells / CountSketch::kDepth);
}

Status Admission::SetThreshold(int64_t threshold, int32_t configured) {
  if (threshold < 0 || threshold > kMaxCount) {
    return Error(Code::kInvalidArgument, "threshold is ", threshold,
                 "; it must be from 1 to 2147483647, or 0 to freeze the counts");
  }
  std::lock_guard<std::mutex> lock(mutex_);
  Configure(configured);
  state_.frozen = threshold == 0;
  if (threshold > 0) state_.threshold = static_cast<int32_t>(threshold);
  return Status();
}

AdmissionState Admission::state() const {
  std::lock_guard<std::mutex> lock(mutex_);
  AdmissionState state = state_;
  state.clock = clock_;
  return state;
}

void Admission::Restore(const AdmissionState& state) {
  std::lock_guard<std::mutex> lock(mutex_);
  state_ = state;
  clock_ = state.clock;
  filters_outdated_ = true;
}

}  // namespace estimator_plugin
