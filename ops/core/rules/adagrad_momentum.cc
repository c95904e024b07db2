// Adagrad with momentum, as TPUEmbedding's AdagradMomentum:
//   a <- a + g^2 if beta2 is 1, else beta2 a + (1 - beta2) g^2;  s = (a + epsilon)^(-1/exponent) g
//   m <- momentum m + s;  w <- w - lr m, or w - lr (momentum m + s) by Nesterov.
#include <cmath>

#include "../multiversion.h"
#include "rules.h"

namespace estimator_plugin {
namespace {

template <typename V>
struct AdagradMomentumSettings {
  V rate;
  V momentum;
  bool nesterov;
  V root;  // 1 / exponent.
  V keep;  // Of the accumulator: beta2.
  V take;  // Of the gradient's square: 1 if beta2 is 1, else 1 - beta2.
  V epsilon;
};

template <typename V>
struct DivideBySquareRoot {
  V operator()(V g, V x) const { return g / std::sqrt(x); }
};

template <typename V>
struct DivideByRoot {
  V root;
  V operator()(V g, V x) const { return g * std::pow(x, -root); }
};

template <typename V, typename Scale>
inline __attribute__((always_inline)) void AdagradMomentumRow(V* __restrict__ w, V* __restrict__ a,
                                                              V* __restrict__ m,
                                                              const V* __restrict__ g, int64_t dim,
                                                              const AdagradMomentumSettings<V>& s,
                                                              Scale scale) {
  const V of_momentum = s.nesterov ? s.momentum : V(1);
  const V of_step = s.nesterov ? V(1) : V(0);
  for (int64_t i = 0; i < dim; ++i) {
    a[i] = s.keep * a[i] + s.take * (g[i] * g[i]);
    const V step = scale(g[i], a[i] + s.epsilon);
    m[i] = s.momentum * m[i] + step;
    w[i] -= s.rate * (of_momentum * m[i] + of_step * step);
  }
}

template <typename V>
EP_MULTIVERSION void AdagradMomentumRowBySquareRoot(V* w, V* a, V* m, const V* g, int64_t dim,
                                                    const AdagradMomentumSettings<V>& settings) {
  AdagradMomentumRow(w, a, m, g, dim, settings, DivideBySquareRoot<V>());
}

template <typename V>
class AdagradMomentumRule : public UpdateRule<V> {
 public:
  explicit AdagradMomentumRule(const Hyperparameters& h)
      : square_root_(h[3] == 2), settings_{static_cast<V>(h[0]),
                                           static_cast<V>(h[1]),
                                           h[2] != 0,
                                           static_cast<V>(1 / h[3]),
                                           static_cast<V>(h[4]),
                                           static_cast<V>(h[4] == 1 ? 1 : 1 - h[4]),
                                           static_cast<V>(h[5])} {}
  std::vector<SlotSpec> slots() const override { return {{"accumulator", 0.0}, {"momenta", 0.0}}; }
  void Update(V* const* parts, const V* gradient, int64_t dim) const override {
    if (square_root_) {
      AdagradMomentumRowBySquareRoot(parts[0], parts[1], parts[2], gradient, dim, settings_);
    } else {
      AdagradMomentumRow(parts[0], parts[1], parts[2], gradient, dim, settings_,
                         DivideByRoot<V>{settings_.root});
    }
  }

 private:
  const bool square_root_;
  const AdagradMomentumSettings<V> settings_;
};

}  // namespace

template <typename V>
RulePointer<V> MakeAdagradMomentumRule(const Hyperparameters& h) {
  return RulePointer<V>(new AdagradMomentumRule<V>(h));
}
template RulePointer<float> MakeAdagradMomentumRule<float>(const Hyperparameters&);

}  // namespace estimator_plugin
