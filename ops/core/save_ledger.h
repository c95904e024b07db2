// Which checkpoint a table's changes are counted from.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_SAVE_LEDGER_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_SAVE_LEDGER_H_

#include <cstdint>
#include <mutex>
#include <random>
#include <string>

namespace estimator_plugin {

// A checkpoint that holds a table: the number drawn for its save, and its path prefix. Two saves of
// a table never have the same number, whatever they are called.
struct SavedAs {
  uint64_t save_id = 0;  // 0 where there is none.
  std::string checkpoint;

  bool exists() const { return save_id != 0; }
};

inline uint64_t DrawSaveId() {
  std::random_device device;
  uint64_t drawn;
  do {
    drawn = static_cast<uint64_t>(device()) << 32 | device();
  } while (drawn == 0);
  return drawn;
}

// Thread-safe.
class SaveLedger {
 public:
  // The last checkpoint known to be whole; deltas are relative to it.
  SavedAs base() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return base_;
  }

  // Whether `saved` is the base, which goes by that path from now on.
  bool IsBase(const SavedAs& saved) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!base_.exists() || base_.save_id != saved.save_id) return false;
    base_.checkpoint = saved.checkpoint;
    return true;
  }

  // The save of this number begins now; the one before it can no longer be committed.
  void Begin(uint64_t save_id) {
    std::lock_guard<std::mutex> lock(mutex_);
    pending_ = save_id;
  }

  // Whether `saved` is the save that began last; it is the base from now on.
  bool Commit(const SavedAs& saved) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (pending_ == 0 || saved.save_id != pending_) return false;
    Restart(saved);
    return true;
  }

  // The table was read from `saved`, or emptied.
  void Reset(const SavedAs& saved) {
    std::lock_guard<std::mutex> lock(mutex_);
    Restart(saved);
  }

 private:
  void Restart(const SavedAs& saved) {
    base_ = saved;
    pending_ = 0;
  }

  mutable std::mutex mutex_;
  SavedAs base_;
  uint64_t pending_ = 0;
};

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_SAVE_LEDGER_H_
