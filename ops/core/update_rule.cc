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
  bool divides_by_rate = false;
};

// Adding a rule: one line here, one file under rules/.
template <typename V>
const std::vector<RuleEntry<V>>& Rules() {
  static const std::vector<RuleEntry<V>> rules = {
      {"sgd", 2, MakeSgdRule<V>},         {"momentum", 3, MakeMomentumRule<V>},
      {"adagrad", 3, MakeAdagradRule<V>}, {"adam", 6, MakeAdamRule<V>},
      {"amsgrad", 6, MakeAmsgradRule<V>}, {"rmsprop", 4, MakeRmspropRule<V>},
      {"ftrl", 7, MakeFtrlRule<V>, true},
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
      if (!std::isfinite(hyperparameters[i])) {
        return Error(Code::kInvalidArgument, "rule '", name, "': hyperparameter ", i, " is ",
                     hyperparameters[i], "; it must be finite");
      }
    }
    if (entry.divides_by_rate && !(hyperparameters[0] > 0)) {
      return Error(Code::kInvalidArgument, "rule '", name, "': learning_rate is ",
                   hyperparameters[0], "; it must be above 0");
    }
    *rule = entry.make(hyperparameters);
    return Status();
  }
  return Error(Code::kInvalidArgument, "unknown update rule '", name, "'; known are ", known);
}

template Status MakeUpdateRule<float>(const std::string&, const std::vector<double>&,
                                      std::unique_ptr<UpdateRule<float>>*);

}  // namespace estimator_plugin
