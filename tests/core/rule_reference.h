// The update rules once more, in double precision, one element at a time, written from the formulas
// of the papers and of TensorFlow's documentation. The tests compare the core's rules with it.
#ifndef ESTIMATOR_PLUGIN_TESTS_CORE_RULE_REFERENCE_H_
#define ESTIMATOR_PLUGIN_TESTS_CORE_RULE_REFERENCE_H_

#include <cmath>
#include <string>
#include <vector>

namespace estimator_plugin {
namespace testing {

// `state` is {w, slot 1, slot 2 ...} of one element; `h` are the hyperparameters.
inline void ReferenceAdam(const std::vector<double>& h, double g, bool amsgrad, bool sum_inside,
                          std::vector<double>* state) {
  std::vector<double>& s = *state;
  s[1] = h[1] * s[1] + (1 - h[1]) * g;
  s[2] = h[2] * s[2] + (1 - h[2]) * g * g;
  double second = s[2];
  if (amsgrad) second = s[3] = std::fmax(s[3], s[2]);
  const double divisor = sum_inside ? std::sqrt(second + h[3] * h[3]) : std::sqrt(second) + h[3];
  s[0] -= h[0] * std::sqrt(1 - h[5]) / (1 - h[4]) * s[1] / divisor;
}

inline void ReferenceAdagradMomentum(const std::vector<double>& h, double g,
                                     std::vector<double>* state) {
  std::vector<double>& s = *state;
  const double rate = h[0], momentum = h[1], exponent = h[3], beta2 = h[4], epsilon = h[5];
  s[1] = beta2 == 1 ? s[1] + g * g : beta2 * s[1] + (1 - beta2) * g * g;
  const double step = g * std::pow(s[1] + epsilon, -1 / exponent);
  s[2] = momentum * s[2] + step;
  s[0] -= rate * (h[2] != 0 ? momentum * s[2] + step : s[2]);
}

// As TPUEmbedding's FTRL with multiply_linear_by_learning_rate.
inline void ReferenceFtrlMultiplyLinear(const std::vector<double>& h, double g,
                                        std::vector<double>* state) {
  std::vector<double>& s = *state;
  const double rate = h[0], power = h[1], l1 = h[2], l2 = h[3], shrinkage = h[4], beta = h[6];
  const double n = s[1] + g * g;
  const double difference = std::pow(n, -power) - std::pow(s[1], -power);
  s[2] += rate * (g + 2 * shrinkage * s[0]) - difference * s[0];
  s[1] = n;
  const double clamped = std::fmax(-rate * l1, std::fmin(rate * l1, s[2]));
  s[0] = (clamped - s[2]) / (std::pow(n, -power) + 2 * rate * l2 + beta);
}

inline void ReferenceFtrl(const std::vector<double>& h, double g, std::vector<double>* state) {
  std::vector<double>& s = *state;
  const double rate = h[0], power = h[1], l1 = h[2], l2 = h[3], shrinkage = h[4], beta = h[6];
  const double n = s[1] + g * g;
  const double sigma = (std::pow(n, -power) - std::pow(s[1], -power)) / rate;
  s[2] += g + 2 * shrinkage * s[0] - sigma * s[0];
  s[1] = n;
  const double quadratic = (beta + std::pow(n, -power)) / rate + 2 * l2;
  const double sign = s[2] > 0 ? 1 : -1;
  s[0] = std::fabs(s[2]) > l1 ? (sign * l1 - s[2]) / quadratic : 0;
}

inline void ReferenceUpdate(const std::string& rule, const std::vector<double>& h, double g,
                            std::vector<double>* state) {
  std::vector<double>& s = *state;
  if (rule == "sgd") {
    s[0] -= h[0] * (g + h[1] * s[0]);
  } else if (rule == "momentum") {
    s[1] = h[1] * s[1] + g;
    s[0] -= h[0] * (h[2] != 0 ? g + h[1] * s[1] : s[1]);
  } else if (rule == "adagrad") {
    s[1] += g * g;
    s[0] -= h[0] * g / std::sqrt(s[1] + h[1]);
  } else if (rule == "rmsprop") {
    s[1] = h[1] * s[1] + (1 - h[1]) * g * g;
    s[2] = h[2] * s[2] + h[0] * g / std::sqrt(s[1] + h[3]);
    s[0] -= s[2];
  } else if (rule == "adagrad_momentum") {
    ReferenceAdagradMomentum(h, g, state);
  } else if (rule == "adam" || rule == "adam_sum_inside_sqrt" || rule == "amsgrad") {
    ReferenceAdam(h, g, rule == "amsgrad", rule == "adam_sum_inside_sqrt", state);
  } else if (rule == "ftrl_multiply_linear") {
    ReferenceFtrlMultiplyLinear(h, g, state);
  } else {
    ReferenceFtrl(h, g, state);
  }
}

}  // namespace testing
}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_TESTS_CORE_RULE_REFERENCE_H_
