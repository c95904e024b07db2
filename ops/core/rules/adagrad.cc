// Adagrad (Duchi, Hazan, Singer 2011): a <- a + g^2;  w <- w - lr g / sqrt(a + epsilon).
// Epsilon 0 is TensorFlow's AdagradOptimizer, 1e-7 Rec SDK's AdagradByAddress.
#include <cmath>

#include "../multiversion.h"
#include "rules.h"

namespace estimator_plugin {
namespace {

template <typename V>
EP_MULTIVERSION void AdagradRow(V* __restrict__ w, V* __restrict__ a, const V* __restrict__ g,
                                int64_t dim, V rate, V epsilon) {
  for (int64_t i = 0; i < dim; ++i) {
    a[i] += g[i] * g[i];
    w[i] -= rate * g[i] / std::sqrt(a[i] + epsilon);
  }
}

template <typename V>
class AdagradRule : public UpdateRule<V> {
 public:
  explicit AdagradRule(const Hyperparameters& h)
      : rate_(static_cast<V>(h[0])), epsilon_(static_cast<V>(h[1])), initial_(h[2]) {}
  std::vector<SlotSpec> slots() const override { return {{"accumulator", initial_}}; }
  void Update(V* const* parts, const V* gradient, int64_t dim) const override {
    AdagradRow(parts[0], parts[1], gradient, dim, rate_, epsilon_);
  }

 private:
  const V rate_;
  const V epsilon_;
  const double initial_;
};

}  // namespace

template <typename V>
RulePointer<V> MakeAdagradRule(const Hyperparameters& h) {
  return RulePointer<V>(new AdagradRule<V>(h));
}
template RulePointer<float> MakeAdagradRule<float>(const Hyperparameters&);

}  // namespace estimator_plugin
