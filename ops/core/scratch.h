// Working memory that outlives an operation: a batch needs megabytes of it for a millisecond, and
// fresh pages cost more than the work done in them.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_SCRATCH_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_SCRATCH_H_

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace estimator_plugin {

// Hands out objects of type T and takes them back, keeping at most `kKept` for the next caller.
// Thread-safe.
template <typename T>
class ScratchPool {
 public:
  // Gives the object back to the pool at the end of its scope. The pool outlives it.
  class Lease {
   public:
    explicit Lease(ScratchPool* pool) : pool_(pool), object_(pool->Take()) {}
    ~Lease() { pool_->Return(std::move(object_)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    T* operator->() const { return object_.get(); }
    T& operator*() const { return *object_; }

   private:
    ScratchPool* const pool_;
    std::unique_ptr<T> object_;
  };

  // One pool a process and type.
  static ScratchPool* Global() {
    static ScratchPool* const pool = new ScratchPool;  // Never destroyed: threads may outlive main.
    return pool;
  }

 private:
  static constexpr size_t kKept = 8;

  std::unique_ptr<T> Take() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (free_.empty()) return std::unique_ptr<T>(new T);
    std::unique_ptr<T> object = std::move(free_.back());
    free_.pop_back();
    return object;
  }
  void Return(std::unique_ptr<T> object) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (free_.size() < kKept) free_.push_back(std::move(object));
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> free_;
};

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_SCRATCH_H_
