#include "mapped_range.h"

#include <sys/mman.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // Linux 6.1; older kernels answer EINVAL.
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4  // Linux 5.7; older kernels answer EINVAL and the rows are copied.
#endif

namespace estimator_plugin {
namespace {

// The whole multiples of `unit` inside [begin, begin + bytes).
struct Inner {
  char* begin;
  int64_t bytes;
};

Inner WholeUnits(char* begin, int64_t bytes, int64_t unit) {
  const int64_t first = RoundUp(reinterpret_cast<int64_t>(begin), unit);
  const int64_t last = (reinterpret_cast<int64_t>(begin) + bytes) / unit * unit;
  return {reinterpret_cast<char*>(first), last > first ? last - first : 0};
}

}  // namespace

std::shared_ptr<MappedRange> MappedRange::Reserve(int64_t bytes) {
  const int64_t mapping_bytes = RoundUp(bytes, kPageBytes) + kHugePageBytes;
  // Writable from the start but not accounted until touched: one kernel mapping for a whole table,
  // where committing in steps by mprotect would need two for each array.
  void* mapping = mmap(nullptr, mapping_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  char* base = reinterpret_cast<char*>(RoundUp(reinterpret_cast<int64_t>(mapping), kHugePageBytes));
  return std::shared_ptr<MappedRange>(
      new MappedRange(static_cast<char*>(mapping), mapping_bytes, base, bytes));
}

MappedRange::~MappedRange() { munmap(mapping_, mapping_bytes_); }

bool MappedRange::MovePages(char* from, char* to, int64_t bytes) {
  if (bytes == 0) return true;
  // DONTUNMAP: `from` stays mapped, empty, until its owner unmaps the whole range; otherwise
  // another thread's mapping could land in the hole.
  const int flags = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
  return mremap(from, bytes, bytes, flags, to) != MAP_FAILED;
}

void MappedRange::AdviseHuge(char* begin, int64_t bytes) {
  const Inner inner = WholeUnits(begin, bytes, kHugePageBytes);
  if (inner.bytes > 0) madvise(inner.begin, inner.bytes, MADV_HUGEPAGE);
}

bool MappedRange::CollapseHuge(char* begin, int64_t bytes) {
  const Inner inner = WholeUnits(begin, bytes, kHugePageBytes);
  return inner.bytes > 0 && madvise(inner.begin, inner.bytes, MADV_COLLAPSE) == 0;
}

void MappedRange::Discard(char* begin, int64_t bytes) {
  const Inner inner = WholeUnits(begin, bytes, kPageBytes);
  if (inner.bytes > 0) madvise(inner.begin, inner.bytes, MADV_DONTNEED);
}

}  // namespace estimator_plugin
