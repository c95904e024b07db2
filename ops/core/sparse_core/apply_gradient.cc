#include "apply_gradient.h"

#include <algorithm>
#include <limits>

#include "../multiversion.h"
#include "../row_copy.h"

namespace estimator_plugin {
namespace sparse_core {
namespace {

// Entries ahead that a row and a gradient are asked for.
constexpr int64_t kAhead = 6;
// Ids below which another thread costs more than it saves.
constexpr int64_t kGrain = 2048;

// What one segment has for the rows of a range: entries [at, end).
struct Source {
  Entries entries;
  int64_t at;
  int64_t end;
  const float* gradients;  // Of the segment's core.
};

// What no entry's row is: rows are below it.
constexpr int32_t kNoToken = std::numeric_limits<int32_t>::max();

EP_MULTIVERSION void AddScaled(const float* __restrict__ gradient, float gain, int64_t width,
                               float* __restrict__ sum) {
  for (int64_t i = 0; i < width; ++i) sum[i] += gain * gradient[i];
}

// The rows of one shard from first to last, merged from all segments that have them.
class RangeUpdate {
 public:
  RangeUpdate(const CsrView& csr, const float* gradients, int64_t width, int64_t shard,
              int32_t first, int32_t last)
      : width_(width), row_bytes_(width * static_cast<int64_t>(sizeof(float))) {
    for (int64_t core = 0; core < csr.cores(); ++core) {
      const float* const of_core = gradients + core * csr.extent().samples_per_core * width;
      for (int64_t b = 0; b < csr.minibatches(); ++b) {
        const Entries entries = csr.segment(core, b, shard);
        const int32_t* const end = entries.tokens + entries.size;
        const int64_t from = std::lower_bound(entries.tokens, end, first) - entries.tokens;
        const int64_t to = std::upper_bound(entries.tokens, end, last) - entries.tokens;
        if (from == to) continue;
        sources_.push_back({entries, from, to, of_core});
        tokens_.push_back(entries.tokens[from]);
      }
    }
  }

  void Run(const UpdateRule<float>& rule, const std::vector<float*>& shard_parts) {
    std::vector<float> sum(width_);
    float* parts[1 + kMaxSlots];
    for (;;) {
      const int32_t token = Lowest();
      if (token == kNoToken) return;
      std::fill(sum.begin(), sum.end(), 0.0f);
      for (size_t s = 0; s < sources_.size(); ++s) {
        if (tokens_[s] == token) tokens_[s] = Take(token, shard_parts, &sources_[s], sum.data());
      }
      for (size_t p = 0; p < shard_parts.size(); ++p) parts[p] = shard_parts[p] + token * width_;
      rule.Update(parts, sum.data(), width_);
    }
  }

 private:
  int32_t Lowest() const {
    int32_t lowest = kNoToken;
    for (const int32_t token : tokens_) lowest = std::min(lowest, token);
    return lowest;
  }

  // Adds the source's entries of `token`; its next one.
  int32_t Take(int32_t token, const std::vector<float*>& shard_parts, Source* source,
               float* sum) const {
    const Entries& entries = source->entries;
    while (source->at < source->end && entries.tokens[source->at] == token) {
      const int64_t ahead = source->at + kAhead;
      if (ahead < source->end) {
        PrefetchBytes(source->gradients + entries.samples[ahead] * width_, row_bytes_);
        for (const float* part : shard_parts) {
          PrefetchBytes(part + entries.tokens[ahead] * width_, row_bytes_);
        }
      }
      AddScaled(source->gradients + entries.samples[source->at] * width_, entries.gains[source->at],
                width_, sum);
      ++source->at;
    }
    return source->at < source->end ? entries.tokens[source->at] : kNoToken;
  }

  const int64_t width_;
  const int64_t row_bytes_;
  std::vector<Source> sources_;
  std::vector<int32_t> tokens_;  // Each source's next row.
};

// Rows at which the largest segment of a shard is cut into `parts` equal parts: first rows of the
// parts after the first.
std::vector<int32_t> CutRows(const CsrView& csr, int64_t shard, int64_t parts) {
  Entries largest{};
  for (int64_t core = 0; core < csr.cores(); ++core) {
    for (int64_t b = 0; b < csr.minibatches(); ++b) {
      const Entries entries = csr.segment(core, b, shard);
      if (entries.size > largest.size) largest = entries;
    }
  }
  std::vector<int32_t> cuts;
  for (int64_t p = 1; p < parts && largest.size > 0; ++p) {
    cuts.push_back(largest.tokens[largest.size * p / parts]);
  }
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

struct RowRange {
  int64_t shard;
  int32_t first;
  int32_t last;
};

std::vector<RowRange> SplitRows(const CsrView& csr, int threads) {
  const int64_t parts = (threads + csr.cores() - 1) / csr.cores();
  std::vector<RowRange> ranges;
  for (int64_t shard = 0; shard < csr.cores(); ++shard) {
    int32_t first = 0;
    for (const int32_t cut : CutRows(csr, shard, parts)) {
      if (cut > first) ranges.push_back({shard, first, cut - 1});
      first = cut;
    }
    ranges.push_back({shard, first, kNoToken - 1});
  }
  return ranges;
}

int64_t CountIds(const CsrView& csr) {
  int64_t ids = 0;
  for (int64_t core = 0; core < csr.cores(); ++core) {
    for (int64_t b = 0; b < csr.minibatches(); ++b) {
      for (int64_t shard = 0; shard < csr.cores(); ++shard) ids += csr.segment(core, b, shard).size;
    }
  }
  return ids;
}

}  // namespace

void ApplyGradient(const CsrView& csr, const float* gradients, int64_t width,
                   const UpdateRule<float>& rule, const std::vector<float*>& parts,
                   ParallelRunner* runner) {
  const int threads = ShardsFor(*runner, CountIds(csr), kGrain);
  const std::vector<RowRange> ranges = SplitRows(csr, threads);
  const int64_t num_ranges = ranges.size();
  const int shards = static_cast<int>(std::min<int64_t>(threads, num_ranges));
  runner->Run(shards, [&](int s) {
    const ShardRange mine = RangeOfShard(num_ranges, shards, s);
    for (int64_t i = mine.begin; i < mine.end; ++i) {
      const RowRange& range = ranges[i];
      std::vector<float*> shard_parts = parts;
      for (float*& part : shard_parts) part += range.shard * csr.extent().rows_per_shard * width;
      RangeUpdate(csr, gradients, width, range.shard, range.first, range.last)
          .Run(rule, shard_parts);
    }
  });
}

}  // namespace sparse_core
}  // namespace estimator_plugin
