// The filter of fixed size: a count-min sketch with conservative update (Cormode, Muthukrishnan
// 2005; Estan, Varghese 2002).
//
// A count is never too low. It is too high by more than e * N / width only with probability
// e^-depth, where N is the sum of what was counted in this bucket; keys that have a row count in
// the row, so N grows with the keys that wait. It knows no keys and no times: nothing leaves it,
// and a key whose row was evicted is admitted at once when it returns.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_COUNT_SKETCH_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_COUNT_SKETCH_H_

#include <cstdint>
#include <vector>

#include "admission_filter.h"

namespace estimator_plugin {

class CountSketch : public AdmissionFilter {
 public:
  static constexpr int kDepth = 4;

  // REQUIRES: width is a power of two.
  explicit CountSketch(int64_t width) : width_(width), cells_(kDepth * width, 0) {}

  // The width of each of `num_buckets` sketches that share so many bytes.
  static int64_t WidthFor(int64_t bytes, int num_buckets);
  // Whether so many cells are those of a sketch.
  static bool IsCells(int64_t cells);

  void Count(const MissingKey* keys, int64_t n, const Counting& counting) override;
  int32_t CountOf(int64_t key) const override;
  int32_t Take(int64_t key) override { return CountOf(key); }
  int64_t RemoveOlder(int64_t) override { return 0; }
  int64_t waiting() const override { return 0; }
  int64_t bytes() const override { return static_cast<int64_t>(cells_.size() * sizeof(int32_t)); }
  void Save(WaitingRecords* records) const override { records->sketch = cells_; }
  // Of another width: wider ones are folded, narrower ones repeated, so that no count is too low.
  void Load(const WaitingView& saved) override;

 private:
  // The cells of a key, one in each row.
  struct Places {
    int64_t cells[kDepth];
  };
  Places PlacesOf(int64_t key) const;
  void Add(int64_t key, int32_t added);

  const int64_t width_;
  std::vector<int32_t> cells_;  // [kDepth, width_]
};

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_COUNT_SKETCH_H_
