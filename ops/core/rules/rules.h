// The makers behind MakeUpdateRule, one file each. Hyperparameters arrive complete and finite, in
// the order update_rule.h gives.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_RULES_RULES_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_RULES_RULES_H_

#include <memory>
#include <vector>

#include "../update_rule.h"

namespace estimator_plugin {

template <typename V>
using RulePointer = std::unique_ptr<UpdateRule<V>>;
using Hyperparameters = std::vector<double>;

template <typename V>
RulePointer<V> MakeSgdRule(const Hyperparameters& h);
template <typename V>
RulePointer<V> MakeMomentumRule(const Hyperparameters& h);
template <typename V>
RulePointer<V> MakeAdagradRule(const Hyperparameters& h);
template <typename V>
RulePointer<V> MakeAdagradMomentumRule(const Hyperparameters& h);
template <typename V>
RulePointer<V> MakeAdamRule(const Hyperparameters& h);
template <typename V>
RulePointer<V> MakeAdamSumInsideSqrtRule(const Hyperparameters& h);
template <typename V>
RulePointer<V> MakeAmsgradRule(const Hyperparameters& h);
template <typename V>
RulePointer<V> MakeRmspropRule(const Hyperparameters& h);
template <typename V>
RulePointer<V> MakeFtrlRule(const Hyperparameters& h);
template <typename V>
RulePointer<V> MakeFtrlMultiplyLinearRule(const Hyperparameters& h);

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_RULES_RULES_H_
