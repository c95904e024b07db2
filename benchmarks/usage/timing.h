// What work costs, by the clock and of the processor, and ratios between costs of one round.
#ifndef ESTIMATOR_PLUGIN_BENCHMARKS_USAGE_TIMING_H_
#define ESTIMATOR_PLUGIN_BENCHMARKS_USAGE_TIMING_H_

#include <time.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace usage {

struct Cost {
  double wall = 0;
  double cpu = 0;  // Of all threads of the process: the machine's other work adds little to it.
};

inline double SecondsOf(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

inline Cost CostOf(const std::function<void()>& work) {
  const double wall = SecondsOf(CLOCK_MONOTONIC), cpu = SecondsOf(CLOCK_PROCESS_CPUTIME_ID);
  work();
  return {SecondsOf(CLOCK_MONOTONIC) - wall, SecondsOf(CLOCK_PROCESS_CPUTIME_ID) - cpu};
}

inline double Median(std::vector<double> values) {
  const auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

inline Cost MedianOf(const std::vector<Cost>& costs) {
  std::vector<double> walls, cpus;
  for (const Cost& cost : costs) {
    walls.push_back(cost.wall);
    cpus.push_back(cost.cpu);
  }
  return {Median(walls), Median(cpus)};
}

inline Cost Ratio(const Cost& cost, const Cost& base) {
  return {cost.wall / base.wall, cost.cpu / base.cpu};
}

}  // namespace usage

#endif  // ESTIMATOR_PLUGIN_BENCHMARKS_USAGE_TIMING_H_
