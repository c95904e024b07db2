// A sparse optimizer's arithmetic on one row. One formula per file under rules/.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_UPDATE_RULE_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_UPDATE_RULE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "row_layout.h"
#include "status.h"

namespace estimator_plugin {

// The most slots a rule has.
constexpr int kMaxSlots = 3;

// Thread-safe: an update changes nothing but the row it is given.
template <typename V>
class UpdateRule {
 public:
  virtual ~UpdateRule() = default;

  // The slots a row needs, in row order.
  virtual std::vector<SlotSpec> slots() const = 0;

  // One update of one row whose embedding is parts[0] and whose slots are parts[1], parts[2] ...,
  // `dim` values each. `gradient` is the sum over all occurrences of the row in the step.
  virtual void Update(V* const* parts, const V* gradient, int64_t dim) const = 0;

  // The same on a row that lies in one piece, [embedding | slots].
  void Apply(V* row, const V* gradient, int64_t dim) const {
    static_assert(kMaxSlots == 3, "a part for each slot");
    V* const parts[] = {row, row + dim, row + 2 * dim, row + 3 * dim};
    Update(parts, gradient, dim);
  }
};

// Makes the rule called `name` with its hyperparameters in the order of this table:
//
// name                    hyperparameters (in order)
// "sgd"                   learning_rate, weight_decay
// "momentum"              learning_rate, momentum, use_nesterov (0 or 1)
// "adagrad"               learning_rate, epsilon, initial_accumulator
// "adagrad_momentum"      learning_rate, momentum, use_nesterov (0 or 1), exponent, beta2, epsilon
// "adam"                  learning_rate, beta1, beta2, epsilon, beta1_power, beta2_power
// "adam_sum_inside_sqrt"  as adam
// "amsgrad"               as adam
// "rmsprop"               learning_rate, decay, momentum, epsilon
// "ftrl"                  learning_rate, learning_rate_power, l1, l2, l2_shrinkage,
//                         initial_accumulator, beta
// "ftrl_multiply_linear"  as ftrl
//
// Powers of 0 are Adam without bias correction.
// InvalidArgument for an unknown name, a wrong count or a value that is not finite.
template <typename V>
Status MakeUpdateRule(const std::string& name, const std::vector<double>& hyperparameters,
                      std::unique_ptr<UpdateRule<V>>* rule);

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_UPDATE_RULE_H_
