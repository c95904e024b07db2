// AMSGrad (Reddi, Kale, Kumar 2018), bias-corrected as tf.keras.optimizers.Adam(amsgrad=True), on
// touched rows only: vhat <- max(vhat, v);  w <- w - lr_t m / (sqrt(vhat) + epsilon).
#include <cmath>

#include "../multiversion.h"
#include "rules.h"

namespace estimator_plugin {
namespace {

template <typename V>
EP_MULTIVERSION void AmsgradRow(V* __restrict__ w, V* __restrict__ m, V* __restrict__ v,
                                V* __restrict__ vhat, const V* __restrict__ g, int64_t dim, V rate,
                                V beta1, V beta2, V epsilon) {
  const V keep1 = V(1) - beta1;
  const V keep2 = V(1) - beta2;
  for (int64_t i = 0; i < dim; ++i) {
    m[i] = beta1 * m[i] + keep1 * g[i];
    v[i] = beta2 * v[i] + keep2 * (g[i] * g[i]);
    vhat[i] = v[i] > vhat[i] ? v[i] : vhat[i];
    w[i] -= rate * m[i] / (std::sqrt(vhat[i]) + epsilon);
  }
}

template <typename V>
class AmsgradRule : public UpdateRule<V> {
 public:
  explicit AmsgradRule(const Hyperparameters& h)
      : rate_(static_cast<V>(h[0] * std::sqrt(1 - h[5]) / (1 - h[4]))),
        beta1_(static_cast<V>(h[1])),
        beta2_(static_cast<V>(h[2])),
        epsilon_(static_cast<V>(h[3])) {}
  std::vector<SlotSpec> slots() const override { return {{"m", 0.0}, {"v", 0.0}, {"vhat", 0.0}}; }
  void Update(V* const* parts, const V* gradient, int64_t dim) const override {
    AmsgradRow(parts[0], parts[1], parts[2], parts[3], gradient, dim, rate_, beta1_, beta2_,
               epsilon_);
  }

 private:
  const V rate_;
  const V beta1_;
  const V beta2_;
  const V epsilon_;
};

}  // namespace

template <typename V>
RulePointer<V> MakeAmsgradRule(const Hyperparameters& h) {
  return RulePointer<V>(new AmsgradRule<V>(h));
}
template RulePointer<float> MakeAmsgradRule<float>(const Hyperparameters&);

}  // namespace estimator_plugin
