// The work of a training step on a sparse table, and nothing else: no framework, no locks, no
// errors. Two threads; every random access is prefetched some keys ahead.
#ifndef ESTIMATOR_PLUGIN_BENCHMARKS_LIMIT_SPARSE_STEP_H_
#define ESTIMATOR_PLUGIN_BENCHMARKS_LIMIT_SPARSE_STEP_H_

#include <algorithm>
#include <cstring>
#include <vector>

#include "distinct_rows.h"
#include "key_index.h"
#include "memory.h"
#include "two_threads.h"

namespace limit {

template <int kDim, typename Rule>
class SparseStep {
 public:
  static constexpr int kWidth = kDim * (1 + Rule::kSlots);

  SparseStep(size_t capacity, size_t batch)
      : batch_(batch),
        index_(capacity),
        rows_((capacity + capacity / 8 + 1024) * kWidth),
        row_of_(batch),
        embeddings_(batch * kDim),
        gradients_(batch * kDim),
        sums_(2 * batch * kDim) {
    for (DistinctRows& d : distinct_) d.Resize(batch);
    std::fill_n(gradients_.data(), batch * kDim, 1e-3f);
  }

  // Gives every key a row. Keys may repeat.
  void Insert(const int64_t* keys, size_t n, TwoThreads* threads) {
    threads->Run([=](int half) {
      DistinctRows& own = distinct_[half];
      size_t count = 0;
      for (size_t i = 0; i < n; ++i) {
        if (KeyIndex::HalfOf(Mix(keys[i])) == half) own.member[count++] = i;
      }
      for (size_t i = 0; i < count; ++i) {
        if (i + kAhead < count) Prefetch<1>(index_.Start(Mix(keys[own.member[i + kAhead]])));
        const int64_t key = keys[own.member[i]];
        const uint64_t hash = Mix(key);
        const int64_t free_row = 2 * used_[half] + half;
        if (index_.FindOrInsert(index_.Start(hash), hash, key, free_row) == free_row) {
          std::fill_n(rows_.data() + free_row * kWidth, kWidth, 0.1f);
          ++used_[half];
        }
      }
    });
  }

  // Copies each key's embedding out and remembers its row. REQUIRES: all keys have rows.
  void Lookup(const int64_t* keys, TwoThreads* threads) {
    threads->Run([=](int part) {
      const size_t begin = batch_ / 2 * part;
      const size_t n = part == 1 ? batch_ - begin : batch_ / 2;
      FindAndCopy(keys + begin, n, row_of_.data() + begin, embeddings_.data() + begin * kDim);
    });
  }

  // After Lookup: sums the gradients of each row and updates it once.
  void Update(TwoThreads* threads) {
    ++step_;
    threads->Run([=](int half) {
      distinct_[half].Collect(row_of_.data(), batch_, half, step_);
      float* sums = sums_.data() + half * batch_ * kDim;
      SumGradients(distinct_[half], gradients_.data(), sums);
      UpdateRows(distinct_[half], sums, rows_.data());
    });
  }

 private:
  static constexpr size_t kAhead = 12;

  template <int kBytes>
  static void Prefetch(const void* address) {
    for (int i = 0; i < kBytes; i += 64) __builtin_prefetch(static_cast<const char*>(address) + i);
  }

  // A pipeline of three stages, kAhead keys apart: fetch the slot, fetch the row, copy it.
  void FindAndCopy(const int64_t* __restrict keys, size_t n, int64_t* __restrict row_of,
                   float* __restrict embeddings) {
    const float* rows = rows_.data();
    uint64_t hashes[64];
    for (size_t i = 0; i < n + 2 * kAhead; ++i) {
      if (i < n) {
        hashes[i % 64] = Mix(keys[i]);
        Prefetch<1>(index_.Start(hashes[i % 64]));
      }
      if (i >= kAhead && i < n + kAhead) {
        const size_t found = i - kAhead;
        const uint64_t hash = hashes[found % 64];
        row_of[found] = index_.Find(index_.Start(hash), hash, keys[found]);
        Prefetch<kDim * 4>(rows + row_of[found] * kWidth);
      }
      if (i >= 2 * kAhead) {
        const size_t copied = i - 2 * kAhead;
        const float* row = rows + row_of[copied] * kWidth;
        for (int k = 0; k < kDim; ++k) embeddings[copied * kDim + k] = row[k];
      }
    }
  }

  static void SumGradients(const DistinctRows& own, const float* __restrict gradients,
                           float* __restrict sums) {
    const uint32_t* member = own.member.data();
    const uint32_t* place = own.place.data();
    std::memset(sums, 0, own.rows_used * kDim * sizeof(float));
    for (size_t i = 0; i < own.members_used; ++i) {
      const float* gradient = gradients + size_t{member[i]} * kDim;
      float* sum = sums + size_t{place[i]} * kDim;
      for (int k = 0; k < kDim; ++k) sum[k] += gradient[k];
    }
  }

  static void UpdateRows(const DistinctRows& own, const float* __restrict sums,
                         float* __restrict rows) {
    const int64_t* row = own.row.data();
    for (size_t i = 0; i < own.rows_used; ++i) {
      if (i + kAhead < own.rows_used) Prefetch<kWidth * 4>(rows + row[i + kAhead] * kWidth);
      Rule::template Apply<kDim>(rows + row[i] * kWidth, sums + i * kDim);
    }
  }

  const size_t batch_;
  KeyIndex index_;
  Memory<float> rows_;
  size_t used_[2] = {0, 0};  // Rows of each half; half h has rows 2i + h.
  std::vector<int64_t> row_of_;
  Memory<float> embeddings_, gradients_, sums_;
  DistinctRows distinct_[2];
  uint32_t step_ = 0;
};

}  // namespace limit

#endif  // ESTIMATOR_PLUGIN_BENCHMARKS_LIMIT_SPARSE_STEP_H_
