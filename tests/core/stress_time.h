// How long stress tests run.
#ifndef ESTIMATOR_PLUGIN_TESTS_CORE_STRESS_TIME_H_
#define ESTIMATOR_PLUGIN_TESTS_CORE_STRESS_TIME_H_

#include <chrono>
#include <cstdlib>

namespace estimator_plugin {
namespace testing {

// EP_STRESS_SECONDS if it is set, to look longer than every run of the tests can.
inline std::chrono::milliseconds StressTime() {
  const char* const seconds = std::getenv("EP_STRESS_SECONDS");
  return std::chrono::milliseconds(seconds == nullptr ? 1500 : 1000 * std::atoi(seconds));
}

}  // namespace testing
}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_TESTS_CORE_STRESS_TIME_H_
