// FTRL-Proximal (McMahan et al. 2013) with TensorFlow's signs, L2 shrinkage and beta, as
// tf.compat.v1.train.FtrlOptimizer. With q = -learning_rate_power, usually 1/2:
//   n' = n + g^2;  z <- z + g + 2 shrinkage w - (n'^q - n^q) / lr w
//   w <- (sign(z) l1 - z) / (n'^q / lr + 2 l2 + beta / lr) if |z| > l1, else 0
// Multiplied, z stands for lr z throughout: the same weights, without a division by lr.
#include <cmath>

#include "../multiversion.h"
#include "rules.h"

namespace estimator_plugin {
namespace {

template <typename V>
struct FtrlSettings {
  V rate;      // 1 where z is multiplied; the others below are multiplied too then.
  V gradient;  // 1.
  V power;     // q above.
  V l1;
  V twice_l2;  // 2 l2 + beta / lr.
  V twice_shrinkage;
};

template <typename V>
FtrlSettings<V> PlainSettings(const Hyperparameters& h) {
  return {static_cast<V>(h[0]),
          V(1),
          static_cast<V>(-h[1]),
          static_cast<V>(h[2]),
          static_cast<V>(2 * h[3] + h[6] / h[0]),
          static_cast<V>(2 * h[4])};
}

template <typename V>
FtrlSettings<V> MultipliedSettings(const Hyperparameters& h) {
  return {V(1),
          static_cast<V>(h[0]),
          static_cast<V>(-h[1]),
          static_cast<V>(h[0] * h[2]),
          static_cast<V>(2 * h[0] * h[3] + h[6]),
          static_cast<V>(2 * h[0] * h[4])};
}

template <typename V>
struct SquareRoot {
  V operator()(V x) const { return std::sqrt(x); }
};

template <typename V>
struct Power {
  V power;
  V operator()(V x) const { return std::pow(x, power); }
};

template <typename V, typename Pow>
inline __attribute__((always_inline)) void FtrlRow(V* __restrict__ w, V* __restrict__ n,
                                                   V* __restrict__ z, const V* __restrict__ g,
                                                   int64_t dim, const FtrlSettings<V>& s, Pow pow) {
  for (int64_t i = 0; i < dim; ++i) {
    const V accumulated = n[i] + g[i] * g[i];
    const V root = pow(accumulated);
    z[i] += s.gradient * g[i] + s.twice_shrinkage * w[i] - (root - pow(n[i])) / s.rate * w[i];
    n[i] = accumulated;
    const V shrunk = (z[i] > 0 ? s.l1 : -s.l1) - z[i];
    w[i] = std::fabs(z[i]) > s.l1 ? shrunk / (root / s.rate + s.twice_l2) : V(0);
  }
}

template <typename V>
EP_MULTIVERSION void FtrlRowBySquareRoot(V* w, V* n, V* z, const V* g, int64_t dim,
                                         const FtrlSettings<V>& settings) {
  FtrlRow(w, n, z, g, dim, settings, SquareRoot<V>());
}

template <typename V>
class FtrlRule : public UpdateRule<V> {
 public:
  FtrlRule(const FtrlSettings<V>& settings, double initial)
      : settings_(settings), initial_(initial) {}
  std::vector<SlotSpec> slots() const override {
    return {{"accumulator", initial_}, {"linear", 0.0}};
  }
  void Update(V* const* parts, const V* gradient, int64_t dim) const override {
    if (settings_.power == V(0.5)) {
      FtrlRowBySquareRoot(parts[0], parts[1], parts[2], gradient, dim, settings_);
    } else {
      FtrlRow(parts[0], parts[1], parts[2], gradient, dim, settings_, Power<V>{settings_.power});
    }
  }

 private:
  const FtrlSettings<V> settings_;
  const double initial_;
};

}  // namespace

template <typename V>
RulePointer<V> MakeFtrlRule(const Hyperparameters& h) {
  return RulePointer<V>(new FtrlRule<V>(PlainSettings<V>(h), h[5]));
}
template RulePointer<float> MakeFtrlRule<float>(const Hyperparameters&);

template <typename V>
RulePointer<V> MakeFtrlMultiplyLinearRule(const Hyperparameters& h) {
  return RulePointer<V>(new FtrlRule<V>(MultipliedSettings<V>(h), h[5]));
}
template RulePointer<float> MakeFtrlMultiplyLinearRule<float>(const Hyperparameters&);

}  // namespace estimator_plugin
