// Adam (Kingma, Ba 2015) on touched rows only, with beta powers of the whole optimizer: the Rec
// SDK's LazyAdam, and TensorFlow's AdamOptimizer restricted to the rows of the batch.
// lr_t = lr sqrt(1 - beta2^t) / (1 - beta1^t);  w <- w - lr_t m / (sqrt(v) + epsilon).
// With the sum inside the root, as TPUEmbedding's Adam has it: w <- w - lr_t m / sqrt(v +
// epsilon^2).
#include <cmath>

#include "../multiversion.h"
#include "rules.h"

namespace estimator_plugin {
namespace {

template <typename V>
struct EpsilonOutside {
  V epsilon;
  V operator()(V v) const { return std::sqrt(v) + epsilon; }
};

template <typename V>
struct EpsilonInside {
  V squared;
  V operator()(V v) const { return std::sqrt(v + squared); }
};

template <typename V, typename Divisor>
EP_MULTIVERSION void AdamRow(V* __restrict__ w, V* __restrict__ m, V* __restrict__ v,
                             const V* __restrict__ g, int64_t dim, V rate, V beta1, V beta2,
                             Divisor divisor) {
  const V keep1 = V(1) - beta1;
  const V keep2 = V(1) - beta2;
  for (int64_t i = 0; i < dim; ++i) {
    m[i] = beta1 * m[i] + keep1 * g[i];
    v[i] = beta2 * v[i] + keep2 * (g[i] * g[i]);
    w[i] -= rate * m[i] / divisor(v[i]);
  }
}

template <typename V, typename Divisor>
class AdamRule : public UpdateRule<V> {
 public:
  AdamRule(const Hyperparameters& h, Divisor divisor)
      : rate_(static_cast<V>(h[0] * std::sqrt(1 - h[5]) / (1 - h[4]))),
        beta1_(static_cast<V>(h[1])),
        beta2_(static_cast<V>(h[2])),
        divisor_(divisor) {}
  std::vector<SlotSpec> slots() const override { return {{"m", 0.0}, {"v", 0.0}}; }
  void Update(V* const* parts, const V* gradient, int64_t dim) const override {
    AdamRow(parts[0], parts[1], parts[2], gradient, dim, rate_, beta1_, beta2_, divisor_);
  }

 private:
  const V rate_;
  const V beta1_;
  const V beta2_;
  const Divisor divisor_;
};

}  // namespace

template <typename V>
RulePointer<V> MakeAdamRule(const Hyperparameters& h) {
  using Divisor = EpsilonOutside<V>;
  return RulePointer<V>(new AdamRule<V, Divisor>(h, Divisor{static_cast<V>(h[3])}));
}
template RulePointer<float> MakeAdamRule<float>(const Hyperparameters&);

template <typename V>
RulePointer<V> MakeAdamSumInsideSqrtRule(const Hyperparameters& h) {
  using Divisor = EpsilonInside<V>;
  return RulePointer<V>(new AdamRule<V, Divisor>(h, Divisor{static_cast<V>(h[3] * h[3])}));
}
template RulePointer<float> MakeAdamSumInsideSqrtRule<float>(const Hyperparameters&);

}  // namespace estimator_plugin
