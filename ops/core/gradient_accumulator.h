// Gradients of one table that wait for those of other replicas: synchronous training.
//
// Time is counted in versions, the updates so far. A replica's gradients count if no update has
// been taken since its rows were looked up; others are stale and dropped, as TensorFlow's
// accumulators do for variables.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_GRADIENT_ACCUMULATOR_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_GRADIENT_ACCUMULATOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "gradient_sums.h"
#include "status.h"
#include "update_rule.h"

namespace estimator_plugin {

// A replica's sums. The segment's pointers stay good as long as `owner` lives.
template <typename V>
struct OwnedGradients {
  std::shared_ptr<const void> owner;
  GradientSegment<V> segment;
};

// What came in for one update.
template <typename V>
struct AccumulatedGradients {
  std::vector<OwnedGradients<V>> gradients;  // In order of arrival.
  int64_t replicas = 0;
};

// Thread-safe.
template <typename V>
class GradientAccumulator {
 public:
  // Updates that are in the table. Ask before looking up: an answer ahead of the rows would let
  // stale gradients count.
  int64_t version() const;

  // Takes in gradients of rows that were looked up at `version`; with `completes` they are the last
  // of their replica's. Whether they count.
  bool Add(int64_t version, OwnedGradients<V> gradients, bool completes);

  // Calls ready(OK, accumulated) as soon as `replicas` replicas are complete, on the thread that
  // completes the last; no gradients count then until Finish. Or calls it with Aborted when another
  // Take or Reset comes before that: whoever waited is gone, or should be. Never calls it after
  // CancelTake(waiter) said true. `ready` is called without a lock.
  using Ready = std::function<void(const Status&, AccumulatedGradients<V>)>;
  void Take(int64_t replicas, const void* waiter, Ready ready);
  bool CancelTake(const void* waiter);

  // The gradients that were taken are in the table, or will never be.
  void Finish();

  // The table's rows are others now: forgets all gradients.
  void Reset();

 private:
  // Whose wait is over, if it is. REQUIRES: mutex_ is held.
  Ready TakeIfComplete(AccumulatedGradients<V>* taken);

  mutable std::mutex mutex_;
  int64_t version_ = 0;  // Updates that are in the table,
  int64_t taken_ = 0;    // and those that were begun: gradients of this version count.
  AccumulatedGradients<V> accumulated_;
  int64_t replicas_wanted_ = 0;
  const void* waiter_ = nullptr;  // Null when nobody waits.
  Ready ready_;
};

// Another rule, applied to the mean of gradients whose sum is given.
template <typename V>
class MeanRule : public UpdateRule<V> {
 public:
  MeanRule(const UpdateRule<V>& rule, int64_t replicas)
      : rule_(rule), replicas_(static_cast<V>(replicas)) {}

  std::vector<SlotSpec> slots() const override { return rule_.slots(); }
  void Update(V* const* parts, const V* gradient, int64_t dim) const override {
    V mean[kMaxDim];
    for (int64_t i = 0; i < dim; ++i) mean[i] = gradient[i] / replicas_;
    rule_.Update(parts, mean, dim);
  }

 private:
  const UpdateRule<V>& rule_;
  const V replicas_;
};

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_GRADIENT_ACCUMULATOR_H_
