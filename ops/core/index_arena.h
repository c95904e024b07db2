// Memory for the indexes of one table, all buckets together, so that small indexes share huge
// pages. Blocks are cut from a reserved range one after another; a freed block's pages go back to
// the system and its addresses are not used again (an index grows by half, so all the blocks it
// ever had add up to three times the last one).
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_INDEX_ARENA_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_INDEX_ARENA_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "mapped_range.h"

namespace estimator_plugin {

// Thread-safe.
class IndexArena {
 public:
  // Zero-filled, 64-byte aligned memory, or null when the system gives none.
  void* Allocate(int64_t bytes);
  void Free(void* block, int64_t bytes);

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<MappedRange>> ranges_;
  int64_t used_ = 0;  // Bytes cut from the last range.
};

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_INDEX_ARENA_H_
