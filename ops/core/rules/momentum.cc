// Momentum (Polyak 1964) and its Nesterov form, as TensorFlow's MomentumOptimizer:
// m <- momentum m + g;  w <- w - lr m, or w - lr (g + momentum m).
#include "../multiversion.h"
#include "rules.h"

namespace estimator_plugin {
namespace {

template <typename V>
EP_MULTIVERSION void MomentumRow(V* __restrict__ w, V* __restrict__ m, const V* __restrict__ g,
                                 int64_t dim, V rate, V momentum) {
  for (int64_t i = 0; i < dim; ++i) {
    m[i] = m[i] * momentum + g[i];
    w[i] -= rate * m[i];
  }
}

template <typename V>
EP_MULTIVERSION void NesterovRow(V* __restrict__ w, V* __restrict__ m, const V* __restrict__ g,
                                 int64_t dim, V rate, V momentum) {
  for (int64_t i = 0; i < dim; ++i) {
    m[i] = m[i] * momentum + g[i];
    w[i] -= g[i] * rate + m[i] * momentum * rate;
  }
}

template <typename V>
class MomentumRule : public UpdateRule<V> {
 public:
  explicit MomentumRule(const Hyperparameters& h)
      : rate_(static_cast<V>(h[0])), momentum_(static_cast<V>(h[1])), nesterov_(h[2] != 0) {}
  std::vector<SlotSpec> slots() const override { return {{"momentum", 0.0}}; }
  void Update(V* const* parts, const V* gradient, int64_t dim) const override {
    (nesterov_ ? NesterovRow<V> : MomentumRow<V>)(parts[0], parts[1], gradient, dim, rate_,
                                                  momentum_);
  }

 private:
  const V rate_;
  const V momentum_;
  const bool nesterov_;
};

}  // namespace

template <typename V>
RulePointer<V> MakeMomentumRule(const Hyperparameters& h) {
  return RulePointer<V>(new MomentumRule<V>(h));
}
template RulePointer<float> MakeMomentumRule<float>(const Hyperparameters&);

}  // namespace estimator_plugin
