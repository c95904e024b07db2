// Which keys a table admits: the thresholds, the clock, and the filters that count waiting keys.
//
// Each bucket has a filter of its own, made when the first key waits. The program's threshold comes
// with every lookup, so nothing has to be configured before or after a restore: a lookup that
// brings the threshold that the table was configured with, or saved under, changes nothing; one
// that brings another makes it the current one.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_ADMISSION_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_ADMISSION_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "admission_filter.h"
#include "key_use.h"
#include "status.h"

namespace estimator_plugin {

// What a checkpoint says of a table's admission.
struct AdmissionState {
  int32_t configured = kNoThreshold;  // What the program asked for.
  int32_t threshold = kNoThreshold;   // What holds now.
  bool frozen = false;                // Counts stand still.
  int64_t clock = kNoClock;           // The largest `now` of all lookups.
};

// Thread-safe but for what says otherwise.
class Admission {
 public:
  // Held while filters are used under the shared lock of a table's rows, and then by the thread of
  // the operation, not by its shards.
  std::mutex* mutex() const { return &mutex_; }
  // Held while the rows' uses are read or written under that lock, by shards too: whoever holds it
  // waits for nothing. Taken after mutex().
  std::mutex* uses_mutex() const { return &uses_mutex_; }

  // Takes over what a lookup brings and says what to do. `first` is set when time begins: rows that
  // were there before have no time yet. REQUIRES: mutex() is held.
  Counting Begin(const KeyUse& use, bool* first);
  // Whether the filters have to be made anew for the options now. REQUIRES: mutex() is held.
  bool TakeFiltersOutdated();
  std::unique_ptr<AdmissionFilter> MakeFilter(int bucket, int num_buckets) const;
  // One that can load what another one saved.
  static std::unique_ptr<AdmissionFilter> MakeFilterFor(const WaitingView& saved);
  // The record that several tables share, or null. REQUIRES: mutex() is held.
  CombinedCounts* combined() const { return options_.combined.get(); }

  // Positive: the threshold from now on, and counting goes on. 0: counts stand still and the
  // threshold stays. InvalidArgument, without a name, for a negative one.
  Status SetThreshold(int64_t threshold, int32_t configured);

  AdmissionState state() const;
  void Restore(const AdmissionState& state);
  // Whether keys may have to wait.
  bool filters() const { return state().threshold > 0; }
  int64_t clock() const { return clock_; }
  int64_t backward_clocks() const { return backward_clocks_; }
  // The first time that came late, once, for the log; then, and before, kNoClock.
  int64_t TakeFirstLate() { return first_late_.exchange(kNoClock); }

 private:
  void Configure(int32_t threshold);

  mutable std::mutex mutex_;
  mutable std::mutex uses_mutex_;
  AdmissionOptions options_;
  AdmissionState state_;  // But for the clock.
  bool filters_outdated_ = false;
  std::atomic<int64_t> clock_{kNoClock};  // Written under mutex_.
  std::atomic<int64_t> backward_clocks_{0};
  std::atomic<int64_t> first_late_{kNoClock};
};

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_ADMISSION_H_
