#include "gradient_accumulator.h"

#include <utility>

namespace estimator_plugin {

template <typename V>
int64_t GradientAccumulator<V>::version() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return version_;
}

template <typename V>
bool GradientAccumulator<V>::Add(int64_t version, OwnedGradients<V> gradients, bool completes) {
  AccumulatedGradients<V> taken;
  Ready ready;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (version != taken_) return false;
    accumulated_.gradients.push_back(std::move(gradients));
    if (completes) ++accumulated_.replicas;
    ready = TakeIfComplete(&taken);
  }
  if (ready) ready(Status(), std::move(taken));
  return true;
}

template <typename V>
void GradientAccumulator<V>::Take(int64_t replicas, const void* waiter, Ready ready) {
  AccumulatedGradients<V> taken;
  Ready superseded;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    superseded = std::move(ready_);
    ready_ = std::move(ready);
    waiter_ = waiter;
    replicas_wanted_ = replicas;
    ready = TakeIfComplete(&taken);
  }
  if (superseded) {
    superseded(Error(Code::kAborted, "another update waits for the replicas' gradients now"), {});
  }
  if (ready) ready(Status(), std::move(taken));
}

template <typename V>
typename GradientAccumulator<V>::Ready GradientAccumulator<V>::TakeIfComplete(
    AccumulatedGradients<V>* taken) {
  if (waiter_ == nullptr || accumulated_.replicas < replicas_wanted_) return Ready();
  std::swap(*taken, accumulated_);
  ++taken_;
  waiter_ = nullptr;
  return std::move(ready_);
}

template <typename V>
bool GradientAccumulator<V>::CancelTake(const void* waiter) {
  Ready cancelled;  // Destroyed without the lock: it may own who calls.
  std::lock_guard<std::mutex> lock(mutex_);
  if (waiter_ != waiter) return false;
  waiter_ = nullptr;
  std::swap(cancelled, ready_);
  return true;
}

template <typename V>
void GradientAccumulator<V>::Finish() {
  std::lock_guard<std::mutex> lock(mutex_);
  version_ = taken_;
}

template <typename V>
void GradientAccumulator<V>::Reset() {
  AccumulatedGradients<V> forgotten;
  Ready waiting;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    std::swap(forgotten, accumulated_);
    version_ = ++taken_;
    waiter_ = nullptr;
    std::swap(waiting, ready_);
  }
  if (waiting) waiting(Error(Code::kAborted, "the table's content was replaced"), {});
}

template class GradientAccumulator<float>;

}  // namespace estimator_plugin
