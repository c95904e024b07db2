#include "finite.h"

#include <cstring>

#include "multiversion.h"

namespace estimator_plugin {
namespace {

// The largest magnitude as bits: IEEE 754 magnitudes order as integers, the infinities and NaNs
// above all finite numbers. Integer maxima vectorise; floating-point tests would not.
EP_MULTIVERSION int32_t LargestMagnitude(const float* values, int64_t n) {
  int32_t largest = 0;
  for (int64_t i = 0; i < n; ++i) {
    int32_t bits;
    std::memcpy(&bits, values + i, sizeof(bits));
    bits &= 0x7fffffff;
    largest = bits > largest ? bits : largest;
  }
  return largest;
}

constexpr int32_t kInfinity = 0x7f800000;

}  // namespace

bool AllFinite(const float* values, int64_t n) { return LargestMagnitude(values, n) < kInfinity; }

}  // namespace estimator_plugin
