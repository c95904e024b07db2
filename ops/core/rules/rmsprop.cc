// RMSProp (Tieleman, Hinton 2012) with momentum, as TensorFlow's RMSPropOptimizer:
// ms <- decay ms + (1 - decay) g^2;  mom <- momentum mom + lr g / sqrt(ms + epsilon);
// w <- w - mom.
#include <cmath>

#include "../multiversion.h"
#include "rules.h"

namespace estimator_plugin {
namespace {

template <typename V>
EP_MULTIVERSION void RmspropRow(V* __restrict__ w, V* __restrict__ ms, V* __restrict__ mom,
                                const V* __restrict__ g, int64_t dim, V rate, V decay, V momentum,
                                V epsilon) {
  const V keep = V(1) - decay;
  for (int64_t i = 0; i < dim; ++i) {
    ms[i] = ms[i] * decay + g[i] * g[i] * keep;
    mom[i] = mom[i] * momentum + rate * g[i] / std::sqrt(ms[i] + epsilon);
    w[i] -= mom[i];
  }
}

template <typename V>
class RmspropRule : public UpdateRule<V> {
 public:
  explicit RmspropRule(const Hyperparameters& h)
      : rate_(static_cast<V>(h[0])),
        decay_(static_cast<V>(h[1])),
        momentum_(static_cast<V>(h[2])),
        epsilon_(static_cast<V>(h[3])) {}
  // TensorFlow starts the mean square at one.
  std::vector<SlotSpec> slots() const override { return {{"rms", 1.0}, {"momentum", 0.0}}; }
  void Update(V* const* parts, const V* gradient, int64_t dim) const override {
    RmspropRow(parts[0], parts[1], parts[2], gradient, dim, rate_, decay_, momentum_, epsilon_);
  }

 private:
  const V rate_;
  const V decay_;
  const V momentum_;
  const V epsilon_;
};

}  // namespace

template <typename V>
RulePointer<V> MakeRmspropRule(const Hyperparameters& h) {
  return RulePointer<V>(new RmspropRule<V>(h));
}
template RulePointer<float> MakeRmspropRule<float>(const Hyperparameters&);

}  // namespace estimator_plugin
