// A range of virtual memory that costs nothing until it is touched.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_MAPPED_RANGE_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_MAPPED_RANGE_H_

#include <cstdint>
#include <memory>

namespace estimator_plugin {

constexpr int64_t kPageBytes = 4096;
constexpr int64_t kHugePageBytes = 2 << 20;

inline int64_t RoundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Owns the mapping; unmaps it when destroyed. Reads as zeros where nothing was written.
class MappedRange {
 public:
  // Null when the system refuses to reserve so much.
  static std::shared_ptr<MappedRange> Reserve(int64_t bytes);
  ~MappedRange();
  MappedRange(const MappedRange&) = delete;
  MappedRange& operator=(const MappedRange&) = delete;

  char* base() const { return base_; }  // Aligned to kHugePageBytes.
  int64_t bytes() const { return bytes_; }

  // Moves `bytes` of pages from `from` (in another range) to `to` (in this one) without copying
  // them. False when the system cannot. REQUIRES: page-aligned arguments.
  static bool MovePages(char* from, char* to, int64_t bytes);

  // Asks for huge pages the first time [begin, begin + bytes) is touched.
  static void AdviseHuge(char* begin, int64_t bytes);
  // Turns a filled, huge-page aligned part into huge pages now, where the kernel can.
  static bool CollapseHuge(char* begin, int64_t bytes);
  // Gives the whole pages inside [begin, begin + bytes) back to the system.
  static void Discard(char* begin, int64_t bytes);

 private:
  MappedRange(char* mapping, int64_t mapping_bytes, char* base, int64_t bytes)
      : mapping_(mapping), mapping_bytes_(mapping_bytes), base_(base), bytes_(bytes) {}

  char* const mapping_;
  const int64_t mapping_bytes_;
  char* const base_;
  const int64_t bytes_;
};

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_MAPPED_RANGE_H_
