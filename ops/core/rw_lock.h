// A reader/writer lock that lets waiting writers go first, so that a steady stream of lookups
// cannot starve an insert, an update or an eviction.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_RW_LOCK_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_RW_LOCK_H_

#include <pthread.h>

namespace estimator_plugin {

// Not recursive: a thread that holds it, in either mode, must not take it again.
class RwLock {
 public:
  RwLock() {
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&lock_, &attributes);
    pthread_rwlockattr_destroy(&attributes);
  }
  ~RwLock() { pthread_rwlock_destroy(&lock_); }
  RwLock(const RwLock&) = delete;
  RwLock& operator=(const RwLock&) = delete;

  void LockShared() { pthread_rwlock_rdlock(&lock_); }
  void LockExclusive() { pthread_rwlock_wrlock(&lock_); }
  void Unlock() { pthread_rwlock_unlock(&lock_); }

 private:
  pthread_rwlock_t lock_;
};

class SharedLock {
 public:
  explicit SharedLock(RwLock* lock) : lock_(lock) { lock_->LockShared(); }
  ~SharedLock() { lock_->Unlock(); }
  SharedLock(const SharedLock&) = delete;
  SharedLock& operator=(const SharedLock&) = delete;

 private:
  RwLock* const lock_;
};

class ExclusiveLock {
 public:
  explicit ExclusiveLock(RwLock* lock) : lock_(lock) { lock_->LockExclusive(); }
  ~ExclusiveLock() { lock_->Unlock(); }
  ExclusiveLock(const ExclusiveLock&) = delete;
  ExclusiveLock& operator=(const ExclusiveLock&) = delete;

 private:
  RwLock* const lock_;
};

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_RW_LOCK_H_
