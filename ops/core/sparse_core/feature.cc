#include "feature.h"

#include <limits>

#include "topology.h"

namespace estimator_plugin {
namespace sparse_core {
namespace {

Status FromRowSplits(const std::string& feature, const SampleInput& input, int64_t samples,
                     FeatureIds* ids) {
  if (input.rows != samples + 1) {
    return Error(Code::kInvalidArgument, "feature '", feature, "': row splits have ", input.rows,
                 " elements; ", samples, " samples want ", samples + 1);
  }
  ids->splits.resize(input.rows);
  int64_t previous = 0;
  for (int64_t s = 0; s <= samples; ++s) {
    const int64_t split = input.values[s];
    const int64_t most = s == 0 ? 0 : ids->size;
    if (split < previous || split > most || (s == samples && split != ids->size)) {
      return Error(Code::kInvalidArgument, "feature '", feature, "': row_splits[", s, "] is ",
                   split, "; row splits go from 0 to the number of values, ", ids->size,
                   ", and never fall");
    }
    ids->splits[s] = static_cast<int32_t>(split);
    previous = split;
  }
  return Status();
}

Status FromIndices(const std::string& feature, const SampleInput& input, int64_t samples,
                   FeatureIds* ids) {
  if (input.rows != ids->size || (input.columns < 1 && input.rows > 0)) {
    return Error(Code::kInvalidArgument, "feature '", feature, "': indices have shape [",
                 input.rows, ",", input.columns, "] for ", ids->size,
                 " values; each value has a row of them, the sample first");
  }
  ids->splits.assign(samples + 1, static_cast<int32_t>(ids->size));
  int64_t filled = 0;  // Samples whose first id is known.
  for (int64_t i = 0; i < input.rows; ++i) {
    const int64_t sample = input.values[i * input.columns];
    if (sample < 0 || sample >= samples) {
      return Error(Code::kInvalidArgument, "feature '", feature, "': indices[", i, "] has sample ",
                   sample, "; there are ", samples, " samples");
    }
    if (sample < filled - 1) {
      return Error(Code::kInvalidArgument, "feature '", feature, "': indices[", i, "] has sample ",
                   sample, " after sample ", filled - 1, "; indices must be sorted by sample");
    }
    while (filled <= sample) ids->splits[filled++] = static_cast<int32_t>(i);
  }
  return Status();
}

}  // namespace

Status ParseCombiner(const std::string& feature, const std::string& name, Combiner* combiner) {
  if (name == "sum") {
    *combiner = Combiner::kSum;
  } else if (name == "mean") {
    *combiner = Combiner::kMean;
  } else if (name == "sqrtn") {
    *combiner = Combiner::kSqrtn;
  } else {
    return Error(Code::kInvalidArgument, "feature '", feature, "': combiner is '", name,
                 "'; it must be 'sum', 'mean' or 'sqrtn'");
  }
  return Status();
}

Status CheckFeature(const Feature& feature, int64_t cores_per_replica, int64_t stack_samples) {
  const auto check = [&](const char* what, int64_t count) {
    if (count % cores_per_replica == 0) return Status();
    return Error(Code::kInvalidArgument, "feature '", feature.name, "': ", what, " is ", count,
                 "; it must be a multiple of the number of SparseCores of a chip, ",
                 cores_per_replica);
  };
  EP_RETURN_IF_ERROR(check("sample_count", feature.samples));
  EP_RETURN_IF_ERROR(check("row_offset", feature.row_offset));
  EP_RETURN_IF_ERROR(check("stacked_table_sample_count", stack_samples));
  if (feature.row_offset + feature.samples <= stack_samples) return Status();
  return Error(Code::kInvalidArgument, "feature '", feature.name, "': its ", feature.samples,
               " samples from row_offset ", feature.row_offset, " on exceed the ", stack_samples,
               " samples of the stack");
}

Status MakeSplits(const std::string& feature, const SampleInput& input, int64_t samples,
                  FeatureIds* ids) {
  ids->splits.clear();
  if (ids->size > std::numeric_limits<int32_t>::max()) {
    return Error(Code::kInvalidArgument, "feature '", feature, "' has ", ids->size,
                 " ids; a batch may have 2^31 - 1");
  }
  if (input.rank == 2) return FromIndices(feature, input, samples, ids);
  if (input.rows > 0) return FromRowSplits(feature, input, samples, ids);
  if (ids->size == 0) {
    ids->splits.assign(samples + 1, 0);
  } else if (ids->size != samples) {
    return Error(Code::kInvalidArgument, "feature '", feature, "' is dense and has ", ids->size,
                 " ids; ", samples, " samples want one each, or none at all");
  }
  return Status();
}

}  // namespace sparse_core
}  // namespace estimator_plugin
