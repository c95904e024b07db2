// Another rule, after which the weights, not the slots, are clamped.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_CLIPPED_RULE_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_CLIPPED_RULE_H_

#include <cstdint>
#include <vector>

#include "../update_rule.h"

namespace estimator_plugin {
namespace sparse_core {

// The rule that it clips outlives it.
class ClippedRule : public UpdateRule<float> {
 public:
  ClippedRule(const UpdateRule<float>& rule, float low, float high)
      : rule_(rule), low_(low), high_(high) {}

  std::vector<SlotSpec> slots() const override { return rule_.slots(); }
  void Update(float* const* parts, const float* gradient, int64_t dim) const override {
    rule_.Update(parts, gradient, dim);
    float* const w = parts[0];
    // A NaN stays one: it should be seen.
    for (int64_t i = 0; i < dim; ++i) w[i] = w[i] < low_ ? low_ : w[i] > high_ ? high_ : w[i];
  }

 private:
  const UpdateRule<float>& rule_;
  const float low_;
  const float high_;
};

}  // namespace sparse_core
}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_CLIPPED_RULE_H_
