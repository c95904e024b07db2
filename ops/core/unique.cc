#include "unique.h"

#include "distinct_set.h"
#include "hash.h"
#include "scratch.h"

namespace estimator_plugin {

void UniqueWithCounts(const int64_t* values, int64_t n, int32_t* indices, UniqueResult* result) {
  ScratchPool<DistinctSet>::Lease distinct(ScratchPool<DistinctSet>::Global());
  distinct->Reset(n);
  result->values.clear();
  result->counts.clear();
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t number = distinct->Add(values[i], MixKey(values[i]));
    if (number == result->values.size()) {
      result->values.push_back(values[i]);
      result->counts.push_back(0);
    }
    ++result->counts[number];
    indices[i] = static_cast<int32_t>(number);
  }
}

}  // namespace estimator_plugin
