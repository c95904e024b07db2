#include "exchange_gradients.h"

#include <algorithm>

#include "address.h"
#include "exchange_rows.h"
#include "finite.h"
#include "row_copy.h"

namespace estimator_plugin {
namespace {

// Gradients per shard below which another thread costs more than it saves: each shard looks at all
// positions.
constexpr int64_t kGrain = 16384;
// Gradients ahead that a sum is asked for.
constexpr int64_t kAhead = 8;

enum State : uint8_t { kUntouched, kTouched, kBegun };

}  // namespace

Status GradientPacker::Begin(const std::vector<Request>& requests, const std::vector<int64_t>& dims,
                             const std::vector<PositionedGradients>& gradients) {
  requests_ = &requests;
  dims_ = &dims;
  gradients_ = &gradients;
  std::vector<Positions> positions;
  first_of_table_.assign(1, 0);
  for (size_t t = 0; t < dims.size(); ++t) {
    positions.emplace_back(requests, static_cast<int>(t));
    first_of_table_.push_back(first_of_table_.back() + positions.back().size());
  }
  states_.assign(first_of_table_.back(), kUntouched);
  for (const PositionedGradients& part : gradients) {
    uint8_t* const states = states_.data() + first_of_table_[part.table];
    const int64_t size = positions[part.table].size();
    for (int64_t i = 0; i < part.segment.n; ++i) {
      const int64_t position = part.segment.addresses[i];
      if (position >= 0 && position < size) {
        states[position] = kTouched;
      } else if (position != kNoAddress) {
        return positions[part.table].Check(position);
      }
    }
  }
  words_.assign(requests.size(), 0);
  for (size_t t = 0; t < dims.size(); ++t) {
    int64_t at = first_of_table_[t];
    for (size_t s = 0; s < requests.size(); ++s) {
      const int64_t end = at + requests[s].tables[t].n;
      words_[s] += dims[t] * std::count(states_.data() + at, states_.data() + end, kTouched);
      at = end;
    }
  }
  for (size_t s = 0; s < requests.size(); ++s) words_[s] += BitWords(requests[s].num_keys());
  return Status();
}

void GradientPacker::Pack(const std::vector<float*>& packed, ParallelRunner* runner) {
  packed_ = packed;
  Place();
  int64_t total = 0;
  for (const PositionedGradients& part : *gradients_) total += part.segment.n;
  const int64_t keys = first_of_table_.back();
  const int shards = ShardsFor(*runner, total, kGrain);
  runner->Run(shards, [&](int shard) { Sum(RangeOfShard(keys, shards, shard)); });
}

void GradientPacker::Place() {
  sums_.resize(states_.size());
  for (size_t s = 0; s < packed_.size(); ++s) {
    const Request& request = (*requests_)[s];
    const int64_t bit_words = BitWords(request.num_keys());
    std::fill_n(packed_[s], bit_words, 0.0f);
    float* next = packed_[s] + bit_words;
    int64_t key = 0;
    for (size_t t = 0; t < dims_->size(); ++t) {
      int64_t at = first_of_table_[t];
      for (size_t before = 0; before < s; ++before) at += (*requests_)[before].tables[t].n;
      for (int64_t i = 0; i < request.tables[t].n; ++i, ++key) {
        if (states_[at + i] == kUntouched) continue;
        SetBit(packed_[s], key);
        sums_[at + i] = next;
        next += (*dims_)[t];
      }
    }
  }
}

void GradientPacker::Sum(ShardRange keys) {
  for (const PositionedGradients& part : *gradients_) {
    const GradientSegment<float>& segment = part.segment;
    const int64_t dim = (*dims_)[part.table];
    const int64_t bytes = dim * static_cast<int64_t>(sizeof(float));
    const int64_t first = first_of_table_[part.table];
    for (int64_t i = 0; i < segment.n; ++i) {
      const int64_t key = first + segment.addresses[i];
      if (segment.addresses[i] == kNoAddress || key < keys.begin || key >= keys.end) continue;
      if (i + kAhead < segment.n && segment.addresses[i + kAhead] != kNoAddress) {
        PrefetchBytes(sums_[first + segment.addresses[i + kAhead]], bytes);
      }
      if (states_[key] == kBegun) {
        AddTo(segment.gradients + i * dim, sums_[key], dim);
      } else {
        CopyBytes(segment.gradients + i * dim, sums_[key], bytes);
        states_[key] = kBegun;
      }
    }
  }
}

bool GradientPacker::AllSumsFinite() const {
  for (size_t s = 0; s < packed_.size(); ++s) {
    const int64_t bit_words = BitWords((*requests_)[s].num_keys());
    if (!AllFinite(packed_[s] + bit_words, words_[s] - bit_words)) return false;
  }
  return true;
}

Status GradientPacker::CheckFinite(const std::vector<std::string>& table_names) const {
  if (AllSumsFinite()) return Status();
  for (size_t t = 0; t < dims_->size(); ++t) {
    for (int64_t key = first_of_table_[t]; key < first_of_table_[t + 1]; ++key) {
      if (states_[key] == kUntouched || AllFinite(sums_[key], (*dims_)[t])) continue;
      std::vector<GradientSegment<float>> segments;
      for (const PositionedGradients& part : *gradients_) {
        if (part.table == static_cast<int>(t)) segments.push_back(part.segment);
      }
      return DescribeNonFinite(table_names[t], "position", segments, (*dims_)[t]);
    }
  }
  return Status();
}

std::vector<std::vector<int64_t>> AddressesOf(const Request& request, const KeyedRows& sums,
                                              const int64_t* addresses) {
  std::vector<std::vector<int64_t>> of_tables(request.tables.size());
  for (size_t t = 0; t < request.tables.size(); ++t) {
    const int table = static_cast<int>(t);
    of_tables[t].reserve(sums.num_rows(table));
    for (int64_t i = 0; i < request.tables[t].n; ++i) {
      if (sums.Has(table, i)) of_tables[t].push_back(addresses[i]);
    }
    addresses += request.tables[t].n;
  }
  return of_tables;
}

}  // namespace estimator_plugin
