// What one row of a table holds: [embedding | slot 1 | slot 2 ...], each `dim` values wide.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_ROW_LAYOUT_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_ROW_LAYOUT_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace estimator_plugin {

constexpr int64_t kMaxDim = 8192;

// One optimizer state of a row, e.g. {"accumulator", 0.1}.
struct SlotSpec {
  std::string name;
  double initial_value = 0.0;

  bool operator==(const SlotSpec& other) const {
    return name == other.name && initial_value == other.initial_value;
  }
};

// Whether rows of the one can be read as rows of the other: the same slots in the same order.
inline bool SameSlotNames(const std::vector<SlotSpec>& a, const std::vector<SlotSpec>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const SlotSpec& x, const SlotSpec& y) { return x.name == y.name; });
}

struct RowLayout {
  int64_t dim = 0;
  std::vector<SlotSpec> slots;

  int64_t width() const { return dim * (1 + static_cast<int64_t>(slots.size())); }
};

// Copies a row of one layout into one of another: slots are matched by name, and a slot that was
// not there starts at its initial value.
template <typename V>
void ConvertRow(const RowLayout& from, const V* source, const RowLayout& to, V* target) {
  std::copy_n(source, to.dim, target);
  for (size_t s = 0; s < to.slots.size(); ++s) {
    V* const slot = target + static_cast<int64_t>(1 + s) * to.dim;
    const auto same = std::find_if(from.slots.begin(), from.slots.end(), [&](const SlotSpec& old) {
      return old.name == to.slots[s].name;
    });
    if (same == from.slots.end()) {
      std::fill_n(slot, to.dim, static_cast<V>(to.slots[s].initial_value));
    } else {
      std::copy_n(source + (1 + (same - from.slots.begin())) * to.dim, to.dim, slot);
    }
  }
}

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_ROW_LAYOUT_H_
