#include "update_rule.h"

#include <cmath>

#include "rules/rules.h"

namespace estimator_plugin {
namespace {

template <typename V>
struct RuleEntry {
  const char* name;
  size_t hyperparameters;
  RulePointer<V> (*make)(const Hyperparameters&);
  Status (*check)(const std::string& name, const Hyperparameters&) = nullptr;
};

// FTRL divides by the learning rate.
Status CheckRate(const std::string& name, const Hyperparameters& h) {
  if (h[0] > 0) return Status();
  return Error(Code::kInvalidArgument, "rule '", name, "': learning_rate is ", h[0],
               "; it must be above 0");
}

// Adam divides by 1 - beta1_power and takes the root of 1 - beta2_power. A power of 1 is what an
// optimizer passes that has not raised its powers before the first step.
Status CheckPowers(const std::string& name, const Hyperparameters& h) {
  if (!(h[4] >= 0 && h[4] < 1)) {
    return Error(Code::kInvalidArgument, "rule '", name, "': beta1_power is ", h[4],
                 "; it must be at least 0 and below 1");
  }
  if (!(h[5] >= 0 && h[5] <= 1)) {
    return Error(Code::kInvalidArgument, "rule '", name, "': beta2_power is ", h[5],
                 "; it must be between 0 and 1");
  }
  return Status();
}

// AdagradMomentum takes the root of this degree.
Status CheckExponent(const std::string& name, const Hyperparameters& h) {
  if (h[3] > 0) return Status();
  return Error(Code::kInvalidArgument, "rule '", name, "': exponent is ", h[3],
               "; it must be above 0");
}

// Adding a rule: one line here, one file under rules/.
template <typename V>
const std::vector<RuleEntry<V>>& Rules() {
  static const std::vector<RuleEntry<V>> rules = {
      {"sgd", 2, MakeSgdRule<V>},
      {"momentum", 3, MakeMomentumRule<V>},
      {"adagrad", 3, MakeAdagradRule<V>},
      {"adagrad_momentum", 6, MakeAdagradMomentumRule<V>, CheckExponent},
      {"adam", 6, MakeAdamRule<V>, CheckPowers},
      {"adam_sum_inside_sqrt", 6, MakeAdamSumInsideSqrtRule<V>, CheckPowers},
      {"rmsprop", 4, MakeRmspropRule<V>},
      {"amsgrad", 6, MakeAmsgradRule<V>, CheckPowers},
      {"ftrl", 7, MakeFtrlRule<V>, CheckRate},
      {"ftrl_multiply_linear", 7, MakeFtrlMultiplyLinearRule<V>, CheckRate},
  };
  return rules;
}

}  // namespace

template <typename V>
Status MakeUpdateRule(const std::string& name, const std::vector<double>& hyperparameters,
                      std::unique_ptr<UpdateRule<V>>* rule) {
  std::string known;
  for (const RuleEntry<V>& entry : Rules<V>()) {
    known += std::string(known.empty() ? "" : ", ") + entry.name;
    if (name != entry.name) continue;
    if (hyperparameters.size() != entry.hyperparameters) {
      return Error(Code::kInvalidArgument, "rule '", name, "' takes ", entry.hyperparameters,
                   " hyperparameters, got ", hyperparameters.size());
    }
    for (size_t i = 0; i < hyperparameters.size(); ++i) {
      // As the table's value type: 1e300 is an infinite float.
      if (!std::isfinite(static_cast<V>(hyperparameters[i]))) {
        return Error(Code::kInvalidArgument, "rule '", name, "': hyperparameter ", i, " is ",
                     hyperparameters[i], "; it must be finite");
      }
    }
    if (entry.check != nullptr) EP_RETURN_IF_ERROR(entry.check(name, hyperparameters));
    *rule = entry.make(hyperparameters);
    return Status();
  }
  return Error(Code::kInvalidArgument, "unknown update rule '", name, "'; known are ", known);
}

template Status MakeUpdateRule<float>(const std::string&, const std::vector<double>&,
                                      std::unique_ptr<UpdateRule<float>>*);

}  // namespace estimator_plugin
