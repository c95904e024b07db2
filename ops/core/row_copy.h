// Copies one embedding, or adds to it. Small sizes known at compile time are a few moves instead of
// a call.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_ROW_COPY_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_ROW_COPY_H_

#include <cstdint>
#include <cstring>

namespace estimator_plugin {

inline void CopyBytes(const void* from, void* to, int64_t bytes) {
  switch (bytes) {
    case 32:
      std::memcpy(to, from, 32);
      break;
    case 64:
      std::memcpy(to, from, 64);
      break;
    case 128:
      std::memcpy(to, from, 128);
      break;
    default:
      std::memcpy(to, from, static_cast<size_t>(bytes));
  }
}

template <typename V>
inline void AddTo(const V* __restrict__ gradient, V* __restrict__ sum, int64_t dim) {
  for (int64_t i = 0; i < dim; ++i) sum[i] += gradient[i];
}

// Asks for the first lines of a row; the hardware prefetcher fetches the rest of a long one.
inline void PrefetchBytes(const void* from, int64_t bytes) {
  constexpr int64_t kLine = 64;
  constexpr int64_t kMost = 8 * kLine;
  const char* const begin = static_cast<const char*>(from);
  for (int64_t at = 0; at < bytes && at < kMost; at += kLine) __builtin_prefetch(begin + at);
}

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_ROW_COPY_H_
