// A sparse optimizer's arithmetic on one row. One rule per file under rules/.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_UPDATE_RULE_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_UPDATE_RULE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "row_layout.h"
#include "status.h"

namespace estimator_plugin {

// Thread-safe: Apply changes nothing but the row it is given.
template <typename V>
class UpdateRule {
 public:
  virtual ~UpdateRule() = default;

  // The slots a row needs, in row order.
  virtual std::vector<SlotSpec> slots() const = 0;

  // One update of one row. `row` is [embedding | slots], `gradient` has `dim` values: the sum over
  // all occurrences of the key in the step.
  virtual void Apply(V* row, const V* gradient, int64_t dim) const = 0;
};

// Makes the rule called `name` with its hyperparameters in the order of this table:
//
// name        hyperparameters (in order)
// "sgd"       learning_rate, weight_decay
// "momentum"  learning_rate, momentum, use_nesterov (0 or 1)
// "adagrad"   learning_rate, epsilon, initial_accumulator
// "adam"      learning_rate, beta1, beta2, epsilon, beta1_power, beta2_power
// "amsgrad"   as adam
// "rmsprop"   learning_rate, decay, momentum, epsilon
// "ftrl"      learning_rate, learning_rate_power, l1, l2, l2_shrinkage, initial_accumulator, beta
//
// InvalidArgument for an unknown name, a wrong count or a value that is not finite.
template <typename V>
Status MakeUpdateRule(const std::string& name, const std::vector<double>& hyperparameters,
                      std::unique_ptr<UpdateRule<V>>* rule);

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_UPDATE_RULE_H_
