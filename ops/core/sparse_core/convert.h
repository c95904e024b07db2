// From ids to coordinates in a stack: the sample, the column, and the gain of the row.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_CONVERT_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_CONVERT_H_

#include <cstdint>

#include "../status.h"
#include "feature.h"

namespace estimator_plugin {
namespace sparse_core {

// Parallel arrays: token i adds gains[i] times row cols[i] to sample rows[i].
struct Tokens {
  int32_t* rows;
  int32_t* cols;
  float* gains;
};

struct SampleRange {
  int64_t begin;
  int64_t end;

  int64_t size() const { return end - begin; }
};

// Writes the tokens of a range of samples in order, and their number: at most that of the range's
// ids, since neighbours with one sample and one id become one. The first sample of the range is row
// `first_row`. An id's column keeps the row in the shard; the shard, its low bits, is rotated.
//
// A gain is the weight, by mean divided by the sum of the sample's weights, by sqrtn by the root of
// the sum of their squares; where the divisor is 0 the gain is. The divisors are those of the ids
// before any become one.
Status ConvertSamples(const Feature& feature, const FeatureIds& ids, SampleRange samples,
                      int64_t first_row, int64_t shards, const Tokens& tokens, int64_t* size);

}  // namespace sparse_core
}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_CONVERT_H_
