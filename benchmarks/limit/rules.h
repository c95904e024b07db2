// The arithmetic of three optimizers on a row of [embedding | slots].
#ifndef ESTIMATOR_PLUGIN_BENCHMARKS_LIMIT_RULES_H_
#define ESTIMATOR_PLUGIN_BENCHMARKS_LIMIT_RULES_H_

#include <cmath>

namespace limit {

constexpr float kLearningRate = 0.01f;

struct Sgd {
  static constexpr int kSlots = 0;
  template <int kDim>
  static void Apply(float* __restrict row, const float* __restrict gradient) {
    for (int i = 0; i < kDim; ++i) row[i] -= kLearningRate * gradient[i];
  }
};

struct Adagrad {
  static constexpr int kSlots = 1;
  template <int kDim>
  static void Apply(float* __restrict row, const float* __restrict gradient) {
    float* accumulator = row + kDim;
    for (int i = 0; i < kDim; ++i) {
      accumulator[i] += gradient[i] * gradient[i];
      row[i] -= kLearningRate * gradient[i] / std::sqrt(accumulator[i]);
    }
  }
};

struct Adam {
  static constexpr int kSlots = 2;
  template <int kDim>
  static void Apply(float* __restrict row, const float* __restrict gradient) {
    float* m = row + kDim;
    float* v = row + 2 * kDim;
    for (int i = 0; i < kDim; ++i) {
      m[i] += 0.1f * (gradient[i] - m[i]);
      v[i] += 0.001f * (gradient[i] * gradient[i] - v[i]);
      row[i] -= kLearningRate * m[i] / (std::sqrt(v[i]) + 1e-8f);
    }
  }
};

}  // namespace limit

#endif  // ESTIMATOR_PLUGIN_BENCHMARKS_LIMIT_RULES_H_
