// Gradient descent with weight decay: w <- w - lr (g + decay w).
// Rec SDK's SGDByAddr; with decay 0, TensorFlow's GradientDescentOptimizer.
#include "../multiversion.h"
#include "rules.h"

namespace estimator_plugin {
namespace {

template <typename V>
EP_MULTIVERSION void SgdRow(V* __restrict__ w, const V* __restrict__ g, int64_t dim, V rate,
                            V decay) {
  for (int64_t i = 0; i < dim; ++i) w[i] -= rate * (g[i] + decay * w[i]);
}

template <typename V>
class SgdRule : public UpdateRule<V> {
 public:
  explicit SgdRule(const Hyperparameters& h)
      : rate_(static_cast<V>(h[0])), decay_(static_cast<V>(h[1])) {}
  std::vector<SlotSpec> slots() const override { return {}; }
  void Update(V* const* parts, const V* gradient, int64_t dim) const override {
    SgdRow(parts[0], gradient, dim, rate_, decay_);
  }

 private:
  const V rate_;
  const V decay_;
};

}  // namespace

template <typename V>
RulePointer<V> MakeSgdRule(const Hyperparameters& h) {
  return RulePointer<V>(new SgdRule<V>(h));
}
template RulePointer<float> MakeSgdRule<float>(const Hyperparameters&);

}  // namespace estimator_plugin
