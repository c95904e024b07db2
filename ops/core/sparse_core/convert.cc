#include "convert.h"

#include <cmath>
#include <limits>

namespace estimator_plugin {
namespace sparse_core {
namespace {

struct ColumnMap {
  uint32_t shard_mask;
  uint32_t shift;
  uint32_t offset;

  int32_t operator()(uint32_t id) const {
    return static_cast<int32_t>(((id + shift) & shard_mask) + (id & ~shard_mask) + offset);
  }
};

// What the combiner divides by, summed up one weight at a time.
template <Combiner kCombiner>
struct Divisor {
  float sum = 0;

  void Add(float weight) { sum += kCombiner == Combiner::kSqrtn ? weight * weight : weight; }
  float Scale() const {
    if (sum == 0) return 0;
    const float divisor = kCombiner == Combiner::kSqrtn ? std::sqrt(sum) : sum;
    return static_cast<float>(1.0 / static_cast<double>(divisor));
  }
};

template <typename Id>
Status BadId(const Feature& feature, Id id) {
  if (feature.vocabulary_size > 0) {
    return Error(Code::kInvalidArgument, "feature '", feature.name, "': id ", id,
                 " is not in the vocabulary: ids are at least 0 and below ",
                 feature.vocabulary_size);
  }
  return Error(Code::kInvalidArgument, "feature '", feature.name, "': id ", id,
               " does not fit into 32 bits");
}

template <typename Id, Combiner kCombiner>
Status Convert(const Feature& feature, const Id* ids, const FeatureIds& input, SampleRange samples,
               int64_t first_row, const ColumnMap& column, const Tokens& tokens, int64_t* size) {
  const bool checked = feature.vocabulary_size > 0;
  const int64_t low = checked ? 0 : std::numeric_limits<int32_t>::min();
  const int64_t high =
      checked ? feature.vocabulary_size - 1 : int64_t{std::numeric_limits<int32_t>::max()};
  const int64_t stride = input.one_weight ? 0 : 1;
  int64_t out = 0;
  for (int64_t sample = samples.begin; sample < samples.end; ++sample) {
    const int64_t first = out;
    Divisor<kCombiner> divisor;
    const int64_t end = input.first_of(sample + 1);
    for (int64_t i = input.first_of(sample); i < end; ++i) {
      const Id id = ids[i];
      if (id < low || id > high) return BadId(feature, id);
      const float weight = input.weights[i * stride];
      divisor.Add(weight);
      const int32_t col = column(static_cast<uint32_t>(id));
      if (out > first && tokens.cols[out - 1] == col) {
        tokens.gains[out - 1] += weight;
        continue;
      }
      tokens.rows[out] = static_cast<int32_t>(first_row + sample - samples.begin);
      tokens.cols[out] = col;
      tokens.gains[out] = weight;
      ++out;
    }
    if (kCombiner == Combiner::kSum) continue;
    const float scale = divisor.Scale();
    for (int64_t i = first; i < out; ++i) tokens.gains[i] *= scale;
  }
  *size = out;
  return Status();
}

template <typename Id>
Status ConvertIds(const Feature& feature, const Id* ids, const FeatureIds& input,
                  SampleRange samples, int64_t first_row, const ColumnMap& column,
                  const Tokens& tokens, int64_t* size) {
  const auto convert = feature.combiner == Combiner::kSum    ? Convert<Id, Combiner::kSum>
                       : feature.combiner == Combiner::kMean ? Convert<Id, Combiner::kMean>
                                                             : Convert<Id, Combiner::kSqrtn>;
  return convert(feature, ids, input, samples, first_row, column, tokens, size);
}

}  // namespace

Status ConvertSamples(const Feature& feature, const FeatureIds& ids, SampleRange samples,
                      int64_t first_row, int64_t shards, const Tokens& tokens, int64_t* size) {
  const ColumnMap column{static_cast<uint32_t>(shards - 1),
                         static_cast<uint32_t>(feature.col_shift),
                         static_cast<uint32_t>(feature.col_offset)};
  if (ids.ids.narrow != nullptr) {
    return ConvertIds(feature, ids.ids.narrow, ids, samples, first_row, column, tokens, size);
  }
  return ConvertIds(feature, ids.ids.wide, ids, samples, first_row, column, tokens, size);
}

}  // namespace sparse_core
}  // namespace estimator_plugin
