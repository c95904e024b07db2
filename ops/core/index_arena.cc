#include "index_arena.h"

#include <algorithm>

namespace estimator_plugin {
namespace {

// Address space only; more is reserved when it is used up.
constexpr int64_t kRangeBytes = int64_t{4} << 30;
constexpr int64_t kSmallestRangeBytes = int64_t{16} << 20;

// The part of a range that keeps small pages, so that a small table does not take a huge one.
constexpr int64_t kSmallPagesBytes = kHugePageBytes;

std::shared_ptr<MappedRange> ReserveAtLeast(int64_t bytes) {
  for (int64_t size = std::max(kRangeBytes, bytes); size >= std::max(kSmallestRangeBytes, bytes);
       size /= 2) {
    std::shared_ptr<MappedRange> range = MappedRange::Reserve(size);
    if (range != nullptr) return range;
  }
  return bytes > kSmallestRangeBytes ? MappedRange::Reserve(bytes) : nullptr;
}

int64_t BlockBytes(int64_t bytes) { return RoundUp(bytes, bytes < kPageBytes ? 64 : kPageBytes); }

}  // namespace

void* IndexArena::Allocate(int64_t bytes) {
  bytes = BlockBytes(bytes);
  std::lock_guard<std::mutex> lock(mutex_);
  if (!ranges_.empty() && bytes >= kPageBytes) used_ = RoundUp(used_, kPageBytes);
  if (ranges_.empty() || used_ + bytes > ranges_.back()->bytes()) {
    std::shared_ptr<MappedRange> range = ReserveAtLeast(bytes);
    if (range == nullptr) return nullptr;
    MappedRange::AdviseHuge(range->base() + kSmallPagesBytes, range->bytes() - kSmallPagesBytes);
    ranges_.push_back(std::move(range));
    used_ = 0;
  }
  void* block = ranges_.back()->base() + used_;
  used_ += bytes;
  return block;
}

void IndexArena::Free(void* block, int64_t bytes) {
  MappedRange::Discard(static_cast<char*>(block), BlockBytes(bytes));
}

}  // namespace estimator_plugin
